package mavlink

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
)

// header is the header of a frame.
type header struct {
	sequence  uint8
	system    uint8
	component uint8
	id        uint32
	v2        bool
	start     int // of the payload
	end       int // of the payload
	size      int // of the frame
}

// parseHeader reads the header at the start of data. ok is false if there is none; short is true if data ends within
// it.
func parseHeader(data []byte) (h header, ok, short bool) {
	switch {
	case len(data) == 0:
		return h, false, true
	case data[0] == frame.V1MagicByte:
		if len(data) < headerV1 {
			return h, false, true
		}
		h = header{sequence: data[2], system: data[3], component: data[4], id: uint32(data[5]), start: headerV1}
	case data[0] == frame.V2MagicByte:
		if len(data) < headerV2 {
			return h, false, true
		}
		if data[2]&^frame.V2FlagSigned != 0 { // unknown incompatibility flags
			return h, false, false
		}
		h = header{sequence: data[4], system: data[5], component: data[6], v2: true, start: headerV2,
			id: uint32(data[7]) | uint32(data[8])<<8 | uint32(data[9])<<16}
		if data[2] != 0 {
			h.size = signature
		}
	default:
		return h, false, false
	}
	h.end = h.start + int(data[1])
	h.size += h.end + checksum
	return h, true, false
}

// scanner finds the frames in a byte stream. After damage it continues at the next byte that begins a whole frame,
// regardless of the length that the damaged frame claims.
type scanner struct {
	formats map[uint32]format

	// prefix is the number of bytes before each frame, and stamped reports whether they are plausible.
	prefix  int
	stamped func([]byte) bool

	// found counts damage.
	found struct {
		badChecksum uint64
		garbage     uint64
	}

	buffer []byte
	begin  int // in buffer, of the bytes not scanned yet

	// edge is the distance from begin to the (claimed, for a bad checksum) end of the last frame. At 0 a frame must
	// begin. Bytes before it belong to a bad frame and are not garbage; bytes after it may be anything.
	edge int
	crc  x25.X25
}

// write adds bytes to scan. It overwrites frames that next returned.
func (s *scanner) write(b []byte) {
	s.buffer = append(s.buffer[:copy(s.buffer, s.buffer[s.begin:])], b...)
	s.begin = 0
}

// next returns the next frame with its prefix, unless more bytes are needed; end means that there will be none. A frame
// with an unknown id is returned only where a frame must begin.
func (s *scanner) next(end bool) ([]byte, header, bool) {
	for {
		data := s.buffer[s.begin:]
		if len(data) <= s.prefix {
			if end {
				s.skip(len(data))
			}
			return nil, header{}, false
		}
		h, verdict := s.check(data, end)
		switch verdict {
		case short:
			if !end {
				return nil, header{}, false
			}
			s.skip(1)
		case good:
			s.begin += s.prefix + h.size
			s.edge = 0
			return data[:s.prefix+h.size], h, true
		case bad:
			if s.edge <= 0 {
				s.found.badChecksum++
				s.edge = s.prefix + h.size
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
func (s *scanner) check(data []byte, end bool) (header, verdict) {
	if s.prefix > 0 && !s.stamped(data[:s.prefix]) {
		return header{}, none
	}
	data = data[s.prefix:]
	h, ok, more := parseHeader(data)
	if more {
		return h, short
	}
	if !ok {
		return h, none
	}
	f, known := s.formats[h.id]
	lengthFits := h.v2 || h.end-h.start == f.length
	// Among garbage, only frames that can be checked count; otherwise bytes that look like a header would make us wait
	// for a frame that never comes, and hide those that do.
	if s.edge != 0 && (!known || !lengthFits) {
		return h, none
	}
	if len(data) < h.size {
		return h, short
	}
	if !known {
		return h, good
	}
	s.crc.Reset()
	s.crc.Write(data[1:h.end])
	s.crc.Write([]byte{f.codec.CRCExtra()})
	if !lengthFits || s.crc.Sum16() != binary.LittleEndian.Uint16(data[h.end:]) {
		return h, bad
	}
	// Among garbage, one plausible prefix may be chance, but not two: frames without prefixes must not match.
	if after := data[h.size:]; s.prefix > 0 && s.edge != 0 {
		if len(after) < s.prefix && !end {
			return h, short
		}
		if len(after) >= s.prefix && !s.stamped(after[:s.prefix]) {
			return h, none
		}
	}
	return h, good
}

// skip skips n bytes that do not begin a frame.
func (s *scanner) skip(n int) {
	s.found.garbage += uint64(n - min(n, max(0, s.edge)))
	s.begin += n
	s.edge -= n
}
