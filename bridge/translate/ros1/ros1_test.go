package ros1

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/rosbag"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/test/samples/generate"
)

// TestNames converts names of ROS 1 by the rules of ROS 2.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"D": "d", "frame_id": "frame_id", "aBool": "a_bool", "HTTPServer": "http_server", "a__b_": "a_b", "_x": "x",
		"T1": "t1", "x2Y": "x2_y", "3d": "x3d",
	} {
		require.Equal(t, want, fieldName(name), name)
	}
	for name, want := range map[string]string{
		"sensor_msgs/Imu": "sensor_msgs/msg/Imu", "tf/tfMessage": "tf/msg/TfMessage", "MyPkg/a_b_C": "my_pkg/msg/ABC",
		"p/1": "p/msg/X1",
	} {
		require.Equal(t, want, typeName(name))
	}
	for name, want := range map[string]string{"A": "A", "a__b": "A_B", "_": "X", "2D": "X2D"} {
		require.Equal(t, want, constantName(name))
	}
}

// TestDefinitionOfROS2 compares the ROS 2 definition of a type with all features of ROS 1.
func TestDefinitionOfROS2(t *testing.T) {
	plan2, err := planToROS2(msgs.Release(""), "my_pkg/Features", features)
	require.NoError(t, err)
	require.Equal(t, "my_pkg/msg/Features", plan2.name)
	own, rest, _ := strings.Cut(plan2.text, strings.Repeat("=", 80))
	require.Equal(t, `# About it.
int8 SIGNED=-1
string TEXT="a # b \"c\""
float32 RATIO=0.5
bool a_bool
uint8 b
float64[3] fixed  # three
my_pkg/Empty nothing
uint8 c
my_pkg/Empty[] nothings
char[] chars
byte[] bytes
string[2] two
string[] any
builtin_interfaces/Time[] times
builtin_interfaces/Duration d
uint8 e
my_pkg/Inner[2] pair
my_pkg/Inner[] inner
my_pkg/FlatOne[] flats
uint8 g
my_pkg/FlatOne flat
int64 last
`, strings.TrimSuffix(own, "\n"))
	require.Contains(t, rest, "\nMSG: my_pkg/FlatOne\nfloat64 x\nfloat32 y\nint16 z\nuint16 zz\n")
	require.Contains(t, rest, "\nMSG: builtin_interfaces/Time\n")
	require.Regexp(t, "^RIHS01_[0-9a-f]{64}$", plan2.sum)
}

// TestKnownTypes checks that types of ROS 2 keep their hashes, and types of ROS 1 the MD5 sums of ROS 1 Noetic.
func TestKnownTypes(t *testing.T) {
	library := msgs.Release("")
	for name1, want := range map[string]struct{ name2, md5 string }{
		"std_msgs/Header":                 {"std_msgs/msg/Header", "2176decaecbce78abc3b96ef049fabed"},
		"std_msgs/String":                 {"std_msgs/msg/String", "992ce8a1687cec8c8bd883ec73ca41d1"},
		"std_msgs/Empty":                  {"std_msgs/msg/Empty", "d41d8cd98f00b204e9800998ecf8427e"},
		"std_msgs/Time":                   {"builtin_interfaces/msg/Time", "cd7166c74c552c311fbcc2fe5a7bc289"},
		"std_msgs/Duration":               {"builtin_interfaces/msg/Duration", "3e286caf4241d664e55f3ad380e2ae46"},
		"rosgraph_msgs/Log":               {"rcl_interfaces/msg/Log", "acffd30cd6b6de30f120938c17c593fb"},
		"rosgraph_msgs/Clock":             {"rosgraph_msgs/msg/Clock", "a9c97c1d230cfc112e270351a944ee47"},
		"tf2_msgs/TFMessage":              {"tf2_msgs/msg/TFMessage", "94810edda583a504dfda3829e70d7eec"},
		"geometry_msgs/Twist":             {"geometry_msgs/msg/Twist", "9f195f881246fdfa2798d1d3eebca84a"},
		"sensor_msgs/Imu":                 {"sensor_msgs/msg/Imu", "6a62c6daae103f4ff57a132d6f95cec2"},
		"sensor_msgs/Image":               {"sensor_msgs/msg/Image", "060021388200f6f0f447d0fcd9c64743"},
		"sensor_msgs/PointCloud2":         {"sensor_msgs/msg/PointCloud2", "1158d486dd51d683ce2f1be655c3c181"},
		"sensor_msgs/CameraInfo":          {"sensor_msgs/msg/CameraInfo", "c9a58c1b0b154e0e6da7578cb991d214"},
		"sensor_msgs/NavSatFix":           {"sensor_msgs/msg/NavSatFix", "2d3a8cd499b9b4a0249fb98fd05cfa48"},
		"sensor_msgs/Range":               {"sensor_msgs/msg/Range", "c005c34273dc426c67a020a87bc24148"},
		"sensor_msgs/BatteryState":        {"sensor_msgs/msg/BatteryState", "4ddae7f048e32fda22cac764685e3974"},
		"sensor_msgs/LaserScan":           {"sensor_msgs/msg/LaserScan", "90c7ef2dc6895d81024acba2ac42f369"},
		"nav_msgs/Odometry":               {"nav_msgs/msg/Odometry", "cd5e73d190d741a2f92e81eda573aca7"},
		"nav_msgs/OccupancyGrid":          {"nav_msgs/msg/OccupancyGrid", "3381f2d731d4076ec5c71b0759edbe4e"},
		"diagnostic_msgs/DiagnosticArray": {"diagnostic_msgs/msg/DiagnosticArray", "60810da900de1dd6ddd437c3503511da"},
	} {
		plan1, err := planToROS1(library, want.name2)
		require.NoError(t, err)
		require.Equal(t, name1, plan1.name)
		require.Equal(t, want.md5, plan1.sum, plan1.text)
		plan2, err := planToROS2(library, name1, plan1.text)
		require.NoError(t, err)
		require.Equal(t, want.name2, plan2.name)
		hash, err := library.Hash(want.name2)
		require.NoError(t, err)
		require.Equal(t, hash, plan2.sum)
	}
	plan1, err := planToROS1(library, "tf2_msgs/msg/TFMessage")
	require.NoError(t, err)
	plan2, err := planToROS2(library, "tf/tfMessage", plan1.text)
	require.NoError(t, err)
	require.Equal(t, "tf2_msgs/msg/TFMessage", plan2.name)
}

// TestTypesThatDiffer checks that a type with the name of a ROS 2 type but other fields keeps the definition of ROS 1,
// unless it only lacks new fields.
func TestTypesThatDiffer(t *testing.T) {
	library := msgs.Release("")
	for name, text := range map[string]string{
		"more": "float32 x\nfloat32 y\nfloat32 z\nfloat32 w\n", "other order": "float64 y\nfloat64 x\nfloat64 z\n",
		"other type": "float32 x\nfloat32 y\nfloat32 z\n", "an array": "float64[] x\nfloat64 y\nfloat64 z\n",
	} {
		t.Run(name, func(t *testing.T) {
			plan2, err := planToROS2(library, "geometry_msgs/Point", text)
			require.NoError(t, err)
			require.Equal(t, "geometry_msgs/msg/Point", plan2.name)
			require.Equal(t, text, plan2.text)
			// The type keeps the definition inside of other types, too.
			plan2, err = planToROS2(library, "geometry_msgs/Pose", "Point position\nQuaternion orientation\n"+
				"==========\nMSG: geometry_msgs/Point\n"+text+"==========\nMSG: geometry_msgs/Quaternion\nfloat64 "+
				"x\nfloat64 y\nfloat64 z\nfloat64 w\n")
			require.NoError(t, err)
			require.Contains(t, plan2.text, text)
		})
	}
	hash, err := library.Hash("geometry_msgs/msg/Point")
	require.NoError(t, err)
	plan2, err := planToROS2(library, "geometry_msgs/Point", "float64 x\nfloat64 y\n")
	require.NoError(t, err)
	require.Equal(t, hash, plan2.sum)
	payload, _, err := toCDR(nil, make([]byte, 16), plan2.steps)
	require.NoError(t, err)
	require.Len(t, payload, 4+24)
}

// TestDefaults checks that fields that only ROS 2 has get their defaults.
func TestDefaults(t *testing.T) {
	text := `uint8 a
int16 number -2
float32 ratio 0.5
bool on true
string text "ab"
wstring wide "é"
int32[3] three [1, 2, 3]
uint8[] list [7, 8]
string[] words
string[2] pair
builtin_interfaces/Time stamp
builtin_interfaces/Time[2] stamps
uint8 z
`
	library, err := rosidl.ParseConcatenated("my/msg/New", text)
	require.NoError(t, err)
	plan2, err := planToROS2(library, "my/New", "uint8 a\nuint8 z\n")
	require.NoError(t, err)
	payload, _, err := toCDR(nil, []byte{9, 10}, plan2.steps)
	require.NoError(t, err)
	schema, err := cdr.NewSchema(library, "my/msg/New")
	require.NoError(t, err)
	want, err := schema.Encode(&cdr.Struct{Fields: []cdr.Field{{Name: "a", Value: uint8(9)},
		{Name: "z", Value: uint8(10)}}})
	require.NoError(t, err)
	require.Equal(t, want, payload)
	back, _, err := fromCDR(nil, payload, plan2.steps)
	require.NoError(t, err)
	require.Equal(t, []byte{9, 10}, back)
}

// TestWide translates a string to a wstring and back, and refuses a string beyond the bound.
func TestWide(t *testing.T) {
	library, err := rosidl.ParseConcatenated("my/msg/Wide", "wstring<=4 s\n")
	require.NoError(t, err)
	plan1, err := planToROS1(library, "my/msg/Wide")
	require.NoError(t, err)
	require.Equal(t, "string s\n", plan1.text)
	text := []byte("\x07\x00\x00\x00aé😀")
	payload, _, err := toCDR(nil, text, plan1.steps)
	require.NoError(t, err)
	schema, err := cdr.NewSchema(library, "my/msg/Wide")
	require.NoError(t, err)
	message, err := schema.Decode(payload)
	require.NoError(t, err)
	require.Equal(t, "aé😀", message.Get("s"))
	back, _, err := fromCDR(nil, payload, plan1.steps)
	require.NoError(t, err)
	require.Equal(t, text, back)
	_, _, err = toCDR(nil, []byte("\x05\x00\x00\x00abcde"), plan1.steps)
	require.EqualError(t, err, "s: 5 characters, but in ROS 2 there are at most 4")
}

// TestEvents checks that an event of a recorder becomes the event that a recorder writes for ROS 1.
func TestEvents(t *testing.T) {
	e := codec.Event{Kind: codec.EventDrop, Topic: "/imu", Time: 1700000000_123456789, Until: 1700000001_000000001,
		Count: 12, Text: "the disk is slow"}
	m, err := codec.EventMessage(e)
	require.NoError(t, err)
	back, topics := bridgetest.Announce(t, nil, FromROS2, m.Channel)
	out, err := back.Begin(nil)(m)
	require.NoError(t, err)
	own := codec.EventMessage1(e)
	require.Equal(t, own.Data, out[0].Data)
	require.Equal(t, own.Channel.Type, topics[0].Channel.Type)
	require.Equal(t, string(own.Channel.Schema.Data), string(topics[0].Channel.Schema.Data))
	require.True(t, codec.IsEvents(topics[0].Channel))
	got, ok := codec.ParseEvent(&out[0])
	require.True(t, ok)
	require.Equal(t, e, got)

	_, topics = bridgetest.Announce(t, nil, ToROS2, topics[0].Channel)
	require.True(t, codec.IsEvents(topics[0].Channel))
}

// TestBigEndian translates big-endian payloads.
func TestBigEndian(t *testing.T) {
	for typeName, test := range map[string]struct{ payload, want string }{
		"std_msgs/msg/UInt32": {"\x00\x00\x00\x00\x00\x00\x00\x07", "\x07\x00\x00\x00"},
		"std_msgs/msg/Header": {"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x05base\x00",
			"\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00base"},
		"std_msgs/msg/Int16MultiArray": {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x02\x00\x01\xff\xfe",
			"\x00\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x01\x00\xfe\xff"},
	} {
		c := &codec.Channel{Topic: "/topic", Type: typeName, Encoding: codec.EncodingCDR}
		back, _ := bridgetest.Announce(t, nil, FromROS2, c)
		translate := back.Begin(nil)
		out, err := translate(&codec.Message{Channel: c, Data: []byte(test.payload)})
		require.NoError(t, err)
		require.Equal(t, test.want, string(out[0].Data), typeName)
		_, err = translate(&codec.Message{Channel: c, Data: []byte(test.payload[:6])})
		require.ErrorContains(t, err, "decode "+typeName)
	}
}

// channel2 returns a channel of ROS 2 with a definition.
func channel2(topic, typeName, definition string) *codec.Channel {
	return &codec.Channel{
		Topic: topic, Type: typeName, Encoding: codec.EncodingCDR,
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(definition)},
	}
}

// TestLosses checks that messages with values that only one version of ROS has are counted by topic.
func TestLosses(t *testing.T) {
	stamp := make([]byte, 8)
	text := func(s string) []byte { return append(le.AppendUint32(nil, uint32(len(s))), s...) }
	header := func(seq uint32) []byte { return slices.Concat(le.AppendUint32(nil, seq), stamp, text("base")) }
	logOf := func(seq uint32, frame string, topics ...string) []byte {
		b := slices.Concat(le.AppendUint32(nil, seq), stamp, text(frame), []byte{2}, text("node"), text("hello"),
			text("a.cpp"), text("main"), make([]byte, 4))
		b = le.AppendUint32(b, uint32(len(topics)))
		for _, topic := range topics {
			b = append(b, text(topic)...)
		}
		return b
	}
	pose := func(seq uint32) []byte { return append(header(seq), make([]byte, 7*8)...) }
	r, _ := bridgetest.Announce(t, nil, ToROS2)
	back, _ := bridgetest.Announce(t, nil, FromROS2)
	translate := func(tr bridge.Translator, c *codec.Channel, payloads ...[]byte) {
		_, err := tr.Topics(codec.TopicInfo{Channel: c})
		require.NoError(t, err)
		f := tr.Begin(nil)
		for _, payload := range payloads {
			_, err := f(&codec.Message{Channel: c, Data: payload})
			require.NoError(t, err)
		}
	}
	library := msgs.Release("")
	channel1 := func(topic, name string) *codec.Channel {
		plan1, err := planToROS1(library, name)
		require.NoError(t, err)
		return ros1Channel(plan1, &codec.Channel{Topic: topic})
	}
	translate(r, channel1("/pose", "geometry_msgs/msg/PoseStamped"), pose(0), pose(1), pose(2))
	translate(r, channel1("/path", "nav_msgs/msg/Path"),
		slices.Concat(header(0), le.AppendUint32(nil, 2), pose(0), pose(7)))
	translate(r, channel1("/rosout", "rcl_interfaces/msg/Log"),
		logOf(0, ""), logOf(1, ""), logOf(1, "map", "/a"), logOf(1, "map", "/a", "/b"))
	require.Equal(t, []codec.Loss{
		{Topic: "/path", What: "seq of std_msgs/Header", Messages: 1},
		{Topic: "/pose", What: "seq of std_msgs/Header", Messages: 2},
		{Topic: "/rosout", What: "frame_id of std_msgs/Header", Messages: 2},
		{Topic: "/rosout", What: "seq of std_msgs/Header", Messages: 3},
		{Topic: "/rosout", What: "topics of rosgraph_msgs/Log", Messages: 2},
	}, r.Losses())

	// Fields that only ROS 2 has are lost if the values are not the defaults.
	text2, err := library.Concatenated("sensor_msgs/msg/Range")
	require.NoError(t, err)
	var ranges [][]byte
	for _, variance := range []float32{0, 0.5, 0.25} {
		payload, err := cdr.Marshal(&sensor_msgs.Range{Range: 2, Variance: variance})
		require.NoError(t, err)
		ranges = append(ranges, payload)
	}
	translate(back, channel2("/range", "sensor_msgs/msg/Range", text2), ranges...)
	translate(back, channel2("/word", "my/msg/Word", "wstring text\n"), []byte{0, 1, 0, 0, 1, 0, 0, 0, 'a', 0, 0, 0},
		[]byte{0, 1, 0, 0, 1, 0, 0, 0, 0, 0xd8, 0, 0}) // half a surrogate pair
	require.Equal(t, []codec.Loss{
		{Topic: "/range", What: "variance of sensor_msgs/msg/Range", Messages: 2},
		{Topic: "/word", What: "characters that are not Unicode", Messages: 1},
	}, back.Losses())
}

// TestErrors translates payloads that do not fit the definition, and definitions that are invalid.
func TestErrors(t *testing.T) {
	library := msgs.Release("")
	plan2, err := planToROS2(library, "std_msgs/Header", "uint32 seq\ntime stamp\nstring frame_id\n")
	require.NoError(t, err)
	_, _, err = toCDR(nil, make([]byte, 10), plan2.steps)
	require.EqualError(t, err, "stamp: the payload ends too early; it does not fit the definition")
	_, _, err = toCDR(nil, append(make([]byte, 12), 255, 255, 255, 255, 0), plan2.steps)
	require.EqualError(t, err, "frame_id: 4294967295 elements of 1 byte or more, but only 1 byte left; the "+
		"payload does not fit the definition")
	_, _, err = fromCDR(nil, []byte{0, 0, 0, 0, 1}, plan2.steps)
	require.ErrorContains(t, err, "only little-endian plain CDR")
	_, _, err = fromCDR(nil, []byte{0}, plan2.steps)
	require.ErrorContains(t, err, "too short")

	for text, want := range map[string]string{
		"uint8 a\nuint8 A":      "two fields or constants would have the name a",
		"Gone g":                "my/Gone: the definition is missing",
		"uint8[0] a":            "not a number from 1",
		"float64[2147483647] a": "is not supported",
	} {
		_, err := planToROS2(library, "my/Type", text)
		require.ErrorContains(t, err, want, text)
	}
	_, err = planToROS1(library, "std_srvs/srv/Trigger_Event")
	require.ErrorContains(t, err, "ROS 1 has no counterpart")
}

// TestHugeDefinition checks that a definition is refused if its plan would be enormous.
func TestHugeDefinition(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		if i > 0 {
			fmt.Fprintf(&b, "==========\nMSG: my/T%d\n", i)
		}
		fmt.Fprintf(&b, "T%d a\nT%[1]d b\n", i+1)
	}
	b.WriteString("==========\nMSG: my/T40\nuint8 a\nstring b\n")
	_, err := planToROS2(msgs.Release(""), "my/T0", b.String())
	require.ErrorContains(t, err, "too many fields")
}

// TestEmptyMessages checks that the number of messages without fields is limited, because such messages need no bytes.
func TestEmptyMessages(t *testing.T) {
	line := strings.Repeat("=", 80) + "\n"
	for _, shape := range []string{"[3]", "[3000]", "[]"} {
		plan2, err := planToROS2(msgs.Release(""), "my/A", "B"+shape+" b\n"+line+"MSG: my/B\nC[3000] c\n"+line+
			"MSG: my/C\n")
		require.NoError(t, err)
		payload := []byte{0, 0, 1, 0}
		if shape != "[]" {
			payload = nil
		}
		out, _, err := toCDR(nil, payload, plan2.steps)
		if shape == "[3]" {
			require.NoError(t, err)
			require.Len(t, out, 4+3*3000)
			continue
		}
		require.EqualError(t, err, "b.c: more than 1048576 messages without fields")
	}
}

// TestSamples translates every message of real bags to ROS 2, decodes the ROS 2 message and translates it back.
func TestSamples(t *testing.T) {
	for _, name := range []string{"cruise_example.bag", "cruise_example-unsorted-chunks.bag", "py_lz4.bag",
		"py_unindexed_active.bag"} {
		t.Run(name, func(t *testing.T) {
			r, err := rosbag.Format.Open(generate.Path(t, "bag/"+name))
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			there, err := ToROS2(r)
			require.NoError(t, err)
			back, err := FromROS2(r)
			require.NoError(t, err)
			schemas := map[*codec.Channel]*cdr.Schema{}
			types := map[string]string{}
			for _, topic := range info.Topics {
				topics, err := there.Topics(topic)
				require.NoError(t, err)
				require.Len(t, topics, 1)
				c := topics[0].Channel
				require.Equal(t, topic.MessageCount, topics[0].MessageCount)
				require.Equal(t, "/"+strings.TrimPrefix(topic.Channel.Topic, "/"), c.Topic)
				require.Equal(t, topic.Channel.QoS, c.QoS)
				library, err := rosidl.ParseConcatenated(c.Type, string(c.Schema.Data))
				require.NoError(t, err)
				schemas[c], err = cdr.NewSchema(library, c.Type)
				require.NoError(t, err)
				types[topic.Channel.Type] = c.Type
				again, err := back.Topics(topics[0])
				require.NoError(t, err)
				if topic.Channel.Type != "tf/tfMessage" { // the type becomes tf2_msgs/TFMessage
					require.Equal(t, topic.Channel.Type, again[0].Channel.Type)
				}
				require.Equal(t, topic.Channel.Metadata, again[0].Channel.Metadata, "metadata with md5sum")
			}
			if name == "cruise_example.bag" {
				require.Equal(t, map[string]string{
					"geometry_msgs/Twist": "geometry_msgs/msg/Twist", "rosgraph_msgs/Log": "rcl_interfaces/msg/Log",
					"tf/tfMessage":       "tf2_msgs/msg/TFMessage",
					"tf2_msgs/TFMessage": "tf2_msgs/msg/TFMessage", "turtlesim/Color": "turtlesim/msg/Color",
					"turtlesim/Pose": "turtlesim/msg/Pose",
				}, types)
			}
			translate, translateBack, n := there.Begin(nil), back.Begin(nil), uint64(0)
			bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
				n++
				out, err := translate(m)
				require.NoError(t, err)
				require.Len(t, out, 1)
				require.Equal(t, m.LogTime, out[0].LogTime)
				_, err = schemas[out[0].Channel].Decode(out[0].Data)
				require.NoError(t, err)
				again, err := translateBack(&out[0])
				require.NoError(t, err)
				c := m.Channel.Type
				if c != "rosgraph_msgs/Log" && c != "std_msgs/Header" && !strings.HasPrefix(c, "tf") {
					require.Equal(t, m.Data, again[0].Data, c)
				}
			})
			require.Equal(t, info.MessageCount, n)
		})
	}
}

// TestUntranslatable checks that channels without a usable definition or encoding are errors in both directions.
func TestUntranslatable(t *testing.T) {
	for _, c := range []codec.Channel{
		{Topic: "/a", Type: "my_msgs/String", Encoding: codec.EncodingROS1},
		{Topic: "/a", Type: "std_msgs/String", Encoding: codec.EncodingROS1,
			Metadata: map[string]string{"md5sum": "0"}},
		{Topic: "/a", Type: "std_msgs/String", Encoding: "other",
			Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("string data\n")}},
	} {
		for _, begin := range []func(codec.Reader) (bridge.Translator, error){ToROS2, FromROS2} {
			translator, err := begin(nil)
			require.NoError(t, err)
			_, err = translator.Topics(codec.TopicInfo{Channel: &c})
			require.Error(t, err)
		}
	}
}

// FuzzPayload translates random payloads by random definitions. A valid payload must survive the way back.
func FuzzPayload(f *testing.F) {
	f.Add("my_pkg/Features", features, []byte("payload"))
	logDefinition := ros1Definitions[ros1LogType] + "==========\nMSG: std_msgs/Header\n" +
		ros1Definitions[ros1HeaderType]
	f.Add("rosgraph_msgs/Log", logDefinition, make([]byte, 41))
	f.Add("std_msgs/String", "string data\n", []byte("\x01\x00\x00\x00a"))
	library := msgs.Release("")
	f.Fuzz(func(t *testing.T, name, text string, payload []byte) {
		plan2, err := planToROS2(library, name, text)
		if err != nil {
			return
		}
		there, _, err := toCDR(nil, payload, plan2.steps)
		if err == nil {
			back, _, err := fromCDR(nil, there, plan2.steps)
			require.NoError(t, err)
			again, _, err := toCDR(nil, back, plan2.steps)
			require.NoError(t, err)
			require.Equal(t, there, again)
		}
		_, _, _ = fromCDR(nil, append([]byte{0, 1, 0, 0}, payload...), plan2.steps)
	})
}

// TestUnusableDefinitions checks that an incomplete definition is replaced by the library's definition.
func TestUnusableDefinitions(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	for name, text := range map[string]string{
		"rcl_interfaces/msg/Log": "uint8 level", "rcl_interfaces/msg/ParameterEvent": "Parameter[] new_parameters",
	} {
		complete, err := planToROS1(msgs.Release(""), name)
		require.NoError(t, err)
		_, topics := bridgetest.Announce(t, nil, FromROS2, channel2("/t", name, text))
		require.Equal(t, complete.text, string(topics[0].Channel.Schema.Data))
	}
	translator, _ := bridgetest.Announce(t, nil, FromROS2)
	_, err := translator.Topics(codec.TopicInfo{Channel: channel2("/t", "a_msgs/msg/A", "B b")})
	require.ErrorContains(t, err, "a_msgs/msg/B")
}

// TestWideUnits translates wstrings whose units have 2 bytes, as Fast CDR 2 writes them, or 4.
func TestWideUnits(t *testing.T) {
	library, err := rosidl.ParseConcatenated("my/msg/Word", "uint8 n\nwstring text\nuint16 after\n")
	require.NoError(t, err)
	plan1, err := planToROS1(library, "my/msg/Word")
	require.NoError(t, err)
	schema, err := cdr.NewSchema(library, "my/msg/Word")
	require.NoError(t, err)
	for name, payload := range map[string]string{
		"2 bytes": "\x00\x01\x00\x00\x05\x00\x00\x00\x05\x00\x00\x00h\x00e\x00=\xd8\x00\xde!\x00\x34\x12",
		"4 bytes": "\x00\x01\x00\x00\x05\x00\x00\x00\x05\x00\x00\x00h\x00\x00\x00e\x00\x00\x00=\xd8\x00\x00\x00\xde" +
			"\x00\x00!\x00\x00\x00\x34\x12",
		"none": "\x00\x01\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x34\x12",
	} {
		t.Run(name, func(t *testing.T) {
			m, err := schema.Decode([]byte(payload))
			require.NoError(t, err)
			text := m.Get("text").(string)
			got, lost, err := fromCDR(nil, []byte(payload), plan1.steps)
			require.NoError(t, err)
			require.Zero(t, lost)
			want := append(le.AppendUint32([]byte{5}, uint32(len(text))), text+"\x34\x12"...)
			require.Equal(t, string(want), string(got))
		})
	}
	for _, payload := range []string{"\x00\x01\x00\x00\x05\x00\x00\x00\x05\x00\x00\x00h\x00e\x00",
		"\x00\x01\x00\x00\x05\x00\x00\x00\xff\xff\xff\xffh\x00e\x00"} {
		_, _, err := fromCDR(nil, []byte(payload), plan1.steps)
		require.ErrorContains(t, err, "text: ")
	}
}

// TestEmptyDefinition translates messages whose definition is empty or missing.
func TestEmptyDefinition(t *testing.T) {
	const float64Sum, emptySum = "fdb28210bfa9d7c91146260178d9a584", "d41d8cd98f00b204e9800998ecf8427e"
	for _, test := range []struct {
		name, typ, text, sum string
		want                 string // type, or error
	}{
		{"by sum", "std_msgs/Float64", "", float64Sum, "std_msgs/msg/Float64"},
		{"comment", "std_msgs/Float64", "# x\n", float64Sum, "std_msgs/msg/Float64"},
		{"by name", "std_msgs/Float64", "", "", "std_msgs/msg/Float64"},
		{"any sum", "std_msgs/Float64", "", "*", "std_msgs/msg/Float64"},
		{"other sum", "std_msgs/Float64", "", "4a842b65f413084dc2b10fb484ea7f17",
			"the definition of std_msgs/Float64 is empty"},
		{"unknown", "my/Float64", "", float64Sum, "the definition of my/Float64 is empty"},
		{"nested", "my/A", "B b\n===========\nMSG: my/B\n", float64Sum, "the definition of my/A is empty"},
		{"truly empty", "std_msgs/Empty", "", emptySum, "std_msgs/msg/Empty"},
		{"truly empty, unknown", "my/Ping", "", emptySum, "my/msg/Ping"},
	} {
		t.Run(test.name, func(t *testing.T) {
			translator, err := ToROS2(nil)
			require.NoError(t, err)
			c := &codec.Channel{Topic: "/a", Type: test.typ, Encoding: codec.EncodingROS1,
				Schema:   codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte(test.text)},
				Metadata: map[string]string{"md5sum": test.sum}}
			topics, err := translator.Topics(codec.TopicInfo{Channel: c})
			if !strings.Contains(test.want, "/msg/") {
				require.EqualError(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, topics[0].Channel.Type)
			payload := make([]byte, 8)
			if strings.HasPrefix(test.name, "truly") {
				payload = nil
			}
			out, err := translator.Begin(nil)(&codec.Message{Channel: c, Data: payload})
			require.NoError(t, err)
			require.Len(t, out, 1)
		})
	}

	// For an unknown type with an empty definition, a payload must prove that the type has no fields.
	back, err := FromROS2(nil)
	require.NoError(t, err)
	c := channel2("/a", "my/msg/A", "")
	_, err = back.Topics(codec.TopicInfo{Channel: c})
	require.NoError(t, err)
	translate := back.Begin(nil)
	_, err = translate(&codec.Message{Channel: c, Data: []byte{0, 1, 0, 0, 0}})
	require.NoError(t, err)
	_, err = translate(&codec.Message{Channel: c, Data: []byte{0, 1, 0, 0, 5}})
	require.ErrorContains(t, err, "the definition is empty, but the payload is not")
}
