// Package apollo tests translations between Apollo's messages and ROS 2's with other implementations of Protocol
// Buffers.
package apollo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/translate/apollo"
	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/samples/generate"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag2.Format}

// TestProtoc translates messages of 94 ROS 2 types to Apollo's types. It checks that protoc decodes the first message
// of each type, by the descriptor in the record, to the values that dynamicpb decodes.
func TestProtoc(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed (Debian: protobuf-compiler): ", err)
	}
	r, err := formats.Open(writeRecord(t))
	require.NoError(t, err)
	defer r.Close()
	seen := map[string]bool{}
	bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
		if seen[m.Channel.Topic] {
			return
		}
		seen[m.Channel.Topic] = true
		require.Equal(t, codec.EncodingProtobuf, m.Channel.Encoding)

		set := filepath.Join(t.TempDir(), "set.pb")
		require.NoError(t, os.WriteFile(set, m.Channel.Schema.Data, 0o644))
		command := exec.Command(protoc, "--descriptor_set_in="+set, "--decode="+m.Channel.Type)
		command.Stdin = bytes.NewReader(m.Data)
		var text, stderr bytes.Buffer
		command.Stdout, command.Stderr = &text, &stderr
		require.NoError(t, command.Run(), "%s: %s", m.Channel.Type, stderr.String())

		d := descriptor(t, m.Channel)
		ours, theirs := dynamicpb.NewMessage(d), dynamicpb.NewMessage(d)
		require.NoError(t, proto.Unmarshal(m.Data, ours))
		// prototext finds fields by their names.
		require.NoError(t, prototext.Unmarshal(text.Bytes(), theirs), "%s: %s", m.Channel.Type, text.String())
		require.True(t, proto.Equal(ours, theirs), "%s: %s", m.Channel.Type, text.String())
	})
	require.Len(t, seen, 94)
}

// writeRecord translates a recording to a record of Protocol Buffers, and returns the path of the record.
func writeRecord(t *testing.T) string {
	t.Helper()
	original, err := formats.Open(generate.Path(t, "rosbag2/rosbags_rs/test_bag_mcap"))
	require.NoError(t, err)
	r := bridgetest.Translate(t, original, codec.EncodingCDR, codec.EncodingProtobuf, apollo.FromROS2)
	path := filepath.Join(t.TempDir(), "all.record")
	w, err := formats.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) { require.NoError(t, w.Write(m)) })
	require.NoError(t, w.Close())
	return path
}

// descriptor returns the descriptor of a channel's messages.
func descriptor(t *testing.T, c *codec.Channel) protoreflect.MessageDescriptor {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	require.NoError(t, proto.Unmarshal(c.Schema.Data, &set))
	files, err := protodesc.NewFiles(&set)
	require.NoError(t, err)
	d, err := files.FindDescriptorByName(protoreflect.FullName(c.Type))
	require.NoError(t, err)
	return d.(protoreflect.MessageDescriptor)
}
