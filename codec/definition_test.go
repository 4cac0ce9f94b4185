package codec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// TestDefine defines channels whose definitions are empty or missing.
func TestDefine(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	t.Setenv("ROS_DISTRO", "")
	hash := func(name string) string {
		h, err := msgs.Library().Hash(name)
		require.NoError(t, err)
		return h
	}
	five := []byte{0, 1, 0, 0, 5}
	zero := []byte{0, 1, 0, 0, 0}
	for _, test := range []struct {
		name, typ, text, hash string
		payload               []byte
		event                 string // event of DefineAll
		want                  string // error of decoding
		fields                int
	}{
		{"whole", "std_msgs/msg/Int8", "int8 data\n", "", five, "", "", 1},
		{"by name", "std_msgs/msg/Int8", "", "", five,
			"the definition of std_msgs/msg/Int8 is empty; another definition of the type is used", "", 1},
		{"comments", "std_msgs/msg/Int8", "# a number\n\n", "", five,
			"the definition of std_msgs/msg/Int8 is empty; another definition of the type is used", "", 1},
		{"by hash", "std_msgs/msg/Int8", "", hash("std_msgs/msg/Int8"), five,
			"the definition of std_msgs/msg/Int8 is empty; another definition of the type is used", "", 1},
		{"other hash", "std_msgs/msg/Int8", "", hash("std_msgs/msg/Bool"), five,
			"the definition of std_msgs/msg/Int8 is empty, so that values of /t cannot be read",
			"unknown type std_msgs/msg/Int8: the definition of std_msgs/msg/Int8 is empty; name a folder", 0},
		{"within another", "geometry_msgs/msg/Point", "P x\n===\nMSG: geometry_msgs/P\n", "", zero, "", "", 1},
		{"a known one within another", "a/msg/A", "std_msgs/Int8 x\n===\nMSG: std_msgs/Int8\n", "", five,
			"the definition of std_msgs/msg/Int8 is empty, so that values of /t cannot be read",
			"unknown type a/msg/A: the definition of std_msgs/msg/Int8 is empty; name a folder", 0},
		{"nobody knows", "a/msg/A", "", "", five, "", "the definition is empty, but the payload is not", 0},
		{"nobody knows, zero", "a/msg/A", "", "", zero, "", "", 0},
		{"nobody knows, zeros", "a/msg/A", "", "", make([]byte, 4+8), "",
			"the definition is empty, but the payload is not", 0},
		{"truly empty", "std_msgs/msg/Empty", "", "", five, "", "", 0},
		{"truly empty by hash", "a/msg/A", "", hash("std_msgs/msg/Empty"), five,
			"the definition of a/msg/A is empty, so that values of /t cannot be read",
			"unknown type a/msg/A: the definition of a/msg/A is empty", 0}, // the hash has the name, too
		{"request", "a/srv/A_Request", "", "", zero, "", "", 0},
		{"known request", "std_srvs/srv/Trigger_Request", "", "", zero, "", "", 0},
		{"constants", "a/msg/A", "int8 X=1\n", "", zero, "", "", 0},
		{"without a package", "A", "B b\n===\nMSG: B\nint8 x\n", "", five, "", "", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &Channel{Topic: "/t", Type: test.typ, Encoding: EncodingCDR, TypeHash: test.hash,
				Schema: Schema{Encoding: SchemaROS2Msg, Data: []byte(test.text)}}
			for range 2 { // a definition that is there is not replaced
				events := DefineAll([]*Channel{nil, c})
				if test.event == "" {
					require.Empty(t, events)
					break
				}
				require.Len(t, events, 1)
				require.Equal(t, EventLabel, events[0].Kind)
				require.Contains(t, events[0].Text, test.event)
				if test.want == "" {
					test.event = ""
				}
			}
			schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
			if err == nil {
				var m *cdr.Struct
				m, err = schema.Decode(test.payload)
				if err == nil {
					require.Len(t, m.Fields, test.fields)
				}
			}
			if test.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.want)
			}
		})
	}

	for sum, count := range map[string]int{"": 1, "*": 1, "1": 1, emptyMD5: 0} {
		for text, empty := range map[string]int{"": 1, "# x\n": 1, "string data\n": 0,
			"\n=====\nMSG: a/B\nint8 x\n": 1} {
			c := &Channel{Topic: "/t", Type: "std_msgs/String", Encoding: EncodingROS1, Metadata: map[string]string{
				"md5sum": sum}, Schema: Schema{Encoding: SchemaROS1Msg, Data: []byte(text)}}
			require.Len(t, DefineAll([]*Channel{c}), count*empty, "%q %q", sum, text)
		}
	}

	missing := &Channel{Topic: "/t", Type: "a/msg/A", Encoding: EncodingCDR}
	_, err := cdr.NewSchema(missing.Library(msgs.Library()), missing.Type)
	require.EqualError(t, err, "schema of a/msg/A: unknown type a/msg/A: the recording does not define it; name a "+
		"folder with its package by --definition-paths or AMENT_PREFIX_PATH")
	idl := &Channel{Topic: "/t", Type: "a/msg/A", Encoding: EncodingCDR,
		Schema: Schema{Encoding: SchemaROS2IDL, Data: []byte("module a {};")}}
	_, err = cdr.NewSchema(idl.Library(msgs.Library()), idl.Type)
	require.ErrorContains(t, err, "unknown type a/msg/A: the recording defines it by ros2idl, which is not read; ")
	require.Nil(t, missing.Define(msgs.Library()))
	require.Empty(t, missing.Schema)
	missing.Type = "std_msgs/msg/Int8"
	require.Nil(t, missing.Define(msgs.Library()))
	require.NotEmpty(t, missing.Schema)
}
