package tlog

import (
	"encoding/binary"

	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/x25"
)

// Sizes of the elements of a frame in bytes (mavlink.io, Packet Serialization).
const (
	headerV1  = 6
	headerV2  = 10
	checksum  = 2
	signature = 13

	// StampSize is the size of the time before a frame in a telemetry log.
	StampSize = 8
)

// Header is the header of a frame.
type Header struct {
	Sequence  uint8
	System    uint8
	Component uint8
	ID        uint32
	V2        bool
	Signed    bool
	Start     int // offset in the frame of the payload's first byte
	End       int // offset in the frame of the payload's end
	Size      int // bytes of the frame
}

// parseHeader reads the header at the start of data. ok reports whether data begins with a header. short reports
// whether data ends within a header.
func parseHeader(data []byte) (h Header, ok, short bool) {
	switch {
	case len(data) == 0:
		return h, false, true
	case data[0] == frame.V1MagicByte:
		if len(data) < headerV1 {
			return h, false, true
		}
		h = Header{Sequence: data[2], System: data[3], Component: data[4], ID: uint32(data[5]), Start: headerV1}
	case data[0] == frame.V2MagicByte:
		if len(data) < headerV2 {
			return h, false, true
		}
		if data[2]&^frame.V2FlagSigned != 0 { // unknown incompatibility flags
			return h, false, false
		}
		h = Header{Sequence: data[4], System: data[5], Component: data[6], V2: true, Start: headerV2,
			ID: uint32(data[7]) | uint32(data[8])<<8 | uint32(data[9])<<16}
		if data[2] != 0 {
			h.Size, h.Signed = signature, true
		}
	default:
		return h, false, false
	}
	h.End = h.Start + int(data[1])
	h.Size += h.End + checksum
	return h, true, false
}

// ParseHeader returns the header of a frame. ok is false unless data is one whole frame.
func ParseHeader(data []byte) (h Header, ok bool) {
	h, ok, short := parseHeader(data)
	return h, ok && !short && h.Size == len(data)
}

// Scanner finds the frames in a sequence of bytes. After damage, it continues with the next whole frame, even if this
// frame begins within the length of a damaged frame.
type Scanner struct {
	Formats map[uint32]MessageFormat // formats of known messages, by id

	// Prefix is the number of bytes before each frame. Stamped reports whether a prefix is plausible. With an
	// implausible prefix, a frame of a known message counts only directly after another frame, or if Anchored is set.
	Prefix  int
	Stamped func([]byte) bool

	// Anchored reports whether a frame with a plausible prefix was found.
	Anchored bool

	// Damage counts damage.
	Damage struct {
		BadChecksum uint64 // frames with a bad checksum
		Garbage     uint64 // bytes outside frames
	}

	// Offset is the number of scanned bytes.
	Offset int64

	buffer []byte
	start  int // offset in buffer of the first byte that is not scanned yet

	// edge is the number of bytes from start to the end of the last frame, including frames with a bad checksum. At the
	// edge, another frame must begin, so 0 means that a frame must begin at start. If edge is greater, the bytes before
	// the edge belong to a frame with a bad checksum and are not garbage. If edge is negative, the scanned bytes
	// after the edge are garbage.
	edge int
	crc  x25.X25
}

// NewScanner returns a scanner of bytes that may begin with garbage.
func NewScanner(formats map[uint32]MessageFormat) *Scanner {
	return &Scanner{Formats: formats, edge: -1}
}

// newLogScanner returns a scanner of the records of a log. A record is a time and a frame. The time has 8 bytes of the
// given order, and counts µs since the Unix epoch. If order is nil, records have no times.
func newLogScanner(formats map[uint32]MessageFormat, order binary.ByteOrder) *Scanner {
	if order == nil {
		return &Scanner{Formats: formats}
	}
	return &Scanner{Formats: formats, Prefix: StampSize,
		Stamped: func(b []byte) bool { return order.Uint64(b) < LatestStamp }}
}

// Write adds bytes to scan. It may overwrite the frames that Next returned before.
func (s *Scanner) Write(b []byte) {
	s.buffer = append(s.buffer[:copy(s.buffer, s.buffer[s.start:])], b...)
	s.start = 0
}

// Next returns the next frame with its prefix, and the frame's header. It returns false if it needs more bytes. end
// reports that no more bytes will follow. Next returns a frame with an unknown id only where a frame must begin.
func (s *Scanner) Next(end bool) ([]byte, Header, bool) {
	for {
		data := s.buffer[s.start:]
		if len(data) <= s.Prefix {
			if end {
				s.skip(len(data))
			}
			return nil, Header{}, false
		}
		h, verdict := s.classify(data, end)
		switch verdict {
		case incomplete:
			if !end {
				return nil, Header{}, false
			}
			s.skip(1)
		case goodFrame:
			s.start += s.Prefix + h.Size
			s.Offset += int64(s.Prefix + h.Size)
			s.edge = 0
			return data[:s.Prefix+h.Size], h, true
		case badFrame:
			if s.edge <= 0 {
				s.Damage.BadChecksum++
				s.edge = s.Prefix + h.Size
			}
			s.skip(1)
		case noFrame:
			s.skip(1)
		}
	}
}

// verdict is a result of Scanner.classify.
type verdict int

const (
	noFrame    verdict = iota // data does not begin with a frame
	incomplete                // more bytes are needed
	badFrame                  // a frame with a bad checksum
	goodFrame                 // a frame with a valid checksum or an unknown id
)

// classify classifies the beginning of data, which is a prefix and perhaps a frame. end reports that no more bytes will
// follow.
func (s *Scanner) classify(data []byte, end bool) (Header, verdict) {
	plausible := s.Prefix == 0 || s.Stamped(data[:s.Prefix])
	if !plausible && s.edge != 0 && !s.Anchored {
		return Header{}, noFrame
	}
	data = data[s.Prefix:]
	h, ok, short := parseHeader(data)
	if short {
		return h, incomplete
	}
	if !ok {
		return h, noFrame
	}
	f, known := s.Formats[h.ID]
	lengthFits := h.V2 || h.End-h.Start == f.Length
	// In garbage, accept only frames that can be checked. Otherwise the scanner would wait for the end of a frame if
	// bytes of garbage look like a header, and miss the frames that follow.
	if (s.edge != 0 || !plausible) && (!known || !lengthFits) {
		return h, noFrame
	}
	if len(data) < h.Size {
		return h, incomplete
	}
	if !known {
		return h, goodFrame
	}
	s.crc.Reset()
	s.crc.Write(data[1:h.End])
	s.crc.Write([]byte{f.Codec.CRCExtra()})
	switch matches := s.crc.Sum16() == binary.LittleEndian.Uint16(data[h.End:]); {
	case !plausible && !matches:
		return h, noFrame
	case !lengthFits || !matches:
		return h, badFrame
	}
	// In garbage, one plausible prefix may be chance. So the prefix of the next frame must also be plausible. Frames
	// without prefixes must not pass as a log with prefixes.
	if after := data[h.Size:]; s.Prefix > 0 && s.edge != 0 && !s.Anchored {
		if len(after) < s.Prefix && !end {
			return h, incomplete
		}
		if len(after) >= s.Prefix && !s.Stamped(after[:s.Prefix]) {
			return h, noFrame
		}
	}
	s.Anchored = s.Anchored || plausible
	return h, goodFrame
}

// skip skips n bytes at which no frame begins. It counts the bytes after the edge as garbage.
func (s *Scanner) skip(n int) {
	s.Damage.Garbage += uint64(n - min(n, max(0, s.edge)))
	s.start += n
	s.Offset += int64(n)
	s.edge -= n
}
