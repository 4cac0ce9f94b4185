package bridge

// Sample is one payload as received.
//
// Data is the middleware's memory and read-only. It is valid until the handler that received the Sample returns. A
// handler that needs Data for longer calls Retain once, and later Release on the Payload.
type Sample struct {
	Data        []byte // CDR with its 4-byte encapsulation header
	SourceTime  int64  // ns since the Unix epoch, by the publisher's clock
	ReceiveTime int64  // ns since the Unix epoch, by this machine's clock
	Received    int64  // time of reception by the clock of Monotonic
	Publisher   GUID   // zero if the middleware does not report it
	Sequence    uint64 // the publisher's sequence number, from 1; 0 if the middleware does not report it
	Lost        uint64 // samples of the publisher that are missing before this one

	Memory Memory  // holds Data; nil when Data is ordinary Go memory
	Ref    uintptr // identifies Data to Memory
	// Kept is set to true by Retain, also on copies of the Sample. The caller of the handler must not free Data then.
	// Kept may be nil.
	Kept *bool
}

// Memory is the memory in which an implementation of Node hands out payloads.
type Memory interface {
	// Free gives back the payload that ref identifies. It may be called from any goroutine, also after the subscription
	// and the node were closed.
	Free(ref uintptr)
}

// Retain makes Data valid until Release is called on the returned Payload.
func (s *Sample) Retain() Payload {
	if s.Kept != nil {
		*s.Kept = true
	}
	return Payload{Data: s.Data, memory: s.Memory, ref: s.Ref}
}

// Payload is the retained Data of a Sample.
type Payload struct {
	Data []byte // read-only, valid until Release

	memory Memory
	ref    uintptr
}

// Release gives Data back. A second call on the same Payload does nothing.
func (p *Payload) Release() {
	if p.memory != nil {
		p.memory.Free(p.ref)
	}
	*p = Payload{}
}
