package contract

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
)

const (
	begin = int64(1_700_000_000e9)
	lasts = 30 * time.Second
)

// sample describes a message of the drive. Tests may change it.
type sample struct {
	topic   string
	at      time.Duration // time since the start of the drive
	late    time.Duration // time from stamp to receipt
	value   float64
	frame   string
	width   uint32
	missing bool
}

// drive is a recording that tests may change: an IMU at 100 Hz, a camera at 10 Hz, transforms at 20 Hz.
func drive(t *testing.T, change func(*sample)) (info *codec.Info, list []codec.Message) {
	info = &codec.Info{Complete: true}
	channels := map[string]*codec.Channel{}
	add := func(s sample, message func(std_msgs.Header) msgs.Message) {
		s.width = 4
		if change != nil {
			change(&s)
		}
		now := begin + int64(s.at)
		stamp := now - int64(s.late)
		m := message(std_msgs.Header{FrameId: s.frame,
			Stamp: builtin_interfaces.Time{Sec: int32(stamp / 1e9), Nanosec: uint32(stamp % 1e9)}})
		if image, ok := m.(*sensor_msgs.Image); ok {
			*image = sensor_msgs.Image{Header: image.Header, Encoding: "mono8", Width: s.width, Height: 1,
				Step: s.width,
				Data: bytes.Repeat([]byte{byte(int(s.value))}, int(s.width))}
		}
		if imu, ok := m.(*sensor_msgs.Imu); ok {
			imu.LinearAcceleration.Z = s.value
			imu.OrientationCovariance[0] = math.NaN() // not measured
		}
		if s.missing {
			return
		}
		c := channels[s.topic]
		if c == nil {
			c = &codec.Channel{Topic: s.topic, Type: m.TypeName(), Encoding: codec.EncodingCDR,
				QoS: []codec.QoS{codec.DefaultQoS()}}
			channels[s.topic] = c
			info.Topics = append(info.Topics, codec.TopicInfo{Channel: c})
		}
		payload, err := cdr.Marshal(m)
		require.NoError(t, err)
		list = append(list, codec.Message{Channel: c, LogTime: now, Data: payload})
	}
	transform := func(parent, child string) func(std_msgs.Header) msgs.Message {
		return func(h std_msgs.Header) msgs.Message {
			h.FrameId = parent
			return &tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{Header: h, ChildFrameId: child}}}
		}
	}
	add(sample{topic: "/tf_static"}, transform("base_link", "imu"))
	for i := range int(lasts / (10 * time.Millisecond)) {
		at := time.Duration(i) * 10 * time.Millisecond
		add(sample{topic: "/imu", at: at, late: 2 * time.Millisecond, value: 9.8 + float64(i%5)/100, frame: "imu"},
			func(h std_msgs.Header) msgs.Message { return &sensor_msgs.Imu{Header: h} })
		if i%10 == 0 {
			add(sample{topic: "/camera", at: at, late: 30 * time.Millisecond, value: float64(i / 10), frame: "camera"},
				func(h std_msgs.Header) msgs.Message { return &sensor_msgs.Image{Header: h} })
		}
		if i%5 == 0 {
			add(sample{topic: "/tf", at: at}, transform("odom", "base_link"))
			add(sample{topic: "/tf", at: at, missing: true, value: 1}, transform("map", "camera"))
		}
	}
	slices.SortStableFunc(list, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
	return info, list
}

func passOf(t *testing.T, c *Contract, change func(*sample)) *Pass {
	info, list := drive(t, change)
	p := New(c, info)
	if c == nil {
		if info.Topics[1].Channel.Topic == "/imu" {
			require.NoError(t, p.Watch("/imu", "linear_acceleration.z"))
		}
	}
	for i := range list {
		p.Add(&list[i])
	}
	return p
}

func learnt(t *testing.T) *Contract {
	c := Learn(0.2, passOf(t, nil, nil), passOf(t, nil, func(s *sample) { s.late += time.Millisecond }))
	var text bytes.Buffer
	_, err := c.WriteTo(&text)
	require.NoError(t, err)
	parsed, err := Parse(text.Bytes())
	require.NoError(t, err)
	return parsed
}

func TestLearn(t *testing.T) {
	var b bytes.Buffer
	_, err := learnt(t).WriteTo(&b)
	require.NoError(t, err)
	_, text, _ := bytes.Cut(b.Bytes(), []byte("duration:"))
	require.Equal(t, ` {min: 14}  # s
topics:
  /camera:
    type: sensor_msgs/msg/Image
    rate: {min: 8, max: 12}
    gap: 0.3
    latency: 0.072
    frames: [camera]
    size: 4x1
    qos: reliable volatile
  /imu:
    type: sensor_msgs/msg/Imu
    rate: {min: 80, max: 120}
    gap: 0.03
    latency: 0.016
    frames: [imu]
    qos: reliable volatile
    ranges:
      linear_acceleration.z: {min: 9.7, max: 9.9}
  /tf:
    type: tf2_msgs/msg/TFMessage
    rate: {min: 16, max: 24}
    gap: 0.15
    frames: [base_link]
    qos: reliable volatile
  /tf_static:
    type: tf2_msgs/msg/TFMessage
    frames: [imu]
    qos: reliable volatile
`, string(text))
}

// Each fault is found at its time with a contract, a suspicious one also without a contract, and nothing else is found.
func TestFaults(t *testing.T) {
	type fault struct {
		change              func(*sample)
		expected, suspected []Finding // Time and Until are since the start; Expected is not compared
	}
	const s = int64(time.Second)
	of := func(topic string, from, until time.Duration, change func(*sample)) func(*sample) {
		return func(s *sample) {
			if (topic == "" || s.topic == topic) && s.at >= from && s.at < until {
				change(s)
			}
		}
	}
	omit := func(s *sample) { s.missing = true }
	both := func(list ...Finding) []Finding { return list }
	contract := learnt(t)
	for name, f := range map[string]fault{
		"none": {change: func(*sample) {}},
		"missing topic": {of("/camera", 0, lasts, omit),
			both(Finding{Topic: "/camera", Kind: Missing, Seen: "none"}), nil},
		"halved rate": {func(s *sample) { s.missing = s.missing || s.topic == "/camera" && int(s.value)%2 == 1 },
			both(Finding{Topic: "/camera", Time: 0, Until: 5 * s, Kind: Rate, Seen: "5"}), nil},
		"halved rate for a while": {func(m *sample) {
			m.missing = m.missing || m.topic == "/camera" && int(m.value)%2 == 1 && m.at > 10*time.Second &&
				m.at < 20*time.Second
		}, both(Finding{Topic: "/camera", Time: 10 * s, Until: 15 * s, Kind: Rate, Seen: "5"}), nil},
		"throttled": {func(s *sample) { s.missing = s.missing || s.topic == "/camera" && int(s.value)%5 != 0 },
			both(Finding{Topic: "/camera", Time: 0, Until: 5 * s, Kind: Rate, Seen: "2"}), nil},
		"throttled for a while": {func(m *sample) {
			m.missing = m.missing || m.topic == "/camera" && int(m.value)%5 != 0 && m.at > 10*time.Second &&
				m.at < 20*time.Second
		}, both(Finding{Topic: "/camera", Time: 10 * s, Until: 15 * s, Kind: Rate, Seen: "2"}), nil},
		"gap": {of("/imu", 10*time.Second, 13*time.Second, omit),
			both(Finding{Topic: "/imu", Time: 10*s - 10e6, Until: 13 * s, Kind: Gap, Seen: "3.01 s"}),
			both(Finding{Topic: "/imu", Time: 10*s - 10e6, Until: 13 * s, Kind: Gap, Seen: "nothing for 3.01 s"})},
		"short gap": {of("/camera", 10*time.Second, 10*time.Second+500*time.Millisecond, omit),
			both(Finding{Topic: "/camera", Time: 10*s - 100e6, Until: 10.5e9, Kind: Gap, Seen: "0.6 s"}), nil},
		"frozen camera": {of("/camera", 10*time.Second, 15*time.Second, func(s *sample) { s.value = 7 }),
			both(Finding{Topic: "/camera", Time: 10 * s, Until: 15*s - 100e6, Kind: Frozen,
				Seen: "the same one in 50 messages"}),
			both(Finding{Topic: "/camera", Time: 10 * s, Until: 15*s - 100e6, Kind: Frozen,
				Seen: "the same one in 50 messages"})},
		"clock of a sensor": {of("/imu", 10*time.Second, lasts, func(s *sample) { s.late += 2 * time.Second }),
			both(Finding{Topic: "/imu", Time: 10*s - 10e6, Kind: Clock,
				Seen: "a step of 2 s between stamps and log times"},
				Finding{Topic: "/imu", Time: 10 * s, Kind: Latency}),
			both(Finding{Topic: "/imu", Time: 10*s - 10e6, Kind: Clock,
				Seen: "a step of 2 s between stamps and log times"})},
		"clock of the recorder": {func(s *sample) {
			if s.at >= 10*time.Second {
				s.at += 2 * time.Second
				s.late += 2 * time.Second
				if s.topic == "/tf" {
					s.late = 0
				}
			}
		}, nil, both(Finding{Time: 10*s - 100e6, Kind: Clock, Seen: "a step of 2 s in the log times of /camera, /imu"},
			Finding{Topic: "/camera", Time: 10*s - 100e6, Until: 12 * s, Kind: Gap},
			Finding{Topic: "/tf", Time: 10*s - 50e6, Until: 12 * s, Kind: Gap},
			Finding{Topic: "/imu", Time: 10*s - 10e6, Until: 12 * s, Kind: Gap})},
		"messages caught up with": {of("/imu", 10*time.Second, 10*time.Second+800*time.Millisecond, func(s *sample) {
			s.late += 10800*time.Millisecond - s.at
			s.at = 10800 * time.Millisecond
		}), both(Finding{Topic: "/imu", Time: 10*s - 10e6, Until: 10.8e9, Kind: Gap, Seen: "0.81 s"},
			Finding{Topic: "/imu", Time: 10.8e9, Kind: Latency}), nil},
		"stamps stand still": {of("/imu", 10*time.Second, 12*time.Second, func(s *sample) {
			s.late += s.at - 10*time.Second
		}), both(Finding{Topic: "/imu", Time: 10 * s, Until: 12*s - 10e6, Kind: Stamp,
			Seen: "the same one in 200 messages"}, Finding{Topic: "/imu", Time: 10.02e9, Kind: Latency}),
			both(Finding{Topic: "/imu", Time: 10 * s, Until: 12*s - 10e6, Kind: Stamp,
				Seen: "the same one in 200 messages"})},
		"NaN": {of("/imu", 10*time.Second, 11*time.Second, func(s *sample) { s.value = math.NaN() }),
			both(Finding{Topic: "/imu", Time: 10 * s, Until: 11*s - 10e6, Kind: NaN, Seen: "NaN in 100 messages"}),
			both(Finding{Topic: "/imu", Time: 10 * s, Until: 11*s - 10e6, Kind: NaN, Seen: "NaN in 100 messages"})},
		"NaN alone": {of("/imu", 0, lasts, func(s *sample) { s.value = math.NaN() }),
			both(Finding{Topic: "/imu", Time: 0, Kind: Range, Seen: "never a number"}), nil},
		"NaN at first": {of("/imu", 0, time.Second, func(s *sample) { s.value = math.NaN() }), nil, nil},
		"topic ends early": {of("/camera", 20*time.Second, lasts, omit),
			both(Finding{Topic: "/camera", Time: 20*s - 100e6, Until: 30*s - 10e6, Kind: End,
				Seen: "none in the last 10.09 s"}),
			both(Finding{Topic: "/camera", Time: 20*s - 100e6, Until: 30*s - 10e6, Kind: End,
				Seen: "none in the last 10.09 s"})},
		"two roots": {of("/tf", 10*time.Second, lasts, func(s *sample) { s.missing = false }),
			both(Finding{Topic: "/tf", Time: 10 * s, Kind: TF, Seen: "2 roots: map, odom"},
				Finding{Topic: "/tf", Time: 10 * s, Kind: Rate}),
			both(Finding{Topic: "/tf", Time: 10 * s, Kind: TF, Seen: "2 roots: map, odom"})},
		"frame": {of("/imu", 10*time.Second, 11*time.Second, func(s *sample) { s.frame = "imu2" }),
			both(Finding{Topic: "/imu", Time: 10 * s, Kind: Frame, Seen: "imu2"}), nil},
		"size": {of("/camera", 10*time.Second, lasts, func(s *sample) { s.width = 2 }),
			both(Finding{Topic: "/camera", Time: 10 * s, Kind: Size, Seen: "2x1"}), nil},
		"range": {of("/imu", 10*time.Second, 11*time.Second, func(s *sample) { s.value = 20 }),
			both(Finding{Topic: "/imu", Time: 10 * s, Kind: Range, Seen: "20"}), nil},
		"too short": {of("", 10*time.Second, lasts, omit),
			both(Finding{Time: 0, Until: 10*s - 10e6, Kind: Duration, Seen: "9.99 s"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			compare := func(want []Finding, p *Pass) {
				list := p.Findings()
				require.Equal(t, list, p.Findings(), "a second call of Findings returns other findings")
				var got []Finding
				for _, f := range list {
					require.NotEmpty(t, f.Expected)
					f.Expected = ""
					if f.Time != 0 {
						f.Time -= begin
					}
					if f.Until != 0 {
						f.Until -= begin
					}
					for _, w := range want {
						if w.Kind == f.Kind && w.Topic == f.Topic && w.Seen == "" {
							f.Seen, f.Until = "", w.Until
						}
					}
					got = append(got, f)
				}
				require.ElementsMatch(t, want, got)
			}
			compare(f.suspected, passOf(t, nil, f.change))
			if f.expected != nil || f.suspected == nil {
				compare(f.expected, passOf(t, contract, f.change))
			}
		})
	}
}

func TestCycles(t *testing.T) {
	for want, transforms := range map[string]string{
		"":                                  "a>b b>c a>d",
		"a cycle: a, b":                     "a>b b>a b>c",
		"a cycle: self":                     "self>self map>odom",
		"2 roots: map, w; a cycle: x, z, y": "y>z z>x x>y map>odom w>v",
	} {
		tf, p := &tree{parents: map[string]edge{}}, New(nil, &codec.Info{})
		for i, text := range strings.Fields(transforms) {
			parent, child, _ := strings.Cut(text, ">")
			tf.add(&geometry_msgs.TransformStamped{Header: std_msgs.Header{FrameId: parent}, ChildFrameId: child},
				int64(i))
		}
		tf.find(p, "/tf")
		var seen []string
		for _, f := range p.Findings() {
			if f.Kind == TF {
				seen = append(seen, f.Seen)
			}
		}
		slices.Sort(seen)
		require.Equal(t, want, strings.Join(seen, "; "), transforms)
	}
}

func TestEventsAndDamage(t *testing.T) {
	info, list := drive(t, nil)
	info.Complete = false
	info.Events = []codec.Event{
		{Kind: codec.EventLost, Topic: "/imu", Time: begin, Count: 12, Text: "lost in transport"},
		{Kind: codec.EventSplit, Text: "continues a"},
	}
	p := New(nil, info)
	for i := range list {
		p.Add(&list[i])
	}
	list[0].Data = []byte{0, 1, 0, 0, 1}
	p.Add(&list[0])
	require.Equal(t, []string{
		"damage: expected a recording without damage, seen it was not finished",
		"/imu: lost: expected all messages, seen 12 messages: lost in transport",
	}, texts(p.Findings()[:2]))
	require.Equal(t, Payload, p.Findings()[2].Kind)
	p.Damaged(errors.New("a: no chunk at 7"))
	require.Contains(t, texts(p.Findings()), "damage: expected a recording without damage, seen a: no chunk at 7")
}

func texts(list []Finding) (all []string) {
	for _, f := range list {
		all = append(all, f.String())
	}
	return all
}

func TestManyAlike(t *testing.T) {
	p := passOf(t, learnt(t), func(s *sample) {
		if s.topic == "/imu" && s.at%time.Second < 100*time.Millisecond {
			s.value = 20
		}
	})
	list := p.Findings()
	require.Len(t, list, shownFindings)
	require.Equal(t, "20 (and 25 more times)", list[4].Seen)
}

func TestAccept(t *testing.T) {
	frozen := func(s *sample) { s.value = 9.8 }
	good := Learn(0.2, passOf(t, nil, frozen))
	require.Equal(t, []Kind{Frozen}, good.Topics["/camera"].Accept)
	require.Empty(t, passOf(t, good, frozen).Findings())
	withoutCamera := func(s *sample) { s.missing = s.missing || s.topic == "/camera" }
	good = Learn(0.2, passOf(t, nil, nil), passOf(t, nil, withoutCamera))
	require.True(t, good.Topics["/camera"].Optional)
}

func TestLatencies(t *testing.T) {
	var l Latencies
	require.Zero(t, l.Quantile(0.5))
	for i := range 1000 {
		l.Add(int64(i-100) * 1e6)
	}
	require.InEpsilon(t, 400e6, l.Quantile(0.5), 0.04)
	require.InEpsilon(t, 890e6, l.Quantile(0.99), 0.04)
	require.InEpsilon(t, -90e6, l.Quantile(0.01), 0.04)
	l.Add(math.MinInt64)
	l.Add(math.MaxInt64)
	require.Less(t, l.Quantile(0), int64(-1<<61))
	require.Greater(t, l.Quantile(1), int64(1<<61))
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "the file is empty; 'converter expect' writes one",
		"topics: {}":                             "nothing is expected: there are neither topics nor a duration",
		"topics:\n  /a: {hz: 3}":                 "line 2: hz is not an expectation",
		"topics: {/a: {rate: {min: 3, max: 2}}}": "topic /a: rate: min 3 is above max 2",
		"topics: {/a: {gap: -1}}":                "topic /a: gap -1: want seconds",
		"topics: {/a: {size: big}}":              `topic /a: size "big": want WIDTHxHEIGHT, such as 640x480`,
		"topics: {/a: {accept: [all]}}":          `topic /a: accept: there is no kind of findings "all"`,
		"topics: {/a: {rate: {min: .nan}}}":      "topic /a: rate: NaN is no limit",
		"topics: {/a: {rate: 20}}":               "rate: write {min: …, max: …}",
		"topics: {/a: {ranges: {b.c: [1, 2]}}}":  "b.c: write {min: …, max: …}",
		"duration: 20":                           "duration: write {min: …, max: …}",
		"topics: {/a: {}}\n---\ntopics: {}":      "text after a second ---",
		"topics: {/a: {}}\n---\n{":               "text after a second ---",
		"topics: [":                              "line 1",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	path := t.TempDir() + "/c.yaml"
	require.NoError(t, os.WriteFile(path, []byte("topics: {/a: }"), 0o644))
	c, err := Load(path)
	require.NoError(t, err)
	require.NotNil(t, c.Topics["/a"])
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("duration: {min: 3}\ntopics:\n  /a: {type: x, rate: {min: 1, max: 2}, ranges: {a.b: {max: 3}}}\n"))
	long := strings.Repeat("/name", 300)
	f.Add(fmt.Appendf(nil, "topics: {? %s : {type: x, ranges: {? %s : {max: 3}}}}", long, long))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		_, err = c.WriteTo(&b)
		require.NoError(t, err)
		again, err := Parse(b.Bytes())
		require.NoError(t, err, b.String())
		require.Equal(t, len(c.Topics), len(again.Topics))
	})
}

func TestPauseIsNoGap(t *testing.T) {
	info, list := drive(t, func(s *sample) {
		s.missing = s.missing || s.at > 10*time.Second && s.at < 18*time.Second
	})
	info.Events = []codec.Event{{Kind: codec.EventPause, Time: begin + 10_020e6, Until: begin + 17_990e6}}
	good := learnt(t)
	p := New(good, info)
	for i := range list {
		p.Add(&list[i])
	}
	require.Empty(t, p.Findings())
	require.Equal(t, 0.3, Learn(0.2, p).Topics["/camera"].Gap)
}

// Silences of latched topics are no gaps.
func TestLatched(t *testing.T) {
	latched := []codec.QoS{{Durability: codec.TransientLocal}}
	for _, c := range []struct {
		topic string
		kind  string // type
		qos   []codec.QoS
		gap   float64
		want  []Kind
	}{
		{topic: "/a", want: []Kind{Gap, End}},
		{topic: "/a", qos: append([]codec.QoS{codec.DefaultQoS()}, latched...), want: []Kind{Gap, End}},
		{topic: "/a", qos: latched},
		{topic: "/robot/tf_static"},
		{topic: "/mavros/param/event"},
		{topic: "/px4/parameter_events"},
		{topic: "/rosout"},
		{topic: "/rosout", gap: 5, want: []Kind{Gap, End}},
		{topic: "/fmu/out/vehicle_command_ack", kind: "px4_msgs/msg/VehicleCommandAck"},
		{topic: "/fmu/out/vehicle_attitude", kind: "px4_msgs/msg/VehicleAttitude", want: []Kind{Gap, End}},
	} {
		info := &codec.Info{Complete: true}
		p := New(&Contract{Topics: map[string]*Topic{c.topic: {Gap: c.gap}}}, info)
		topic := &codec.Channel{Topic: c.topic, Type: c.kind, QoS: c.qos}
		other := &codec.Channel{Topic: "/other"}
		for i := range int64(1000) {
			if i < 20 || i >= 100 && i < 120 {
				p.Add(&codec.Message{Channel: topic, LogTime: begin + i*1e8})
			}
			p.Add(&codec.Message{Channel: other, LogTime: begin + i*1e8})
		}
		var got []Kind
		for _, f := range p.Findings() {
			got = append(got, f.Kind)
		}
		require.Equal(t, c.want, got, c)
		require.True(t, Learn(0.2, p).Topics[c.topic] == nil || Learn(0.2, p).Topics[c.topic].Gap == 0)
	}
}

func TestMessagesOfOneTime(t *testing.T) {
	p := New(nil, &codec.Info{Complete: true})
	topic, other := &codec.Channel{Topic: "/a"}, &codec.Channel{Topic: "/other"}
	for range 50 {
		p.Add(&codec.Message{Channel: topic, LogTime: begin})
	}
	for i := range int64(100) {
		p.Add(&codec.Message{Channel: other, LogTime: begin + i*1e8})
	}
	p.Add(&codec.Message{Channel: topic, LogTime: begin + 10e9})
	require.Empty(t, p.Findings())
}

// A recording with findings meets the contract learnt from it.
func TestLearntIsMet(t *testing.T) {
	short := func(s *sample) { s.missing = s.missing || s.topic == "/camera" && s.at > 14*time.Second }
	info, list := drive(t, short)
	info.Events = []codec.Event{{Kind: codec.EventLost, Topic: "/rosout", Time: begin, Text: "lost"}}
	p := New(nil, info)
	for i := range list {
		p.Add(&list[i])
	}
	c := Learn(0.2, p)
	require.Equal(t, []Kind{Lost}, c.Accept)
	require.True(t, c.Topics["/camera"].Rate.none())
	require.Zero(t, c.Topics["/camera"].Gap)
	require.NotZero(t, c.Topics["/imu"].Gap)
	p = New(c, info)
	for i := range list {
		p.Add(&list[i])
	}
	require.Empty(t, p.Findings())
}

// A contract learnt from topics with messages at irregular times is met by recordings with messages at other times.
func TestLearnEvents(t *testing.T) {
	latched := []codec.QoS{{Durability: codec.TransientLocal}}
	seconds := func(at ...int64) []int64 { return at }
	for name, c := range map[string]struct {
		qos         []codec.QoS
		length      int64   // number of messages of a burst, 20 ms apart
		good, other []int64 // begins of bursts, in seconds
		rate, found bool    // the topic has a rate and a gap; the other recording does not meet them
	}{
		"latched":              {qos: latched, length: 1, good: seconds(0), other: seconds(3)},
		"latched, sent again":  {qos: latched, length: 1, good: seconds(0, 50), other: seconds(0, 10, 20, 90)},
		"single events":        {length: 1, good: seconds(5, 20, 70), other: seconds(1, 2, 90)},
		"bursts":               {length: 25, good: seconds(5, 20, 40, 55, 80), other: seconds(1, 50)},
		"bursts of 4 s":        {length: 200, good: seconds(5, 15, 25, 35, 45, 55, 75), other: seconds(2, 50, 95)},
		"a stream":             {length: 5000, good: seconds(0), other: seconds(0), rate: true},
		"a stream that pauses": {length: 2000, good: seconds(0, 42), other: seconds(0, 60), rate: true, found: true},
	} {
		t.Run(name, func(t *testing.T) {
			record := func(expected *Contract, starts []int64) *Pass {
				p := New(expected, &codec.Info{Complete: true})
				topic := &codec.Channel{Topic: "/a", QoS: c.qos}
				other := &codec.Channel{Topic: "/other", QoS: []codec.QoS{codec.DefaultQoS()}}
				for i := range int64(5000) {
					if slices.ContainsFunc(starts, func(s int64) bool { return i >= s*50 && i < s*50+c.length }) {
						p.Add(&codec.Message{Channel: topic, LogTime: begin + i*20e6})
					}
					p.Add(&codec.Message{Channel: other, LogTime: begin + i*20e6})
				}
				return p
			}
			learnt := Learn(0.2, record(nil, c.good))
			require.Equal(t, c.rate, learnt.Topics["/a"].Gap > 0)
			require.Equal(t, c.rate, !learnt.Topics["/a"].Rate.none())
			require.Empty(t, record(learnt, c.good).Findings())
			require.Equal(t, c.found, len(record(learnt, c.other).Findings()) > 0)
		})
	}
}

func TestRangeOfInfiniteValues(t *testing.T) {
	of := func(values ...float64) Limits {
		return Learn(0.2, passOf(t, nil, func(s *sample) {
			if s.topic == "/imu" {
				s.value = values[int(s.at/(10*time.Millisecond))%len(values)]
			}
		})).Topics["/imu"].Ranges["linear_acceleration.z"]
	}
	require.Equal(t, limits(0.8, 2.2), of(1, math.Inf(-1), 2, math.Inf(1), math.NaN()))
	require.True(t, of(math.Inf(1)).none())
	require.True(t, of(-1.7e308, 1.7e308).none())
}

func TestExpectedFrameAmongMany(t *testing.T) {
	expected := &topicState{expected: &Topic{Frames: []string{"/last"}}, frames: map[string]bool{}}
	for i := range 2 * maxNames {
		expected.addFrame(fmt.Sprint(i))
	}
	expected.addFrame("last")
	require.Len(t, expected.frames, maxNames+1)
	require.True(t, expected.frames["last"])
}

func TestFramesWithoutACommonTransform(t *testing.T) {
	var seen []*topicState
	for _, frame := range []string{"a", "b", "c"} {
		seen = append(seen, &topicState{types: []string{(*tf2_msgs.TFMessage)(nil).TypeName()}, count: 1,
			frames: map[string]bool{frame: true}})
	}
	learnt := &Topic{}
	learnt.learn(seen, false, 0.2)
	require.Empty(t, learnt.Frames)
}

func TestNotANumber(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, kind := range []rosidl.Kind{rosidl.Float32, rosidl.Float64} {
			for at := range 9 {
				for _, value := range []float64{1, math.Inf(1), math.Inf(-1), math.MaxFloat32, math.NaN(),
					math.Copysign(math.NaN(), -1)} {
					var raw []byte
					for i := range 9 {
						v := -0.5
						if i == at {
							v = value
						}
						if kind == rosidl.Float32 {
							raw = order.AppendUint32(raw, math.Float32bits(float32(v)))
						} else {
							raw = order.AppendUint64(raw, math.Float64bits(v))
						}
					}
					require.Equal(t, math.IsNaN(value), hasNaN(raw, kind, order == binary.BigEndian),
						"%v at %d of %v, %v", value, at, kind, order)
				}
			}
		}
	}
}
