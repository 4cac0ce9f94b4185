package chunked

// Loader reads the segments of a file. Each iterator has its own.
type Loader interface {
	// Load returns the records of s, in buf if they fit there, beside errors that say what of them is damaged. The
	// records are whole, and messages have all that Cut needs. It sets s.Unsorted. A StopError ends the iteration.
	Load(s *Segment, buf []byte) ([]byte, []error)
	// Cut reads the record at off and returns the offset of the next one, or -1 if it is not whole, which happens only
	// if the file has changed since.
	Cut(records []byte, off int, m *Message) (next int)
	// Payload reads a payload, where Contents.Heads says so. It is valid until the next call.
	Payload(head []byte) ([]byte, error)
	// Find locates the messages of s without loading it: it calls found with the number of each message's channel, its
	// LogTime and its offset in the records. If no index tells of all of them it returns false without a call.
	Find(s *Segment, found func(channel int, time, off int64)) bool
	// Skip tells that messages of channels with these numbers are not wanted, so that Load may leave them out. It is
	// called before Load, once at most.
	Skip(unwanted []bool)
	// Close frees the decompressors.
	Close()
}

// StopError is an error of Load that is not about damage to a segment.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }

// Plain is embedded in Loaders of formats whose records have the payloads, that have no index of messages, do not
// profit from what is not wanted, and free nothing.
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
	Channel int // its number, None when the record is no message
	Time    int64
	Publish int64
	Data    []byte // the payload, or what Loader.Payload needs to read it
}

// None is the number of no channel.
const None = -1
