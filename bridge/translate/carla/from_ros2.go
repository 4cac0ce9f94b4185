package carla

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/rosgraph_msgs"
)

// mapPatience is how long frames wait for the name of the map, which a log begins with.
const mapPatience = 2 * time.Second

// Writer writes a log from ROS 2 messages in the order in which they come. It is the inverse of ToROS2. A frame is a
// message on /clock with the messages of its time, by their stamps or, without stamps, by when they come; without a
// /clock it is what comes in a step. If messages of a frame describe the same thing, the last one counts.
// An actor appears with the first message about it, and disappears when a CarlaActorList no longer lists it.
//
// It skips messages on topics that a log is not made of: see Left. A Split puts the frame that is collected into the
// new file.
type Writer struct {
	codec.Writer // of frames
	*logState
	step     time.Duration
	patience time.Duration
	sources  map[*codec.Channel]*source
	left     []string

	clocked bool
	begun   bool
	zero    time.Duration // the clock when the log began; without a clock the time since 1970
	now     time.Duration // of the frame that is collected, since the log began
	logTime int64         // when the log began
	number  uint64        // of the frame before
	waiting []*batch      // of the frames after the one that is collected, which /clock has begun
	early   *batch        // of frames that it has not begun
	held    int           // bytes in batches

	size    int64          // bytes of frames that were written
	channel *codec.Channel // nil before the first frame is written
	mapName string
	queue   []codec.Message // frames that are not written yet
	spare   []byte          // room for another one
}

// NewWriter returns a Writer of frames to w, which it owns.
func NewWriter(w codec.Writer, o WriteOptions) *Writer {
	if o.Profile.Name == "" {
		o.Profile = carla.UE4
	}
	writer := &Writer{
		logState: newLogState(o), Writer: w, step: cmp.Or(o.Step, 50*time.Millisecond),
		sources: map[*codec.Channel]*source{}, mapName: o.Map, early: new(batch),
	}
	if o.Map == "" {
		writer.patience = mapPatience
	}
	return writer
}

// source returns the source for a channel.
func (w *Writer) source(c *codec.Channel) *source {
	s := w.sources[c]
	if s == nil {
		s = newSource(c, &w.options)
		w.sources[c] = s
		if s.messageType == nil && !codec.IsEvents(c) && !slices.Contains(w.left, c.Topic) {
			w.left = append(w.left, c.Topic)
		}
	}
	return s
}

// Size returns how many bytes of frames were written, in all files.
func (w *Writer) Size() int64 { return w.size }

// Empty reports whether the frames so far hold only times.
func (w *Writer) Empty() bool { return !w.filled }

// Left returns the topics so far that the log is not made of.
func (w *Writer) Left() []string { return w.left }

// Declare adds a channel of ROS 2 messages.
func (w *Writer) Declare(c *codec.Channel) error {
	w.source(c)
	return nil
}

// Write implements codec.Writer. Errors name the message.
func (w *Writer) Write(m *codec.Message) error {
	s := w.source(m.Channel)
	if s.messageType == nil {
		return nil
	}
	if err := s.decode(m); err != nil {
		return err
	}
	var err error
	if clock, ok := s.message.(*rosgraph_msgs.Clock); ok {
		err = w.tick(time.Duration(clock.Clock.Nanoseconds()), m.LogTime)
	} else if !w.clocked {
		err = w.pass(m.LogTime)
	}
	if err != nil {
		return fmt.Errorf("%s [%s] at %d ns: %w", m.Channel.Topic, m.Channel.Type, m.LogTime, err)
	}
	w.place(s, m)
	return nil
}

// place takes the decoded message of a source into the frame that is collected, or has it wait for a later frame.
func (w *Writer) place(s *source, m *codec.Message) {
	if b := w.batchOf(s.time()); b != nil && w.held < maxHeld {
		w.held += b.add(m)
	} else {
		w.collect(s)
	}
}

// batchOf returns the batch of the frame that a message is about by its time, nil for the frame that is collected.
func (w *Writer) batchOf(t time.Duration) *batch {
	if !w.begun || !w.clocked {
		return nil
	}
	at, newest := t-w.zero, w.now
	if t != 0 || w.zero+w.now == 0 { // else the stamp is not set
		if at <= w.now {
			return nil
		}
		for _, b := range w.waiting {
			newest = b.at
			if at <= newest {
				return b
			}
		}
		if at-newest <= maxAhead {
			return w.early
		}
	}
	if n := len(w.waiting); n > 0 {
		return w.waiting[n-1]
	}
	return nil
}

// collect takes the decoded message of a source into the frame that is collected.
func (w *Writer) collect(s *source) {
	if s.replaces && s.frame == w.number+1 {
		w.losses.Add(s.topic, "messages replaced by a later one in the same frame of the log", 1)
	}
	s.frame = w.number + 1
	s.take(w, s)
}

// takeWorldInfo takes the name of the map.
func (w *Writer) takeWorldInfo(src *source, v *carla_msgs.CarlaWorldInfo) {
	if v.Opendrive != "" {
		w.losses.Add(src.topic, "opendrive", 1)
	}
	if w.channel != nil && v.MapName != w.mapName {
		w.losses.Add(src.topic, "map_name: the log began with another map", 1)
		return
	}
	w.mapName, w.patience = v.MapName, 0
}

// pass ends the frame that is collected if log time is a step behind it, as there is no clock.
func (w *Writer) pass(logTime int64) error {
	t := time.Duration(logTime)
	if !w.begun {
		w.begun, w.zero, w.logTime = true, t, logTime
	}
	steps := (t - w.zero - w.now) / w.step
	if steps <= 0 {
		return nil
	}
	err := w.end()
	w.now += steps * w.step
	return err
}

// tick takes a message on /clock. Messages about a frame may come before its clock, or after that of the next frame: a
// frame ends when the clock advances once more, and not sooner than lateness after the clock of the next frame.
func (w *Writer) tick(t time.Duration, logTime int64) (err error) {
	switch {
	case !w.begun || !w.clocked && w.number == 0:
		w.begun, w.clocked, w.zero, w.logTime = true, true, t, logTime
		return nil
	case !w.clocked: // the first message on /clock
		w.clocked = true
		w.zero = t - max(w.now, time.Duration(logTime-w.logTime))
	}
	next, last := t-w.zero, w.now
	if n := len(w.waiting); n > 0 {
		last = w.waiting[n-1].at
	}
	if next < last {
		w.losses.Add(clockTopic, "jumps back of the clock: time in the log continues", 1)
		next = last + w.step
		w.zero = t - next
	}
	if next == last {
		return nil
	}
	early := w.early
	w.early, w.waiting = new(batch), append(w.waiting, &batch{at: next, logTime: logTime})
	w.replay(early, w.place)
	for len(w.waiting) > 1 && (len(w.waiting) > maxFrames || logTime-w.waiting[0].logTime >= int64(lateness)) {
		err = errors.Join(err, w.catchUp())
	}
	return err
}

// catchUp ends the frame that is collected, and begins the next one with the messages that wait for it.
func (w *Writer) catchUp() error {
	err := w.end()
	next := w.waiting[0]
	w.now, w.waiting = next.at, slices.Delete(w.waiting, 0, 1)
	w.replay(next, func(s *source, _ *codec.Message) { w.collect(s) })
	return err
}

// end ends the frame that is collected.
func (w *Writer) end() error {
	w.number++
	frame := []carla.Body{&carla.FrameStart{Frame: w.number, Duration: w.lastDuration(), Elapsed: elapsed(w.now)}}
	frame = append(append(frame, w.bodies()...), &carla.FrameEnd{})
	data := w.spare[:0]
	w.spare = nil
	for _, b := range frame {
		var err error
		data, err = carla.AppendPacket(data, w.profile, b)
		if err != nil {
			return fmt.Errorf("frame %d: %w", w.number, err)
		}
	}
	w.queue = append(w.queue, codec.Message{LogTime: w.logTime + int64(w.now), Data: data})
	if w.now < w.patience {
		return nil
	}
	return w.flush()
}

// lastDuration returns the duration of the frame that is collected, in s: -1 unless the recording ends with the frame
// and a CarlaStatus has its duration. Any other frame gets its duration from the next one.
func (w *Writer) lastDuration() float64 {
	step := w.untilNext
	w.untilNext = 0
	if w.begun || step <= 0 {
		return -1
	}
	d, err := strconv.ParseFloat(strconv.FormatFloat(float64(step), 'g', -1, 32), 64) // 0.1 and not 0.10000000149
	if err != nil {
		return -1
	}
	return d
}

// elapsed returns the seconds of simulation that Stamp turns into t.
func elapsed(t time.Duration) float64 {
	s := t.Seconds()
	for range 4 { // Stamp drops fractions of 1 ns
		if time.Duration(Stamp(s).Nanoseconds()) >= t {
			break
		}
		s = math.Nextafter(s, math.Inf(1))
	}
	return s
}

// flush writes the frames in the queue. They stay there after an error of the disk.
func (w *Writer) flush() error {
	if w.channel == nil && len(w.queue) > 0 {
		w.patience = 0
		w.channel = &codec.Channel{
			Topic: carla.Topic, Type: carla.Type, Encoding: carla.Encoding,
			Metadata: map[string]string{carla.KeyProfile: w.profile.Name, carla.KeyMap: w.mapName},
		}
	}
	for len(w.queue) > 0 {
		w.queue[0].Channel = w.channel
		err := w.Writer.Write(&w.queue[0])
		var missing *codec.MissingError
		if errors.As(err, &missing) {
			return err
		}
		w.spare = w.queue[0].Data
		if err == nil {
			w.size += int64(len(w.spare))
		}
		w.queue = slices.Delete(w.queue, 0, 1)
		if err != nil {
			return err
		}
	}
	return nil
}

// finish writes the frame that was collected, and all before it.
func (w *Writer) finish() error {
	var err error
	w.patience = 0
	for len(w.waiting) > 0 {
		err = errors.Join(err, w.catchUp())
	}
	w.replay(w.early, func(s *source, _ *codec.Message) { w.collect(s) })
	w.early = new(batch)
	if w.begun {
		w.begun = false
		err = errors.Join(err, w.end())
	}
	return errors.Join(err, w.flush())
}

// Close writes the last frame and closes the log. Sync leaves out the frame that is collected.
func (w *Writer) Close() error { return errors.Join(w.finish(), w.Writer.Close()) }

// Expect reads a recording that will be written, for its actors, the name of the map and whether it has a /clock.
// Without Expect, the Writer learns them from the messages as they come.
func (w *Writer) Expect(r codec.Reader) error {
	info, err := r.Info()
	if err != nil {
		return err
	}
	for _, t := range info.Topics {
		s := w.source(t.Channel)
		w.clocked = w.clocked || s.messageType != nil && t.Channel.Topic == clockTopic && t.MessageCount > 0
	}
	w.patience = 0
	defer w.rename()
	wanted := func(c *codec.Channel) bool {
		switch w.source(c).message.(type) {
		case *carla_msgs.CarlaActorList, *carla_msgs.CarlaWorldInfo:
			return true
		}
		return false
	}
	for m, err := range codec.Messages(r, codec.Query{Topics: wanted}) {
		if err != nil {
			return err
		}
		s := w.source(m.Channel)
		if err := s.decode(m); err != nil {
			return err
		}
		switch v := s.message.(type) {
		case *carla_msgs.CarlaActorList:
			w.expect(v.Actors)
		case *carla_msgs.CarlaWorldInfo:
			w.takeWorldInfo(s, v)
		}
	}
	return nil
}

// WriteOptions have what a log needs besides ROS 2 messages.
type WriteOptions struct {
	Profile carla.Profile // how it is laid out; the zero value is carla.UE4
	Map     string        // name of the map, until a CarlaWorldInfo has it
	Step    time.Duration // from frame to frame where there is no /clock; 0 is 50 ms
	Actors  []Subject     // for topics and frames without the names of CARLA's bridge
}

// Subject is an actor with the topics and frames that describe it but do not have the names of CARLA's bridge.
type Subject struct {
	Name   string   // its role_name
	Topics []string // "/odom"
	Frames []string // "base_link"
	// "" is that of a CarlaActorList, or a vehicle.tesla.model3, or a walker.pedestrian.0001
	Blueprint  string
	Attributes []carla.Attribute // beside its role_name
}

// Blueprints of actors that no list has.
const (
	anyVehicle = "vehicle.tesla.model3"
	anyWalker  = "walker.pedestrian.0001"
)

const (
	lateness  = 200 * time.Millisecond // by which messages may come after others of the same frame
	maxAhead  = time.Second            // of the clock: stamps further ahead are of another clock
	maxFrames = 64                     // that wait, however late their messages may be
	maxHeld   = 64 << 20               // bytes of messages that wait, far more than frames have
)

// batch keeps the messages of a frame that is not collected yet.
type batch struct {
	at      time.Duration // since the log began
	logTime int64         // of the clock
	list    []codec.Message
}

// add keeps a copy of a message, and returns its size.
func (b *batch) add(m *codec.Message) int {
	b.list = append(b.list, m.Clone())
	return len(m.Data)
}

// replay hands the messages of a batch to f.
func (w *Writer) replay(b *batch, f func(*source, *codec.Message)) {
	for _, m := range b.list {
		w.held -= len(m.Data)
		s := w.source(m.Channel)
		_ = s.decode(&m) // it was decoded before
		f(s, &m)
	}
}
