package tlog

import (
	"encoding/binary"

	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/x25"
)

// Sizes of the parts of a frame (mavlink.io, Packet Serialization), in bytes.
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
	Start     int // of the payload
	End       int // of the payload
	Size      int // of the frame
}

// parseHeader reads the header at the start of data. ok is false if no header begins there; short is true if data ends
// within the header.
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

// Scanner finds the frames in a byte stream. After damage it continues at the next byte that begins a whole frame,
// regardless of the length that the damaged frame claims.
type Scanner struct {
	Formats map[uint32]MessageFormat

	// Prefix is the number of bytes before each frame, and Stamped reports whether a prefix is plausible. A frame of a
	// known message may follow any prefix where a frame must begin, and anywhere once Anchored is set.
	Prefix  int
	Stamped func([]byte) bool

	// Anchored is set once a frame with a plausible prefix was found.
	Anchored bool

	// Found counts damage.
	Found struct {
		BadChecksum uint64
		Garbage     uint64
	}

	// Offset is the offset in the stream of the first byte that is not scanned yet.
	Offset int64

	buffer []byte
	begin  int // offset in buffer of the first byte that is not scanned yet

	// edge is the distance from begin to the end of the last frame; a frame with a bad checksum ends where its header
	// claims. If edge is 0, a frame must begin at begin. Bytes before the edge belong to a bad frame and are not
	// garbage; bytes after the edge may be anything.
	edge int
	crc  x25.X25
}

// NewScanner returns a scanner of a stream that may begin with anything.
func NewScanner(formats map[uint32]MessageFormat) *Scanner {
	return &Scanner{Formats: formats, edge: -1}
}

// newLogScanner returns a scanner of the records of a log. A record is a time in µs since the Unix epoch, in 8 bytes
// of the given order, followed by a frame. If order is nil, there are no times.
func newLogScanner(formats map[uint32]MessageFormat, order binary.ByteOrder) *Scanner {
	if order == nil {
		return &Scanner{Formats: formats}
	}
	return &Scanner{Formats: formats, Prefix: StampSize,
		Stamped: func(b []byte) bool { return order.Uint64(b) < LatestStamp }}
}

// Write adds bytes to scan. It overwrites frames that Next returned.
func (s *Scanner) Write(b []byte) {
	s.buffer = append(s.buffer[:copy(s.buffer, s.buffer[s.begin:])], b...)
	s.begin = 0
}

// Next returns the next frame with its prefix. It returns false if it needs more bytes; end means that no more bytes
// will follow. A frame with an unknown id is returned only where a frame must begin.
func (s *Scanner) Next(end bool) ([]byte, Header, bool) {
	for {
		data := s.buffer[s.begin:]
		if len(data) <= s.Prefix {
			if end {
				s.skip(len(data))
			}
			return nil, Header{}, false
		}
		h, verdict := s.check(data, end)
		switch verdict {
		case short:
			if !end {
				return nil, Header{}, false
			}
			s.skip(1)
		case good:
			s.begin += s.Prefix + h.Size
			s.Offset += int64(s.Prefix + h.Size)
			s.edge = 0
			return data[:s.Prefix+h.Size], h, true
		case bad:
			if s.edge <= 0 {
				s.Found.BadChecksum++
				s.edge = s.Prefix + h.Size
			}
			s.skip(1)
		case none:
			s.skip(1)
		}
	}
}

type verdict int

const (
	none  verdict = iota // no frame begins here
	short                // undecided, more bytes are needed
	bad                  // a frame with a bad checksum
	good
)

// check classifies the beginning of data; end means that no more bytes will follow.
func (s *Scanner) check(data []byte, end bool) (Header, verdict) {
	stamped := s.Prefix == 0 || s.Stamped(data[:s.Prefix])
	if !stamped && s.edge != 0 && !s.Anchored {
		return Header{}, none
	}
	data = data[s.Prefix:]
	h, ok, more := parseHeader(data)
	if more {
		return h, short
	}
	if !ok {
		return h, none
	}
	f, known := s.Formats[h.ID]
	lengthFits := h.V2 || h.End-h.Start == f.Length
	// Among garbage, accept only frames that can be checked. Otherwise bytes that look like a header would make us wait
	// for a frame that never comes, and hide the frames that follow.
	if (s.edge != 0 || !stamped) && (!known || !lengthFits) {
		return h, none
	}
	if len(data) < h.Size {
		return h, short
	}
	if !known {
		return h, good
	}
	s.crc.Reset()
	s.crc.Write(data[1:h.End])
	s.crc.Write([]byte{f.Codec.CRCExtra()})
	switch matches := s.crc.Sum16() == binary.LittleEndian.Uint16(data[h.End:]); {
	case !stamped && !matches:
		return h, none
	case !lengthFits || !matches:
		return h, bad
	}
	// Among garbage, one plausible prefix may be chance, but not two. A log without prefixes must not match.
	if after := data[h.Size:]; s.Prefix > 0 && s.edge != 0 && !s.Anchored {
		if len(after) < s.Prefix && !end {
			return h, short
		}
		if len(after) >= s.Prefix && !s.Stamped(after[:s.Prefix]) {
			return h, none
		}
	}
	s.Anchored = s.Anchored || stamped
	return h, good
}

// skip skips n bytes that do not begin a frame.
func (s *Scanner) skip(n int) {
	s.Found.Garbage += uint64(n - min(n, max(0, s.edge)))
	s.begin += n
	s.Offset += int64(n)
	s.edge -= n
}
