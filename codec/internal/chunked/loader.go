package chunked

// Loader reads the segments of a file. Each iterator has its own.
type Loader interface {
	// Load returns the records of s, in buf if they fit there, beside errors that say what of them is damaged. The
	// records are whole, and messages have all that Cut needs. It sets s.Unsorted.
	Load(s *Segment, buf []byte) ([]byte, []error)
	// Cut reads the record at off and returns where the next one is, or -1 when it is not whole, as it is only when
	// the file was changed since.
	Cut(records []byte, off int, m *Message) (next int)
	// Close frees what is kept for decompression.
	Close()
}

// Finder is a Loader that can tell where the messages of a segment are without loading it.
type Finder interface {
	// Find calls found with each message: its channel's number, LogTime and offset in the records. It is false when
	// that cannot be read, and has called nothing then.
	Find(s *Segment, found func(channel int, time, off int64)) bool
}

// Message is a message in records.
type Message struct {
	Channel int // its number, None when the record is no message
	Time    int64
	Publish int64
	Data    []byte
}

// None is the number of no channel.
const None = -1
