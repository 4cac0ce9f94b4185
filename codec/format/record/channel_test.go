package record

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
	"tapedeck/msgs"
)

const twistText = "Vector3 linear\nVector3 angular\nuint8[] raw\nint8[4] small\nstring<=10 name\nwstring[<=3] " +
	"wide\nfloat32[3] f\n" +
	"================================================================================\n" +
	"MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"

// channels returns channels of all kinds that the recorder and other formats make.
func channels() []*codec.Channel {
	best := codec.DefaultQoS()
	best.Reliability, best.Durability, best.Deadline = codec.BestEffort, codec.TransientLocal, 1500*time.Millisecond
	twist := codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(twistText)}
	file, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		{Name: proto.String("b.proto"), Package: proto.String("p"),
			MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("B")}}},
		{Name: proto.String("a.proto"), Package: proto.String("p"), Dependency: []string{"b.proto"},
			MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("A")}}},
	}})
	if err != nil {
		panic(err)
	}
	set := codec.Schema{Encoding: codec.SchemaProtobuf, Data: file}
	return []*codec.Channel{
		{Topic: "/twist", Type: "geometry_msgs/msg/Twist", Encoding: codec.EncodingCDR, Schema: twist},
		{Topic: "/twist", Type: "std_msgs/msg/Empty", Encoding: codec.EncodingCDR,
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("\n")}},
		{Topic: "/twist_all", Type: "geometry_msgs/msg/Twist", Encoding: codec.EncodingCDR, Schema: twist,
			TypeHash: "RIHS01_" + strings.Repeat("0f", 32), QoS: []codec.QoS{codec.DefaultQoS(), best},
			Metadata: map[string]string{"a": "b", "": "c", "d": ""}},
		{Topic: "/unknown", Type: "my_msgs/msg/Secret", Encoding: codec.EncodingCDR},
		{Topic: "/broken", Type: "my_msgs/msg/Secret", Encoding: codec.EncodingCDR,
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("no such text !!")}},
		{Topic: "/idl", Type: "my_msgs/msg/Idl", Encoding: codec.EncodingCDR,
			Schema: codec.Schema{Encoding: codec.SchemaROS2IDL, Data: []byte("module my_msgs {};")}},
		{Topic: "ünicode", Type: "3 bad::type/ /msg/Ä/", Encoding: codec.EncodingCDR},
		{Topic: "/untyped", Encoding: "json", Schema: codec.Schema{Encoding: "jsonschema", Data: []byte("{}")}},
		{Topic: "/nothing"},
		{Topic: "/ros1", Type: "geometry_msgs/Twist", Encoding: codec.EncodingROS1,
			Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte(twistText)}},
		{Topic: "/proto", Type: "p.A", Encoding: codec.EncodingProtobuf, Schema: set},
		{Topic: "/proto_nested", Type: "p.B", Encoding: codec.EncodingProtobuf, Schema: set},
		{Topic: "/proto_qos", Type: "p.A", Encoding: codec.EncodingProtobuf, Schema: set, QoS: []codec.QoS{best}},
		{Topic: "/proto_none", Type: "p.A", Encoding: codec.EncodingProtobuf},
		{Topic: "/proto_broken", Type: "p.A", Encoding: codec.EncodingProtobuf,
			Schema: codec.Schema{Encoding: codec.SchemaProtobuf, Data: []byte("junk")}},
		{Topic: "/not_ros", Type: "p.A", Encoding: codec.EncodingCDR, Schema: set},
	}
}

func TestChannelsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	for i, c := range channels() {
		require.NoError(t, w.Declare(c))
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: int64(i), PublishTime: -int64(i),
			Data: []byte(c.Type)}))
	}
	require.NoError(t, w.Close())
	r, _ := reopen(t, path)
	info, err := r.Info()
	require.NoError(t, err)
	require.Len(t, info.Topics, len(channels()))
	for i, c := range channels() {
		require.Equal(t, c, info.Topics[i].Channel)
		require.EqualValues(t, 1, info.Topics[i].MessageCount)
	}
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	for i, c := range channels() {
		m, err := it.Next()
		require.NoError(t, err)
		require.Equal(t, codec.Message{Channel: info.Topics[i].Channel, LogTime: int64(i), PublishTime: -int64(i),
			Data: []byte(c.Type)}, *m)
	}
}

// Channels that differ only in metadata become one in the file.
func TestChannelsShare(t *testing.T) {
	var messages []codec.Message
	for i := range 3 {
		messages = append(messages, codec.Message{Channel: &codec.Channel{Topic: "/a", Type: "x/msg/A",
			Encoding: codec.EncodingCDR, Metadata: map[string]string{"node": fmt.Sprint(i)}}})
	}
	info, err := openBytes(t, codectest.Write(t, Format, codec.CreateOptions{}, messages...)).Info()
	require.NoError(t, err)
	require.Len(t, info.Topics, 1)
	require.EqualValues(t, 3, info.Topics[0].MessageCount)
	require.Equal(t, "0", info.Topics[0].Channel.Metadata["node"])
}

// A shared channel has the QoS of all that share it. QoS that came too late for one file is in the next.
func TestChannelsShareQoS(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record.00000")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	usual, latched, late := codec.DefaultQoS(), codec.DefaultQoS(), codec.DefaultQoS()
	latched.Durability, late.Depth = codec.TransientLocal, 3
	write := func(qos codec.QoS) {
		c := &codec.Channel{Topic: "/a", Type: "x/msg/A", Encoding: codec.EncodingCDR, QoS: []codec.QoS{qos}}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1}))
	}
	write(usual)
	write(latched)
	require.NoError(t, w.Sync())
	write(late)
	require.NoError(t, w.Split())
	require.NoError(t, w.Close())
	for name, want := range map[string][]codec.QoS{path: {usual, latched},
		strings.Replace(path, "00000", "00001", 1): {usual, latched, late}} {
		r, _ := reopen(t, name)
		info, err := r.Info()
		require.NoError(t, err)
		require.Len(t, info.Topics, 1)
		require.Equal(t, want, info.Topics[0].Channel.QoS)
	}
}

// requireDescribed checks that the files in the proto_desc of a channel build together and define the type.
func requireDescribed(t *testing.T, c *codec.Channel) protoreflect.MessageDescriptor {
	wire := wireChannel(c, c.Topic)
	files := parseProtoDesc(wire.ProtoDesc)
	require.NotEmpty(t, files)
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range files {
		set.File = append(set.File, f.file)
	}
	pool, err := protodesc.NewFiles(set)
	require.NoError(t, err)
	d, err := pool.FindDescriptorByName(protoreflect.FullName(wire.GetMessageType()))
	require.NoError(t, err, wire.GetMessageType())
	return d.(protoreflect.MessageDescriptor)
}

func TestDescriptorsAreValid(t *testing.T) {
	for _, c := range channels() {
		if c.Encoding != codec.EncodingProtobuf {
			requireDescribed(t, c)
		}
	}
	d := requireDescribed(t, channels()[0])
	require.EqualValues(t, "geometry_msgs.msg.Twist", d.FullName())
	require.Equal(t, "geometry_msgs/msg/Twist.msg", d.ParentFile().Path())
	require.Equal(t, 7, d.Fields().Len())
	require.EqualValues(t, "geometry_msgs.msg.Vector3", d.Fields().Get(0).Message().FullName())
	require.Equal(t, protoreflect.BytesKind, d.Fields().Get(2).Kind())
	require.True(t, d.Fields().Get(6).IsList())
}

func TestDescriptorsOfAllMessages(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	library := msgs.Library()
	for _, name := range library.Types() {
		if !strings.Contains(name, "/msg/") {
			continue
		}
		text, err := library.Concatenated(name)
		require.NoError(t, err)
		d := requireDescribed(t, &codec.Channel{
			Topic: "/a", Type: name, Encoding: codec.EncodingCDR,
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)},
		})
		m, err := library.Message(name)
		require.NoError(t, err)
		require.Equal(t, len(m.Fields), d.Fields().Len(), name)
	}
}

// Other programs write several forms of proto_descs: see describe.
func TestProtoDescs(t *testing.T) {
	set := channels()[10].Schema.Data
	files := parseFileSet(set)
	require.Len(t, files, 2)
	a, b := files[1].raw, files[0].raw
	tree := appendBytes(appendBytes(nil, 1, a), 2, appendBytes(nil, 1, b))
	require.Equal(t, tree, files.protoDesc("p.A"))
	for _, test := range []struct {
		name, protoDesc string
		schema          []byte
		kept            bool
	}{
		{"a tree", string(tree), set, false},
		{"nothing", "", nil, false},
		{"one file without those it imports", string(a), appendBytes(nil, 1, a), true},
		{"a set", string(set), set, true},
		{"junk", "1234567890", nil, true},
		{"junk that is a tree", string(appendBytes(nil, 1, "\x09")), nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newChannel("/a", "p.A", []byte(test.protoDesc))
			require.Equal(t, "p.A", c.Type)
			require.Equal(t, test.schema, c.Schema.Data)
			require.Equal(t, test.kept, c.Metadata[rawProtoDesc] != "")
			require.Equal(t, test.protoDesc, string(wireChannel(c, "/a").ProtoDesc))
		})
	}
}

// A channel with unreadable QoS keeps everything else.
func TestOddQoS(t *testing.T) {
	want := channels()[2]
	_, files := describeChannel(want)
	option := newOption(want, want.Topic, files)
	option.Qos = new("- history: odd")
	got := parseOption(encode(option), want.Topic, nil)
	require.NotNil(t, got)
	want.QoS, want.Metadata[codec.UnreadQoS] = nil, "- history: odd"
	require.True(t, equal(want, got), got)
	events := codec.UnreadQoSEvents([]*codec.Channel{nil, got, channels()[1]})
	require.Len(t, events, 1)
	require.Equal(t, got.Topic, events[0].Topic)
}

// Files that import each other over and over would make a tree of 2^60 files.
func TestProtoDescOfDiamonds(t *testing.T) {
	var set fileSet
	name := ""
	for i := range 60 {
		file := &descriptorpb.FileDescriptorProto{Name: proto.String(fmt.Sprint(i)),
			MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String(fmt.Sprint("M", i))}}}
		twin := proto.Clone(file).(*descriptorpb.FileDescriptorProto)
		twin.Name, twin.MessageType = proto.String(fmt.Sprint(i, "b")), nil
		if i > 0 {
			file.Dependency = []string{fmt.Sprint(i - 1), fmt.Sprint(i-1, "b")}
			twin.Dependency = file.Dependency
		}
		for _, f := range []*descriptorpb.FileDescriptorProto{file, twin} {
			raw, err := proto.Marshal(f)
			require.NoError(t, err)
			set = append(set, parseProtoFile(raw))
		}
		name = fmt.Sprint("M", i)
	}
	c := &codec.Channel{Topic: "/a", Type: name, Encoding: codec.EncodingProtobuf,
		Schema: codec.Schema{Encoding: codec.SchemaProtobuf, Data: set[:len(set)-1].encode()}}
	wire := wireChannel(c, "/a")
	require.Less(t, len(wire.ProtoDesc), 1<<20)
	require.True(t, equal(c, newChannel("/a", wire.GetMessageType(), wire.ProtoDesc)))
	require.Len(t, parseProtoDesc(wire.ProtoDesc), 119)
}

const protoDescProto = `syntax = "proto2";
import "google/protobuf/descriptor.proto";
message Tree { optional google.protobuf.FileDescriptorProto desc = 1; repeated Tree dependencies = 2; }
extend google.protobuf.FileOptions { optional ChannelOption channel = 51001; }
message ChannelOption {
  optional string encoding = 1; optional string type = 2; optional string schema_encoding = 3;
  optional string schema = 4;
  optional string type_hash = 5; optional string qos = 6; map<string, string> metadata = 7; optional string topic = 8;
}`

// protoc reads the option as the package comment defines it.
func TestOptionWithProtoc(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed (Debian: protobuf-compiler)")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tree.proto"), []byte(protoDescProto), 0o644))
	c := channels()[2]
	command := exec.Command(protoc, "-I", dir, "--decode=Tree", "tree.proto")
	command.Stdin = strings.NewReader(string(wireChannel(c, "/other").ProtoDesc))
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, want := range []string{
		"[channel] {", `encoding: "cdr"`, `type: "geometry_msgs/msg/Twist"`, `schema_encoding: "ros2msg"`,
		`topic: "/twist_all"`,
		c.TypeHash, "reliability: 2", `key: "a"`, `name: "geometry_msgs/msg/Twist.msg"`,
		`type_name: ".geometry_msgs.msg.Vector3"`,
	} {
		require.Contains(t, string(out), want)
	}
}
