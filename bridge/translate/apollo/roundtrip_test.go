package apollo

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	"tapedeck/test/samples"
)

const restoredTypes = `int8 a
float64[2] b
int32[] c
Inner inner
string<=3 s
uint8[3] d
int16[<=2] e
================================================================================
MSG: test_msgs/Inner
uint16 x
uint16 y
`

// TestOwnFields restores ROS 2 messages from messages that other programs may write: with fields in another order,
// split, missing or unknown.
func TestOwnFields(t *testing.T) {
	library, err := rosidl.ParseConcatenated("test_msgs/msg/Test", restoredTypes)
	require.NoError(t, err)
	b := newRoundTrip(t, nil, channelOf(t, library, "/test", "test_msgs/msg/Test"))
	schema, err := cdr.NewSchema(library, "test_msgs/msg/Test")
	require.NoError(t, err)
	tag := protowire.AppendTag
	varint := func(n protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(tag(nil, n, protowire.VarintType), v)
	}
	text := func(n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(tag(nil, n, protowire.BytesType), v)
	}
	double := func(n protowire.Number, v float64) []byte {
		return protowire.AppendFixed64(tag(nil, n, protowire.Fixed64Type), math.Float64bits(v))
	}
	inner := func(x, y uint16) *cdr.Struct {
		return &cdr.Struct{Fields: []cdr.Field{{Name: "x", Value: x}, {Name: "y", Value: y}}}
	}
	for name, test := range map[string]struct {
		message []byte
		want    []cdr.Field
		err     string
	}{
		"nothing": {nil, nil, ""},
		"another order": {slices.Concat(text(5, []byte("abc")), varint(1, math.MaxUint64)),
			[]cdr.Field{{Name: "a", Value: int8(-1)}, {Name: "s", Value: "abc"}}, ""},
		"twice": {slices.Concat(varint(1, 1), text(5, []byte("a")), varint(1, 2), text(5, nil)),
			[]cdr.Field{{Name: "a", Value: int8(2)}}, ""},
		"in parts": {slices.Concat(text(4, varint(1, 5)), varint(1, 1), text(4, varint(2, 6))),
			[]cdr.Field{{Name: "a", Value: int8(1)}, {Name: "inner", Value: inner(5, 6)}}, ""},
		"one by one": {slices.Concat(double(2, 1.5), double(2, 2.5), varint(3, 7), text(3, []byte{8, 9}),
			varint(3, 10)), []cdr.Field{{Name: "b", Value: []float64{1.5, 2.5}},
			{Name: "c", Value: []int32{7, 8, 9, 10}}}, ""},
		"a part of an array": {slices.Concat(double(2, 1.5), text(6, []byte{1})),
			[]cdr.Field{{Name: "b", Value: []float64{1.5, 0}}, {Name: "d", Value: []uint8{1, 0, 0}}}, ""},
		"more": {slices.Concat(varint(1, 3), varint(99, 1), text(4, slices.Concat(varint(9, 9), varint(1, 1)))),
			[]cdr.Field{{Name: "a", Value: int8(3)}, {Name: "inner", Value: inner(1, 0)}}, ""},
		"empty lists": {slices.Concat(text(3, nil), text(7, nil)), nil, ""},
		"too large":   {varint(1, 128), nil, "encode test_msgs/msg/Test: a: 128 is too large for 1 byte"},
		"too large inside": {text(4, varint(2, 1<<16)), nil,
			"encode test_msgs/msg/Test: inner.y: 65536 is too large for 2 bytes"},
		"too large in list": {text(7, []byte{1, 0x80, 0x80, 2}), nil,
			"encode test_msgs/msg/Test: e[1]: 32768 is too large for 2 bytes"},
		"too many": {text(7, []byte{1, 2, 3}), nil,
			"encode test_msgs/msg/Test: e: 3 elements, but at most 2 are allowed"},
		"too many of array": {slices.Concat(double(2, 1), double(2, 2), double(2, 3)), nil,
			"encode test_msgs/msg/Test: b: 3 elements, but at most 2 are allowed"},
		"too many bytes": {text(6, []byte("abcd")), nil, "encode test_msgs/msg/Test: d: 4 bytes, but the array has 3"},
		"too long": {text(5, []byte("abcd")), nil,
			"encode test_msgs/msg/Test: s: string of 4 bytes, but at most 3 are allowed"},
		"odd":          {text(2, make([]byte, 9)), nil, "encode test_msgs/msg/Test: b: 9 bytes cannot be numbers of 8"},
		"another type": {double(1, 1), nil, "encode test_msgs/msg/Test: a: the field cannot have wire type 1"},
		"cut":          {[]byte{0x08}, nil, "encode test_msgs/msg/Test: byte 0: unexpected EOF"},
		"cut inside":   {text(4, []byte{0x08}), nil, "encode test_msgs/msg/Test: inner: byte 0: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := b.back(&codec.Message{Channel: b.target, Data: test.message})
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			want, err := schema.Encode(&cdr.Struct{Fields: test.want})
			require.NoError(t, err)
			require.Equal(t, want, out[0].Data)
		})
	}
	require.Empty(t, b.losses())
}

// TestOwnFieldsOtherDefinition checks that metadata is ignored if it does not match the description of the messages.
func TestOwnFieldsOtherDefinition(t *testing.T) {
	library, err := rosidl.ParseConcatenated("test_msgs/msg/Test", restoredTypes)
	require.NoError(t, err)
	target := newRoundTrip(t, nil, channelOf(t, library, "/test", "test_msgs/msg/Test")).target
	for name, definition := range map[string]string{
		"fewer fields": "int8 a\n", "another name": "int8 z\n" + restoredTypes[len("int8 a\n"):],
		"another type": "float32 a\n" + restoredTypes[len("int8 a\n"):], "junk": "int8",
	} {
		t.Run(name, func(t *testing.T) {
			c := *target
			c.Metadata = map[string]string{MetadataROSType: "test_msgs/msg/Test", MetadataROSDefinition: definition}
			to, topics := bridgetest.Announce(t, nil, ToROS2, &c)
			require.Equal(t, "test_msgs_msg/msg/Test", topics[0].Channel.Type)
			_, err := to.Begin(nil)(&codec.Message{Channel: &c, Data: protowire.AppendVarint([]byte{8}, 1)})
			require.NoError(t, err)
			require.Empty(t, to.Losses())
		})
	}
}

// TestOriginal translates Apollo recordings to ROS 2 and back: the channels and the values of messages do not change.
func TestOriginal(t *testing.T) {
	for _, name := range []string{"example.record.00000", "apollo_cpp_sensors.record"} {
		t.Run(name, func(t *testing.T) {
			path := samples.Path(t, "apollo/"+name)
			open := func() codec.Reader {
				r, err := formats.Open(path)
				require.NoError(t, err)
				return r
			}
			ros := bridgetest.Translate(t, open(), codec.EncodingProtobuf, codec.EncodingCDR, ToROS2)
			back := bridgetest.Translate(t, ros, codec.EncodingCDR, codec.EncodingProtobuf, FromROS2)
			original := open()
			defer original.Close()
			wanted, got := bridgetest.ByTopic(t, original), bridgetest.ByTopic(t, back)
			require.Len(t, got, len(wanted))
			for topic, messages := range wanted {
				require.Len(t, got[topic], len(messages), topic)
				d, err := descriptorOf(messages[0].Channel)
				require.NoError(t, err)
				plans, err := plansOf(d)
				require.NoError(t, err)
				var e planEncoder
				for i, want := range messages {
					m := got[topic][i]
					require.Equal(t, want.Channel.Type, m.Channel.Type)
					require.Equal(t, want.Channel.Schema, m.Channel.Schema)
					require.Equal(t, want.LogTime, m.LogTime)
					a, b := dynamicpb.NewMessage(d), dynamicpb.NewMessage(d)
					require.NoError(t, proto.Unmarshal(want.Data, a))
					require.NoError(t, proto.Unmarshal(m.Data, b))
					if exact := pairOf(want.Channel.Type); exact != nil && exact.lossy {
						continue // TestThereAndBack compares messages of lossy pairs
					}
					// The generated message has all values of the original message.
					one, err := e.append(nil, plans.root(), want.Data, func(*plan) { t.Error("unknown field") })
					require.NoError(t, err)
					other, err := e.append(nil, plans.root(), m.Data, func(*plan) { t.Error("unknown field") })
					require.NoError(t, err)
					require.Equal(t, one, other, topic)
				}
			}
		})
	}
}

// TestOriginalPart translates only some of the ROS 2 channels of an Apollo channel, or channels with damaged metadata.
func TestOriginalPart(t *testing.T) {
	recording, err := formats.Open(samples.Path(t, "apollo/apollo_cpp_sensors.record"))
	require.NoError(t, err)
	messages := bridgetest.ByTopic(t, bridgetest.Translate(t, recording, codec.EncodingProtobuf, codec.EncodingCDR,
		ToROS2))
	const pose, chassis = "/apollo/localization/pose", "/apollo/canbus/chassis"
	junk := *messages[pose][0].Channel
	junk.Metadata = map[string]string{MetadataType: "apollo.localization.LocalizationEstimate",
		MetadataDescriptor: "junk",
		"kept":             "yes"}
	renamed := *messages[pose+"_whole"][0].Channel
	renamed.Topic = "/mine_whole"
	for name, test := range map[string]struct {
		channels []*codec.Channel
		want     []string // topic and type of each translated channel; "": not translated
	}{
		"both channels": {[]*codec.Channel{messages[pose][0].Channel, messages[pose+"_whole"][0].Channel},
			[]string{"", pose + " apollo.localization.LocalizationEstimate"}},
		"only the odometry": {[]*codec.Channel{messages[pose][0].Channel},
			[]string{pose + " apollo.localization.LocalizationEstimate"}},
		"renamed": {[]*codec.Channel{&renamed}, []string{"/mine apollo.localization.LocalizationEstimate"}},
		"only speed": {[]*codec.Channel{messages[chassis+"_twist"][0].Channel},
			[]string{chassis + " apollo.canbus.Chassis"}},
		"junk": {[]*codec.Channel{&junk}, []string{pose + " apollo.localization.LocalizationEstimate"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(bridgetest.Recording)
			for _, c := range test.channels {
				r.Messages = append(r.Messages, codec.Message{Channel: c})
			}
			from, err := FromROS2(r)
			require.NoError(t, err)
			for i, c := range test.channels {
				topics, err := from.Topics(codec.TopicInfo{Channel: c})
				require.NoError(t, err)
				if test.want[i] == "" {
					require.Empty(t, topics)
					continue
				}
				require.Equal(t, test.want[i], topics[0].Channel.Topic+" "+topics[0].Channel.Type)
				require.NotContains(t, topics[0].Channel.Metadata, MetadataDescriptor)
				require.Equal(t, c.Metadata["kept"], topics[0].Channel.Metadata["kept"])
			}
		})
	}
}

// TestOriginalRandom translates random messages of random types to ROS 2 and back.
func TestOriginalRandom(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 80
	}
	for seed := range seeds {
		r := randomTypes{rand.New(rand.NewPCG(seed, 8))}
		file := r.file()
		d := lastMessage(t, file)
		schema, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
		require.NoError(t, err)
		original := &codec.Channel{
			Topic: "/random", Type: string(d.FullName()), Encoding: codec.EncodingProtobuf,
			Schema: codec.Schema{Encoding: codec.SchemaProtobuf, Data: schema},
		}
		to, topics := bridgetest.Announce(t, nil, ToROS2, original)
		require.Len(t, topics, 1)
		from, back := bridgetest.Announce(t, nil, FromROS2, topics[0].Channel)
		require.Len(t, back, 1)
		require.Equal(t, []string{original.Topic, original.Type}, []string{back[0].Channel.Topic, back[0].Channel.Type})
		require.Equal(t, original.Schema, back[0].Channel.Schema)
		there, restore := to.Begin(nil), from.Begin(nil)
		for range 10 {
			m := dynamicpb.NewMessage(d)
			r.fill(m, 0)
			data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			require.NoError(t, err)
			out, err := there(&codec.Message{Channel: original, Data: data})
			require.NoError(t, err)
			payload := append([]byte(nil), out[0].Data...)
			again, err := restore(&out[0])
			require.NoError(t, err)
			out, err = there(&codec.Message{Channel: original, Data: again[0].Data})
			require.NoError(t, err)
			require.Equal(t, payload, out[0].Data)
		}
	}
}
