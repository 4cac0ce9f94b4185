package contract

import (
	"fmt"
	"hash/maphash"
	"math"
	"path"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/text/human"
	"tapedeck/msgs"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/tf2_msgs"
)

// channelState is the state of a channel. It checks the contents of messages.
type channelState struct {
	*topicState
	channel *codec.Channel
	schema  *cdr.Schema // nil: messages cannot be decoded
	empty   bool        // schema has no fields
	stamps  *cdr.Stamps
	frame   *cdr.Path  // field frame_id; nil: there is none
	frameAt int        // offset of frame in payloads with the shape of the last one; 0: unknown
	shape   *cdr.Shape // shape of payloads
	images  *pixel.Locator
	floats  *floats
	ranges  []*fieldRange
	tree    *tree // nil: the messages are no transforms
	lists   bool  // the messages are lists of CARLA's actors

	lastFrame string // noFrame before the first message

	clock   clockWatch
	still   repeats // finds stamps that stand still
	frozen  repeats // finds pictures that stay the same
	sample  uint64  // sampleOf of the last picture
	cut     bool    // the last picture was not whole
	damaged bool    // the last message did not match its definition

	headless *Finding // about a picture before the first one with a header: the topic may have no pictures; may be nil
}

// noFrame is not the name of a frame.
const noFrame = "\x00"

// newChannelState returns the state of a channel without messages. Its topic is not set.
func newChannelState(c *codec.Channel) *channelState {
	s := &channelState{channel: c, lastFrame: noFrame}
	if c.Encoding != codec.EncodingCDR {
		return s
	}
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return s
	}
	s.schema, s.stamps, s.empty = schema, schema.Stamps(), len(schema.Fields()) == 0
	if frame, err := schema.Path("header.frame_id"); err == nil && frame.Type().Kind == rosidl.String {
		s.frame = frame
	}
	if images, err := pixel.NewLocator(schema); err == nil {
		s.images = images
	}
	s.shape = schema.Shape()
	if !nanIsUnset(schema.Name()) {
		s.floats = newFloats(schema)
	}
	return s
}

// nanIsUnset reports whether NaN means an unknown value, by the definition of the type.
func nanIsUnset(name string) bool {
	return strings.HasPrefix(name, "px4_msgs/") ||
		slices.Contains([]string{"sensor_msgs/msg/BatteryState", "sensor_msgs/msg/NavSatFix"}, name)
}

// prepare prepares ranges and the transform tree, which depend on the pass.
func (s *channelState) prepare(p *Pass) {
	if s.schema == nil {
		return
	}
	for _, name := range p.fields[s.name] {
		r, err := newRange(s.schema, name)
		if err != nil {
			p.found.add(Finding{s.name, 0, 0, Range, "a number " + name, err.Error()})
			continue
		}
		s.ranges = append(s.ranges, r)
	}
	s.lists = s.schema.Name() == (*carla_msgs.CarlaActorList)(nil).TypeName()
	if s.schema.Name() == (*tf2_msgs.TFMessage)(nil).TypeName() {
		namespace := path.Dir(s.name)
		s.tree = p.trees[namespace]
		if s.tree == nil {
			s.tree = &tree{parents: map[string]edge{}}
			p.trees[namespace] = s.tree
		}
	}
}

// addMessage takes the next message.
func (s *channelState) addMessage(p *Pass, m *codec.Message) {
	if s.schema == nil {
		return
	}
	err := s.read(p, m)
	if err != nil && !s.damaged {
		p.found.add(Finding{s.name, m.LogTime, 0, Payload, "messages of " + s.schema.Name(), err.Error()})
	}
	s.damaged = err != nil
}

// read checks the contents of a message. It returns an error if the payload does not match the definition.
func (s *channelState) read(p *Pass, m *codec.Message) error {
	if s.empty {
		_, err := s.schema.Decode(m.Data)
		return err
	}
	if s.tree != nil {
		return s.addTransforms(m)
	}
	if s.lists {
		return p.actors.add(s.name, m)
	}
	if s.stamps != nil {
		stamp, ok, err := s.stamps.First(m.Data)
		if err != nil {
			return err
		}
		if ok && stamp != 0 {
			s.checkStamp(p, m, stamp)
		}
	}
	same := s.shape.Same(m.Data)
	if !same || s.damaged {
		if err := s.checkPayload(m.Data); err != nil {
			return err
		}
	}
	if s.frame != nil {
		if err := s.checkFrame(p, m, same); err != nil {
			return err
		}
	}
	if s.images != nil {
		s.checkImage(p, m)
	}
	for _, r := range s.ranges {
		r.add(p, s, m)
	}
	return s.floats.add(p, s, m, same)
}

// checkPayload returns an error unless the payload has a known header, all fields, and only padding after them.
func (s *channelState) checkPayload(payload []byte) error {
	var d wire.Decoder
	d.Reset(payload)
	f := s.schema.Field()
	f.Skip(&d, f.Count(&d))
	return s.schema.Finish(&d)
}

// checkStamp checks the stamp of a message.
func (s *channelState) checkStamp(p *Pass, m *codec.Message, stamp int64) {
	latency := m.LogTime - stamp
	s.latencies.Add(latency)
	if float64(latency) > s.expected.Latency*1e9 && s.late == 0 {
		s.late = m.LogTime
	}
	s.clock.add(p, s.name, m.LogTime, stamp)
	again := s.still.add(uint64(stamp), m.LogTime, func() uint64 { return maphash.Bytes(seed, m.Data) })
	s.still.find(p, again, s.name, m.LogTime, Stamp, "stamps that move on")
}

// checkFrame checks the frame_id of a message. same is set if the payload has the shape of the last one.
func (s *channelState) checkFrame(p *Pass, m *codec.Message, same bool) error {
	before := s.lastFrame
	if err := s.readFrame(m.Data, same); err != nil {
		return err
	}
	frame := s.lastFrame
	if frame != before {
		s.addFrame(frame)
	}
	switch want := s.expected.Frames; {
	case len(want) == 0 || slices.Contains(want, frame):
		s.outOfFrame = ""
	case s.outOfFrame != frame+".":
		s.outOfFrame = frame + "."
		p.found.add(Finding{s.name, m.LogTime, 0, Frame, oneOf(want), human.OrDash(frame)})
	}
	return nil
}

// readFrame sets lastFrame to the frame_id of a payload.
func (s *channelState) readFrame(payload []byte, same bool) (err error) {
	if !same {
		s.frameAt = 0
		return s.frame.Text(payload, &s.lastFrame)
	}
	if s.frameAt == 0 {
		s.frameAt, err = s.frame.Offset(payload)
		if err != nil {
			return err
		}
	}
	s.frame.TextAt(payload, s.frameAt, &s.lastFrame)
	return nil
}

// addFrame keeps the name of a frame. Expected frames are always kept, of others up to maxNames.
func (t *topicState) addFrame(name string) {
	if len(t.frames) < maxNames || slices.Contains(t.expected.Frames, name) ||
		slices.Contains(t.expected.Frames, "/"+name) {
		t.frames[name] = true
	}
}

// maxNames is the maximum number of names in messages that are kept.
const maxNames = 1000

var seed = maphash.MakeSeed()

// checkImage checks a picture: its size, whether it is whole, and whether it differs from the last one.
func (s *channelState) checkImage(p *Pass, m *codec.Message) {
	image, err := s.images.Image(m.Data)
	if err != nil {
		return
	}
	if c, err := image.Config(); err == nil {
		size := fmt.Sprintf("%dx%d", c.Width, c.Height)
		if len(s.sizes) < maxNames {
			s.sizes[size] = true
		}
		if s.headless != nil {
			p.found.add(*s.headless)
			s.headless = nil
		}
		want := s.expected.Size
		if want != "" && size != want && s.wrongSize != size {
			p.found.add(Finding{s.name, m.LogTime, 0, Size, want, size})
		}
		s.wrongSize = ""
		if size != want {
			s.wrongSize = size
		}
	}
	if image.Compressed() {
		err := image.CheckWhole()
		if err != nil && !s.cut {
			f := Finding{s.name, m.LogTime, 0, Payload, "whole pictures", err.Error()}
			if len(s.sizes) > 0 {
				p.found.add(f)
			} else if s.headless == nil {
				s.headless = &f
			}
		}
		s.cut = err != nil
	}
	before := s.sample
	s.sample = sampleOf(image.Data)
	if s.sample != before || s.frozen.count == 0 {
		s.frozen = repeats{since: m.LogTime, count: 1} // the value is computed if the next sample is the same
		return
	}
	value := maphash.Bytes(seed, image.Data)
	if s.frozen.value == 0 {
		s.frozen.value = value
	}
	again := s.frozen.add(value, m.LogTime, nil)
	s.frozen.find(p, again, s.name, m.LogTime, Frozen, "pictures that differ")
}

// sampleOf returns a hash of samples of the data. It nearly always differs for different pictures.
func sampleOf(data []byte) uint64 {
	const blocks, size = 64, 64
	if len(data) <= blocks*size {
		return maphash.Bytes(seed, data)
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range blocks {
		at := i * (len(data) - size) / (blocks - 1)
		_, _ = h.Write(data[at : at+size])
	}
	return h.Sum64()
}

// repeats finds values that stay the same.
type repeats struct {
	value    uint64
	content  uint64 // result of content for the last message
	changed  bool   // content has changed while value did not
	since    int64  // log time of the first message with the value
	count    int    // number of messages with the value
	reported bool
	finding  *int // index in Pass.found.list; nil: none
}

// A value repeats if repeatCount messages in at least repeatTime have it. Messages that are sent again on purpose, such
// as maps, have the same content and are slower than repeatRate.
const (
	repeatCount = 10
	repeatTime  = 1e9 // ns
	repeatRate  = 5   // messages per second
)

// add takes the value of the next message, and returns true once if the value repeats. content, unless nil, returns a
// hash of the message.
func (r *repeats) add(value uint64, now int64, content func() uint64) bool {
	if value != r.value || r.count == 0 {
		*r = repeats{value: value, since: now, count: 1}
		return false
	}
	r.count++
	if r.reported {
		return false
	}
	took := now - r.since
	if content != nil {
		c := content()
		r.changed = r.changed || r.content != 0 && c != r.content
		r.content = c
		if !r.changed && float64(r.count) < repeatRate*float64(took)/1e9 {
			return false
		}
	}
	r.reported = r.count >= repeatCount && took >= repeatTime
	return r.reported
}

// find adds a finding when the value repeats, and updates it while the value stays the same.
func (r *repeats) find(p *Pass, again bool, topic string, now int64, kind Kind, expected string) {
	if !again && r.finding == nil {
		return
	}
	f := Finding{topic, r.since, now, kind, expected, "the same one in " + human.Count(r.count, "message")}
	if again {
		r.finding = p.found.add(f)
	} else {
		p.found.list[*r.finding] = f
	}
}

// fieldRange measures and checks the range of a field.
type fieldRange struct {
	name  string
	path  *cdr.Path
	wrong bool // the last value was beyond its limits
}

// newRange returns an error if the type has no such number.
func newRange(s *cdr.Schema, name string) (*fieldRange, error) {
	if s == nil {
		return nil, fmt.Errorf("its messages cannot be decoded")
	}
	p, err := s.Path(name)
	if err != nil {
		return nil, err
	}
	if !p.IsNumber() {
		return nil, fmt.Errorf("%s is not a number", name)
	}
	return &fieldRange{name: name, path: p}, nil
}

// add takes the next message.
func (r *fieldRange) add(p *Pass, s *channelState, m *codec.Message) {
	v, _, err := r.path.Number(m.Data)
	if err != nil { // the array lacks the element
		return
	}
	seen := s.topicState.ranges[r.name]
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		if seen.none() {
			seen = limits(v, v)
		}
		s.topicState.ranges[r.name] = limits(min(*seen.Min, v), max(*seen.Max, v))
	}
	if math.IsNaN(v) { // floats finds NaN; good recordings may have it
		if _, known := s.unmeasured[r.name]; !known {
			s.unmeasured[r.name] = m.LogTime
		}
		return
	}
	want := s.expected.Ranges[r.name]
	wrong := !want.none() && !want.holds(v)
	if wrong && !r.wrong {
		p.found.add(Finding{s.name, m.LogTime, 0, Range, r.name + " " + want.text(""), number(v)})
	}
	r.wrong = wrong
}
