package carla

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

// After so much, frames are written out by default.
const (
	defaultChunkSize     = 1 << 20
	defaultChunkDuration = time.Second
)

func create(path string, o codec.CreateOptions) (*output.Recording, error) {
	return createOn(output.OS{}, path, o)
}

// createOn begins a recording whose first file is path. NAME.log goes on as NAME_1.log.
func createOn(s output.System, path string, o codec.CreateOptions) (*output.Recording, error) {
	if o.Compression != "" && o.Compression != "none" {
		return nil, fmt.Errorf("create %s: compression %q: CARLA's logs are never compressed", path, o.Compression)
	}
	if o.ChunkSize < 0 || o.ChunkDuration < 0 {
		return nil, fmt.Errorf("create %s: size and duration of chunks must not be negative", path)
	}
	extension := filepath.Ext(path)
	base := strings.TrimSuffix(path, extension)
	files := output.NewSeries(s)
	return output.NewRecording(s, output.Format{
		Open: func(path string, before output.Part) (output.Part, error) {
			file, err := files.Create(path, o.Overwrite)
			if err != nil {
				return nil, err
			}
			last, _ := before.(*writer)
			return newWriter(file, o, last), nil
		},
		Name: func(n int) string { return fmt.Sprintf("%s_%d%s", base, n, extension) },
	}, path, o.Completed)
}

// writer writes one log; it implements output.Part.
type writer struct {
	file          *output.File
	chunkSize     int
	chunkDuration int64
	salvaged      bool // durations are set right

	disk sync.Mutex // of file; locked before mu, which is not held while the disk works

	mu       sync.Mutex // for all below
	err      error      // what ended the writing
	told     bool       // it was returned
	closed   bool       // all is written, or given up
	complete bool       // the file has its name

	channel *codec.Channel // the first one; nil before it is declared
	header  Header
	profile Profile
	state   *State // behind the last message
	begin   []byte // packets of the state before the file, for its first frame

	last    FrameStart // of the last frame
	lastPos int64      // where that is in the file
	end     int64      // of the file, when all below is in it
	pending pending    // not in the file yet
	spare   []byte     // room for other frames
	total   extent     // of all messages
	written extent     // of those that are in the file
}

// pending is what is to be written.
type pending struct {
	frames  []byte
	first   int64 // LogTime of the first one
	patches []patch
}

// patch is a duration that became known when the frame was in the file.
type patch struct {
	pos   int64
	bytes [8]byte
}

// extent says how many messages there are, and from when to when.
type extent struct {
	count      uint64
	start, end int64
}

// newWriter begins a log. It goes on where before is now, unless that is nil. It takes file over.
func newWriter(file *output.File, o codec.CreateOptions, before *writer) *writer {
	w := &writer{
		file: file, salvaged: o.Salvaged,
		chunkSize: cmp.Or(o.ChunkSize, defaultChunkSize), chunkDuration: int64(cmp.Or(o.ChunkDuration, defaultChunkDuration)),
	}
	if before == nil {
		return w
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	if before.channel != nil && before.state != nil {
		w.channel, w.header, w.profile = before.channel, before.header, before.profile
		w.state = NewState(w.profile)
		w.begin, w.err = before.state.AppendPackets(nil)
		_, _ = w.state.Apply(w.begin)
	}
	return w
}

// Declare implements output.Part.
func (w *writer) Declare(c *codec.Channel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.declare(c)
}

func (w *writer) declare(c *codec.Channel) error {
	switch {
	case w.err != nil:
		return w.ended()
	case c == w.channel:
		return nil
	}
	h, p, err := ParseChannel(c)
	if err != nil {
		return fmt.Errorf("write %s: %s: %w", w.file.Path(), c.Topic, err)
	}
	if w.channel != nil {
		if date := w.channel.Metadata[KeyDate]; h.Map != w.header.Map || p != w.profile || c.Metadata[KeyDate] != date {
			return fmt.Errorf("write %s: %s is of the map %s, in profile %s, from %s s since 1970; the log is of the map %s, "+
				"in profile %s, from %s s: write them to logs of their own",
				w.file.Path(), c.Topic, h.Map, p.Name, c.Metadata[KeyDate], w.header.Map, w.profile.Name, date)
		}
		return nil
	}
	w.channel, w.header, w.profile, w.state = c, h, p, NewState(p)
	return nil
}

// ended returns what ended the writing, if something did.
func (w *writer) ended() error {
	w.told = w.err != nil
	return w.err
}

// Write implements output.Part.
func (w *writer) Write(m *codec.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.declare(m.Channel); err != nil {
		return err
	}
	frame, start, err := w.prepare(m.Data)
	if err == nil && w.end == 0 {
		if m.Channel.Metadata[KeyDate] == "" {
			w.header.Date = (m.LogTime - Header{}.logTime(&start)) / int64(time.Second)
		}
		err = w.appendHeader()
	}
	if err != nil {
		return fmt.Errorf("write %s: the message of %s at %d ns: %w", w.file.Path(), m.Channel.Topic, m.LogTime, err)
	}
	unknown := w.last.Duration < 0 || w.salvaged && w.total.count > 0 && !w.last.reaches(&start)
	if step := start.Elapsed - w.last.Elapsed; unknown && step > 0 {
		w.setDuration(step)
	}
	w.last, w.lastPos = start, w.end+int64(frameStartAt(frame))
	if len(w.pending.frames) == 0 || w.total.count == w.written.count {
		w.pending.first = m.LogTime
	}
	w.pending.frames = append(w.pending.frames, frame...)
	w.end += int64(len(frame))
	w.total.add(m.LogTime)
	_, _ = w.state.Apply(m.Data) // what can't be decoded is written as it is
	w.begin = nil
	if len(w.pending.frames) > w.chunkSize || m.LogTime-w.pending.first > w.chunkDuration {
		w.writeChunk(false)
	}
	return nil
}

func (e *extent) add(t int64) {
	if e.count == 0 {
		e.start, e.end = t, t
	}
	e.count++
	e.start, e.end = min(e.start, t), max(e.end, t)
}

// prepare returns a frame as it is to be in the file.
func (w *writer) prepare(data []byte) (frame []byte, start FrameStart, err error) {
	started := false
	for rest := data; len(rest) > 0; {
		var k Packet
		if k, rest, err = NextPacket(rest); err != nil {
			return nil, start, err
		}
		if k.ID == IDFrameStart {
			if started || len(k.Data) != frameStartSize {
				return nil, start, fmt.Errorf("%w: it is not one frame", ErrDamaged)
			}
			started = true
		}
	}
	if !started {
		return nil, start, fmt.Errorf("%w: it has no FrameStart", ErrDamaged)
	}
	if len(w.begin) > 0 {
		data = slices.Insert(slices.Clone(data), afterStart(data), w.begin...)
	}
	return data, startOf(data), nil
}

// appendHeader appends the header, which comes first.
func (w *writer) appendHeader() (err error) {
	w.pending.frames, err = w.header.appendTo(w.pending.frames)
	w.end = int64(len(w.pending.frames))
	return err
}

// frameStartAt returns where in a frame its FrameStart is.
func frameStartAt(frame []byte) int {
	pos := 0
	for frame[pos] != IDFrameStart {
		pos += packetHead + int(binary.LittleEndian.Uint32(frame[pos+1:]))
	}
	return pos
}

// setDuration says how long the last frame took.
func (w *writer) setDuration(s float64) {
	const offset = packetHead + 8 // in FrameStart
	p := patch{pos: w.lastPos + offset}
	binary.LittleEndian.PutUint64(p.bytes[:], math.Float64bits(s))
	if at := p.pos - (w.end - int64(len(w.pending.frames))); at >= 0 {
		copy(w.pending.frames[at:], p.bytes[:])
		return
	}
	w.pending.patches = append(w.pending.patches, p)
}

// writeChunk writes what is not in the file yet. An error is err then, and says that all of it is missing. beside says
// that Write may go on meanwhile.
func (w *writer) writeChunk(beside bool) {
	w.lockDisk()
	defer w.disk.Unlock()
	if w.err != nil || w.closed || len(w.pending.frames)+len(w.pending.patches) == 0 {
		return
	}
	p, total := w.pending, w.total
	w.pending = pending{frames: p.frames[len(p.frames):]}
	if beside {
		w.pending.frames, w.spare = w.spare, nil
	}
	w.mu.Unlock()

	var err error
	for _, patch := range p.patches { // of what is in the file
		err = cmp.Or(err, w.file.WriteAt(patch.bytes[:], patch.pos))
	}
	if err == nil {
		err = w.file.Append(p.frames)
	}

	w.mu.Lock()
	if beside {
		w.spare = p.frames[:0]
	} else {
		w.pending.frames = p.frames[:0]
	}
	if err == nil {
		w.written = total
		return
	}
	w.fail(&codec.MissingError{Path: w.file.Path(), Start: p.first, End: w.total.end, Err: err})
}

// lockDisk locks disk while mu is held, in the order of the two. Other methods may get mu before it returns.
func (w *writer) lockDisk() {
	w.mu.Unlock()
	w.disk.Lock()
	w.mu.Lock()
}

// fail ends the writing: what is not in the file is missing.
func (w *writer) fail(missing *codec.MissingError) {
	if n := w.total.count - w.written.count; n > 0 {
		missing.Topics = []codec.TopicInfo{{Channel: w.channel, MessageCount: n}}
	} else {
		missing.Start, missing.End = 0, 0
	}
	w.total, w.pending = w.written, pending{}
	w.err, w.told = missing, false
}

// Sync implements output.Part.
func (w *writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeChunk(true)
	if w.err != nil || w.closed {
		return w.ended()
	}
	w.mu.Unlock()
	err := w.file.Sync()
	w.mu.Lock()
	if err != nil && w.err == nil {
		w.err = &codec.MissingError{Path: w.file.Path(), Err: fmt.Errorf("put it on the disk: %w", err)}
	}
	return w.ended()
}

// Complete implements output.Part.
func (w *writer) Complete(durable bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, told := w.err, w.told
	w.err = nil
	w.lockDisk()
	w.file.End()
	w.disk.Unlock()
	if w.salvaged && before == nil && w.total.count > 0 {
		w.setDuration(-1) // as CARLA leaves it
	}
	w.writeChunk(false) // after an error of syncing there may be something
	last := w.err
	if w.file.Size() == 0 { // without a header it were no log
		w.header.Version = max(w.header.Version, 1)
		w.pending.frames = w.pending.frames[:0]
		w.err = w.appendHeader()
		w.writeChunk(false)
		if before == nil && last == nil {
			last = w.err
		}
	}
	w.closed, w.err = true, cmp.Or(before, last)
	w.pending, w.spare, w.state = pending{}, nil, nil
	err := last
	if err == nil && !told {
		err = before
	}
	w.lockDisk()
	defer w.disk.Unlock()
	if unable := w.file.Complete(durable); unable != nil {
		return errors.Join(err, fmt.Errorf("complete %s: %w; it is readable nevertheless", w.file.Path(), unable))
	}
	w.complete = true
	return err
}

// Info implements output.Part.
func (w *writer) Info() *codec.Info {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	info := &codec.Info{
		Format: Name, Path: w.file.Path(), Size: w.file.Size(), MessageCount: w.written.count,
		StartTime: w.written.start, EndTime: w.written.end, Complete: w.complete,
	}
	if !w.complete {
		info.Path += codec.ActiveSuffix
	}
	if w.channel != nil {
		info.Topics = []codec.TopicInfo{{Channel: w.channel, MessageCount: info.MessageCount}}
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
}
