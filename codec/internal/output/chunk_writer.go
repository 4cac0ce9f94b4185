package output

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tapedeck/codec"
)

// Encoder encodes one file of a format that collects messages in chunks. It knows neither locks nor goroutines: its
// owner, a ChunkWriter, calls one method at a time.
type Encoder interface {
	// Begin returns what a file begins with. info has the channels that were declared before.
	Begin(info *codec.Info) ([]byte, error)
	// Declare adds a channel to the file, with the next chunk.
	Declare(*codec.Channel) error
	// Prepare is called before Append, with the same message. full reports that the open chunk must be written first.
	Prepare(m *codec.Message) (full bool, err error)
	// Append appends a message to the open chunk and reports whether the chunk is full. A full chunk is written before
	// the caller may change m.Data.
	Append(m *codec.Message) (full bool)
	// Event returns the message of an event.
	Event(codec.Event) (*codec.Message, error)
	// Take closes the open chunk and returns it, or nil if it is empty. If beside is true, messages may be appended to
	// another chunk while this one is written.
	Take(beside bool) Chunk
	// Drop empties the open chunk after a chunk could not be written, and returns the span of the dropped messages.
	Drop() Span
	// Topics returns the topics of the file. Append counts its message in Topic.Messages.
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

// pieceEncoder is an Encoder whose chunks are written in pieces.
type pieceEncoder interface {
	// Body returns the body of the open chunk, or nil if chunks are written as a whole.
	Body() *Body
	// Front returns the bytes before the body in the file until the chunk is complete. They are as long as Block.Head
	// of the chunk will be. After a crash the body may be damaged: readers recognise Front and end there.
	Front() []byte
}

// pieceChunk is a chunk of a pieceEncoder.
type pieceChunk interface{ Body() *Body }

// Chunk is a chunk that an Encoder has closed.
type Chunk interface {
	Span() Span
	// Encode returns the chunk as it is written at the given offset of the file. It may run beside methods of the
	// Encoder, but no more than one chunk is encoded at a time.
	Encode(offset int64) (Block, error)
	// Keep adds the chunk to the index. It is called when the chunk is in the file.
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
	Messages uint64 // appended messages that are not known to be missing
	taken    uint64 // of Messages: in the file or in the chunk that is being written
	written  uint64 // of Messages: in the file
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

// join returns the span of s and o.
func (s Span) join(o Span) Span {
	switch {
	case s.Messages == 0:
		return o
	case o.Messages == 0:
		return s
	}
	return Span{s.Messages + o.Messages, min(s.Start, o.Start), max(s.End, o.End)}
}

// ChunkWriter writes one file. Its Encoder only encodes; the ChunkWriter has the file and the locks, and handles
// errors.
//
// One goroutine calls Declare and Write, then another one may call Complete. Sync and Info may be called at any time. A
// chunk is taken from the encoder with mu locked, encoded and written with only disk locked, and counted with mu locked
// again. After the first error nothing is appended; Complete then completes the file with the chunks in it.
type ChunkWriter struct {
	format  string
	file    *File
	encoder Encoder
	due     bool // Write must write a piece of the open chunk; owned by Write

	ending func(path string, missing *codec.MissingError) []codec.Event // CreateOptions.Ending

	disk sync.Mutex // held while chunks are written; locked before mu

	mu       sync.Mutex // guards encoder and the fields below; not held while chunks are written
	err      error      // the error that ended the writing
	reported bool       // err was returned
	closed   bool       // the end of the file was written, or failed
	complete bool       // the file has its name
	kept     Span       // span of the messages in the file

	events      []codec.Event // appended events that are not in the file
	takenEvents int           // number of events that are in the chunk that is being written
	lostEvents  []codec.Event // events that err lost; the end of the file has them again
}

var _ FileWriter = (*ChunkWriter)(nil)

// NewChunkRecording begins a recording of files that encoders of newEncoder encode. The first file is at path; name
// returns the paths of the others, as Format.Name does.
func NewChunkRecording(s codec.Disk, format, path string, o codec.CreateOptions, name func(n int) string,
	newEncoder func(path string) (Encoder, error)) (*Recording, error) {
	if o.ChunkSize < 0 || o.ChunkDuration < 0 {
		return nil, fmt.Errorf("create %s: size and duration of chunks must not be negative", path)
	}
	if o.Dated != nil {
		path = name(0)
	}
	files := NewSeries(s)
	open := func(path string, before FileWriter) (FileWriter, error) {
		e, err := newEncoder(path)
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", path, err)
		}
		return files.NewChunkWriter(format, path, e, o, before)
	}
	return NewRecording(s, Format{Open: open, Name: name}, path, o.Completed)
}

// NewChunkWriter begins the file at path. If before is a ChunkWriter, its channels are declared in the new file. If
// before is nil, the file gets the attachments. The Encoder has allocated its buffers, so that the beginning is written
// right after the file is created: a killed writer hardly ever leaves an empty file.
func (s *Series) NewChunkWriter(format, path string, e Encoder, o codec.CreateOptions,
	before FileWriter) (FileWriter, error) {
	file, err := s.Create(path, o.Overwrite)
	if err != nil {
		return nil, err
	}
	w := &ChunkWriter{format: format, file: file, encoder: e, ending: o.Ending}
	err = w.begin(before)
	if a, ok := e.(attacher); ok && before == nil {
		for i := 0; i < len(o.Attachments) && err == nil; i++ {
			err = a.Attach(file, &o.Attachments[i])
		}
	}
	if err != nil {
		file.Discard()
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return w, nil
}

// begin writes the beginning of the file.
func (w *ChunkWriter) begin(before FileWriter) error {
	if before, ok := before.(*ChunkWriter); ok {
		for _, c := range before.channels() {
			if err := w.encoder.Declare(c); err != nil {
				return err
			}
		}
	}
	head, err := w.encoder.Begin(w.info())
	if err != nil {
		return err
	}
	return w.file.Append(head)
}

// channels returns the channels of the file.
func (w *ChunkWriter) channels() []*codec.Channel {
	w.mu.Lock()
	defer w.mu.Unlock()
	var channels []*codec.Channel
	for _, t := range w.encoder.Topics() {
		channels = append(channels, t.Channel)
	}
	return channels
}

// Declare adds a channel to the file.
func (w *ChunkWriter) Declare(c *codec.Channel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.report(); err != nil {
		return err
	}
	return w.encoder.Declare(c)
}

// Write appends a message. If m completes a chunk that cannot be written, the next call returns the error.
func (w *ChunkWriter) Write(m *codec.Message) error {
	appended, full, err := w.append(m, false)
	if err == nil && !appended {
		w.flush(false)
		_, full, err = w.append(m, true)
	}
	if w.due {
		w.writePiece()
	}
	if full {
		w.flush(false)
	}
	return err
}

// writePiece writes the present content of the open chunk. The chunk stays open.
func (w *ChunkWriter) writePiece() {
	w.disk.Lock()
	defer w.disk.Unlock()
	body, front := w.piece()
	if body == nil {
		return
	}
	var err error
	if front != nil {
		err = body.begin(w.file, front)
	}
	if err == nil {
		err = body.write(w.file)
	}
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fail(w.file.cut(err), w.encoder.Drop())
	}
}

// piece returns the body of the open chunk, or nil if it is too small for a piece: Sync may have written it. front is
// Front of the chunk if its first piece is about to be written, or else nil.
func (w *ChunkWriter) piece() (body *Body, front []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.encoder.(pieceEncoder)
	body = s.Body()
	if w.closed || !body.due() {
		return nil, nil
	}
	if !body.Begun() {
		front = s.Front()
	}
	return body, front
}

// append appends m to the open chunk, unless the chunk must be written first. fresh is true if the chunk is new.
func (w *ChunkWriter) append(m *codec.Message, fresh bool) (appended, full bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = false
	if err := w.report(); err != nil {
		return false, false, err
	}
	if full, err := w.encoder.Prepare(m); err != nil || full && !fresh {
		return false, false, err
	}
	if w.ending != nil && m.Channel.Topic == codec.EventTopic {
		if e, ok := codec.ParseEvent(m); ok {
			w.events = append(w.events, e)
		}
	}
	full = w.encoder.Append(m)
	if s, ok := w.encoder.(pieceEncoder); ok {
		body := s.Body()
		w.due = body != nil && (body.Direct != nil || !full && body.due())
	}
	return true, full, nil
}

// report returns the error that ended the writing, if any, and notes that it was returned. mu is held.
func (w *ChunkWriter) report() error {
	w.reported = w.err != nil
	return w.err
}

// flush writes the open chunk. If beside is true, messages may be appended at the same time. over reports whether
// nothing more is written.
func (w *ChunkWriter) flush(beside bool) (over bool) {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.flushChunk(beside)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil || w.closed
}

// flushChunk writes the open chunk. An error ends the writing and loses the whole chunk. disk is held.
func (w *ChunkWriter) flushChunk(beside bool) {
	if c, eventReserve := w.take(beside); c != nil {
		w.settle(c, w.store(c, eventReserve))
	}
}

// take closes the open chunk. It returns nil if the chunk is empty.
func (w *ChunkWriter) take(beside bool) (c Chunk, eventReserve int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.closed {
		return nil, 0
	}
	c = w.encoder.Take(beside)
	if c == nil {
		return nil, 0
	}
	for _, t := range w.encoder.Topics() {
		t.taken = t.Messages
	}
	w.takenEvents = len(w.events)
	return c, w.eventReserve()
}

// store encodes a chunk and appends it to the file. disk is held.
func (w *ChunkWriter) store(c Chunk, eventReserve int64) (err error) {
	var body *Body
	if s, ok := c.(pieceChunk); ok {
		body = s.Body()
	}
	if body != nil {
		defer func() {
			if err != nil && body.Begun() {
				err = w.file.cut(err)
			}
		}()
		if err := body.prepare(w.file); err != nil {
			return err
		}
	}
	b, err := c.Encode(w.file.Size())
	if err == nil && len(b.Patch) > 0 {
		err = w.file.WriteAt(b.Patch, b.PatchAt)
	}
	if err == nil {
		err = w.file.Reserve(b.Reserve + eventReserve)
	}
	switch {
	case err != nil:
		return err
	case body != nil:
		return body.complete(w.file, b.Head, b.Data)
	}
	return w.file.Append(b.Data...)
}

// settle counts a chunk that is in the file, or with an error a chunk that is lost.
func (w *ChunkWriter) settle(c Chunk, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer c.Release()
	span := c.Span()
	if err == nil {
		err = c.Keep()
	}
	if err != nil {
		w.fail(err, span.join(w.encoder.Drop()))
		return
	}
	for _, t := range w.encoder.Topics() {
		t.written = t.taken
	}
	w.events = slices.Delete(w.events, 0, w.takenEvents)
	w.takenEvents = 0
	w.kept = w.kept.join(span)
}

// fail ends the writing. All messages that are not in the file are missing; lost is their span.
func (w *ChunkWriter) fail(cause error, lost Span) {
	missing := &codec.MissingError{
		Path: w.file.Path(), Err: cause, Start: lost.Start, End: lost.End,
	}
	w.lostEvents = append(w.lostEvents, w.events...)
	w.events, w.takenEvents = nil, 0
	for _, t := range w.encoder.Topics() {
		if n := t.Messages - t.written; n > 0 {
			missing.Topics = append(missing.Topics, codec.TopicInfo{Channel: t.Channel, MessageCount: n})
		}
		t.Messages = t.written
	}
	w.err, w.reported = missing, false
}

// Sync writes the open chunk and puts the file on the disk.
func (w *ChunkWriter) Sync() error {
	var err error
	if !w.flush(true) {
		err = w.file.Sync()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = &codec.MissingError{Path: w.file.Path(), Err: fmt.Errorf("put it on the disk: %w", err)}
	}
	return w.report()
}

// Complete writes the end of the file, with events about missing messages, and gives the file its name.
func (w *ChunkWriter) Complete(durable bool) error {
	w.disk.Lock()
	defer w.disk.Unlock()
	reported, before := w.reopen()
	w.flushChunk(false) // after an error of Sync the chunk may have messages
	_, last := w.reopen()
	w.file.End()
	defer w.file.Settle()
	unwritten := w.appendEnding(before, last)
	err := last
	if err == nil && !reported {
		err = before
	}
	if cmp.Or(before, last) == nil {
		err = unwritten
	}
	if unable := w.finish(durable, cmp.Or(before, last)); unable != nil {
		return errors.Join(err, fmt.Errorf("complete %s: %w; it is readable nevertheless", w.file.Path(), unable))
	}
	return err
}

// reopen clears the error that ended the writing. It returns the error, and whether a method has returned it.
func (w *ChunkWriter) reopen() (reported bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err, w.err = w.err, nil
	return w.reported, err
}

// appendEnding appends the event of missing messages, and the events of CreateOptions.Ending. It returns the error of
// appending these events. before and last are the errors that ended the file. At most one of the two has missing
// messages: after a lost chunk no more chunks are written.
func (w *ChunkWriter) appendEnding(before, last error) error {
	var missing, other *codec.MissingError
	errors.As(before, &missing)
	if errors.As(last, &other) && (missing == nil || len(other.Topics) > 0) {
		missing = other
	}
	var err error
	if missing != nil && missing.Count() > 0 {
		err = w.appendEvents([]codec.Event{missing.Event()})
	}
	if w.ending == nil {
		return err
	}
	return errors.Join(err, w.appendEvents(w.endingEvents(missing)))
}

// appendEvents writes a chunk of events.
func (w *ChunkWriter) appendEvents(events []codec.Event) error {
	w.mu.Lock()
	w.err = nil
	if s, ok := w.encoder.(pieceEncoder); ok && s.Body() != nil {
		s.Body().whole = true
	}
	for _, e := range events {
		m, err := w.encoder.Event(e)
		if err == nil {
			_, err = w.encoder.Prepare(m)
		}
		if err == nil {
			w.encoder.Append(m)
		}
	}
	w.mu.Unlock()
	w.flushChunk(false)
	_, err := w.reopen()
	return err
}

// Sizes of events in a file, without their texts and topics, in bytes.
const (
	eventSize  = 192     // at most, with its entry in an index
	eventsRoom = 8 << 10 // in the reserve of all encoders
)

// eventReserve returns the bytes to keep in reserve for the events of CreateOptions.Ending.
func (w *ChunkWriter) eventReserve() int64 {
	if w.ending == nil {
		return 0
	}
	n := int64(0)
	for _, t := range w.encoder.Topics() {
		n += 2*eventSize + 2*int64(len(t.Channel.Topic))
	}
	return n
}

// endingEvents returns the events of CreateOptions.Ending, and the recorder's own events that were lost. If the disk
// failed, it returns as many as there is room for.
func (w *ChunkWriter) endingEvents(missing *codec.MissingError) []codec.Event {
	w.mu.Lock()
	room, start, end := w.eventReserve()+eventsRoom, w.kept.Start, w.kept.End
	if w.kept.Messages == 0 && missing != nil {
		start, end = missing.Start, missing.End
	}
	lost := w.lostEvents
	w.mu.Unlock()
	events := append(w.ending(w.file.Path(), missing), lost...)
	fits := 0
	for i := range events {
		e := &events[i]
		if e.Time == 0 && e.Until == 0 {
			e.Time, e.Until = start, end
		}
		room -= int64(len(e.Text)+2*len(e.Topic)) + eventSize
		if missing == nil || room >= 0 && e.Time != 0 {
			events[fits] = *e
			fits++
		}
	}
	return events[:fits]
}

// finish completes the content of the file and closes it. ended is the error that ended the writing. disk is held.
func (w *ChunkWriter) finish(durable bool, ended error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.err = true, ended
	if err := w.encoder.Finish(w.file, w.info(), durable); err != nil {
		_ = w.file.Abandon()
		return err
	}
	if err := w.file.Complete(durable); err != nil {
		return err
	}
	w.complete = true
	return nil
}

// Info describes the present content of the file.
func (w *ChunkWriter) Info() *codec.Info {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	info := w.info()
	if m, ok := w.encoder.(topicMerger); ok {
		m.MergeTopics(info)
	}
	return info
}

// info is Info with the topics of the encoder. disk and mu are held.
func (w *ChunkWriter) info() *codec.Info {
	info := &codec.Info{
		Format: w.format, Path: w.file.Path(), Size: w.file.Size(),
		StartTime: w.kept.Start, EndTime: w.kept.End, Complete: w.complete,
	}
	if !w.complete {
		info.Path += codec.ActiveSuffix
	}
	for _, t := range w.encoder.Topics() {
		info.MessageCount += t.written
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: t.Channel, MessageCount: t.written})
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime,
		EndTime: info.EndTime,
	}}
	return info
}
