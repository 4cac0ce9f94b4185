package record

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/chunked"
)

// resync returns the position of the first section, or message of a known channel, at or behind from, or -1 if there is
// none. message reports which of the two it found.
func (r *reader) resync(from int64) (pos int64, message bool, err error) {
	scan := chunked.Window{File: r.file, Size: r.size}
	for pos := from; pos < r.size; {
		b, err := scan.View(pos, chunked.JumpSize)
		if err != nil {
			return 0, false, err
		}
		// The last bytes are checked again together with the bytes behind them.
		n := len(b)
		if pos+int64(n) < r.size {
			n -= sectionSize
		}
		for i := range n {
			var found bool
			if b[i] == nameTag && mayBeMessage(b[i:]) {
				message = true
				found, err = r.plausibleMessage(pos + int64(i))
			} else if mayBeSection(b[i:]) {
				message = false
				found, err = r.plausibleSection(pos + int64(i))
			}
			if err != nil || found {
				return pos + int64(i), message, err
			}
		}
		pos += int64(n)
	}
	return -1, false, nil
}

// mayBeMessage is a quick check of up to 12 bytes: most messages begin with the channel's name.
func mayBeMessage(b []byte) bool {
	_, n := protowire.ConsumeVarint(b[1:])
	return n > 0 && len(b) > 1+n && b[1+n] == nameTag
}

// mayBeSection is a quick check of up to 4 bytes.
func mayBeSection(b []byte) bool {
	return len(b) >= 4 && b[0] >= byte(chunkHeaderSection) && b[0] <= byte(channelSection) &&
		b[1] == 0 && b[2] == 0 && b[3] == 0
}

// known reports whether the channel is declared. If no channel is declared, any valid name is known.
func (r *reader) known(name []byte) bool {
	if len(r.channels) == 0 {
		return len(name) > 0 && utf8.Valid(name)
	}
	_, ok := r.byName[string(name)]
	return ok
}

// plausibleMessage reports whether a message of a known channel begins at pos.
func (r *reader) plausibleMessage(pos int64) (bool, error) {
	var m singleMessage
	err := readMessage(&r.probe, pos, &m)
	if err != nil && !isProblem(err) {
		return false, err
	}
	return err == nil && m.end <= r.size && r.known(m.name), nil
}

// plausibleSection reports whether a section with plausible content begins at pos.
func (r *reader) plausibleSection(pos int64) (bool, error) {
	b, err := r.probe.View(pos, sectionSize)
	if err != nil || len(b) < sectionSize {
		return false, err
	}
	s := parseSection(b)
	start := pos + sectionSize
	if s.size <= 0 {
		return false, nil
	}
	if s.typ == chunkBodySection { // the body may be cut
		return r.plausibleMessage(start)
	}
	if s.size > r.size-start {
		return false, nil
	}
	switch s.typ {
	case chunkHeaderSection:
		var h recordpb.ChunkHeader
		return s.size <= 64 && r.decodes(start, s.size, &h) &&
			h.BeginTime != nil && h.EndTime != nil && h.MessageNumber != nil && h.RawSize != nil &&
			int64(*h.BeginTime) <= int64(*h.EndTime) && len(h.ProtoReflect().GetUnknown()) == 0, nil
	case channelSection:
		return s.size <= maxChannel && r.plausibleChannel(start, start+s.size), nil
	case indexSection:
		entry, err := readField(&r.probe, start, start+s.size)
		if err != nil || entry.number != 1 || entry.typ != protowire.BytesType || entry.value > maxChannel {
			return false, nil
		}
		// An entry begins with type and position.
		end := entry.at
		for number := protowire.Number(1); number <= 2; number++ {
			f, err := readField(&r.probe, end, entry.end)
			if err != nil || f.number != number || f.typ != protowire.VarintType {
				return false, nil
			}
			end = f.end
		}
		return true, nil
	}
	return false, nil
}

// plausibleChannel reports whether the bytes from pos to end are a Channel. It does not read the
// proto_desc, which may be long: resync tries every byte, so each try must be cheap.
func (r *reader) plausibleChannel(pos, end int64) bool {
	for number := protowire.Number(1); pos < end; {
		f, err := readField(&r.probe, pos, end)
		if err != nil || f.typ != protowire.BytesType || f.number < number || f.number > 3 || number == 1 &&
			f.number != 1 {
			return false
		}
		if f.number == 1 {
			name, err := r.probe.View(f.at, int(min(f.value, maxName)))
			if err != nil || f.value == 0 || f.value > maxName || uint64(len(name)) < f.value ||
				!utf8.Valid(name[:f.value]) {
				return false
			}
		}
		number, pos = f.number+1, f.end
	}
	return true
}

// decodes reads the size bytes at pos into m and reports whether they could be decoded.
func (r *reader) decodes(pos, size int64, m proto.Message) bool {
	b, err := r.probe.View(pos, int(size))
	return err == nil && int64(len(b)) >= size && proto.Unmarshal(b[:size], m) == nil
}

// zeros reports whether the file ends with zeros, as after a power failure, which begin at pos or in the head of the
// message at pos.
func (r *reader) zeros(pos int64) (bool, error) {
	end, err := r.contentEnd()
	return end < r.size && end <= pos+headSize, err
}

// contentEnd returns the offset of the zeros at the end of the file.
func (r *reader) contentEnd() (int64, error) {
	if r.content > 0 {
		return r.content, nil
	}
	var err error
	r.content, err = chunked.ContentEnd(r.file, r.size)
	return r.content, err
}
