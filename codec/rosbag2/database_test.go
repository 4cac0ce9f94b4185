package rosbag2

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// TestSQLiteHoldsWhatMCAPHolds compares bags of one source in both storages.
func TestSQLiteHoldsWhatMCAPHolds(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "") // ROS 2's own definition of std_msgs/msg/Empty is empty
	talker := read(t, open(t, sample(t, "humble_py/talker")), codec.Query{})
	requireMessages(t, read(t, open(t, sample(t, "rolling_py/mcap/talker")), codec.Query{}), talker)

	// These two were written seconds apart, stamps included.
	a, b := read(t, open(t, sample(t, "rosbags_rs/test_bag_sqlite3")), codec.Query{}), read(t, open(t, sample(t, "rosbags_rs/test_bag_mcap")), codec.Query{})
	require.Len(t, a, len(b))
	for i := range a {
		require.Equal(t, b[i].Channel.Topic, a[i].Channel.Topic)
		require.Equal(t, b[i].Channel.Type, a[i].Channel.Type)
		require.Len(t, a[i].Data, len(b[i].Data), a[i].Channel.Type)
		require.NotEmpty(t, a[i].Channel.Schema.Data, a[i].Channel.Type)
	}
}

// TestSQLiteWithoutMetadata reads folders that rosbag2 re-indexes in its own tests: they are one bag, in several files,
// compressed as files or by message.
func TestSQLiteWithoutMetadata(t *testing.T) {
	var payloads [][]byte
	for _, name := range []string{"multiple_files", "file_compression", "message_compression"} {
		r := open(t, sample(t, "humble_resources/reindex_test_bags/"+name))
		info, err := r.Info()
		require.NoError(t, err)
		require.False(t, info.Complete)
		require.NotEmpty(t, info.Topics)
		messages := read(t, r, codec.Query{})
		require.NotEmpty(t, messages)
		require.Len(t, messages, int(info.MessageCount))
		for _, m := range messages {
			require.Equal(t, []byte{0, 1}, m.Data[:2], "%s: the encapsulation header of %s", name, m.Channel.Type)
			payloads = append(payloads, m.Data)
		}
	}
	require.NotEmpty(t, payloads)
}

func TestSQLiteQuery(t *testing.T) {
	path := sample(t, "rosbags_rs/test_bag_sqlite3")
	all := read(t, open(t, path), codec.Query{})
	start, end := all[20].LogTime, all[60].LogTime
	var want []codec.Message
	for _, m := range all {
		if m.LogTime >= start && m.LogTime < end && m.Channel.Type == "sensor_msgs/msg/Imu" {
			want = append(want, m)
		}
	}
	file, err := filepath.Glob(filepath.Join(path, "*.db3"))
	require.NoError(t, err)
	requireMessages(t, want, read(t, open(t, file[0]), codec.Query{Start: start, End: end, Topics: func(c *codec.Channel) bool {
		return c.Type == "sensor_msgs/msg/Imu"
	}}))
	require.Empty(t, read(t, open(t, path), codec.Query{Topics: func(*codec.Channel) bool { return false }}))
}

// bag writes a database as Humble lays it out, with n messages.
func bag(t *testing.T, path string, n int) {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path}).String())
	require.NoError(t, err)
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL)",
		"CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL)",
		"CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)",
		"INSERT INTO topics VALUES (1, '/n', 'std_msgs/msg/UInt32', 'cdr', '')",
	} {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	for i := range n {
		_, err := db.Exec("INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)", i, append([]byte{0, 1, 0, 0}, make([]byte, 2000)...))
		require.NoError(t, err)
	}
}

func TestSQLiteDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd %23?name.db3")
	bag(t, path, 200)
	require.Len(t, read(t, open(t, path), codec.Query{}), 200)
	data, err := os.ReadFile(path)
	require.NoError(t, err)

	cut := filepath.Join(t.TempDir(), "cut.db3")
	require.NoError(t, os.WriteFile(cut, data[:len(data)/2], 0o644))
	r, err := codec.Open(cut)
	if err == nil {
		_, err = r.Info()
		require.NoError(t, r.Close())
	}
	require.ErrorContains(t, err, cut)
	require.ErrorContains(t, err, "sqlite3 cut.db3 .recover")

	other := filepath.Join(t.TempDir(), "other.db3")
	db, err := sql.Open("sqlite", other)
	require.NoError(t, err)
	_, err = db.Exec("CREATE TABLE things(id INTEGER)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = codec.Open(other)
	require.ErrorContains(t, err, "it is not a bag")
}
