package output

import (
	"fmt"
	"slices"
	"sync"

	"tapedeck/codec"
)

// ChunkWriter writes one file. The Encoder only encodes. The ChunkWriter has the file and the locks, and handles
// errors.
//
// One goroutine calls Declare and Write, then another one may call Complete. Sync and Info may be called at any time.
//
// A chunk is taken from the encoder with mu locked, encoded and written with only disk locked, and counted with mu
// locked again. After the first error nothing is appended. Complete then completes the file with the chunks in it.
type ChunkWriter struct {
	format   string // name of the format, for Info
	file     *File
	encoder  Encoder
	pieceDue bool // Write must write a piece of the open chunk; owned by Write

	ending func(path string, missing *codec.MissingError) []codec.Event // CreateOptions.Ending

	disk sync.Mutex // held while chunks are written; locked before mu

	mu       sync.Mutex // guards encoder and the fields below; not held while chunks are written
	err      error      // the error that ended the writing
	reported bool       // err was returned
	closed   bool       // the end of the file was written, or failed
	complete bool       // the file has its name
	written  Span       // span of the messages in the file
	events   unwrittenEvents
}

// unwrittenEvents are the recorder's events that are not in the file. They are collected if CreateOptions.Ending is
// set.
type unwrittenEvents struct {
	pending []codec.Event // appended events that are not in the file
	taken   int           // number of pending events in the chunk that is being written
	lost    []codec.Event // events of lost chunks; the end of the file has them again
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
// before is nil, the file gets the attachments. e must have allocated its buffers: then the beginning is written right
// after the file is created, and a killed writer hardly ever leaves an empty file.
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

// begin writes the beginning of the file. It declares the channels of before.
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

// Write appends a message. If m completes a chunk and writing the chunk fails, the next call returns the error.
func (w *ChunkWriter) Write(m *codec.Message) error {
	appended, full, err := w.append(m, false)
	if err == nil && !appended {
		w.flush(false, false)
		_, full, err = w.append(m, true)
	}
	if w.pieceDue {
		w.writePiece()
	}
	if full {
		w.flush(false, false)
	}
	return err
}

// writePiece writes the messages of the open chunk that are not in the file. The chunk stays open.
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

// piece returns the body of the chunk of the latest message, or nil if it has no bytes for a piece: Sync may have
// written the chunk. front is pieceEncoder.Front before the first piece of the chunk, and nil before other pieces.
func (w *ChunkWriter) piece() (body *Body, front []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil
	}
	e := w.encoder.(pieceEncoder)
	body = e.Body()
	if body == nil || !body.due() {
		return nil, nil
	}
	if !body.Begun() {
		front = e.Front()
	}
	return body, front
}

// append appends m to the open chunk, unless a chunk must be written before. If newChunk is true, the chunk gets m in
// any case.
func (w *ChunkWriter) append(m *codec.Message, newChunk bool) (appended, full bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pieceDue = false
	if err := w.report(); err != nil {
		return false, false, err
	}
	if full, err := w.encoder.Prepare(m); err != nil || full && !newChunk {
		return false, false, err
	}
	if w.ending != nil && m.Channel.Topic == codec.EventTopic {
		if e, ok := codec.ParseEvent(m); ok {
			w.events.pending = append(w.events.pending, e)
		}
	}
	full = w.encoder.Append(m)
	if e, ok := w.encoder.(pieceEncoder); ok {
		body := e.Body()
		w.pieceDue = body != nil && (body.Direct != nil || !full && body.due())
	}
	return true, full, nil
}

// report returns the error that ended the writing, if any, and sets reported. mu is held.
func (w *ChunkWriter) report() error {
	w.reported = w.err != nil
	return w.err
}

// flush calls flushChunks. ended reports whether no more can be written.
func (w *ChunkWriter) flush(beside, all bool) (ended bool) {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.flushChunks(beside, all)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil || w.closed
}

// flushChunks writes the open chunk, or the full chunks of a groupEncoder. With all it writes all open chunks. If
// beside is true, messages may be appended at the same time. An error ends the writing and loses all messages that are
// not in the file. disk is held.
func (w *ChunkWriter) flushChunks(beside, all bool) {
	encoder, grouped := w.encoder.(groupEncoder)
	if all && grouped {
		w.mu.Lock()
		encoder.Fill()
		w.mu.Unlock()
	}
	for {
		c, eventReserve := w.take(beside)
		if c == nil {
			return
		}
		w.settle(c, w.store(c, eventReserve))
		if !grouped {
			return
		}
	}
}

// group returns the number of the group whose messages c has.
func group(c Chunk) int {
	if c, ok := c.(groupChunk); ok {
		return c.Group()
	}
	return 0
}

// take takes a chunk from the encoder. It returns nil if the encoder has none or the writing has ended. With beside it
// returns nil before the first message, too: otherwise a full disk could end a file that has channels and no messages.
// eventReserve is the space to reserve for events behind the chunk.
func (w *ChunkWriter) take(beside bool) (c Chunk, eventReserve int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hasMessages := func(t *Topic) bool { return t.Messages > 0 }
	if w.err != nil || w.closed || beside && !slices.ContainsFunc(w.encoder.Topics(), hasMessages) {
		return nil, 0
	}
	c = w.encoder.Take(beside)
	if c == nil {
		return nil, 0
	}
	group := group(c)
	for _, t := range w.encoder.Topics() {
		if t.Group == group {
			t.taken = t.Messages
		}
	}
	if group == 0 {
		w.events.taken = len(w.events.pending)
	}
	return c, w.eventReserve()
}

// store encodes a chunk and appends it to the file. disk is held.
func (w *ChunkWriter) store(c Chunk, eventReserve int64) (err error) {
	var body *Body
	if p, ok := c.(pieceChunk); ok {
		body = p.Body()
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

// settle counts a chunk's messages: as written if err is nil, or else as lost.
func (w *ChunkWriter) settle(c Chunk, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer c.Release()
	span := c.Span()
	if err == nil {
		err = c.Keep()
	}
	if err != nil {
		w.fail(err, span.Join(w.encoder.Drop()))
		return
	}
	group := group(c)
	for _, t := range w.encoder.Topics() {
		if t.Group == group {
			t.written = t.taken
		}
	}
	w.events.pending = slices.Delete(w.events.pending, 0, w.events.taken)
	w.events.taken = 0
	w.written = w.written.Join(span)
}

// fail ends the writing. All messages that are not in the file are missing; lost is their span.
func (w *ChunkWriter) fail(cause error, lost Span) {
	missing := &codec.MissingError{
		Path: w.file.Path(), Err: cause, Start: lost.Start, End: lost.End,
	}
	w.events.lost = append(w.events.lost, w.events.pending...)
	w.events.pending, w.events.taken = nil, 0
	for _, t := range w.encoder.Topics() {
		if n := t.Messages - t.written; n > 0 {
			missing.Topics = append(missing.Topics, codec.TopicInfo{Channel: t.Channel, MessageCount: n})
		}
		t.Messages = t.written
	}
	w.err, w.reported = missing, false
}

// Sync writes all open chunks and puts the file on the disk.
func (w *ChunkWriter) Sync() error {
	var err error
	if !w.flush(true, true) {
		err = w.file.Sync()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = &codec.MissingError{Path: w.file.Path(), Err: fmt.Errorf("put the file on the disk: %w", err)}
	}
	return w.report()
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
		StartTime: w.written.Start, EndTime: w.written.End, Complete: w.complete,
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
