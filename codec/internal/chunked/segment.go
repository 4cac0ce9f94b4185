package chunked

import "fmt"

// Segment is a part of a file that is loaded at once: a chunk, or a run of records outside of chunks.
type Segment struct {
	Offset      int64  // in the file, of the first record
	Size        int64  // bytes in the file, at most
	Index       int64  // bytes behind it that say where its messages are, as far as that is known
	Start, End  int64  // LogTime of the earliest and the latest message
	Channels    []int  // numbers of those of its messages; nil when that is not known
	Compression string // of a chunk, as far as that is known
	Chunk       bool
	Cut         bool // the file ends within it
	Told        bool // what is damaged of it is in Contents.Damage
	Unsorted    bool // its messages do not follow each other by time, known when it was loaded
}

func (s *Segment) String() string {
	if s.Chunk {
		return fmt.Sprintf("chunk at 0x%x", s.Offset)
	}
	return fmt.Sprintf("messages at 0x%x", s.Offset)
}
