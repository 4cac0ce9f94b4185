package condition

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

func TestParseCondition(t *testing.T) {
	for text, want := range map[string]Condition{
		"/imu linear_acceleration.x > 20": {Topic: "/imu", tests: []test{{"", "linear_acceleration.x", ">", "20"}}},
		" /imu  x>=-1.5e3 ":               {Topic: "/imu", tests: []test{{"", "x", ">=", "-1.5e3"}}},
		"imu abs(v.z)<2 and len( ranges )!=0": {Topic: "imu",
			tests: []test{{"abs", "v.z", "<", "2"}, {"len", "ranges", "!=", "0"}}},
		"/d status[0].name == 'a and b'": {Topic: "/d", tests: []test{{"", "status[0].name", "==", `"a and b`}}},
		`/d name == "" and abs <= 1`:     {Topic: "/d", tests: []test{{"", "name", "==", `"`}, {"", "abs", "<=", "1"}}},
		"/carla/hero/collision *":        {Topic: "/carla/hero/collision"},
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		want.Text = text
		require.Equal(t, &want, got)
	}
	for text, want := range map[string]string{
		"":                   "want TOPIC FIELD",
		"/imu":               "want TOPIC FIELD",
		"/imu x":             "want TOPIC FIELD",
		"/imu x >":           "want TOPIC FIELD",
		"/imu x = 1":         "want TOPIC FIELD",
		"/imu x => 1":        "want TOPIC FIELD",
		"/imu sin(x) > 1":    "want TOPIC FIELD",
		"/imu abs(x > 1":     "want TOPIC FIELD",
		"/imu * and x > 1":   "want TOPIC FIELD",
		"/imu x > 1 and":     "want TOPIC FIELD",
		"/imu x > 1 or y>2":  `"or" is not understood`,
		"/imu x > 1 y > 2":   `"y" is not understood`,
		"/imu name == 'open": "there is no second '",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "condition \"")
	}
}

// newTestDetector returns a detector for messages of a type.
func newTestDetector(t *testing.T, typeName, text string) *Detector {
	t.Helper()
	d, err := detect(t, typeName, text)
	require.NoError(t, err)
	return d
}

func detect(t *testing.T, typeName, text string) (*Detector, error) {
	t.Helper()
	c, err := Parse("/t " + text)
	require.NoError(t, err)
	schema, err := cdr.NewSchema(msgs.Library(), typeName)
	require.NoError(t, err)
	return NewDetector(c, schema)
}

func payloadOf(t *testing.T, m msgs.Message) []byte {
	t.Helper()
	data, err := cdr.Marshal(m)
	require.NoError(t, err)
	return data
}

func TestConditionsHold(t *testing.T) {
	imu := &sensor_msgs.Imu{
		Header:             std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: -5, Nanosec: 7}, FrameId: "base"},
		LinearAcceleration: geometry_msgs.Vector3{X: -20.5},
	}
	imu.OrientationCovariance[8] = 0.25
	status := &diagnostic_msgs.DiagnosticArray{Status: []diagnostic_msgs.DiagnosticStatus{
		{Level: 2, Name: "motor", Values: []diagnostic_msgs.KeyValue{{Key: "t", Value: "hot"}, {Key: "u", Value: ""}}},
		{Level: 1},
	}}
	scan := &sensor_msgs.LaserScan{AngleMin: 0.1, Ranges: []float32{1, 2, 3}}
	joy := &sensor_msgs.Joy{Axes: []float32{0.5}, Buttons: []int32{0, -1}}
	for _, c := range []struct {
		message msgs.Message
		test    string
		want    bool
		values  string
	}{
		{imu, "*", true, ""},
		{imu, "linear_acceleration.x < -20", true, "linear_acceleration.x = -20.5"},
		{imu, "linear_acceleration.x < -20.5", false, "linear_acceleration.x = -20.5"},
		{imu, "linear_acceleration.x <= -20.5", true, "linear_acceleration.x = -20.5"},
		{imu, "abs(linear_acceleration.x) > 20", true, "abs(linear_acceleration.x) = 20.5"},
		{imu, "linear_acceleration.x > 20", false, "linear_acceleration.x = -20.5"},
		{imu, "linear_acceleration.x < 0 and linear_acceleration.y > 0", false,
			"linear_acceleration.x = -20.5, linear_acceleration.y = 0"},
		{imu, "linear_acceleration.x < 0 and linear_acceleration.y >= 0", true,
			"linear_acceleration.x = -20.5, linear_acceleration.y = 0"},
		{imu, "orientation_covariance[8] == 0.25", true, "orientation_covariance[8] = 0.25"},
		{imu, "header.stamp.sec == -5", true, "header.stamp.sec = -5"},
		{imu, "header.stamp.nanosec != 7", false, "header.stamp.nanosec = 7"},
		{imu, "header.frame_id == base", true, "header.frame_id = base"},
		{imu, "header.frame_id != 'base'", false, "header.frame_id = base"},
		{imu, "header.frame_id == bas", false, "header.frame_id = base"},
		{imu, "len(header.frame_id) == 4", true, "len(header.frame_id) = 4"},
		{status, "status[0].level >= 2", true, "status[0].level = 2"},
		{status, "status[1].level >= 2", false, "status[1].level = 1"},
		{status, "status[2].level >= 0", false, ""},
		{status, "len(status) == 2 and status[0].values[0].value == hot", true,
			"len(status) = 2, status[0].values[0].value = hot"},
		{status, "status[0].values[1].value == ''", true, "status[0].values[1].value = "},
		{status, "len(status[0].values[1].value) == 0", true, "len(status[0].values[1].value) = 0"},
		{scan, "angle_min == 0.1", true, "angle_min = 0.1"},
		{scan, "len(ranges) > 2 and ranges[2] >= 3", true, "len(ranges) = 3, ranges[2] = 3"},
		{scan, "len(intensities) > 0", false, "len(intensities) = 0"},
		{joy, "buttons[1] == -1", true, "buttons[1] = -1"},
		{joy, "abs(buttons[1]) == 1", true, "abs(buttons[1]) = 1"},
		{&std_msgs.Bool{Data: true}, "data == true", true, "data = true"},
		{&std_msgs.Bool{Data: true}, "data != true", false, "data = true"},
		{&std_msgs.Bool{}, "data == false", true, "data = false"},
		{&std_msgs.Int8{Data: -3}, "data == -3", true, "data = -3"},
		{&std_msgs.Int16{Data: -300}, "data < -299", true, "data = -300"},
		{&std_msgs.UInt16{Data: 65535}, "data > 65534", true, "data = 65535"},
		{&std_msgs.Int64{Data: -1 << 40}, "data < -1e12", true, "data = -1099511627776"},
		{&std_msgs.UInt64{Data: 1 << 63}, "data > 1e18", true, "data = 9223372036854775808"},
		{&std_msgs.Byte{Data: 200}, "data == 200", true, "data = 200"},
	} {
		name := c.message.TypeName() + " " + c.test
		data := payloadOf(t, c.message)
		d := newTestDetector(t, c.message.TypeName(), c.test)
		require.Equal(t, c.want, d.Fires(data), name)
		require.Equal(t, c.values, d.Values(data), name)
		if c.test == "*" {
			continue
		}
		require.False(t, d.Fires(data), "%s: only the first of several messages fires", name)
		for n := range data { // a truncated payload must neither panic nor be read beyond its end
			d.Fires(data[:n:n])
			d.Values(data[:n:n])
		}
	}
}

func TestConditionsInBigEndian(t *testing.T) {
	d := newTestDetector(t, "std_msgs/msg/Int32", "data == -2")
	require.True(t, d.Fires([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe}))
	s := newTestDetector(t, "std_msgs/msg/String", "data == ab and len(data) == 2")
	require.True(t, s.Fires([]byte{0, 0, 0, 0, 0, 0, 0, 3, 'a', 'b', 0}))
	require.False(t, s.Fires([]byte{0, 7, 0, 0, 0, 0, 0, 3, 'a', 'b', 0}), "XCDR2 is not looked into")
}

func TestConditionsSurviveHostilePayloads(t *testing.T) {
	d := newTestDetector(t, "std_msgs/msg/String", "data == x and len(data) == 1")
	for _, data := range [][]byte{
		nil, {0, 1, 0, 0}, {0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff}, {0, 1, 0, 0, 9, 0, 0, 0, 'x'},
		{0xff, 0xff, 0xff, 0xff, 1},
	} {
		require.False(t, d.Fires(data), "% x", data)
		require.Empty(t, d.Values(data))
	}
	require.True(t, d.Fires([]byte{0, 1, 0, 0, 1, 0, 0, 0, 'x'}), "a string without a NUL is one")
}

func TestConditionsFireOnRisingEdges(t *testing.T) {
	d := newTestDetector(t, "std_msgs/msg/Int8", "data > 1")
	var fired []bool
	for _, v := range []int8{0, 2, 3, 1, 2, 2, -1} {
		fired = append(fired, d.Fires(payloadOf(t, &std_msgs.Int8{Data: v})))
	}
	require.Equal(t, []bool{false, true, false, false, true, false, false}, fired)
}

func TestConditionsThatDoNotSuitTheType(t *testing.T) {
	for text, want := range map[string]string{
		"linear.x > 1":                    "has no field",
		"linear_acceleration > 1":         "is a geometry_msgs/msg/Vector3: name one of its fields",
		"linear_acceleration.x.y > 1":     "has no fields",
		"linear_acceleration.x > fast":    "fast, which is not a number",
		"linear_acceleration.x > nan":     "nan, which is not a number",
		"linear_acceleration.x[0] > 1":    "is not an array",
		"orientation_covariance > 1":      "select one element, orientation_covariance[0]",
		"orientation_covariance[9] > 1":   "at most 9",
		"orientation_covariance[x] > 1":   "is not an index",
		"len(orientation_covariance) > 1": "neither a sequence nor a string",
		"len(linear_acceleration.x) > 1":  "neither a sequence nor a string",
		"header.frame_id > a":             "is a string, which can only be",
		"abs(header.frame_id) == a":       "is a string, which can only be",
	} {
		_, err := detect(t, "sensor_msgs/msg/Imu", text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, text)
	}
	for _, text := range []string{"data > true", "data == 1", "abs(data) == true"} {
		_, err := detect(t, "std_msgs/msg/Bool", text)
		require.ErrorContains(t, err, "is a bool, which can only be")
	}
	library, err := rosidl.ParseConcatenated("x_msgs/msg/Wide", "wstring text")
	require.NoError(t, err)
	schema, err := cdr.NewSchema(library, "x_msgs/msg/Wide")
	require.NoError(t, err)
	_, err = NewDetector(&Condition{tests: []test{{"", "text", "==", "a"}}}, schema)
	require.ErrorContains(t, err, "is a wstring")
}

func TestConditionsAllocateNothing(t *testing.T) {
	imu := payloadOf(t, &sensor_msgs.Imu{Header: std_msgs.Header{FrameId: "base_link"}})
	d := newTestDetector(t, "sensor_msgs/msg/Imu",
		"header.frame_id == base_link and len(header.frame_id) > 3 and abs(linear_acceleration.z) > 5")
	status := payloadOf(t, &diagnostic_msgs.DiagnosticArray{Status: make([]diagnostic_msgs.DiagnosticStatus, 3)})
	s := newTestDetector(t, "diagnostic_msgs/msg/DiagnosticArray", "len(status) == 3 and status[2].message == bad")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		d.Fires(imu)
		s.Fires(status)
	}))
}

func FuzzCondition(f *testing.F) {
	f.Add("/t len(status) == 2 and status[0].name == 'x'", []byte{0, 1, 0, 0})
	f.Add("/t abs(status[1].level)>-1", []byte{0, 0, 0, 0, 1})
	schema, err := cdr.NewSchema(msgs.Library(), "diagnostic_msgs/msg/DiagnosticArray")
	require.NoError(f, err)
	f.Fuzz(func(_ *testing.T, text string, payload []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		if d, err := NewDetector(c, schema); err == nil {
			d.Fires(payload)
			d.Values(payload)
		}
	})
}
