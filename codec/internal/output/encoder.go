package output

import "tapedeck/codec"

// Encoder encodes one file of a format that collects messages in chunks. It knows neither locks nor goroutines: its
// owner, a ChunkWriter, calls one method at a time.
type Encoder interface {
	// Begin returns the first bytes of a file. info has the channels that are declared already.
	Begin(info *codec.Info) ([]byte, error)
	// Declare adds a channel, which is written with the next chunk.
	Declare(*codec.Channel) error
	// Prepare prepares Append of the message m. full reports that the open chunk must be written before Append.
	Prepare(m *codec.Message) (full bool, err error)
	// Append appends a message to the open chunk and reports whether the chunk is full. The owner writes a full chunk
	// before m.Data may change.
	Append(m *codec.Message) (full bool)
	// Event returns the message of an event.
	Event(codec.Event) (*codec.Message, error)
	// Take closes the open chunk and returns it, or nil if it is empty. If beside is true, messages may be appended to
	// another chunk while this one is written. Take of a groupEncoder returns only full chunks.
	Take(beside bool) Chunk
	// Drop empties all open chunks after a chunk could not be written, and returns the span of the dropped messages.
	Drop() Span
	// Topics returns the topics of the file. Append counts messages in Topic.Messages.
	Topics() []*Topic
	// Finish releases the memory of chunks and completes the content of the file. info describes the chunks in the
	// file. The owner closes the file.
	Finish(file *File, info *codec.Info, durable bool) error
}

// attacher is an Encoder whose files hold attachments.
type attacher interface {
	// Attach appends an attachment to the file.
	Attach(*File, *codec.Attachment) error
}

// topicMerger is an Encoder whose file merges several of its Topics to one.
type topicMerger interface{ MergeTopics(*codec.Info) }

// groupEncoder is an Encoder with an open chunk for each group of topics. Only one open chunk is written in pieces;
// Take returns that chunk before others. The groups have numbers, see Topic.Group. Events are in group 0.
type groupEncoder interface {
	// Fill makes all open chunks full.
	Fill()
}

// groupChunk is a chunk of a groupEncoder.
type groupChunk interface{ Group() int }

// pieceEncoder is an Encoder whose chunks are written in pieces.
type pieceEncoder interface {
	// Body returns the body of the open chunk to which Append appends. It returns nil if that chunk is not written in
	// pieces now.
	Body() *Body
	// Front returns the bytes before the body in the file until the chunk is complete. They have the length of the
	// chunk's Block.Head. After a crash the body may be damaged: readers recognise Front and end there.
	Front() []byte
}

// pieceChunk is a chunk of a pieceEncoder.
type pieceChunk interface{ Body() *Body }

// Chunk is a chunk that an Encoder has closed.
type Chunk interface {
	Span() Span
	// Encode returns the bytes of the chunk at the given offset of the file. It may run beside methods of the Encoder,
	// but no more than one chunk is encoded at a time.
	Encode(offset int64) (Block, error)
	// Keep adds the chunk to the index after the chunk was written to the file.
	Keep() error
	// Release lets the Encoder use the memory of the chunk again.
	Release()
}

// Block is an encoded chunk.
type Block struct {
	Head    []byte   // the bytes before the Body of a pieceEncoder's chunk
	Data    [][]byte // appended to the file, behind the Body if there is one
	Patch   []byte   // overwrites the bytes at PatchAt before the chunk is appended
	PatchAt int64
	Reserve int64 // upper bound of the bytes that Finish writes after this chunk
}

// Topic is a channel of a file.
type Topic struct {
	Channel  *codec.Channel
	Group    int    // number of the group whose chunks have the messages
	Messages uint64 // appended messages that are not known to be missing
	taken    uint64 // messages in the file or in the latest chunk of the group that was taken
	written  uint64 // messages in the file
}

// Written returns how many messages are in the file.
func (t *Topic) Written() uint64 { return t.written }

// Span is the number of messages in a chunk, and their times in ns.
type Span struct {
	Messages   int
	Start, End int64
}

// Add adds a message to the span.
func (s *Span) Add(t int64) {
	if s.Messages == 0 {
		s.Start, s.End = t, t
	}
	s.Start, s.End = min(s.Start, t), max(s.End, t)
	s.Messages++
}

// Join returns the span of the messages of s and o.
func (s Span) Join(o Span) Span {
	switch {
	case s.Messages == 0:
		return o
	case o.Messages == 0:
		return s
	}
	return Span{s.Messages + o.Messages, min(s.Start, o.Start), max(s.End, o.End)}
}
