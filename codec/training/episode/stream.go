package episode

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/align"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// channelMessages are the messages of an episode on one channel.
type channelMessages struct {
	channel *codec.Channel
	stamps  []int64        // by message, ns since the Unix epoch, sorted
	encoder func() encoder // returns a new encoder of the messages
}

// encoder encodes the messages of an episode on one channel.
type encoder interface {
	// append appends the payload of the i-th message.
	append(dst []byte, i int) ([]byte, error)
	close() error
}

// channels are the channels of a Reader.
type channels struct {
	known      map[[2]string]*codec.Channel // by topic and type
	namespaces map[string]string            // by the name of a camera or an arm

	quality int                       // Reader.quality
	encoded map[string]*atomic.Uint64 // by topic, the number of frames that became JPEGs
}

func newChannels() *channels {
	return &channels{known: map[[2]string]*codec.Channel{}, namespaces: map[string]string{},
		encoded: map[string]*atomic.Uint64{}}
}

// get returns the channel of a topic with messages of the ROS 2 type of m.
func (c *channels) get(topic string, m msgs.Message) *codec.Channel {
	key := [2]string{topic, m.TypeName()}
	if c.known[key] == nil {
		c.known[key], _ = codec.NewChannel(msgs.Library(), topic, m.TypeName()) // the library has the type
	}
	return c.known[key]
}

// messages returns the streams of e as ROS 2 messages.
func (c *channels) messages(e *Episode) ([]*channelMessages, error) {
	var messages []*channelMessages
	for _, camera := range e.Cameras {
		if len(camera.Stamps) > 0 {
			messages = append(messages, c.camera(camera))
		}
	}
	for _, a := range e.Arms {
		for _, v := range a.Streams {
			if v == nil {
				continue
			}
			if err := v.Check(); err != nil {
				return nil, err
			}
		}
		name := c.namespace(a.Name)
		for _, m := range []*channelMessages{
			c.pose(name+"/pose", a.Name, a.Streams[Pose]),
			c.joints(name+"/joint_states", a.Name, a.Streams[Joint], a.Streams[Velocity], a.Streams[Effort]),
			c.joints(name+"/gripper", a.Name, a.Streams[Gripper], nil, nil),
			c.pose(name+"/command/pose", a.Name, a.Streams[CommandPose]),
			c.joints(name+"/command/joint_states", a.Name, a.Streams[CommandJoint], nil, nil),
			c.joints(name+"/command/gripper", a.Name, a.Streams[CommandGripper], nil, nil),
		} {
			if m != nil {
				messages = append(messages, m)
			}
		}
	}
	return messages, nil
}

// namespace returns the namespace of a camera or an arm: its name, changed to be a valid name in ROS 2 and unique.
func (c *channels) namespace(device string) string {
	if known := c.namespaces[device]; known != "" {
		return known
	}
	letter := func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
	name := strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || letter(r) {
			return r
		}
		return '_'
	}, device)
	if name == "" || !letter(rune(name[0])) {
		name = "device_" + name
	}
	unique := "/" + name
	for n := 2; slices.Contains(slices.Collect(maps.Values(c.namespaces)), unique); n++ {
		unique = fmt.Sprintf("/%s_%d", name, n)
	}
	c.namespaces[device] = unique
	return unique
}

// order returns the indices of stamps in time order, and the sorted stamps.
func order(stamps []int64) ([]int, []int64) {
	indices := make([]int, len(stamps))
	for i := range indices {
		indices[i] = i
	}
	if slices.IsSorted(stamps) {
		return indices, stamps
	}
	slices.SortStableFunc(indices, func(i, j int) int { return cmp.Compare(stamps[i], stamps[j]) })
	sorted := make([]int64, len(stamps))
	for k, i := range indices {
		sorted[k] = stamps[i]
	}
	return indices, sorted
}

// header returns the header of a message; ns is since the Unix epoch.
func header(ns int64, frame string) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.TimeAt(ns), FrameId: frame}
}

// images returns the channel of the images of a camera. Its type is sensor_msgs/msg/Image if raw, else CompressedImage.
func (c *channels) images(camera string, raw bool) *codec.Channel {
	name := c.namespace(camera)
	if raw {
		return c.get(name+"/image_raw", &sensor_msgs.Image{})
	}
	return c.get(name+"/image/compressed", &sensor_msgs.CompressedImage{})
}

// camera returns the images of a camera as messages. It does not open the camera.
func (c *channels) camera(camera *Camera) *channelMessages {
	compressed := c.quality > 0 && camera.Decoded > 0
	m := &channelMessages{channel: c.images(camera.Name, camera.Raw && !compressed)}
	var indices []int
	indices, m.stamps = order(camera.Stamps)
	e := frameEncoder{camera: camera, order: indices, stamps: m.stamps}
	if compressed {
		topic := m.channel.Topic
		if c.encoded[topic] == nil {
			c.encoded[topic] = &atomic.Uint64{}
		}
		e.quality, e.encoded = c.quality, c.encoded[topic]
	}
	m.encoder = func() encoder { e := e; return &e }
	return m
}

// openError is the error about a camera that cannot be opened.
type openError struct{ error }

func (e openError) Unwrap() error { return e.error }

// frameEncoder encodes the frames of a camera.
type frameEncoder struct {
	camera *Camera
	order  []int   // by message, the index of its frame
	stamps []int64 // by message, ns since the Unix epoch
	frames Frames  // nil before the first message

	quality int            // of the JPEGs made from pixels; 0: pixels stay pixels
	encoded *atomic.Uint64 // number of JPEGs made
	jpeg    []byte         // the latest JPEG
}

func (e *frameEncoder) append(dst []byte, i int) ([]byte, error) {
	if e.frames == nil {
		var err error
		e.frames, err = e.camera.Open()
		if err != nil {
			e.frames = nil
			return dst, openError{err}
		}
	}
	f, err := e.frames.Frame(e.order[i])
	if err != nil {
		return dst, err
	}
	h := header(e.stamps[i], e.camera.Name)
	if e.quality > 0 && !f.Compressed() {
		picture, err := f.Decode()
		if err == nil {
			e.jpeg, err = pixel.AppendJPEG(e.jpeg[:0], picture, e.quality)
		}
		if err != nil {
			return dst, fmt.Errorf("frame %d of %s: %w", e.order[i], e.camera.Name, err)
		}
		e.encoded.Add(1)
		return cdr.Append(dst, &sensor_msgs.CompressedImage{Header: h, Format: "jpeg", Data: e.jpeg})
	}
	switch {
	case f.Compressed() == e.camera.Raw:
		return dst, fmt.Errorf("frame %d of %s is %s, unlike other frames", e.order[i], e.camera.Name, f.Encoding)
	case !e.camera.Raw:
		return cdr.Append(dst, &sensor_msgs.CompressedImage{Header: h, Format: f.Encoding, Data: f.Data})
	}
	return cdr.Append(dst, &sensor_msgs.Image{
		Header: h, Height: uint32(f.Height), Width: uint32(f.Width), Encoding: f.Encoding, Step: uint32(f.Step),
		Data: f.Data,
	})
}

func (e *frameEncoder) close() error {
	if e.frames == nil {
		return nil
	}
	return e.frames.Close()
}

// pose returns the samples of v as poses, nil if there are none. If the columns are not x, y, z with rx, ry, rz or qx,
// qy, qz, qw, it returns them as joints.
func (c *channels) pose(topic, frame string, v *align.Vector) *channelMessages {
	if absent(v) {
		return nil
	}
	n := len(v.Columns)
	named := make([]align.Column, n)
	for i := range named {
		named[i].Name = Pose.ColumnName(i, n)
	}
	p := &poseEncoder{vector: v, frame: frame, columns: align.Places(named, v.Columns)}
	if n != 6 && n != 7 || slices.Contains(p.columns, -1) {
		return c.joints(topic, frame, v, nil, nil)
	}
	m := &channelMessages{channel: c.get(topic, &geometry_msgs.PoseStamped{})}
	p.order, m.stamps = order(v.Stamps)
	m.encoder = func() encoder { e := *p; return &e }
	return m
}

// poseEncoder encodes poses.
type poseEncoder struct {
	vector  *align.Vector
	frame   string    // frame_id
	order   []int     // by message, the index of its sample
	columns []int     // indices of the columns of a pose, in the order of Role.ColumnName
	known   []float64 // by column, its latest value
	next    int       // first message whose values known does not include
}

// know updates known with the messages up to the i-th. i never decreases.
func (e *poseEncoder) know(i int) {
	if e.known == nil {
		e.known = slices.Repeat([]float64{math.NaN()}, len(e.vector.Columns))
	}
	for ; e.next <= i; e.next++ {
		for c, x := range e.vector.Row(e.order[e.next]) {
			if !align.IsMissing(x) {
				e.known[c] = x
			}
		}
	}
}

func (e *poseEncoder) append(dst []byte, i int) ([]byte, error) {
	e.know(i)
	m := geometry_msgs.PoseStamped{Header: header(e.vector.Stamps[e.order[i]], e.frame)}
	value := func(k int) float64 { return e.known[e.columns[k]] }
	angle := func(k int) float64 { return value(k) * radians(e.vector.Columns[e.columns[k]].Unit) }
	p, q := &m.Pose.Position, &m.Pose.Orientation
	p.X, p.Y, p.Z = value(0), value(1), value(2)
	if len(e.columns) == 7 {
		q.X, q.Y, q.Z, q.W = value(3), value(4), value(5), value(6)
	} else {
		q.X, q.Y, q.Z, q.W = align.ToQuaternion(angle(3), angle(4), angle(5))
	}
	return cdr.Append(dst, &m)
}

func (e *poseEncoder) close() error { return nil }

// joints returns joints with velocities and efforts, nil if there are no samples. Samples of different vectors with
// equal stamps and equally many columns are one message.
func (c *channels) joints(topic, frame string, position, velocity, effort *align.Vector) *channelMessages {
	e := &jointEncoder{frame: frame, vectors: [3]*align.Vector{position, velocity, effort}}
	type sample struct {
		stamp         int64
		vector, index int
	}
	var samples []sample
	for k, v := range e.vectors {
		if absent(v) {
			continue
		}
		for i, t := range v.Stamps {
			samples = append(samples, sample{t, k, i})
		}
	}
	if len(samples) == 0 {
		return nil
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.stamp, b.stamp) })
	m := &channelMessages{channel: c.get(topic, &sensor_msgs.JointState{})}
	var next [3]int // by vector, the first message at the time of x that may take another sample
	for _, x := range samples {
		if n := len(m.stamps); n == 0 || m.stamps[n-1] != x.stamp {
			next = [3]int{n, n, n}
		}
		place := next[x.vector]
		if place >= len(m.stamps) || !e.fits(e.samples[place], x.vector) {
			place = len(m.stamps)
			m.stamps = append(m.stamps, x.stamp)
			e.samples = append(e.samples, [3]int{-1, -1, -1})
		}
		next[x.vector] = place + 1
		e.samples[place][x.vector] = x.index
	}
	e.stamps = m.stamps
	m.encoder = func() encoder { e := *e; return &e }
	return m
}

// jointEncoder encodes positions, velocities and efforts of joints.
type jointEncoder struct {
	frame   string
	vectors [3]*align.Vector // positions, velocities and efforts; nil: none
	samples [][3]int         // by message and vector, the index of the sample; -1: none
	stamps  []int64
	message sensor_msgs.JointState
}

// fits reports whether message m can take a sample of a vector: its samples have as many columns.
func (e *jointEncoder) fits(m [3]int, vector int) bool {
	for k, i := range m {
		if i >= 0 && len(e.vectors[k].Columns) != len(e.vectors[vector].Columns) {
			return false
		}
	}
	return true
}

func (e *jointEncoder) append(dst []byte, i int) ([]byte, error) {
	m := &e.message
	m.Header = header(e.stamps[i], e.frame)
	m.Name, m.Position, m.Velocity, m.Effort = m.Name[:0], m.Position[:0], m.Velocity[:0], m.Effort[:0]
	names := -1 // the vector that determines the columns
	for k, to := range []*[]float64{&m.Position, &m.Velocity, &m.Effort} {
		sample := e.samples[i][k]
		if sample < 0 {
			continue
		}
		v := e.vectors[k]
		if names < 0 {
			names = k
		}
		leading, row := e.vectors[names].Row(e.samples[i][names]), v.Row(sample)
		for c, column := range v.Columns {
			if align.IsMissing(leading[c]) {
				continue
			}
			x := row[c]
			if k < 2 {
				x *= radians(column.Unit)
			}
			*to = append(*to, x)
			if k == names {
				m.Name = append(m.Name, column.Name)
			}
		}
	}
	return cdr.Append(dst, m)
}

func (e *jointEncoder) close() error { return nil }
