// Package mcap tests codec/format/mcap and codec/format/rosbag2 against Foxglove's implementation of MCAP in
// TypeScript, on files of tapedeck and on recordings of ROS 2.
package mcap

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples"
)

var formats = codec.Formats{mcap.Format, rosbag2.Format}

// notCompared is the consequence of missing Node.js.
const notCompared = "MCAP is not compared with Foxglove's"

// peerFile is the content of a file as peer.js reads it.
type peerFile struct {
	Profile, Library string
	Done             bool
	Channels         []struct {
		ID                                            uint16
		Topic, Encoding, Type, SchemaEncoding, Schema string
		Metadata                                      map[string]string
	}
	Count, Chunks int
	Start, End    int64 `json:",string"`
	Metadata      []struct {
		Name   string
		Values map[string]string
	}
	Attachments []struct {
		Name, MediaType     string
		LogTime, CreateTime int64 `json:",string"`
		Data                []byte
	}
	Messages, Streamed []string // texts as of line: by the index, and in the order of the file
}

// ask runs peer.js on a file.
func ask(t *testing.T, file string) peerFile {
	dir := process.Modules(t, notCompared)
	script, err := filepath.Abs("peer.js")
	require.NoError(t, err)
	file, err = filepath.Abs(file)
	require.NoError(t, err)
	command := exec.Command("node", script, file)
	command.Dir = dir
	command.Stderr = os.Stderr
	output, err := command.Output()
	require.NoError(t, err)
	var got peerFile
	require.NoError(t, json.Unmarshal(output, &got))
	return got
}

// line returns a text of a message. id is the channel's.
func line(id uint16, m *codec.Message) string {
	return fmt.Sprintf("%d %d %d %x", id, m.LogTime, m.PublishTime, sha256.Sum256(m.Data))
}

// testChannels returns a channel with a schema, a channel without messages and a channel without a type.
func testChannels() []*codec.Channel {
	return []*codec.Channel{
		{
			Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: codec.EncodingCDR, TypeHash: "RIHS01_00",
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("std_msgs/Header header\n")},
			QoS:    []codec.QoS{codec.DefaultQoS()},
		},
		{Topic: "/silent", Type: "std_msgs/msg/Empty", Encoding: codec.EncodingCDR},
		{Topic: "/typeless", Encoding: codec.EncodingCDR},
	}
}

// TestWrite checks that Foxglove's readers find all messages, channels, metadata and attachments of a file of tapedeck.
func TestWrite(t *testing.T) {
	byTopic := func(c *codec.Channel, _ int) string { return c.Topic }
	for name, groups := range map[string]func(*codec.Channel, int) string{
		"none": nil, "lz4": nil, "zstd": nil, "none with groups": byTopic, "zstd with groups": byTopic,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.mcap")
			compression, _, _ := strings.Cut(name, " ")
			w, err := formats.Create(path, codec.CreateOptions{Compression: compression, ChunkSize: 20_000,
				ChunkGroups: groups, Metadata: map[string]string{"robot": "r2"},
				Records: []codec.MetadataRecord{{Name: "car", Values: map[string]string{"plate": "1"}}},
				Attachments: []codec.Attachment{{
					Name: "map.bin", MediaType: "text/plain", LogTime: 1700000000000000001, CreateTime: 5, Size: 3,
					Open: func(func(error)) io.Reader { return bytes.NewReader([]byte{0, 255, 7}) },
				}}})
			require.NoError(t, err)
			channels := testChannels()
			type timed struct {
				time int64
				line string
			}
			var all []timed
			var written, sorted []string
			for i := range 1000 {
				m := codec.Message{Channel: channels[0], LogTime: 1700000000000000000 + int64(i)*1_000_000,
					Data: bytes.Repeat([]byte{byte(i)}, i%300)}
				id := uint16(1) // channels have ids in the order of their first messages
				if i%7 == 0 {
					m.Channel, id = channels[2], 0
				}
				if i%10 == 9 {
					m.LogTime -= 5_500_000
				}
				m.PublishTime = m.LogTime - 10
				require.NoError(t, w.Write(&m))
				written = append(written, line(id, &m))
				all = append(all, timed{m.LogTime, line(id, &m)})
			}
			require.NoError(t, w.Declare(channels[1]))
			require.NoError(t, w.Close())
			slices.SortStableFunc(all, func(a, b timed) int { return int(a.time - b.time) })
			for _, m := range all {
				sorted = append(sorted, m.line)
			}

			got := ask(t, path)
			require.True(t, got.Done)
			require.Equal(t, "ros2", got.Profile)
			require.Equal(t, "tapedeck", got.Library)
			require.Equal(t, 1000, got.Count)
			require.Greater(t, got.Chunks, 5)
			require.Equal(t, all[0].time, got.Start)
			require.Equal(t, all[999].time, got.End)
			if groups != nil {
				slices.Sort(written)
				slices.Sort(got.Streamed)
			}
			require.Equal(t, written, got.Streamed)
			require.Equal(t, sorted, got.Messages)
			require.Len(t, got.Metadata, 2)
			require.Equal(t, "tapedeck", got.Metadata[0].Name)
			require.Equal(t, map[string]string{"robot": "r2"}, got.Metadata[0].Values)
			require.Equal(t, "car", got.Metadata[1].Name)
			require.Equal(t, map[string]string{"plate": "1"}, got.Metadata[1].Values)
			require.Len(t, got.Attachments, 1)
			a := got.Attachments[0]
			require.Equal(t, []any{"map.bin", "text/plain", int64(1700000000000000001), int64(5), []byte{0, 255, 7}},
				[]any{a.Name, a.MediaType, a.LogTime, a.CreateTime, a.Data})
			require.Len(t, got.Channels, 3)
			for i, want := range []*codec.Channel{channels[2], channels[0], channels[1]} {
				c := got.Channels[i]
				require.EqualValues(t, i, c.ID)
				require.Equal(t, want.Topic, c.Topic)
				require.Equal(t, want.Encoding, c.Encoding)
				require.Equal(t, want.Type, c.Type)
				require.Equal(t, want.Schema.Encoding, c.SchemaEncoding)
				require.Equal(t, string(want.Schema.Data), c.Schema)
				require.Equal(t, codec.FormatQoSProfiles(want.QoS), c.Metadata["offered_qos_profiles"])
				require.Equal(t, want.TypeHash, c.Metadata["topic_type_hash"])
			}
		})
	}
}

// TestBagMetadata checks that a file of a bag has the bag's metadata twice, as rosbag2 writes them: of the opened bag,
// and of the closed bag.
func TestBagMetadata(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drive")
	w, err := formats.Create(dir, codec.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Write(&codec.Message{Channel: testChannels()[0], LogTime: 7, Data: []byte{0, 1, 0, 0}}))
	require.NoError(t, w.Close())
	got := ask(t, filepath.Join(dir, "drive_0.mcap"))
	require.Len(t, got.Metadata, 2)
	for i, count := range []string{"message_count: 0\n", "message_count: 1\n"} {
		require.Equal(t, "rosbag2", got.Metadata[i].Name)
		require.Contains(t, got.Metadata[i].Values["serialized_metadata"], count)
		require.Contains(t, got.Metadata[i].Values["serialized_metadata"], "version: 8\n")
	}
}

// TestReal checks that both implementations read equal messages and channels from recordings of ROS 2.
func TestReal(t *testing.T) {
	root := samples.Path(t, "rosbag2")
	files, err := filepath.Glob(filepath.Join(root, "*/*/*.mcap"))
	require.NoError(t, err)
	deeper, err := filepath.Glob(filepath.Join(root, "*/*/*/*.mcap"))
	require.NoError(t, err)
	files = append(files, deeper...)
	require.Greater(t, len(files), 10)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want := ask(t, file)
			ids := map[string]uint16{}
			for _, c := range want.Channels {
				ids[c.Topic] = c.ID
			}
			r, err := formats.Open(file)
			require.NoError(t, err)
			defer r.Close()
			it, err := r.Read(codec.Query{})
			require.NoError(t, err)
			defer it.Close()
			var got []string
			for {
				m, err := it.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				got = append(got, line(ids[m.Channel.Topic], m))
			}
			require.Equal(t, want.Messages, got)
			info, err := r.Info()
			require.NoError(t, err)
			require.EqualValues(t, want.Count, info.MessageCount)
			require.Len(t, info.Topics, len(want.Channels))
			for i, topic := range info.Topics {
				require.Equal(t, want.Channels[i].Type, topic.Channel.Type)
				require.Equal(t, want.Channels[i].Metadata["topic_type_hash"], topic.Channel.TypeHash)
				require.Equal(t, want.Channels[i].Schema, string(topic.Channel.Schema.Data))
			}
		})
	}
}
