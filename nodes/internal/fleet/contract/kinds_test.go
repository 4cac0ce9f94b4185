package contract

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

func payloadOf(t *testing.T, m msgs.Message) []byte {
	data, err := cdr.Marshal(m)
	require.NoError(t, err)
	return data
}

// Payloads are checked as a whole, whatever fields they have.
func TestPayloads(t *testing.T) {
	float := payloadOf(t, &std_msgs.Float64{Data: 1})
	text := payloadOf(t, &std_msgs.String{Data: "abc"})
	long := bytes.Clone(text)
	binary.LittleEndian.PutUint32(long[4:], 1000)
	imu := payloadOf(t, &sensor_msgs.Imu{})
	for name, c := range map[string]struct {
		typeName string
		payload  []byte
		want     bool
	}{
		"number":                    {"std_msgs/msg/Float64", float, false},
		"padding":                   {"std_msgs/msg/String", append(bytes.Clone(text), 0, 0, 0), false},
		"surplus":                   {"std_msgs/msg/Float64", append(bytes.Clone(float), make([]byte, 32)...), true},
		"surplus behind a header":   {"sensor_msgs/msg/Imu", append(bytes.Clone(imu), make([]byte, 32)...), true},
		"cut":                       {"std_msgs/msg/Float64", float[:8], true},
		"string beyond the end":     {"std_msgs/msg/String", long, true},
		"no header":                 {"std_msgs/msg/Float64", float[4:], true},
		"text without a header":     {"std_msgs/msg/String", []byte("hello world"), true},
		"nothing":                   {"std_msgs/msg/Float64", nil, true},
		"another type's, by chance": {"std_msgs/msg/Int64", float, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(nil, &codec.Info{Complete: true})
			channel := &codec.Channel{Topic: "/a", Type: c.typeName, Encoding: codec.EncodingCDR}
			for i := range int64(3) {
				p.Add(&codec.Message{Channel: channel, LogTime: begin + i*1e9, Data: c.payload})
			}
			if list := p.Findings(); c.want {
				require.Len(t, list, 1)
				require.Equal(t, Payload, list[0].Kind)
			} else {
				require.Empty(t, list)
			}
		})
	}
}

// A truncated picture is found. Bytes that never were a picture are not.
func TestPictures(t *testing.T) {
	picture := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range picture.Pix {
		picture.Pix[i] = byte(i * i)
	}
	var j, n bytes.Buffer
	require.NoError(t, jpeg.Encode(&j, picture, nil))
	require.NoError(t, png.Encode(&n, picture))
	other := []byte("\xff\xd8\xff\xe0 made up")
	for name, c := range map[string]struct {
		format string
		list   [][]byte
		want   int
	}{
		"JPEG":           {"jpeg", [][]byte{j.Bytes(), j.Bytes()}, 0},
		"cut JPEG":       {"jpeg", [][]byte{j.Bytes(), j.Bytes()[:j.Len()-100], j.Bytes()}, 1},
		"JPEGs, all cut": {"jpeg", [][]byte{j.Bytes()[:j.Len()-100], j.Bytes()[:j.Len()-90]}, 1},
		"JPEG, no pixel": {"jpeg", [][]byte{j.Bytes(), j.Bytes()[:20]}, 1},
		"PNG":            {"png", [][]byte{n.Bytes(), n.Bytes()}, 0},
		"cut PNG":        {"png", [][]byte{n.Bytes(), n.Bytes()[:n.Len()/2], n.Bytes()}, 1},
		"no picture":     {"jpeg", [][]byte{other, other}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(nil, &codec.Info{Complete: true})
			m := sensor_msgs.CompressedImage{Format: c.format}
			channel := &codec.Channel{Topic: "/a", Type: m.TypeName(), Encoding: codec.EncodingCDR}
			for i, data := range c.list {
				m.Data = data
				p.Add(&codec.Message{Channel: channel, LogTime: begin + int64(i)*1e8, Data: payloadOf(t, &m)})
			}
			require.Len(t, p.Findings(), c.want)
		})
	}
}

// NaN is no fault if it means "unknown" by the definition of the type.
func TestNaNThatIsUnset(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(v float64) msgs.Message
		want int
	}{
		"temperature": {func(v float64) msgs.Message { return &sensor_msgs.Temperature{Temperature: v} }, 1},
		"altitude":    {func(v float64) msgs.Message { return &sensor_msgs.NavSatFix{Altitude: v} }, 0},
		"battery":     {func(v float64) msgs.Message { return &sensor_msgs.BatteryState{Voltage: float32(v)} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(nil, &codec.Info{Complete: true})
			for i, v := range []float64{1, 2, math.NaN(), 3} {
				m := c.of(v)
				channel := &codec.Channel{Topic: "/a", Type: m.TypeName(), Encoding: codec.EncodingCDR}
				if i > 0 {
					channel = p.last.channel
				}
				p.Add(&codec.Message{Channel: channel, LogTime: begin + int64(i)*1e8, Data: payloadOf(t, m)})
			}
			require.Len(t, p.Findings(), c.want)
		})
	}
	require.True(t, nanIsUnset("px4_msgs/msg/VehicleLocalPosition"))
}

// The topics of an actor end when the actor is destroyed, and pause until there is another with its name.
func TestActorsThatAreDestroyed(t *testing.T) {
	list := &codec.Channel{Topic: "/carla/actor_list", Type: (*carla_msgs.CarlaActorList)(nil).TypeName(),
		Encoding: codec.EncodingCDR}
	both := []carla_msgs.CarlaActorInfo{{Id: 7, Rolename: "hero"}, {Id: 8}}
	for name, c := range map[string]struct {
		topic string
		until []carla_msgs.CarlaActorInfo
		again bool
		want  []Kind
	}{
		"by its role":       {topic: "/carla/hero/odometry"},
		"by its id":         {topic: "/carla/actor8/odometry"},
		"another actor":     {topic: "/carla/actor9/odometry", want: []Kind{End}},
		"still there":       {topic: "/carla/hero/odometry", until: both, want: []Kind{End}},
		"comes back":        {topic: "/carla/hero/odometry", again: true},
		"silent, and there": {topic: "/carla/hero/odometry", until: both, again: true, want: []Kind{Gap}},
		"no actor's":        {topic: "/carla/odometry", want: []Kind{End}},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(nil, &codec.Info{Complete: true})
			topic, other := &codec.Channel{Topic: c.topic}, &codec.Channel{Topic: "/clock"}
			say := func(i int64, actors []carla_msgs.CarlaActorInfo) {
				p.Add(&codec.Message{Channel: list, LogTime: begin + i*1e8,
					Data: payloadOf(t, &carla_msgs.CarlaActorList{Actors: actors})})
			}
			say(0, both)
			for i := range int64(1000) {
				switch i {
				case 100:
					say(i, c.until)
				case 800:
					say(i, both)
				}
				if i < 100 || c.again && i >= 800 {
					p.Add(&codec.Message{Channel: topic, LogTime: begin + i*1e8})
				}
				p.Add(&codec.Message{Channel: other, LogTime: begin + i*1e8})
			}
			var got []Kind
			for _, f := range p.Findings() {
				got = append(got, f.Kind)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestTimesOnly(t *testing.T) {
	p := New(nil, &codec.Info{Complete: true})
	for i, name := range []string{"std_msgs/msg/String", "unknown/msg/A"} {
		p.Add(&codec.Message{Channel: &codec.Channel{Topic: "/a", Type: name, Encoding: codec.EncodingCDR},
			LogTime: begin + int64(i), Data: payloadOf(t, &std_msgs.String{})})
	}
	require.Empty(t, p.Findings())
	require.Equal(t, []string{"/a [unknown/msg/A]"}, p.TimesOnly())
}

// Bursts of messages have no rhythm: the silence after a burst is neither a gap nor an end.
func TestBursts(t *testing.T) {
	for name, c := range map[string]struct {
		length int64 // number of messages of a burst, 20 ms apart
		want   []Kind
	}{
		"bursts":  {20, nil},
		"streams": {200, []Kind{Gap, End}},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(nil, &codec.Info{Complete: true})
			topic, other := &codec.Channel{Topic: "/a"}, &codec.Channel{Topic: "/other"}
			for i := range int64(10000) {
				if i < c.length || i >= 1000 && i < 1000+c.length {
					p.Add(&codec.Message{Channel: topic, LogTime: begin + i*20e6})
				}
				p.Add(&codec.Message{Channel: other, LogTime: begin + i*20e6})
			}
			var got []Kind
			for _, f := range p.Findings() {
				got = append(got, f.Kind)
			}
			require.Equal(t, c.want, got)
		})
	}
}
