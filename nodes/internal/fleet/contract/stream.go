package contract

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/field"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/text/human"
	"tapedeck/msgs"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/tf2_msgs"
)

// stream is what is known of the messages of one channel.
type stream struct {
	*topic
	channel *codec.Channel
	schema  *cdr.Schema // nil: messages cannot be decoded
	empty   bool        // schema has no fields
	stamps  *cdr.Stamps
	frame   *cdr.Path
	frameAt int        // in payloads of the shape of the last one; 0: not looked for
	shape   *cdr.Shape // of what frame and floats read
	images  *pixel.Locator
	floats  *floats
	ranges  []*fieldRange
	tree    *tree // nil unless these are transforms
	lists   bool  // these are lists of CARLA's actors

	lastFrame string // noFrame before the first message

	clock   clockWatch
	still   repeats // stamps
	frozen  repeats // pictures
	sample  uint64  // of the last one
	cut     bool    // the last picture was not whole
	damaged bool    // the last message did not match its definition
}

// noFrame is not the name of a frame.
const noFrame = "\x00"

func newStream(c *codec.Channel) *stream {
	s := &stream{channel: c, lastFrame: noFrame}
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

// nanIsUnset reports whether NaN means in messages of a type that a value is not known, by the definition of the type.
func nanIsUnset(name string) bool {
	return strings.HasPrefix(name, "px4_msgs/") ||
		slices.Contains([]string{"sensor_msgs/msg/BatteryState", "sensor_msgs/msg/NavSatFix"}, name)
}

// watch prepares what depends on the pass.
func (s *stream) watch(p *Pass) {
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

// message takes the next message.
func (s *stream) message(p *Pass, m *codec.Message) {
	if s.schema == nil {
		return
	}
	err := s.read(p, m)
	if err != nil && !s.damaged {
		p.found.add(Finding{s.name, m.LogTime, 0, Payload, "messages of " + s.schema.Name(), err.Error()})
	}
	s.damaged = err != nil
}

func (s *stream) read(p *Pass, m *codec.Message) error {
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
			s.stamp(p, m, stamp)
		}
	}
	same := s.shape.Same(m.Data)
	if !same || s.damaged {
		if err := s.whole(m.Data); err != nil {
			return err
		}
	}
	if s.frame != nil {
		if err := s.checkFrame(p, m, same); err != nil {
			return err
		}
	}
	if s.images != nil {
		s.image(p, m)
	}
	for _, r := range s.ranges {
		r.add(p, s, m)
	}
	return s.floats.add(p, s, m, same)
}

// whole returns an error unless the payload has a known header and all fields, and nothing more than padding.
func (s *stream) whole(payload []byte) error {
	var d wire.Decoder
	d.Reset(payload)
	f := s.schema.Field()
	f.Skip(&d, f.Count(&d))
	return s.schema.Finish(&d)
}

func (s *stream) stamp(p *Pass, m *codec.Message, stamp int64) {
	latency := m.LogTime - stamp
	s.latencies.Add(latency)
	if float64(latency) > s.expected.Latency*1e9 && s.late == 0 {
		s.late = m.LogTime
	}
	s.clock.add(p, s.name, m.LogTime, stamp)
	again := s.still.add(uint64(stamp), m.LogTime, func() uint64 { return maphash.Bytes(seed, m.Data) })
	s.still.find(p, again, s.name, m.LogTime, Stamp, "stamps that move on")
}

func (s *stream) checkFrame(p *Pass, m *codec.Message, same bool) error {
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

func (s *stream) readFrame(payload []byte, same bool) (err error) {
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

// addFrame keeps the name of a frame. Those that are expected are kept in any case.
func (t *topic) addFrame(name string) {
	if len(t.frames) < maxNames || slices.Contains(t.expected.Frames, name) ||
		slices.Contains(t.expected.Frames, "/"+name) {
		t.frames[name] = true
	}
}

// maxNames bounds what is kept of names in messages.
const maxNames = 1000

var seed = maphash.MakeSeed()

func (s *stream) image(p *Pass, m *codec.Message) {
	image, err := s.images.Image(m.Data)
	if err != nil { // such as a video: the bytes are compared nonetheless
		return
	}
	if c, err := image.Config(); err == nil {
		size := fmt.Sprintf("%dx%d", c.Width, c.Height)
		if len(s.sizes) < maxNames {
			s.sizes[size] = true
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
		// A topic that never had a header of JPEG or PNG has something else.
		err := image.CheckWhole()
		if err != nil && !s.cut && len(s.sizes) > 0 {
			p.found.add(Finding{s.name, m.LogTime, 0, Payload, "whole pictures", err.Error()})
		}
		s.cut = err != nil
	}
	before := s.sample
	s.sample = sampleOf(image.Data)
	if s.sample != before || s.frozen.count == 0 {
		s.frozen = repeats{since: m.LogTime, count: 1} // it differs; its value is not known
		return
	}
	value := maphash.Bytes(seed, image.Data)
	if s.frozen.value == 0 {
		s.frozen.value = value
	}
	again := s.frozen.add(value, m.LogTime, nil)
	s.frozen.find(p, again, s.name, m.LogTime, Frozen, "pictures that differ")
}

// sampleOf returns what differs for most pictures that differ, without reading all of one.
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
	value   uint64
	content uint64 // of the messages with the same value
	changed bool   // it did
	since   int64
	count   int
	told    bool
	finding *int
}

// Values that stay the same are found after so many messages and ns. What is sent again on purpose, such as a map, is
// the same as a whole, and slow.
const (
	repeatCount = 10
	repeatTime  = 1e9
	repeatRate  = 5 // messages/s of the same content
)

// add takes a value, and returns true once if it stays the same. content, unless nil, tells whether other parts of the
// message change.
func (r *repeats) add(value uint64, now int64, content func() uint64) bool {
	if value != r.value || r.count == 0 {
		*r = repeats{value: value, since: now, count: 1}
		return false
	}
	r.count++
	if r.told {
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
	r.told = r.count >= repeatCount && took >= repeatTime
	return r.told
}

// find adds a finding when the value stays the same, and keeps it up to date while it does.
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

// fieldRange is the range of a number in messages.
type fieldRange struct {
	name  string
	path  *cdr.Path
	wrong bool
}

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

func (r *fieldRange) add(p *Pass, s *stream, m *codec.Message) {
	v, _, err := r.path.Number(m.Data)
	if err != nil { // an array without this element
		return
	}
	seen := s.topic.ranges[r.name]
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		if seen.none() {
			seen = limits(v, v)
		}
		s.topic.ranges[r.name] = limits(min(*seen.Min, v), max(*seen.Max, v))
	}
	if math.IsNaN(v) { // floats finds it, which good recordings may have
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

// floats finds fields that became NaN. Fields that are NaN from the beginning are not measured by this sensor.
type floats struct {
	begin  *cdr.Path // to the first of fields
	fields []floatField
	leaves []*floatState
	checks []floatCheck // of payloads of the shape of the last one
	nan    bool         // one of them is, in this message
	clean  bool         // all of them had numbers alone
}

// floatField is a field with what is known of it, nil without floats.
type floatField struct {
	*field.Node
	*floatState
	inner   []floatField
	run     int // of fields that are nothing but float64, from this one on; 0: this one is not
	doubles int // in them
}

// floatCheck is a place in payloads that has numbers.
type floatCheck struct {
	*floatState // nil: of several fields
	kind        rosidl.Kind
	from, until int
}

type floatState struct {
	path    string
	last    bool // nothing behind the field is of interest
	nan     bool // in this message
	clean   bool // a message had numbers alone
	finding *int
	count   int // of messages with NaN after that
}

// maxElements is the most elements of an array that are looked at: those of scans may be NaN.
const maxElements = 64

// newFloats returns nil for a type without floats.
func newFloats(s *cdr.Schema) *floats {
	fields, err := field.Tree(s, func(cdr.FieldType) bool { return false })
	if err != nil {
		return nil
	}
	f := &floats{}
	f.fields = f.prepare(fields)
	if f.fields == nil {
		return nil
	}
	first := slices.IndexFunc(f.fields, func(n floatField) bool { return n.floatState != nil })
	f.fields = f.fields[first:]
	f.begin, err = s.Path(f.fields[0].Name)
	if err != nil {
		return nil
	}
	for i := len(f.fields) - 1; ; i-- {
		if state := f.fields[i].floatState; state != nil {
			state.last = true
			return f
		}
	}
}

// prepare returns nil if there are no floats in the fields.
func (f *floats) prepare(nodes []*field.Node) (fields []floatField) {
	some := false
	for _, n := range nodes {
		one := floatField{Node: n, inner: f.prepare(n.Inner)}
		if n.Kind == rosidl.Float32 || n.Kind == rosidl.Float64 || one.inner != nil {
			one.floatState = &floatState{path: n.Path}
			some = true
			if n.Kind != rosidl.Nested {
				f.leaves = append(f.leaves, one.floatState)
			}
		}
		fields = append(fields, one)
	}
	if !some {
		return nil
	}
	for i := len(fields) - 1; i >= 0; i-- {
		n := &fields[i]
		n.doubles = n.only()
		if n.doubles == 0 {
			continue
		}
		n.run = 1
		if i+1 < len(fields) {
			n.run, n.doubles = n.run+fields[i+1].run, n.doubles+fields[i+1].doubles
		}
	}
	return fields
}

// only returns how many float64 a field is made of, 0 if their number varies or it has other fields.
func (n *floatField) only() (doubles int) {
	if n.Kind == rosidl.Float64 {
		doubles = 1
	}
	for i := range n.inner {
		inner := &n.inner[i]
		if inner.run != len(n.inner)-i {
			return 0
		}
		doubles = n.inner[0].doubles
	}
	switch {
	case n.Shape == rosidl.Single:
		return doubles
	case n.Shape == rosidl.Array && n.Length <= maxElements:
		return doubles * n.Length
	}
	return 0
}

// add takes the next message. same tells that its payload has the shape of the one before.
func (f *floats) add(p *Pass, s *stream, m *codec.Message, same bool) error {
	if f == nil {
		return nil
	}
	if f.nan {
		for _, state := range f.leaves {
			state.nan = false
		}
		f.nan = false
	}
	var d wire.Decoder
	if !same || !f.again(m.Data) {
		f.checks = f.checks[:0]
		f.begin.Find(&d, m.Data)
		f.read(f.fields, &d)
	}
	if err := d.Err(); err != nil || f.clean && !f.nan {
		return err
	}
	f.clean = f.clean || !f.nan
	for _, state := range f.leaves {
		if !state.nan {
			state.clean = true
		}
		if !state.nan || !state.clean {
			continue
		}
		state.count++
		if state.count == 1 {
			state.finding = p.found.add(Finding{s.name, m.LogTime, 0, NaN, "numbers in " + state.path, "NaN"})
		} else if state.finding != nil {
			found := &p.found.list[*state.finding]
			found.Until, found.Seen = m.LogTime, "NaN in "+human.Count(state.count, "message")
		}
	}
	return nil
}

// again reads the numbers where they were in the payload before, and returns false if that does not tell which is NaN.
func (f *floats) again(payload []byte) bool {
	for i := range f.checks {
		c := &f.checks[i]
		if !hasNaN(payload[c.from:c.until], c.kind, false) {
			continue
		}
		if c.floatState == nil {
			return false
		}
		c.nan, f.nan = true, true
	}
	return len(f.checks) > 0
}

func (f *floats) read(fields []floatField, d *wire.Decoder) {
	for i := 0; i < len(fields); i++ {
		n := &fields[i]
		if n.run > 0 {
			if ahead := *d; !f.anyNaN(&ahead, nil, rosidl.Float64, n.doubles) && ahead.Err() == nil {
				*d = ahead
				i += n.run - 1
				if fields[i].last {
					return
				}
				continue
			}
		}
		count := n.Count(d)
		switch {
		case n.floatState == nil || count > maxElements || count == 0:
			n.Skip(d, count)
		case n.Kind == rosidl.Nested:
			for range count {
				f.read(n.inner, d)
			}
		default:
			if f.anyNaN(d, n.floatState, n.Kind, count) {
				n.nan, f.nan = true, true
			}
		}
		if n.floatState != nil && n.last {
			return
		}
	}
}

// anyNaN reads so many numbers of a field, nil: of several ones, and reports whether one of them is NaN.
func (f *floats) anyNaN(d *wire.Decoder, field *floatState, kind rosidl.Kind, count int) bool {
	size := 8
	if kind == rosidl.Float32 {
		size = 4
	}
	raw := d.Raw(size, size*count)
	nan := hasNaN(raw, kind, d.BigEndian())
	if field != nil || !nan {
		f.checks = append(f.checks, floatCheck{field, kind, d.Offset() - len(raw), d.Offset()})
	}
	return nan
}

// hasNaN reports whether one of the numbers in raw is none.
func hasNaN(raw []byte, kind rosidl.Kind, big bool) bool {
	var order binary.ByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	switch {
	case kind == rosidl.Float32:
		for ; len(raw) >= 4; raw = raw[4:] {
			if order.Uint32(raw)<<1 > 0xff<<24 {
				return true
			}
		}
	case big:
		for ; len(raw) >= 8; raw = raw[8:] {
			if order.Uint64(raw)<<1 > 0x7ff<<53 {
				return true
			}
		}
	default: // the usual, without calls
		for ; len(raw) >= 32; raw = raw[32:] {
			if max(binary.LittleEndian.Uint64(raw)<<1, binary.LittleEndian.Uint64(raw[8:])<<1,
				binary.LittleEndian.Uint64(raw[16:])<<1, binary.LittleEndian.Uint64(raw[24:])<<1) > 0x7ff<<53 {
				return true
			}
		}
		for ; len(raw) >= 8; raw = raw[8:] {
			if binary.LittleEndian.Uint64(raw)<<1 > 0x7ff<<53 {
				return true
			}
		}
	}
	return false
}

// tree is what transforms make of frames.
type tree struct {
	parents map[string]edge // by child
}

type edge struct {
	parent string
	time   int64 // log time at which it was first heard of
}

func (s *stream) addTransforms(m *codec.Message) error {
	var message tf2_msgs.TFMessage
	if err := cdr.Unmarshal(m.Data, &message); err != nil {
		return err
	}
	for i := range message.Transforms {
		s.tree.add(&message.Transforms[i], m.LogTime)
		s.addFrame(strings.TrimPrefix(message.Transforms[i].ChildFrameId, "/"))
	}
	return nil
}

func (t *tree) add(transform *geometry_msgs.TransformStamped, now int64) {
	child := strings.TrimPrefix(transform.ChildFrameId, "/")
	e, known := t.parents[child]
	if !known {
		e.time = now
	}
	e.parent = strings.TrimPrefix(transform.Header.FrameId, "/")
	if known || len(t.parents) < 100*maxNames {
		t.parents[child] = e
	}
}

// find finds cycles, and that there are several roots.
func (t *tree) find(p *Pass, topic string) {
	visited := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(t.parents)) {
		var way []string
		for e, known := t.parents[name]; known && !visited[name]; e, known = t.parents[name] {
			visited[name], way = true, append(way, name)
			name = e.parent
		}
		if i := slices.Index(way, name); i >= 0 {
			var since int64
			for _, name := range way[i:] {
				since = max(since, t.parents[name].time)
			}
			p.found.add(Finding{topic, since, 0, TF, "one tree", "a cycle: " + human.List(way[i:])})
		}
	}
	roots := map[string]int64{}
	for _, e := range t.parents {
		if _, child := t.parents[e.parent]; child {
			continue
		}
		if since, known := roots[e.parent]; !known || e.time < since {
			roots[e.parent] = e.time
		}
	}
	if len(roots) < 2 {
		return
	}
	names := slices.Sorted(maps.Keys(roots))
	times := slices.Sorted(maps.Values(roots))
	p.found.add(Finding{topic, times[1], 0, TF, "one tree", fmt.Sprintf("%d roots: %s", len(names), human.List(names))})
}

func (t *topic) transforms() bool {
	return slices.Contains(t.types, (*tf2_msgs.TFMessage)(nil).TypeName())
}

// findMissingFrames finds that frames have no transform.
func (p *Pass) findMissingFrames(t *topic) {
	if !t.transforms() {
		return
	}
	var missing []string
	for _, frame := range t.expected.Frames {
		if !t.frames[strings.TrimPrefix(frame, "/")] {
			missing = append(missing, frame)
		}
	}
	if len(missing) > 0 {
		p.found.add(Finding{t.name, 0, 0, Frame, "transforms of all frames", "none of " + human.List(missing)})
	}
}
