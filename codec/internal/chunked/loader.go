package chunked

// Loader reads the segments of a file. Each iterator has its own.
type Loader interface {
	// Load returns the records of s, in buf if they fit there, beside errors that say what of them is damaged. The
	// records are whole, and messages have all that Cut needs. It sets s.Unsorted.
	Load(s *Segment, buf []byte) ([]byte, []error)
	// Cut reads the record at off and returns the offset of the next one, or -1 if it is not whole, which happens only
	// if the file has changed since.
	Cut(records []byte, off int, m *Message) (next int)
	// Close frees the decompressors.
	Close()
}

// Finder is a Loader that can locate the messages of a segment without loading it.
type Finder interface {
	// Find calls found with each message: its channel's number, LogTime and offset in the records. If the index cannot
	// be read it returns false without a call.
	Find(s *Segment, found func(channel int, time, off int64)) bool
}

// Skipper is a Loader that need not load all messages of a segment.
type Skipper interface {
	// Skip tells that messages of channels with these numbers are not wanted. It is called before Load, once.
	Skip(unwanted []bool)
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
