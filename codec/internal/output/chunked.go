package output

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tapedeck/codec"
)

// Chunked is what the writers of all formats have in common that collect messages and write them chunk by chunk: what becomes of
// errors, and what goes on beside what. Its methods but Sync, Complete and Info are called while it is locked.
type Chunked struct {
	File   *File
	Topics []*Topic // of the file, by number

	layout Layout
	ending func(*codec.MissingError) []codec.Event // CreateOptions.Ending
	disk   sync.Mutex                              // of File; locked before mu, which is not held while the disk works

	mu         sync.Mutex // for all below, and for what the layout has
	err        error      // what ended the writing
	told       bool       // it was returned
	closed     bool       // all is written, or given up
	complete   bool       // the file has its name
	kept       bool       // there are messages in the file, with these times:
	start, end int64

	events      []codec.Event // that were taken and are not in the file
	takenEvents int           // of these: in the chunk that is being written
}

// Topic is a channel of a file.
type Topic struct {
	Channel  *codec.Channel
	Messages uint64 // that were taken, and are not known to be missing
	taken    uint64 // of Messages: in the file or in the chunk that is being written
	written  uint64 // of Messages: in the file
}

// Written returns how many messages are in the file.
func (t *Topic) Written() uint64 { return t.written }

// Span is how many messages a chunk has, and their times in ns.
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

// Layout is how a file is filled. Its methods are called while Chunked and the disk are locked.
type Layout interface {
	// Flush writes the open chunk, if there is something in it, with Chunked.Put. beside says that messages may come meanwhile, which
	// go to another one.
	Flush(beside bool)
	// Note adds an event of the recording to the open chunk.
	Note(codec.Event)
	// Finish writes what follows the chunks, and what is in front of them.
	Finish(durable bool) error
	// Release lets go of the memory of chunks. There is no message any more, but there may be something else to write that was lost.
	Release()
}

// Init sets what is written, and how.
func (c *Chunked) Init(file *File, l Layout, o codec.CreateOptions) {
	c.File, c.layout, c.ending = file, l, o.Ending
}

// Took is called for each message that is added to the open chunk.
func (c *Chunked) Took(m *codec.Message) {
	if c.ending == nil || m.Channel.Topic != codec.EventTopic {
		return
	}
	if e, ok := codec.ParseEvent(m); ok {
		c.events = append(c.events, e)
	}
}

// Sizes of events in a file, without their texts and topics, in bytes.
const (
	eventSize  = 192     // at most, with what an index has of it
	eventsRoom = 8 << 10 // in finalReserve of all layouts
)

// EventReserve returns how many bytes to keep in reserve for the events of CreateOptions.Ending.
func (c *Chunked) EventReserve() int64 {
	if c.ending == nil {
		return 0
	}
	n := int64(0)
	for _, t := range c.Topics {
		n += 2*eventSize + 2*int64(len(t.Channel.Topic))
	}
	return n
}

// Lock is for the methods of a layout that are called from outside.
func (c *Chunked) Lock() { c.mu.Lock() }

// Unlock is the reverse.
func (c *Chunked) Unlock() { c.mu.Unlock() }

// Ended returns what ended the writing, if something did, to be returned.
func (c *Chunked) Ended() error {
	c.told = c.err != nil
	return c.err
}

// Write writes the open chunk. An error ends the writing, and says that all of the chunk is missing.
func (c *Chunked) Write() { c.WithDisk(func() { c.flush(false) }) }

// WithDisk locks the disk while f is called. Sync may write the chunk before.
func (c *Chunked) WithDisk(f func()) {
	c.mu.Unlock()
	c.disk.Lock()
	c.mu.Lock()
	defer c.disk.Unlock()
	f()
}

func (c *Chunked) flush(beside bool) {
	if c.err == nil && !c.closed {
		c.layout.Flush(beside)
	}
}

// Put has work write what was collected until now; it is not locked meanwhile, but the disk is.
func (c *Chunked) Put(work func() error) error {
	for _, t := range c.Topics {
		t.taken = t.Messages
	}
	c.takenEvents = len(c.events)
	c.mu.Unlock()
	defer c.mu.Lock()
	return work()
}

// Keep takes note that what was Put is in the file, with the messages of s.
func (c *Chunked) Keep(s Span) {
	for _, t := range c.Topics {
		t.written = t.taken
	}
	c.events = slices.Delete(c.events, 0, c.takenEvents)
	c.takenEvents = 0
	if s.Messages == 0 {
		return
	}
	if !c.kept {
		c.kept, c.start, c.end = true, s.Start, s.End
	}
	c.start, c.end = min(c.start, s.Start), max(c.end, s.End)
}

// Fail ends the writing: what is not in the file is missing, that is what was Put, and what came meanwhile.
func (c *Chunked) Fail(cause error, put, meanwhile Span) {
	missing := &codec.MissingError{Path: c.File.Path(), Err: cause, Events: c.events}
	c.events, c.takenEvents = nil, 0
	for _, t := range c.Topics {
		if n := t.Messages - t.written; n > 0 {
			missing.Topics = append(missing.Topics, codec.TopicInfo{Channel: t.Channel, MessageCount: n})
		}
		t.Messages = t.written
	}
	switch {
	case put.Messages == 0:
		put = meanwhile
	case meanwhile.Messages == 0:
		meanwhile = put
	}
	missing.Start, missing.End = min(put.Start, meanwhile.Start), max(put.End, meanwhile.End)
	c.err, c.told = missing, false
}

// Sync is Part's.
func (c *Chunked) Sync() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.WithDisk(func() { c.flush(true) })
	if c.err != nil || c.closed {
		return c.Ended()
	}
	c.mu.Unlock()
	err := c.File.Sync()
	c.mu.Lock()
	if err != nil && c.err == nil {
		c.err = &codec.MissingError{Path: c.File.Path(), Err: fmt.Errorf("put it on the disk: %w", err)}
	}
	return c.Ended()
}

// Complete is Part's.
func (c *Chunked) Complete(durable bool) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.WithDisk(func() { err = c.finish(durable) })
	return err
}

func (c *Chunked) finish(durable bool) error {
	before, told := c.err, c.told
	c.err = nil
	c.flush(false) // after an error of syncing there may be something
	last := c.err
	c.File.End()
	defer c.File.Settle()
	c.note(before)
	c.note(last)
	c.noteEnding(before, last)
	c.layout.Release()
	c.closed, c.err = true, cmp.Or(before, last)
	err := last
	if err == nil && !told {
		err = before
	}
	if unable := c.layout.Finish(durable); unable != nil {
		return errors.Join(err, fmt.Errorf("complete %s: %w; it is readable nevertheless", c.File.Path(), unable))
	}
	c.complete = true
	return err
}

// note writes what the recording itself is to say of missing messages. It is returned, too, so that it need not succeed.
func (c *Chunked) note(err error) {
	var missing *codec.MissingError
	if errors.As(err, &missing) && missing.Count() > 0 {
		c.err = nil
		c.layout.Note(missing.Event())
		c.flush(false)
	}
}

// noteEnding writes the events of CreateOptions.Ending. At most one of the errors has missing messages: after that of
// a chunk there is nothing more to write.
func (c *Chunked) noteEnding(before, last error) {
	var missing, other *codec.MissingError
	errors.As(before, &missing)
	if errors.As(last, &other) && (missing == nil || len(other.Topics) > 0) {
		missing = other
	}
	if c.ending == nil || missing == nil {
		return
	}
	room := c.EventReserve() + eventsRoom
	start, end := c.start, c.end
	if !c.kept {
		start, end = missing.Start, missing.End
	}
	c.err = nil
	for _, e := range c.ending(missing) {
		if e.Time == 0 {
			e.Time, e.Until = start, end
		}
		if room -= int64(len(e.Text)+2*len(e.Topic)) + eventSize; room >= 0 && e.Time != 0 {
			c.layout.Note(e)
		}
	}
	c.flush(false)
}

// Info says what is in the file, as Part's, of a format.
func (c *Chunked) Info(format string) *codec.Info {
	c.disk.Lock()
	defer c.disk.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Written(format)
}

// Written is Info for a layout that is called.
func (c *Chunked) Written(format string) *codec.Info {
	info := &codec.Info{Format: format, Path: c.File.Path(), Size: c.File.Size(), StartTime: c.start, EndTime: c.end, Complete: c.complete}
	if !c.complete {
		info.Path += codec.ActiveSuffix
	}
	for _, t := range c.Topics {
		info.MessageCount += t.written
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: t.Channel, MessageCount: t.written})
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
}
