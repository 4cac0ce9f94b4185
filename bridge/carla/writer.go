package carla

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/carla"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// How long frames are kept until the name of the map is heard, which a log begins with.
const mapPatience = 2 * time.Second

// Writer writes a log of ROS 2 messages as they come, the reverse of the translator. A frame is what came from one /clock to the
// next or, without a /clock, in a step; of several messages about the same in a frame the last one counts. Actors appear when they
// are heard of, and stay until a CarlaActorList has them no more.
//
// It implements codec.Splitter, as far as the writer does that it writes to, and bridge.Lossy. Messages on topics that tell a log
// nothing are passed over: see Left.
type Writer struct {
	*scene
	splitter
	step     time.Duration
	patience time.Duration
	sources  map[*codec.Channel]*source
	left     []string

	clocked bool
	begun   bool
	zero    time.Duration // what the clock showed when the log began; without one the time since 1970
	now     time.Duration // of the frame that is collected, since the log began
	logTime int64         // when the log began
	number  uint64        // of the frame before
	early   early

	size    int64          // bytes of frames that were written
	channel *codec.Channel // nil before the first frame is written
	mapName string
	queue   []codec.Message // frames that are not written yet
	spare   []byte          // room for another one
}

var (
	_ codec.Splitter = (*Writer)(nil)
	_ bridge.Lossy   = (*Writer)(nil)
)

// NewWriter returns a Writer of frames to w, which it owns.
func NewWriter(w codec.Writer, o WriteOptions) *Writer {
	if o.Profile.Name == "" {
		o.Profile = carla.UE4
	}
	writer := &Writer{scene: newScene(o), splitter: splitter{w}, step: cmp.Or(o.Step, 50*time.Millisecond), sources: map[*codec.Channel]*source{}, mapName: o.Map}
	if o.Map == "" {
		writer.patience = mapPatience
	}
	return writer
}

// source returns what a channel tells.
func (w *Writer) source(c *codec.Channel) *source {
	s := w.sources[c]
	if s == nil {
		s = newSource(c, &w.options)
		w.sources[c] = s
		if !s.tells && !codec.IsEvents(c) && !slices.Contains(w.left, c.Topic) {
			w.left = append(w.left, c.Topic)
		}
	}
	return s
}

// Size returns how many bytes of frames were written, in all files.
func (w *Writer) Size() int64 { return w.size }

// Left returns the topics, of all channels so far, that tell a log nothing.
func (w *Writer) Left() []string { return w.left }

// Declare implements codec.Writer.
func (w *Writer) Declare(c *codec.Channel) error {
	w.source(c)
	return nil
}

// Write implements codec.Writer. Errors name the message.
func (w *Writer) Write(m *codec.Message) error {
	s := w.source(m.Channel)
	if !s.tells {
		return nil
	}
	if err := s.decode(m); err != nil {
		return err
	}
	var err error
	if clock, ok := s.message.(*rosgraph_msgs.Clock); ok {
		err = w.tick(duration(clock.Clock), m.LogTime)
	} else if !w.clocked {
		err = w.pass(m.LogTime)
	}
	if err != nil {
		return fmt.Errorf("%s [%s] at %d ns: %w", m.Channel.Topic, m.Channel.Type, m.LogTime, err)
	}
	shown := w.zero + w.now
	if t := stampOf(s.message); w.early.begun && (t > shown || t == 0 && shown != 0) && len(w.early.data) < maxEarly {
		w.early.add(m)
		return nil
	}
	w.take(s)
	return nil
}

// take takes what a message tells into the frame that is collected.
func (w *Writer) take(s *source) {
	if s.replaces() && s.frame == w.number+1 {
		w.lose(s.topic, "messages that another one in the same frame of the log replaces")
	}
	s.frame = w.number + 1
	switch v := s.message.(type) {
	case *carla_msgs.CarlaWorldInfo:
		w.world(s.topic, v)
	case *carla_msgs.CarlaActorList:
		w.list(v.Actors)
	case *tf2_msgs.TFMessage:
		w.transforms(s.topic, v)
	case *nav_msgs.Odometry:
		w.move(s, v)
	case *carla_msgs.CarlaEgoVehicleControl:
		w.drive(s, v)
	case *carla_msgs.CarlaEgoVehicleStatus:
		w.drive(s, &v.Control)
	case *carla_msgs.CarlaEgoVehicleInfo:
		info := *v // the wheels of the next one are others
		v.Wheels = nil
		w.describe(s, &info)
	case *carla_msgs.CarlaWalkerControl:
		w.walk(s, v)
	case *carla_msgs.CarlaCollisionEvent:
		w.collide(s, v)
	case *carla_msgs.CarlaWeatherParameters:
		w.weather = weatherOf(v)
	case *carla_msgs.CarlaTrafficLightInfoList:
		for i := range v.TrafficLights {
			w.light(&v.TrafficLights[i])
		}
	case *carla_msgs.CarlaTrafficLightStatusList:
		w.show(v.TrafficLights)
	}
}

// world takes the name of the map.
func (w *Writer) world(topic string, v *carla_msgs.CarlaWorldInfo) {
	if v.Opendrive != "" {
		w.lose(topic, "opendrive")
	}
	if w.channel != nil && v.MapName != w.mapName {
		w.lose(topic, "map_name, as the log has begun with another one")
		return
	}
	w.mapName, w.patience = v.MapName, 0
}

func duration(t builtin_interfaces.Time) time.Duration {
	return time.Duration(t.Sec)*time.Second + time.Duration(t.Nanosec)
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

// tick takes the time that the clock shows. Messages about the frame before it may come after it, so that the end of that frame is
// the next time that the clock shows.
func (w *Writer) tick(t time.Duration, logTime int64) (err error) {
	switch {
	case !w.begun || !w.clocked && w.number == 0:
		w.begun, w.clocked, w.zero, w.logTime = true, true, t, logTime
		return nil
	case !w.clocked: // from now on time is the clock's
		w.clocked = true
		w.zero = t - max(w.now, time.Duration(logTime-w.logTime))
	}
	next, last := t-w.zero, max(w.now, w.early.at)
	if next < last {
		w.lose(clockTopic, "the clock going back: time in the log goes on")
		next = last + w.step
		w.zero = t - next
	}
	if next == last {
		return nil
	}
	if w.early.begun {
		err = w.catchUp()
	}
	w.early.begun, w.early.at = true, next
	return err
}

// catchUp ends the frame that is collected, and begins the next one with what came early.
func (w *Writer) catchUp() error {
	err := w.end()
	w.now, w.early.begun = w.early.at, false
	for _, m := range w.early.messages() {
		s := w.source(m.Channel)
		_ = s.decode(&m) // as it was before
		w.take(s)
	}
	return err
}

// end ends the frame that is collected.
func (w *Writer) end() error {
	w.number++
	frame := []carla.Body{&carla.FrameStart{Frame: w.number, Duration: -1, Elapsed: elapsed(w.now)}}
	frame = append(append(frame, w.bodies()...), &carla.FrameEnd{})
	data := w.spare[:0]
	w.spare = nil
	for _, b := range frame {
		var err error
		if data, err = carla.AppendPacket(data, w.profile, b); err != nil {
			return fmt.Errorf("frame %d: %w", w.number, err)
		}
	}
	w.queue = append(w.queue, codec.Message{LogTime: w.logTime + int64(w.now), Data: data})
	if w.now < w.patience {
		return nil
	}
	return w.flush()
}

// elapsed returns the time of simulation, in s, of which Stamp makes t.
func elapsed(t time.Duration) float64 {
	s := t.Seconds()
	for range 4 { // Stamp takes what is below 1 ns away
		if duration(Stamp(s)) >= t {
			break
		}
		s = math.Nextafter(s, math.Inf(1))
	}
	return s
}

// flush writes the frames that are not written yet. After an error of the disk they stay.
func (w *Writer) flush() error {
	if w.channel == nil && len(w.queue) > 0 {
		w.patience = 0
		w.channel = &codec.Channel{
			Topic: carla.Topic, Type: carla.Type, Encoding: codec.EncodingCARLA,
			Metadata: map[string]string{carla.KeyProfile: w.profile.Name, carla.KeyMap: w.mapName},
		}
	}
	for len(w.queue) > 0 {
		w.queue[0].Channel = w.channel
		err := w.w.Write(&w.queue[0])
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
	if w.early.begun {
		err = w.catchUp()
	}
	if w.begun {
		w.begun = false
		err = errors.Join(err, w.end())
	}
	return errors.Join(err, w.flush())
}

// Sync implements codec.Writer. What is collected is not among what is put on the disk.
func (w *Writer) Sync() error { return w.w.Sync() }

// Close implements codec.Writer.
func (w *Writer) Close() error { return errors.Join(w.finish(), w.w.Close()) }
