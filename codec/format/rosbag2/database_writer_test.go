package rosbag2

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlitetest"
)

// Each storage, version and compression can be written and read.
func TestLayouts(t *testing.T) {
	for _, storage := range []string{"mcap", "sqlite3"} {
		for version := 4; version <= 9; version++ {
			for _, mode := range []string{"", "file", "message"} {
				if storage == "mcap" && mode == "message" {
					continue
				}
				t.Run(fmt.Sprint(storage, version, mode), func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "drive")
					o := codec.CreateOptions{
						ChunkSize: 10_000, Metadata: map[string]string{"ros_distro": "jazzy", "car": "blue"},
					}
					var completed []string
					o.Completed = func(f codec.FileInfo, err error) {
						require.NoError(t, err)
						require.FileExists(t, f.Path)
						completed = append(completed, filepath.Base(f.Path))
					}
					bag := Options{Storage: storage, Version: version, CompressionMode: mode}
					w, err := codec.Formats{bag.Format()}.Create(dir, o)
					require.NoError(t, err)
					channels := testChannels()
					require.NoError(t, w.Declare(channels[1]))
					want := testMessages(30, channels[0])
					for i := range want {
						if i == 20 {
							require.NoError(t, w.Split())
						}
						require.NoError(t, w.Write(&want[i]))
					}
					name := filepath.Base(w.File())
					require.NoError(t, w.Close())
					require.Len(t, completed, 2)
					require.Equal(t, name, completed[1])
					require.Equal(t, append(completed, metadataFile), fileNames(t, dir))

					r := open(t, dir)
					info, err := r.Info()
					require.NoError(t, err)
					require.True(t, info.Complete, info.Events)
					require.Empty(t, info.Events)
					require.Len(t, info.Topics, 2)
					requireMessages(t, want, read(t, r, codec.Query{}))
					m := readMetadata(t, dir)
					require.Equal(t, version, m.Version)
					require.Equal(t, storage, m.Storage)
					require.Equal(t, completed, m.Paths)
					require.Equal(t, version >= 5, m.Files != nil)
					require.Equal(t, version >= 6, m.Custom["car"] == "blue")
					require.Equal(t, version >= 8, m.Distro == "jazzy")
					require.EqualValues(t, 30, m.Messages)
					if storage != "sqlite3" || mode == "file" {
						return
					}
					for _, name := range m.Paths {
						sqlitetest.Check(t, filepath.Join(dir, name))
					}
				})
			}
		}
	}
}

// Info has the events of a recorder, compressed or not, and the QoS of all publishers of a topic.
func TestDatabaseEvents(t *testing.T) {
	for _, mode := range []string{"", "message", "file"} {
		dir := filepath.Join(t.TempDir(), "drive")
		w, err := Options{Storage: storageSQLite, CompressionMode: mode}.Create(dir, codec.CreateOptions{})
		require.NoError(t, err)
		first := testChannels()[0]
		first.QoS = first.QoS[:1]
		require.NoError(t, w.Declare(first))
		require.NoError(t, w.Sync())
		require.NoError(t, w.Declare(testChannels()[0])) // another publisher of the topic
		event := codec.Event{Kind: codec.EventGap, Topic: "/chatter", Time: 1e18, Until: 1e18 + 5e9,
			Text: "nobody spoke"}
		m, err := codec.EventMessage(event)
		require.NoError(t, err)
		require.NoError(t, w.Write(m))
		require.NoError(t, w.Close())
		info, err := open(t, dir).Info()
		require.NoError(t, err)
		require.Equal(t, []codec.Event{event}, info.Events)
		require.Len(t, info.Topics, 2)
		require.Equal(t, testChannels()[0].QoS, info.Topics[0].Channel.QoS)
	}
}

// A lone database whose beginning is damaged is opened by its name.
func TestDatabaseWithoutBeginning(t *testing.T) {
	data := damagedBags(t)["ours"]
	clear(data[:4096])
	path := filepath.Join(t.TempDir(), "a.db3")
	require.NoError(t, os.WriteFile(path, data, 0o666))
	require.Len(t, read(t, open(t, path), codec.Query{Damaged: func(error) {}}), 60)
}
