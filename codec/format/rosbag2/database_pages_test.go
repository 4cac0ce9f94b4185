package rosbag2

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlitetest"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/store/storetest"
)

// TestLatestInStore compares the latest messages found in a store with the result of reading everything.
func TestLatestInStore(t *testing.T) {
	s := storetest.New(t)
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	latched := func(topic string, depth int) *codec.Channel {
		return &codec.Channel{Topic: topic, Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR,
			QoS: []codec.QoS{{Durability: codec.TransientLocal, Depth: depth}}}
	}
	number := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	static, state := latched("/tf_static", 1), latched("/state", 3) // at the beginning; now and then
	once, late := latched("/once", 1), latched("/late", 1)          // in the midst; at the end
	const n = 6000
	var messages []codec.Message
	for i := range n {
		c := number
		switch {
		case i < 3 || i == n/4:
			c = static
		case i == n/3:
			c = once
		case i == n-5:
			c = late
		case i%1700 == 1699:
			c = state
		}
		data := append([]byte{0, 1, 0, 0, byte(i), byte(i >> 8), 0, 0}, make([]byte, random.IntN(300))...)
		messages = append(messages, codec.Message{Channel: c, LogTime: int64(i/2+random.IntN(40)) + 1, Data: data})
	}
	dir := filepath.Join(t.TempDir(), "drive")
	w, err := Options{Storage: storageSQLite}.Create(dir, codec.CreateOptions{})
	require.NoError(t, err)
	for i := range messages {
		require.NoError(t, w.Write(&messages[i]))
	}
	require.NoError(t, w.Close())
	ours := filepath.Join(dir, "drive_0.db3")
	// SQLite mixes the pages of index and table.
	scattered := copyDatabase(t, ours, "")
	queries := 30
	if testing.Short() {
		queries = 8
	}
	for name, path := range map[string]string{
		"ours": ours, "scattered": scattered,
		"without metadata": copyDatabase(t, scattered, "DELETE FROM metadata"),
		"without index":    copyDatabase(t, scattered, "DROP INDEX timestamp_idx"),
	} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			s.Put("a.db3", content)
			local := open(t, path)
			remote, err := Format.OpenFrom(s.Files(), s.URL("a.db3"))
			require.NoError(t, err)
			defer remote.Close()
			for range queries {
				q := codec.Query{End: random.Int64N(n/2+100) + 1}
				if random.IntN(3) == 0 {
					q.Start = random.Int64N(q.End)
				}
				if random.IntN(5) == 0 {
					q.End = 0
				}
				q.Last = codec.LatchedDepth
				it, err := codec.ReadLast(q, local.Read)
				require.NoError(t, err)
				want, err := codectest.Collect(it)
				require.NoError(t, err)
				it, err = remote.Read(q)
				require.NoError(t, err)
				got, err := codectest.Collect(it)
				require.NoError(t, err)
				require.Len(t, got, len(want), "from %d to %d", q.Start, q.End)
				for i := range want {
					require.Equal(t, want[i].Channel.Topic, got[i].Channel.Topic)
					require.Equal(t, want[i].LogTime, got[i].LogTime)
					require.Equal(t, want[i].Data, got[i].Data)
				}
			}
		})
	}
}

// copyDatabase makes SQLite copy a database, and then execute a statement.
func copyDatabase(t *testing.T, path, statement string) string {
	to := filepath.Join(t.TempDir(), "copy.db3")
	sqlitetest.Run(t, to,
		"ATTACH '"+path+"' AS old", createSchema, createMetadata, createTopics+createHash+")",
		createDefinitions, createMessages, createIndex,
		"INSERT INTO schema SELECT * FROM old.schema", "INSERT INTO metadata SELECT * FROM old.metadata",
		"INSERT INTO topics SELECT * FROM old.topics", "INSERT INTO messages SELECT * FROM old.messages",
		statement)
	return to
}
