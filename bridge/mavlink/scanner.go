package mavlink

import (
	"encoding/binary"

	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/x25"
)

// Sizes of what is around the payload of a frame (mavlink.io, Packet Serialization).
const (
	headerV1  = 6
	headerV2  = 10
	checksum  = 2
	signature = 13
)

// header is what a frame says about itself.
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

// parseHeader reads the header at the start of data. ok is false if there is none, short is true if data ends within
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
		if data[2]&^frame.V2FlagSigned != 0 { // incompatible with all that is known of MAVLink
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

// scanner finds the frames in a stream of bytes. After damage it goes on at the next byte that begins a whole frame,
// wherever the damaged frame claims to end.
type scanner struct {
	formats map[uint32]format

	// prefix is how many bytes there are before each frame, and stamped whether they can be what they should.
	prefix  int
	stamped func([]byte) bool

	// found counts what is no good frame.
	found struct {
		badChecksum uint64
		garbage     uint64
	}

	buffer []byte
	begin  int // in buffer, of what was not scanned yet

	// edge is how far from begin the last frame ended, or claimed to, if its checksum was bad. At 0 a frame begins for
	// sure. Before that are bytes of a bad frame, which are no garbage, after it bytes that may be anything.
	edge int
	crc  x25.X25
}

// write adds bytes to be scanned. Frames that next returned are overwritten.
func (s *scanner) write(b []byte) {
	s.buffer = append(s.buffer[:copy(s.buffer, s.buffer[s.begin:])], b...)
	s.begin = 0
}

// next returns the next frame with its prefix, unless more bytes are needed to tell. At the end of the stream there are
// none to come. A frame of unknown id is returned, too, where one must begin.
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
	short                // perhaps, more bytes are needed
	bad                  // a frame with a bad checksum
	good
)

// check judges what data begins with, at the end of which are no more bytes to come if end is true.
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
	// Among garbage, only what can be checked counts; otherwise bytes that look like a header make us wait for a frame
	// that never comes, and swallow those that do.
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
	// A prefix among garbage may be by chance, but not two. Without it, frames that have no prefixes would have those.
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

// skip drops n bytes that begin no frame.
func (s *scanner) skip(n int) {
	s.found.garbage += uint64(n - min(n, max(0, s.edge)))
	s.begin += n
	s.edge -= n
}
