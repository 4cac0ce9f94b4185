package carla

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

const (
	defaultChunkSize     = 1 << 20
	defaultChunkDuration = time.Second
)

func check(o codec.CreateOptions) error { return o.CheckUncompressed(Name) }

// createOn begins a recording whose first file is path. The next file after NAME.log is NAME_1.log.
func createOn(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error) {
	if err := check(o); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	extension := filepath.Ext(path)
	base := strings.TrimSuffix(path, extension)
	name := output.Names(base, extension, o.Dated)
	var last *encoder // encoder of the last file that was created
	return output.NewChunkRecording(s, Name, path, o, name, func(path string) (output.Encoder, error) {
		w := newEncoder(path, o, last)
		w.created = func() { last = w }
		return w, nil
	})
}

// encoder encodes one log, whose messages are frames.
type encoder struct {
	path          string
	created       func() // called when the file was created
	chunkSize     int    // bytes after which a chunk is written
	chunkDuration int64  // greatest duration of a chunk, in ns
	salvaged      bool   // CreateOptions.Salvaged: durations of frames are corrected

	topic        output.Topic // has no channel before Declare
	header       Header
	profile      Profile
	state        *State // after the last frame
	statePackets []byte // the state before the file, to be inserted into the first frame; nil: none

	frame      []byte     // data of the message in Prepare
	frameStart FrameStart // FrameStart of frame
	lastStart  FrameStart // FrameStart of the last frame that was appended
	lastPos    int64      // offset of lastStart in the file
	end        int64      // offset of the next frame in the file; 0 before the first frame
	chunk      *chunk     // the open chunk
	spare      *chunk     // a chunk to reuse, or nil
	failed     bool       // frames were dropped
}

// chunk has frames that are written together.
type chunk struct {
	encoder *encoder
	frames  []byte
	first   int64 // LogTime of the first frame
	span    output.Span

	// Encoded new duration of the last frame before the chunk. The first frame of the chunk determines the duration.
	// Empty: the duration stays.
	duration   []byte
	durationAt int64 // offset of the duration in the file
}

// newEncoder returns the encoder of a log. The log continues the log of last, unless last is nil.
func newEncoder(path string, o codec.CreateOptions, last *encoder) *encoder {
	w := &encoder{
		path: path, salvaged: o.Salvaged,
		chunkSize:     cmp.Or(o.ChunkSize, defaultChunkSize),
		chunkDuration: int64(cmp.Or(o.ChunkDuration, defaultChunkDuration)),
	}
	w.chunk = &chunk{encoder: w}
	if last != nil {
		w.topic.Channel, w.header, w.profile, w.state = last.topic.Channel, last.header, last.profile, last.state
	}
	return w
}

// Begin encodes the state before the file. The header is written with the first frame, which may determine the date.
func (w *encoder) Begin(*codec.Info) (_ []byte, err error) {
	w.created()
	if w.state != nil {
		w.statePackets, err = w.state.AppendPackets(nil)
	}
	return nil, err
}

// Declare sets the channel of the log, or checks that c agrees with it.
func (w *encoder) Declare(c *codec.Channel) error {
	declared := w.topic.Channel
	if c == declared {
		return nil
	}
	h, p, err := ParseChannel(c)
	if err != nil {
		return fmt.Errorf("write %s: %s: %w", w.path, c.Topic, err)
	}
	if declared == nil {
		w.topic.Channel, w.header, w.profile, w.state = c, h, p, NewState(p)
		return nil
	}
	if date := declared.Metadata[KeyDate]; h.Map != w.header.Map || p != w.profile || c.Metadata[KeyDate] != date {
		return fmt.Errorf("write %s: %s has map %s, profile %s and date %s, the log has map %s, profile %s and date "+
			"%s: write a log for each",
			w.path, c.Topic, h.Map, p.Name, c.Metadata[KeyDate], w.header.Map, w.profile.Name, date)
	}
	return nil
}

// Prepare checks that m is one frame. With the first frame, it encodes the header.
func (w *encoder) Prepare(m *codec.Message) (full bool, err error) {
	if err := w.Declare(m.Channel); err != nil {
		return false, err
	}
	err = checkFrame(m.Data)
	if err == nil {
		w.frame, w.frameStart = m.Data, startOf(m.Data)
		if len(w.statePackets) > 0 {
			w.frame = slices.Insert(slices.Clone(m.Data), afterStart(m.Data), w.statePackets...)
		}
		if w.end == 0 {
			if m.Channel.Metadata[KeyDate] == "" {
				w.header.Date = (m.LogTime - Header{}.logTime(&w.frameStart)) / int64(time.Second)
			}
			w.chunk.frames, err = w.header.appendTo(w.chunk.frames[:0])
		}
	}
	if err != nil {
		return false, fmt.Errorf("write %s: the message of %s at %d ns: %w", w.path, m.Channel.Topic, m.LogTime, err)
	}
	return false, nil
}

// checkFrame returns an error unless data are the packets of one frame.
func checkFrame(data []byte) error {
	started := false
	for len(data) > 0 {
		k, rest, err := NextPacket(data)
		if err != nil {
			return err
		}
		data = rest
		if k.ID == IDFrameStart {
			if started || len(k.Data) != frameStartSize {
				return fmt.Errorf("%w: not one frame", ErrDamaged)
			}
			started = true
		}
	}
	if !started {
		return fmt.Errorf("%w: no FrameStart", ErrDamaged)
	}
	return nil
}

// Append appends the frame of Prepare to the chunk, and sets the duration of the frame before if it is unknown.
func (w *encoder) Append(m *codec.Message) (full bool) {
	c := w.chunk
	if w.end == 0 {
		w.end = int64(len(c.frames)) // size of the header
	}
	unknown := w.lastStart.Duration < 0 || w.salvaged && w.topic.Messages > 0 && !w.lastStart.reaches(&w.frameStart)
	if step := w.frameStart.Elapsed - w.lastStart.Elapsed; unknown && step > 0 {
		w.setDuration(step)
	}
	w.lastStart, w.lastPos = w.frameStart, w.end+int64(frameStartAt(w.frame))
	if c.span.Messages == 0 {
		c.first = m.LogTime
	}
	c.span.Add(m.LogTime)
	c.frames = append(c.frames, w.frame...)
	w.end += int64(len(w.frame))
	w.topic.Messages++
	_, _ = w.state.Apply(m.Data) // packets that cannot be decoded are written as they are
	w.statePackets, w.frame = nil, nil
	return len(c.frames) > w.chunkSize || m.LogTime-c.first > w.chunkDuration
}

// frameStartAt returns the offset of the FrameStart in a frame.
func frameStartAt(frame []byte) int {
	pos := 0
	for frame[pos] != IDFrameStart {
		pos += packetHead + int(binary.LittleEndian.Uint32(frame[pos+1:]))
	}
	return pos
}

// durationOffset is the offset of the duration in a FrameStart packet.
const durationOffset = packetHead + 8

// setDuration sets the duration of the last frame, in s.
func (w *encoder) setDuration(s float64) {
	c, pos := w.chunk, w.lastPos+durationOffset
	bits := math.Float64bits(s)
	if at := pos - (w.end - int64(len(c.frames))); at >= 0 {
		binary.LittleEndian.PutUint64(c.frames[at:], bits)
		return
	}
	c.duration, c.durationAt = binary.LittleEndian.AppendUint64(c.duration[:0], bits), pos
}

// Event returns an error: logs have no events.
func (w *encoder) Event(codec.Event) (*codec.Message, error) {
	return nil, fmt.Errorf("write %s: CARLA's logs hold no events", w.path)
}

// Topics returns the only topic of the log, if its channel is declared.
func (w *encoder) Topics() []*output.Topic {
	if w.topic.Channel == nil {
		return nil
	}
	return []*output.Topic{&w.topic}
}

// Take returns the open chunk, or nil if the chunk is empty. With beside, later frames go into another chunk.
func (w *encoder) Take(beside bool) output.Chunk {
	c := w.chunk
	if c.span.Messages == 0 {
		return nil
	}
	if beside {
		w.chunk, w.spare = w.spare, nil
		if w.chunk == nil {
			w.chunk = &chunk{encoder: w}
		}
	}
	return c
}

// Drop drops the frames of the open chunk.
func (w *encoder) Drop() output.Span {
	w.failed = true
	span := w.chunk.span
	w.chunk.reset()
	return span
}

func (c *chunk) reset() { c.frames, c.span, c.duration = c.frames[:0], output.Span{}, c.duration[:0] }

func (c *chunk) Encode(int64) (output.Block, error) {
	return output.Block{Data: [][]byte{c.frames}, Patch: c.duration, PatchAt: c.durationAt}, nil
}

func (c *chunk) Span() output.Span { return c.span }
func (c *chunk) Keep() error       { return nil } // a log has no index

func (c *chunk) Release() {
	c.reset()
	if c != c.encoder.chunk {
		c.encoder.spare = c
	}
}

// Finish writes the header of a log without frames. With CreateOptions.Salvaged it marks the duration of the last frame
// as unknown, as CARLA leaves it.
func (w *encoder) Finish(file *output.File, _ *codec.Info, _ bool) error {
	w.chunk, w.spare, w.statePackets = nil, nil, nil
	if file.Size() == 0 {
		h := w.header
		h.Version = max(h.Version, 1)
		head, err := h.appendTo(nil)
		if err != nil {
			return err
		}
		return file.Append(head)
	}
	if w.salvaged && !w.failed && w.topic.Messages > 0 {
		unknown := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-1))
		return file.WriteAt(unknown, w.lastPos+durationOffset)
	}
	return nil
}
