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

// mapPatience is the time for which frames wait for the name of the map, because a log begins with the name.
const mapPatience = 2 * time.Second

// Writer writes a log from ROS 2 messages in the order of their reception. It is the inverse of ToROS2. Each message on
// /clock begins a frame. A message with a stamp belongs to the frame of the stamp. A message without a stamp belongs to
// the frame during which it is received. Without /clock, a frame has the messages received within WriteOptions.Step. If
// several messages of a frame set one value, the last message counts. An actor appears with the first message about the
// actor, and disappears when a CarlaActorList no longer lists the actor.
//
// Writer skips messages on topics from which a log cannot be made; see Skipped. A Split puts the current frame into the
// new file.
type Writer struct {
	codec.Writer // writes frames
	*logState
	step     time.Duration
	patience time.Duration // time in the log until which frames wait for the name of the map
	decoders map[*codec.Channel]*decoder
	skipped  []string // result of Skipped

	hasClock    bool          // there was a message on /clock
	started     bool          // the log has begun
	start       time.Duration // /clock at the start of the log; without /clock the log time since 1970
	now         time.Duration // time of the current frame, since the start of the log
	logTime     int64         // log time of the start of the log, in ns since the Unix epoch
	frameNumber uint64        // number of the previous frame
	waiting     []*batch      // messages of frames after the current one that /clock has begun
	early       *batch        // messages of frames that /clock has not begun
	// waitingBytes is the size of the messages in waiting and early.
	waitingBytes int

	size    int64          // bytes of written frames
	channel *codec.Channel // nil before the first frame is written
	mapName string
	queue   []codec.Message // frames that are not written yet
	spare   []byte          // memory for the next frame
}

// NewWriter returns a Writer that writes frames to w and owns w.
func NewWriter(w codec.Writer, o WriteOptions) *Writer {
	if o.Profile.Name == "" {
		o.Profile = carla.UE4
	}
	writer := &Writer{
		logState: newLogState(o), Writer: w, step: cmp.Or(o.Step, 50*time.Millisecond),
		decoders: map[*codec.Channel]*decoder{}, mapName: o.Map, early: new(batch),
	}
	if o.Map == "" {
		writer.patience = mapPatience
	}
	return writer
}

// decoder returns the decoder of a channel.
func (w *Writer) decoder(c *codec.Channel) *decoder {
	d := w.decoders[c]
	if d == nil {
		d = newDecoder(c, &w.options)
		w.decoders[c] = d
		if d.messageType == nil && !codec.IsEvents(c) && !slices.Contains(w.skipped, c.Topic) {
			w.skipped = append(w.skipped, c.Topic)
		}
	}
	return d
}

// Size returns the number of bytes of frames that were written, in all files.
func (w *Writer) Size() int64 { return w.size }

// Empty reports whether the frames so far hold only times.
func (w *Writer) Empty() bool { return !w.hasContent }

// Skipped returns the topics whose messages were skipped so far.
func (w *Writer) Skipped() []string { return w.skipped }

// Declare adds a channel of ROS 2 messages.
func (w *Writer) Declare(c *codec.Channel) error {
	w.decoder(c)
	return nil
}

// Write implements codec.Writer. Errors name the message.
func (w *Writer) Write(m *codec.Message) error {
	d := w.decoder(m.Channel)
	if d.messageType == nil {
		return nil
	}
	if err := d.decode(m); err != nil {
		return err
	}
	var err error
	if clock, ok := d.message.(*rosgraph_msgs.Clock); ok {
		err = w.tick(time.Duration(clock.Clock.Nanoseconds()), m.LogTime)
	} else if !w.hasClock {
		err = w.advance(m.LogTime)
	}
	if err != nil {
		return fmt.Errorf("%s [%s] at %d ns: %w", m.Channel.Topic, m.Channel.Type, m.LogTime, err)
	}
	w.assign(d, m)
	return nil
}

// assign adds a message to the current frame or to the batch of a later frame. d has decoded the message.
func (w *Writer) assign(d *decoder, m *codec.Message) {
	if b := w.batchOf(d.time()); b != nil && w.waitingBytes < maxWaiting {
		w.waitingBytes += b.add(m)
	} else {
		w.apply(d)
	}
}

// batchOf returns the batch of the frame to which a message with the time t belongs, or nil for the current frame.
func (w *Writer) batchOf(t time.Duration) *batch {
	if !w.started || !w.hasClock {
		return nil
	}
	at, newest := t-w.start, w.now
	if t != 0 || w.start+w.now == 0 { // else the stamp is not set
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

// apply adds the message that d has decoded to the current frame.
func (w *Writer) apply(d *decoder) {
	if d.replaces && d.frame == w.frameNumber+1 {
		w.losses.Add(d.topic, "messages replaced by a later one in the same frame of the log", 1)
	}
	d.frame = w.frameNumber + 1
	d.apply(w, d)
}

// applyWorldInfo sets the name of the map.
func (w *Writer) applyWorldInfo(d *decoder, v *carla_msgs.CarlaWorldInfo) {
	if v.Opendrive != "" {
		w.losses.Add(d.topic, "opendrive", 1)
	}
	if w.channel != nil && v.MapName != w.mapName {
		w.losses.Add(d.topic, "map_name: the log began with another map", 1)
		return
	}
	w.mapName, w.patience = v.MapName, 0
}

// advance ends the current frame if logTime is at least a step after the frame. It replaces tick while there is no
// message on /clock.
func (w *Writer) advance(logTime int64) error {
	t := time.Duration(logTime)
	if !w.started {
		w.started, w.start, w.logTime = true, t, logTime
	}
	steps := (t - w.start - w.now) / w.step
	if steps <= 0 {
		return nil
	}
	err := w.endFrame()
	w.now += steps * w.step
	return err
}

// tick processes a message on /clock. Messages of a frame may come before the frame's clock, or after the clock of the
// next frame. So a frame ends only when lateness has passed since the clock of the next frame, and the clock has
// advanced again.
func (w *Writer) tick(t time.Duration, logTime int64) (err error) {
	switch {
	case !w.started || !w.hasClock && w.frameNumber == 0:
		w.started, w.hasClock, w.start, w.logTime = true, true, t, logTime
		return nil
	case !w.hasClock: // the first message on /clock
		w.hasClock = true
		w.start = t - max(w.now, time.Duration(logTime-w.logTime))
	}
	next, last := t-w.start, w.now
	if n := len(w.waiting); n > 0 {
		last = w.waiting[n-1].at
	}
	if next < last {
		w.losses.Add(clockTopic, "jumps back of the clock: time in the log continues", 1)
		next = last + w.step
		w.start = t - next
	}
	if next == last {
		return nil
	}
	early := w.early
	w.early, w.waiting = new(batch), append(w.waiting, &batch{at: next, logTime: logTime})
	w.replay(early, w.assign)
	for len(w.waiting) > 1 && (len(w.waiting) > maxFrames || logTime-w.waiting[0].logTime >= int64(lateness)) {
		err = errors.Join(err, w.catchUp())
	}
	return err
}

// catchUp ends the current frame, and begins the next frame with its waiting messages.
func (w *Writer) catchUp() error {
	err := w.endFrame()
	next := w.waiting[0]
	w.now, w.waiting = next.at, slices.Delete(w.waiting, 0, 1)
	w.replay(next, func(d *decoder, _ *codec.Message) { w.apply(d) })
	return err
}

// endFrame ends the current frame.
func (w *Writer) endFrame() error {
	w.frameNumber++
	frame := []carla.Body{&carla.FrameStart{Frame: w.frameNumber, Duration: w.lastDuration(), Elapsed: elapsed(w.now)}}
	frame = append(append(frame, w.bodies()...), &carla.FrameEnd{})
	data := w.spare[:0]
	w.spare = nil
	for _, b := range frame {
		var err error
		data, err = carla.AppendPacket(data, w.profile, b)
		if err != nil {
			return fmt.Errorf("frame %d: %w", w.frameNumber, err)
		}
	}
	w.queue = append(w.queue, codec.Message{LogTime: w.logTime + int64(w.now), Data: data})
	if w.now < w.patience {
		return nil
	}
	return w.flush()
}

// lastDuration returns the duration of the current frame in s: -1 unless the recording ends with the frame and a
// CarlaStatus has the duration. Readers of the log compute the duration of any other frame from the next frame.
func (w *Writer) lastDuration() float64 {
	step := w.untilNext
	w.untilNext = 0
	if w.started || step <= 0 {
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

// flush writes the frames in the queue. After a codec.MissingError the frames stay in the queue.
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

// finish writes the current frame, all earlier frames and the waiting messages.
func (w *Writer) finish() error {
	var err error
	w.patience = 0
	for len(w.waiting) > 0 {
		err = errors.Join(err, w.catchUp())
	}
	w.replay(w.early, func(d *decoder, _ *codec.Message) { w.apply(d) })
	w.early = new(batch)
	if w.started {
		w.started = false
		err = errors.Join(err, w.endFrame())
	}
	return errors.Join(err, w.flush())
}

// Close writes the current frame, which Sync does not write, and closes the log.
func (w *Writer) Close() error { return errors.Join(w.finish(), w.Writer.Close()) }

// Expect reads a recording whose messages will be written. It finds the actors, the name of the map, and whether
// messages on /clock exist. Without Expect, the Writer learns these facts from the messages that it writes.
func (w *Writer) Expect(r codec.Reader) error {
	info, err := r.Info()
	if err != nil {
		return err
	}
	for _, t := range info.Topics {
		d := w.decoder(t.Channel)
		w.hasClock = w.hasClock || d.messageType != nil && t.Channel.Topic == clockTopic && t.MessageCount > 0
	}
	w.patience = 0
	defer w.rename()
	wanted := func(c *codec.Channel) bool {
		switch w.decoder(c).message.(type) {
		case *carla_msgs.CarlaActorList, *carla_msgs.CarlaWorldInfo:
			return true
		}
		return false
	}
	for m, err := range codec.Messages(r, codec.Query{Topics: wanted}) {
		if err != nil {
			return err
		}
		d := w.decoder(m.Channel)
		if err := d.decode(m); err != nil {
			return err
		}
		switch v := d.message.(type) {
		case *carla_msgs.CarlaActorList:
			w.addListed(v.Actors)
		case *carla_msgs.CarlaWorldInfo:
			w.applyWorldInfo(d, v)
		}
	}
	return nil
}

// WriteOptions holds information that a log needs and ROS 2 messages do not have.
type WriteOptions struct {
	Profile carla.Profile  // layout of the log; the zero value means carla.UE4
	Map     string         // name of the map, until a CarlaWorldInfo names it
	Step    time.Duration  // duration of a frame without /clock; 0 means 50 ms
	Actors  []ActorMapping // actors whose topics and frames do not have the names of CARLA's bridge
}

// ActorMapping names the topics and frames of an actor, if CARLA's bridge would name them differently.
type ActorMapping struct {
	Name   string   // role_name
	Topics []string // topics that describe the actor: "/odom"
	Frames []string // frames of the actor: "base_link"
	// Blueprint is the blueprint. "" means the blueprint in a CarlaActorList, or else the default of the actor's kind.
	Blueprint  string
	Attributes []carla.Attribute // attributes besides role_name
}

// Blueprints of actors that are in no CarlaActorList.
const (
	anyVehicle = "vehicle.tesla.model3"
	anyWalker  = "walker.pedestrian.0001"
)

const (
	lateness  = 200 * time.Millisecond // time for which a frame waits for late messages after the next frame's clock
	maxAhead  = time.Second            // stamps further ahead of /clock belong to another clock
	maxFrames = 64                     // largest number of waiting frames
	// maxWaiting is the largest total size of waiting messages in bytes. Usual frames have far less.
	maxWaiting = 64 << 20
)

// batch has the messages of a frame after the current frame.
type batch struct {
	at      time.Duration // time of the frame since the start of the log
	logTime int64         // log time of the frame's message on /clock
	list    []codec.Message
}

// add adds a copy of a message, and returns its size in bytes.
func (b *batch) add(m *codec.Message) int {
	b.list = append(b.list, m.Clone())
	return len(m.Data)
}

// replay calls f with the messages of a batch.
func (w *Writer) replay(b *batch, f func(*decoder, *codec.Message)) {
	for _, m := range b.list {
		w.waitingBytes -= len(m.Data)
		d := w.decoder(m.Channel)
		_ = d.decode(&m) // Write has decoded the message without an error
		f(d, &m)
	}
}
