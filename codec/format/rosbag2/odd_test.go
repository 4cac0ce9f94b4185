package rosbag2

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/rosbag2/internal/sqlitetest"
	"tapedeck/test/samples"
)

// oddDatabase makes a database of rosbag2 with 3 messages "a", "b" and "c" on /chatter, and changes it by SQL.
func oddDatabase(t *testing.T, path string, payload func(string) []byte, changes ...string) {
	statements := []string{
		"CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT, " +
			"offered_qos_profiles TEXT, type_description_hash TEXT)",
		"CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)",
		"CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT, encoding TEXT, " +
			"encoded_message_definition TEXT, type_description_hash TEXT)",
		"CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER, metadata TEXT)",
		"INSERT INTO topics VALUES(1, '/chatter', 'std_msgs/msg/String', 'cdr', '', '')",
	}
	for i, text := range []string{"a", "b", "c"} {
		statements = append(statements, fmt.Sprintf("INSERT INTO messages VALUES(%d, 1, %d, x'%x')", i+1, 1000+i,
			payload(text)))
	}
	sqlitetest.Run(t, path, append(statements, changes...)...)
}

// cdrString is the payload of a std_msgs/msg/String of one letter.
func cdrString(text string) []byte { return []byte("\x00\x01\x00\x00\x02\x00\x00\x00" + text + "\x00") }

// TestNull reads databases with NULL columns. Reindex does not replace them.
func TestNull(t *testing.T) {
	for _, test := range []struct {
		name, change string
		topic        string
		want         string // payloads
		lack         string // damage
	}{
		{"qos", "UPDATE topics SET offered_qos_profiles = NULL", "/chatter", "abc", ""},
		{"hash", "UPDATE topics SET type_description_hash = NULL", "/chatter", "abc", ""},
		{"encoding", "UPDATE topics SET serialization_format = NULL", "/chatter", "abc", ""},
		{"type", "UPDATE topics SET type = NULL", "/chatter", "abc", ""},
		{"name", "UPDATE topics SET name = NULL", "", "abc", ""},
		{"definition", "INSERT INTO message_definitions VALUES(1, 'std_msgs/msg/String', NULL, NULL, NULL)", "/chatter",
			"abc", ""},
		{"metadata", "INSERT INTO metadata VALUES(1, NULL, NULL)", "/chatter", "abc", ""},
		{"payload", "UPDATE messages SET data = NULL WHERE id = 2", "/chatter", "ac",
			"1 row without topic, time or payload; they are left out"},
		{"time", "UPDATE messages SET timestamp = NULL WHERE id = 1", "/chatter", "bc",
			"1 row without topic, time or payload; they are left out"},
		{"topic id", "UPDATE messages SET topic_id = NULL", "/chatter", "",
			"3 rows without topic, time or payload; they are left out"},
		{"orphan", "UPDATE messages SET topic_id = 7 WHERE id > 1", "/chatter", "a",
			"2 messages of topic id 7, which is not among the topics; they are left out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "bag_0.db3")
			oddDatabase(t, path, cdrString, test.change)
			r, err := Open(nil, path)
			require.NoError(t, err)
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, test.lack == "", info.Complete)
			require.EqualValues(t, len(test.want), info.MessageCount)
			require.Len(t, info.Topics, 1)
			require.Equal(t, test.topic, info.Topics[0].Channel.Topic)
			require.Equal(t, codec.EncodingCDR, info.Topics[0].Channel.Encoding)
			require.Empty(t, info.Topics[0].Channel.QoS)
			var damage []string
			got := ""
			damaged := func(err error) { damage = append(damage, err.Error()) }
			for _, m := range read(t, r, codec.Query{Damaged: damaged}) {
				got += string(m.Data[8:9])
			}
			require.Equal(t, test.want, got)
			if test.lack == "" {
				require.Empty(t, info.Events)
				require.Empty(t, damage)
			} else {
				require.Contains(t, info.Events[0].Text, test.lack)
				require.Equal(t, []string{"read " + path + ": " + test.lack}, damage)
			}
			require.NoError(t, r.Close())

			before, err := os.ReadFile(path)
			require.NoError(t, err)
			_, err = Reindex(dir, func(text string) { t.Error(text) })
			require.NoError(t, err)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
}

// TestUnlabelledCompression reads messages that are compressed one by one without a metadata.yaml that says so.
func TestUnlabelledCompression(t *testing.T) {
	packed := func(text string) []byte { return pack(t, cdrString(text)) }
	for _, storage := range []string{storageSQLite, storageMCAP} {
		t.Run(storage, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "bag_0.db3")
			if storage == storageSQLite {
				oddDatabase(t, path, packed)
			} else {
				path = filepath.Join(dir, "bag_0.mcap")
				w, err := mcap.Format.Create(path, codec.CreateOptions{})
				require.NoError(t, err)
				c := &codec.Channel{Topic: "/chatter", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR}
				for i, text := range []string{"a", "b", "c"} {
					m := &codec.Message{Channel: c, LogTime: 1000 + int64(i), Data: packed(text)}
					require.NoError(t, w.Write(m))
				}
				require.NoError(t, w.Close())
			}
			requireRead := func(path string, labels int) {
				r, err := codec.Formats{mcap.Format, Format}.Open(path)
				require.NoError(t, err)
				defer r.Close()
				var reports []string
				got := ""
				q := codec.Query{Mislabelled: func(err error) { reports = append(reports, err.Error()) }}
				for _, m := range read(t, r, q) {
					got += string(m.Data[8:9])
					require.Equal(t, cdrString(got[len(got)-1:]), m.Data)
				}
				require.Equal(t, "abc", got)
				require.Len(t, reports, labels)
				if labels > 0 {
					require.Contains(t, reports[0], "messages of /chatter are called cdr and are compressed with zstd")
				}
				it, err := r.Read(codec.Query{Last: func(*codec.Channel) int { return 1 }})
				require.NoError(t, err)
				defer it.Close()
				m, err := it.Next()
				require.NoError(t, err)
				require.Equal(t, cdrString("c"), m.Data)
			}
			requireRead(path, 1)
			requireRead(dir, 1)
			for range 2 {
				info, err := Reindex(dir, func(text string) { t.Error(text) })
				require.NoError(t, err)
				require.True(t, info.Complete)
				m := readMetadata(t, dir)
				require.Equal(t, "MESSAGE", m.Mode)
				require.Equal(t, "zstd", m.Compression)
				requireRead(dir, 0)
			}

			// Reindex mends an incomplete file without changing its messages.
			require.NoError(t, os.Rename(path, path+codec.ActiveSuffix))
			data, err := os.ReadFile(path + codec.ActiveSuffix)
			require.NoError(t, err)
			if storage == storageMCAP {
				data = data[:len(data)-8]
			}
			require.NoError(t, os.WriteFile(path+codec.ActiveSuffix, data, 0o666))
			_, err = Reindex(dir, func(string) {})
			require.NoError(t, err)
			require.Equal(t, "MESSAGE", readMetadata(t, dir).Mode)
			requireRead(dir, 0)
		})
	}
}

// TestLZ4Payload omits LZ4 payloads that are labelled as CDR.
func TestLZ4Payload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bag_0.db3")
	oddDatabase(t, path, cdrString, "UPDATE messages SET data = x'04224d186440a700000000' WHERE id = 2")
	r, err := Open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	var reports []string
	got := read(t, r, codec.Query{Damaged: func(err error) { reports = append(reports, err.Error()) }})
	require.Len(t, got, 2)
	require.Len(t, reports, 1)
	require.Contains(t, reports[0], "message on /chatter at 1001 ns: the payload is compressed with LZ4, not cdr")
}

// TestRenamedFile reads a bag whose file has another name than in metadata.yaml.
func TestRenamedFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drive")
	want := writeBag(t, dir, codec.CreateOptions{}, 3)
	renamed := filepath.Join(dir, "night_0.mcap")
	require.NoError(t, os.Rename(filepath.Join(dir, "drive_0.mcap"), renamed))
	r := open(t, dir)
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, []codec.Event{{Kind: codec.EventLabel,
		Text: "metadata.yaml lists drive_0.mcap; read night_0.mcap instead"}}, info.Events)
	requireMessages(t, want, read(t, r, codec.Query{Start: math.MinInt64}))
	_, err = Reindex(dir, func(text string) { t.Error(text) })
	require.NoError(t, err)
	require.Equal(t, []string{"night_0.mcap"}, readMetadata(t, dir).Paths)
}

// TestEmptyStorageIdentifier reads a bag by the names of its files.
func TestEmptyStorageIdentifier(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drive")
	want := writeBag(t, dir, codec.CreateOptions{}, 3)
	m := readMetadata(t, dir)
	m.Storage = ""
	require.NoError(t, m.save(codec.OS{}, dir))
	r := open(t, dir)
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Empty(t, info.Events)
	requireMessages(t, want, read(t, r, codec.Query{}))
}

// TestFaults reads bags of other programs.
func TestFaults(t *testing.T) {
	for name, want := range map[string]int{"null_qos.db3": 3, "renamed_data_file": 3, "empty_storage_identifier": 3,
		"orphan_rows.db3": 2, "reindex_msgzstd_db3": 3} {
		t.Run(name, func(t *testing.T) {
			for _, m := range read(t, open(t, samples.Path(t, "faults/"+name)), codec.Query{Damaged: func(error) {}}) {
				want--
				require.Equal(t, "/chatter", m.Channel.Topic)
				require.Equal(t, "\x00\x01", string(m.Data[:2]))
			}
			require.Zero(t, want)
		})
	}
}

// TestRenamedSplit reads a bag in which one of several files was renamed, or several were.
func TestRenamedSplit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drive")
	w, err := Options{}.Create(dir, codec.CreateOptions{})
	require.NoError(t, err)
	want := testMessages(3, testChannels()[0])
	for i := range want {
		if i > 0 {
			require.NoError(t, w.Split())
		}
		require.NoError(t, w.Write(&want[i]))
	}
	require.NoError(t, w.Close())
	files := readMetadata(t, dir).Paths
	rename := func(from, to string) {
		require.NoError(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	rename(files[1], "night_0.mcap")
	r := open(t, dir)
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, "metadata.yaml lists drive_1.mcap; read night_0.mcap instead",
		info.Events[0].Text)
	requireMessages(t, want, read(t, r, codec.Query{}))

	rename(files[2], "x.mcap")
	info, err = open(t, dir).Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.EqualValues(t, 1, info.MessageCount)
	require.Contains(t, info.Events[0].Text, "metadata.yaml lists drive_1.mcap, drive_2.mcap, which are not there; it "+
		"does not list ")

	rename(files[0], "y.mcap")
	_, err = Open(nil, dir)
	require.ErrorContains(t, err, "none of the bag's files is there: metadata.yaml lists drive_0.mcap, drive_1.mcap, ")
}
