package apollo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/test/samples/random"
)

// oddTypes is a definition with rare features of ROS 2 types.
const oddTypes = `bool flag
byte raw
char letter
byte[] raws
char[4] letters
uint8[<=5] few
int8[3] small
int8 least
int16[] shorts
uint16 short
int64[2] wide
uint64[] wider
float32[2] halves
float64[] doubles
bool[3] flags
bool[] more
string<=20 name
string[] names
string[2] pair
wstring text
wstring[] texts
Empty nothing
Empty[] nothings
Empty[2] two
Inner inner
Inner[] inners
Inner[<=2] bounded
Inner[2] both
builtin_interfaces/Time stamp
builtin_interfaces/Duration[] spans
================================================================================
MSG: odd_msgs/Empty
================================================================================
MSG: odd_msgs/Inner
uint8 a
float64 b
string c
int8[] d
`

// roundTrip translates payloads of a ROS 2 channel to Protocol Buffers and back.
type roundTrip struct {
	there, back                func(*codec.Message) ([]codec.Message, error)
	original, target, restored *codec.Channel
	losses                     func() []codec.Loss
}

func newRoundTrip(t testing.TB, r codec.Reader, original *codec.Channel) *roundTrip {
	t.Helper()
	from, topics := bridgetest.Announce(t, r, FromROS2, original)
	require.Len(t, topics, 1)
	target := topics[0].Channel
	require.Equal(t, codec.EncodingProtobuf, target.Encoding)
	to, topics := bridgetest.Announce(t, nil, ToROS2, target)
	return &roundTrip{from.Begin(nil), to.Begin(nil), original, target, topics[0].Channel, from.Losses}
}

// toProtobuf returns the message to which a payload is translated.
func (b *roundTrip) toProtobuf(t testing.TB, payload []byte) *codec.Message {
	t.Helper()
	out, err := b.there(&codec.Message{Channel: b.original, LogTime: 5e9, PublishTime: 4e9, Data: payload})
	require.NoError(t, err)
	require.Len(t, out, 1)
	require.Equal(t, b.target, out[0].Channel)
	require.EqualValues(t, 5e9, out[0].LogTime)
	require.EqualValues(t, 4e9, out[0].PublishTime)
	return &out[0]
}

// restore returns the payload after the translation to Protocol Buffers and back.
func (b *roundTrip) restore(t testing.TB, payload []byte) []byte {
	t.Helper()
	out, err := b.back(b.toProtobuf(t, payload))
	require.NoError(t, err)
	require.NotEmpty(t, out)
	require.Equal(t, b.restored, out[0].Channel)
	return out[0].Data
}

func channelOf(t testing.TB, library *rosidl.Library, topic, typeName string) *codec.Channel {
	t.Helper()
	c, err := codec.NewChannel(library, topic, typeName, codec.DefaultQoS())
	require.NoError(t, err)
	return c
}

// TestGenerated translates messages of all types to Protocol Buffers and back. The Protocol Buffers messages match
// the description in the channel.
func TestGenerated(t *testing.T) {
	odd, err := rosidl.ParseConcatenated("odd_msgs/msg/Odd", oddTypes)
	require.NoError(t, err)
	libraries := map[string]*rosidl.Library{"odd_msgs/msg/Odd": odd, "odd_msgs/msg/Empty": odd}
	own := msgs.Release("")
	for _, name := range own.Types() {
		if strings.Contains(name, "/msg/") {
			libraries[name] = own
		}
	}
	libraries["std_srvs/srv/SetBool_Request"], libraries["std_srvs/srv/Trigger_Event"] = own, own
	require.Greater(t, len(libraries), 100)
	count := 20
	if testing.Short() {
		count = 4
	}
	for name, library := range libraries {
		t.Run(name, func(t *testing.T) {
			channel := channelOf(t, library, "/topic", name)
			channel.Metadata = map[string]string{"kept": "yes"}
			translated, err := sameFields(library, channel)
			require.NoError(t, err)
			d, err := descriptorOf(translated.target)
			require.NoError(t, err)
			back, err := restoredChannel(translated.target)
			require.NoError(t, err)
			require.Equal(t, channel, back.targets[0])
			schema, err := cdr.NewSchema(library, name)
			require.NoError(t, err)
			generator := random.Generator{
				Rand: rand.New(rand.NewPCG(1, 2)), Library: library, Unicode: true, Spread: true,
			}
			translate := translated.begin(nil)
			for range count {
				message, err := generator.Message(name)
				require.NoError(t, err)
				payload, err := schema.Encode(message)
				require.NoError(t, err)
				encoded, err := translate(nil, payload)
				require.NoError(t, err)

				read := dynamicpb.NewMessage(d)
				require.NoError(t, proto.Unmarshal(encoded, read))
				require.Empty(t, read.GetUnknown())
				requireFields(t, message, read)
				// The options may order fields differently.
				for _, options := range []proto.MarshalOptions{{}, {Deterministic: true}} {
					again, err := options.Marshal(read)
					require.NoError(t, err)
					require.Len(t, again, len(encoded))
					decoded, err := restorePayload(back, again)
					require.NoError(t, err)
					require.Equal(t, payload, decoded)
				}
				decoded, err := restorePayload(back, encoded)
				require.NoError(t, err)
				require.Equal(t, payload, decoded)
			}
		})
	}
}

func restorePayload(r *channel, encoded []byte) ([]byte, error) {
	c := new(codec.Channel)
	to := &toROS2{channels: map[*codec.Channel]*channel{c: r}}
	out, err := to.Begin(nil)(&codec.Message{Channel: c, Data: encoded})
	if err != nil {
		return nil, err
	}
	return out[0].Data, nil
}

// requireFields compares a ROS 2 message with a message of Protocol Buffers, by the names of fields.
func requireFields(t *testing.T, want *cdr.Struct, got protoreflect.Message) {
	t.Helper()
	require.Equal(t, len(want.Fields), got.Descriptor().Fields().Len())
	for _, f := range want.Fields {
		field := got.Descriptor().Fields().ByName(protoreflect.Name(f.Name))
		require.NotNil(t, field, f.Name)
		require.Equal(t, fmt.Sprint(plain(f.Value)), fmt.Sprint(plainProto(field, got.Get(field))), f.Name)
		if !field.IsList() {
			require.True(t, got.Has(field), f.Name)
		}
	}
}

// plain converts a value to lists of names and values.
func plain(v any) any {
	switch v := v.(type) {
	case *cdr.Struct:
		var all []any
		for _, f := range v.Fields {
			all = append(all, f.Name, plain(f.Value))
		}
		return all
	case []*cdr.Struct:
		var all []any
		for _, m := range v {
			all = append(all, plain(m))
		}
		return all
	}
	return v
}

func plainProto(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	if f.IsList() {
		var all []any
		for i := range v.List().Len() {
			all = append(all, plainOne(v.List().Get(i)))
		}
		return all
	}
	return plainOne(v)
}

func plainOne(v protoreflect.Value) any {
	m, ok := v.Interface().(protoreflect.Message)
	if !ok {
		return v.Interface()
	}
	var all []any
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		all = append(all, string(f.Name()), plainProto(f, m.Get(f)))
	}
	return all
}
