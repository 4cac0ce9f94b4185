package chunked

// Loader reads the segments of a file. Each iterator has its own.
type Loader interface {
	// Load returns the records of s, in buf if they fit, and errors about damage. The records are whole, and messages
	// have everything that Cut needs. It sets s.Unsorted. A StopError ends the iteration.
	Load(s *Segment, buf []byte) ([]byte, []error)
	// Cut reads the record at off and returns the offset of the next one, or -1 if it is not whole, which happens only
	// if the file has changed since.
	Cut(records []byte, off int, m *Message) (next int)
	// Payload reads a payload, if Contents.Heads is set. The payload is valid until the next call.
	Payload(head []byte) ([]byte, error)
	// Find locates the messages of s without loading it: it calls found with the number of each message's channel, its
	// LogTime and its offset in the records. If no index lists all messages it returns false without a call.
	Find(s *Segment, found func(channel int, time, off int64)) bool
	// Skip sets the numbers of unwanted channels, whose messages Load may omit. It is called at most once, before Load.
	Skip(unwanted []bool)
	// Close frees the decompressors.
	Close()
}

// StopError is an error of Load that is not about damage to a segment.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }

// Plain is embedded in Loaders whose records include the payloads, and that have no index of messages, no use for Skip
// and nothing to free.
type Plain struct{}

// Payload implements Loader.
func (Plain) Payload(head []byte) ([]byte, error) { return head, nil }

// Find implements Loader.
func (Plain) Find(*Segment, func(channel int, time, off int64)) bool { return false }

// Skip implements Loader.
func (Plain) Skip([]bool) {}

// Close implements Loader.
func (Plain) Close() {}

// Message is a message in records.
type Message struct {
	Channel int    // number of the channel; None if the record is not a message
	Time    int64  // LogTime
	Publish int64  // PublishTime
	Data    []byte // the payload, or with Contents.Heads the head from which Loader.Payload reads it
}

// None is used in place of a channel's number.
const None = -1
