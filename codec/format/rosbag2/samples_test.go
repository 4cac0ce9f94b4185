package rosbag2

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
)

// digest returns the number of messages, the times of the first and the last one, and a hash of topics, times and
// payloads.
func digest(t *testing.T, path string) string {
	r := open(t, path)
	h := sha256.New()
	all := read(t, r, codec.Query{})
	for _, m := range all {
		fmt.Fprintf(h, "%d %s %d\n", m.LogTime, m.Channel.Topic, len(m.Data))
		h.Write(m.Data)
	}
	n, first, last := len(all), all[0].LogTime, all[len(all)-1].LogTime
	info, err := r.Info()
	require.NoError(t, err)
	require.EqualValues(t, n, info.MessageCount)
	require.Equal(t, first, info.StartTime)
	require.Equal(t, last, info.EndTime)
	return fmt.Sprintf("%d %d %d %x", n, first, last, h.Sum(nil)[:8])
}

// TestSamples reads real bags, and copies of them. The expected digests were computed with Python's sqlite3, the zstd
// command and @mcap/core. Bags with equal content are copied once.
func TestSamples(t *testing.T) {
	copies := []Options{{Storage: storageMCAP}, {Storage: storageSQLite},
		{Storage: storageSQLite, Version: 5, CompressionMode: "message"}}
	copied := map[string]bool{}
	for i, test := range []struct {
		path        string
		count       int
		first, last int64
		hash        string
	}{
		{"humble_py/convert_a", 150, 0, 100000000, "125e5be14096c76a"},
		{"humble_py/convert_b", 75, 0, 222000000, "fb4793ae909ce737"},
		{"humble_py/reindex_test_bags/multiple_files", 3177, 1616653333034080451, 1616653339386193357,
			"a51c179c09974d28"},
		{"humble_py/talker", 20, 1585866235112411371, 1585866239643508139, "febb4c1793468797"},
		{"humble_py/wbag", 6074, 1000, 2998, "41c5ecaf33b89159"},
		{"humble_resources/cdr_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"humble_resources/reindex_test_bags/file_compression", 775, 1604356909418673946, 1604357100419831952,
			"17d36efe15ff99e4"},
		{"humble_resources/reindex_test_bags/message_compression", 1127, 1604581357697556242, 1604581542133285933,
			"35e5d2cfc9033df0"},
		{"humble_resources/reindex_test_bags/multiple_files", 52, 1630486321838886148, 1630486347339076385,
			"6a87c03f1f116a02"},
		{"humble_resources/wrong_rmw_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"jazzy_resources/mcap/bag_with_topics_and_service_events", 10, 1699345836270074454, 1699345836340728398,
			"8ec13432809b621c"},
		{"jazzy_resources/mcap/cdr_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"jazzy_resources/mcap/wrong_rmw_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"jazzy_resources/sqlite3/bag_with_topics_and_service_events", 10, 1699345836023194036, 1699345836093827766,
			"db38e5950faea182"},
		{"jazzy_resources/sqlite3/cdr_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"jazzy_resources/sqlite3/wrong_rmw_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"rolling_py/mcap/convert_a", 150, 0, 100000000, "125e5be14096c76a"},
		{"rolling_py/mcap/convert_b", 75, 0, 222000000, "fb4793ae909ce737"},
		{"rolling_py/mcap/reindex_test_bags/multiple_files", 3177, 1616653333034080451, 1616653339386193357,
			"a51c179c09974d28"},
		{"rolling_py/mcap/talker", 20, 1585866235112411371, 1585866239643508139, "febb4c1793468797"},
		{"rolling_py/mcap/wbag", 6074, 1000, 2998, "41c5ecaf33b89159"},
		{"rolling_py/sqlite3/convert_a", 150, 0, 100000000, "125e5be14096c76a"},
		{"rolling_py/sqlite3/convert_b", 75, 0, 222000000, "fb4793ae909ce737"},
		{"rolling_py/sqlite3/reindex_test_bags/multiple_files", 3177, 1616653333034080451, 1616653339386193357,
			"a51c179c09974d28"},
		{"rolling_py/sqlite3/talker", 20, 1585866235112411371, 1585866239643508139, "febb4c1793468797"},
		{"rolling_py/sqlite3/wbag", 6074, 1000, 2998, "41c5ecaf33b89159"},
		{"rolling_resources/mcap/bag_with_topics_and_service_events", 10, 1699345836270074454, 1699345836340728398,
			"8ec13432809b621c"},
		{"rolling_resources/mcap/cdr_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"rolling_resources/mcap/wrong_rmw_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"rolling_resources/sqlite3/bag_with_topics_and_service_events", 10, 1699345836023194036, 1699345836093827766,
			"db38e5950faea182"},
		{"rolling_resources/sqlite3/cdr_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"rolling_resources/sqlite3/wrong_rmw_test", 7, 1586406456763032325, 1586406456914169506, "f4e6c73185a1e8c2"},
		{"rosbags_rs/test_bag_mcap", 188, 1749315324903302144, 1749315343603302144, "2347093f9198a1c1"},
		{"rosbags_rs/test_bag_sqlite3", 188, 1749315324675930112, 1749315343375930112, "ec07016823b63e18"},
	} {
		t.Run(test.path, func(t *testing.T) {
			want := fmt.Sprintf("%d %d %d %s", test.count, test.first, test.last, test.hash)
			path := sample(t, test.path)
			require.Equal(t, want, digest(t, path))
			r := open(t, path)
			info, err := r.Info()
			require.NoError(t, err)
			copies := copies
			if testing.Short() {
				copies = copies[i%3:][:1]
			}
			if copied[want] {
				copies = nil
			}
			copied[want] = true
			for _, o := range copies {
				dir := filepath.Join(t.TempDir(), "copy")
				w, err := o.Create(dir, codec.CreateOptions{})
				require.NoError(t, err)
				codectest.Copy(t, w, r)
				require.NoError(t, w.Close())
				require.Equal(t, want, digest(t, dir))
				copied, err := open(t, dir).Info()
				require.NoError(t, err)
				require.Len(t, copied.Topics, len(info.Topics))
				for i, topic := range info.Topics {
					c := copied.Topics[i].Channel
					require.Equal(t, topic.MessageCount, copied.Topics[i].MessageCount)
					require.Equal(t, topic.Channel.Topic, c.Topic)
					require.Equal(t, topic.Channel.Type, c.Type)
					require.Equal(t, topic.Channel.QoS, c.QoS)
					if o.Version == 0 {
						require.Equal(t, topic.Channel.TypeHash, c.TypeHash)
						if text := string(topic.Channel.Schema.Data); text != "" {
							require.Equal(t, text, string(c.Schema.Data))
						}
					}
				}
			}
		})
	}
}
