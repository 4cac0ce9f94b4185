package mcap

import (
	"encoding/binary"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec/internal/chunked"
)

// maxIndex bounds the message indexes that are read at once: those of a chunk.
const maxIndex = 64 << 20

// Find implements chunked.Finder, by the message indexes behind a chunk.
func (l *loader) Find(s *chunked.Segment, found func(channel int, time, off int64)) bool {
	if s.Index <= 0 || s.Index > maxIndex {
		return false
	}
	b := make([]byte, s.Index)
	if _, err := l.file.ReadAt(b, s.Offset+s.Size); err != nil {
		return false
	}
	const fields, entry = 2 + 4, 8 + 8
	for pass := range 2 { // the first one only looks whether all is well
		for off := 0; off < len(b); {
			op, content, next := cutRecord(b, off)
			if next < 0 || op != mcap.OpMessageIndex || len(content) < fields {
				return false
			}
			id, entries := messageChannel(content), content[fields:]
			if uint64(binary.LittleEndian.Uint32(content[2:])) != uint64(len(entries)) || len(entries)%entry != 0 {
				return false
			}
			for ; pass == 1 && len(entries) > 0; entries = entries[entry:] {
				found(int(id), int64(binary.LittleEndian.Uint64(entries)), int64(binary.LittleEndian.Uint64(entries[8:])))
			}
			off = next
		}
	}
	return true
}
