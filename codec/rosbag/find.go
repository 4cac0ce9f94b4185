package rosbag

import "tapedeck/codec/internal/chunked"

// Find implements chunked.Finder, by the index records behind a chunk.
func (l *loader) Find(s *chunked.Segment, found func(channel int, time, off int64)) bool {
	if !s.Chunk || s.Cut {
		return false
	}
	l.window.Reset(l.file, l.reader.Size)
	w := walker{Window: l.window, to: s.Offset + s.Size}
	chunk, whole := w.record(s.Offset)
	l.window = w.Window
	size := s.Offset + s.Size - chunk.end()
	if !whole || chunk.op != opChunk || size > maxConnect {
		return false
	}
	b, err := l.readAt(nil, chunk.end(), size)
	if err != nil {
		return false
	}
	seen := map[int]bool{}
	for pass := range 2 { // the first one only looks whether all is well
		for off := 0; off < len(b); {
			h, entries, next := cutRecord(b, off)
			version, _ := h.uint32("ver")
			count, _ := h.uint32("count")
			if next < 0 || h.op != opIndex || h.has&hasConn == 0 || version != 1 || len(entries) != int(count)*indexEntry {
				return false
			}
			channel := l.reader.number(h.conn)
			seen[channel] = true
			for ; pass == 1 && len(entries) > 0; entries = entries[indexEntry:] {
				found(channel, parseTime(entries), int64(le.Uint32(entries[8:])))
			}
			off = next
		}
		for _, channel := range s.Channels {
			if !seen[channel] {
				return false
			}
		}
	}
	return true
}
