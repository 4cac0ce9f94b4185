package rosbag2

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlite"
	"tapedeck/codec/format/rosbag2/internal/sqlitetest"
)

// TestSQLiteHoldsWhatMCAPHolds compares bags with equal content in both storages.
func TestSQLiteHoldsWhatMCAPHolds(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "") // ROS 2's own definition of std_msgs/msg/Empty is empty
	talker := read(t, open(t, sample(t, "humble_py/talker")), codec.Query{})
	requireMessages(t, read(t, open(t, sample(t, "rolling_py/mcap/talker")), codec.Query{}), talker)

	// These two were written seconds apart, stamps included.
	a, b := read(t, open(t, sample(t, "rosbags_rs/test_bag_sqlite3")), codec.Query{}),
		read(t, open(t, sample(t, "rosbags_rs/test_bag_mcap")), codec.Query{})
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
	requireMessages(t, want, read(t, open(t, file[0]),
		codec.Query{Start: start, End: end, Topics: func(c *codec.Channel) bool {
			return c.Type == "sensor_msgs/msg/Imu"
		}}))
	require.Empty(t, read(t, open(t, path), codec.Query{Topics: func(*codec.Channel) bool { return false }}))
}

// writeDatabase writes a database as Humble lays it out, with n messages.
func writeDatabase(t *testing.T, path string, n int) {
	t.Helper()
	sqlitetest.Run(t, path, append(schemaStatements(), insertStatements(0, n)...)...)
}

// schemaStatements returns the statements that make the tables and a topic.
func schemaStatements() []string {
	return []string{
		createSchema, createTopics + ")", createMessages, createIndex,
		"INSERT INTO topics VALUES (1, '/n', 'std_msgs/msg/UInt32', 'cdr', '')",
	}
}

// insertStatements returns the statements that add the messages from first to last.
func insertStatements(first, last int) (statements []string) {
	for i := first; i < last; i++ {
		statements = append(statements, fmt.Sprintf("INSERT INTO messages(topic_id, timestamp, data) "+
			"VALUES (1, %d, x'%x')", i, payload(i)))
	}
	return statements
}

// damagedBags writes bags with the rows of TestSQLiteDamaged: one by SQLite, one by our writer.
func damagedBags(t *testing.T) map[string][]byte {
	theirs := filepath.Join(t.TempDir(), "odd %23?name.db3")
	writeDatabase(t, theirs, 60)
	require.Len(t, read(t, open(t, theirs), codec.Query{}), 60)
	dir := filepath.Join(t.TempDir(), "ours")
	w, err := Options{Storage: storageSQLite}.Create(dir, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i := range 60 {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: int64(i), Data: payload(i)}))
	}
	require.NoError(t, w.Close())
	files := map[string][]byte{}
	for name, path := range map[string]string{"theirs": theirs, "ours": filepath.Join(dir, "ours_0.db3")} {
		files[name], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	return files
}

// payload returns the payload of the i-th message: some fill half a page, some several.
func payload(i int) []byte {
	size := 1990
	if i%20 == 19 {
		size = 20_000
	}
	return append([]byte{0, 1, 0, 0}, bytes.Repeat([]byte{byte(i)}, size)...)
}

// TestSQLiteDamaged damages a page of a database. All messages on other pages are read.
func TestSQLiteDamaged(t *testing.T) {
	step, cut := 1, 1500
	if testing.Short() {
		step, cut = 19, 15_013
	}
	path := filepath.Join(t.TempDir(), "bag.db3")
	kinds := map[string]func(page []byte){
		"zeros":   func(page []byte) { clear(page) },
		"ones":    func(page []byte) { copy(page, bytes.Repeat([]byte{0xff}, len(page))) },
		"shifted": func(page []byte) { copy(page, page[17:]) },
	}
	for name, file := range damagedBags(t) {
		for kind, spoil := range kinds {
			for page := 0; page < len(file)/sqlite.PageSize; page += step {
				data := bytes.Clone(file)
				spoil(data[page*sqlite.PageSize:][:sqlite.PageSize])
				requireSalvage(t, fmt.Sprintf("%s, page %d, %s", name, page, kind), path, data, 5)
			}
		}
		for end := 0; end < len(file); end += cut {
			// pages with only messages: two, or a part of one
			front := max(0, end/sqlite.PageSize-8)
			requireSalvage(t, fmt.Sprintf("%s, cut at %d", name, end), path, file[:end], 60-max(0, front-15)*2)
		}
	}
}

// openAlone opens the database at path by itself, not as a file of a bag.
func openAlone(path string) (codec.Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return openDatabase(nil, path, f, stat.Size(), nil)
}

// requireSalvage reads a damaged file. At most most messages may be missing.
func requireSalvage(t *testing.T, name, path string, data []byte, most int) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o666))
	r, err := openAlone(path)
	if err != nil {
		require.Less(t, len(data), 5*sqlite.PageSize, "%s: %v", name, err)
		return
	}
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err, name)
	require.LessOrEqual(t, info.MessageCount, uint64(60), name)
	reported := 0
	got := map[int]bool{}
	for _, m := range read(t, r, codec.Query{Damaged: func(error) { reported++ }}) {
		i := int(m.LogTime)
		require.False(t, got[i], name)
		got[i] = true
		want := payload(i)
		require.Len(t, m.Data, len(want), name)
		// Damage within a message that fills whole pages cannot be noticed.
		require.True(t, len(want) > sqlite.PageSize || bytes.Equal(want, m.Data), "%s, message %d", name, i)
	}
	missing := 0
	for i := range 60 {
		if !got[i] {
			missing++
		}
	}
	require.LessOrEqual(t, missing, most, name)
	if missing > 0 {
		require.True(t, reported > 0 || !info.Complete, name)
	}
}

// A database with a journal of either kind is read after its writer was killed within a transaction.
func TestSQLiteJournal(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		dir := t.TempDir()
		killed := t.TempDir()
		statements := append([]string{"PRAGMA cache_size=5", "PRAGMA journal_mode=" + mode}, schemaStatements()...)
		statements = append(statements, insertStatements(0, 20)...)
		statements = append(append(statements, "BEGIN"), insertStatements(20, 60)...)
		statements = append(statements, fmt.Sprintf(".system cp %s/a.db3 %[1]s/a.db3-[jw]* %s", dir, killed),
			"ROLLBACK")
		sqlitetest.Run(t, filepath.Join(dir, "a.db3"), statements...)
		require.Len(t, fileNames(t, killed), 2, "the database and its journal")
		got := read(t, open(t, filepath.Join(killed, "a.db3")), codec.Query{Damaged: func(error) {}})
		require.GreaterOrEqual(t, len(got), 20, mode)
		for i, m := range got {
			require.Equal(t, int64(i), m.LogTime)
			require.Equal(t, payload(i), m.Data)
		}
	}
}

// TestSQLiteLog reads a database with some or all messages in its write-ahead log. Nothing is written beside it,
// whether the folder can be written to or not.
func TestSQLiteLog(t *testing.T) {
	const messages = 300
	dir, session := t.TempDir(), t.TempDir()
	statements := append([]string{"PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0"}, schemaStatements()...)
	statements = append(append(statements, insertStatements(0, 100)...), "PRAGMA wal_checkpoint(FULL)")
	statements = append(statements, insertStatements(100, messages)...)
	statements = append(statements, fmt.Sprintf(".system cp %s/a.db3 %[1]s/a.db3-wal %s", session, dir))
	sqlitetest.Run(t, filepath.Join(session, "a.db3"), statements...)
	copied := func(t *testing.T, change func(log []byte) []byte) string {
		to := t.TempDir()
		for _, name := range []string{"a.db3", "a.db3-wal"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			if name == "a.db3-wal" {
				data = change(data)
				if data == nil {
					continue
				}
			}
			require.NoError(t, os.WriteFile(filepath.Join(to, name), data, 0o666))
		}
		return to
	}
	for _, test := range []struct {
		name        string
		change      func(log []byte) []byte
		least, most int
		event       string
	}{
		{"whole", func(log []byte) []byte { return log }, messages, messages, ""},
		{"none", func([]byte) []byte { return nil }, 100, 100, ""},
		{"empty", func([]byte) []byte { return []byte{} }, 100, 100, ""},
		{"cut", func(log []byte) []byte { return log[:len(log)-100] }, 100, messages - 1,
			"the write-ahead log a.db3-wal: cut off at 0x"},
		{"torn", func(log []byte) []byte { log[len(log)-100] ^= 1; return log }, 100, messages - 1,
			"the write-ahead log a.db3-wal: damaged at 0x"},
		{"damaged", func(log []byte) []byte { log[9] ^= 1; return log }, 100, 100,
			"the write-ahead log a.db3-wal: the beginning of the log is damaged; nothing was read"},
	} {
		for _, mode := range []os.FileMode{0o777, 0o555} {
			t.Run(fmt.Sprint(test.name, mode), func(t *testing.T) {
				to := copied(t, test.change)
				require.NoError(t, os.Chmod(to, mode))
				defer func() { require.NoError(t, os.Chmod(to, 0o777)) }()
				before := fileNames(t, to)
				r := open(t, filepath.Join(to, "a.db3"))
				info, err := r.Info()
				require.NoError(t, err)
				require.Equal(t, test.event == "", info.Complete)
				if test.event != "" {
					require.Len(t, info.Events, 1)
					require.Contains(t, info.Events[0].Text, test.event)
				}
				got := read(t, r, codec.Query{})
				require.GreaterOrEqual(t, len(got), test.least)
				require.LessOrEqual(t, len(got), test.most)
				require.EqualValues(t, len(got), info.MessageCount)
				for i, m := range got {
					require.Equal(t, payload(i), m.Data)
				}
				require.Equal(t, before, fileNames(t, to))
				require.NoError(t, r.Close())
				require.Equal(t, before, fileNames(t, to))
			})
		}
	}
}

func TestSQLiteIsNoBag(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.db3")
	sqlitetest.Run(t, other, "CREATE TABLE things(id INTEGER)")
	_, err := codec.Formats{Format}.Open(other)
	require.ErrorContains(t, err, "not a bag")
}

// Rows that no recorder writes are reported, and other rows are read.
func TestSQLiteOddRows(t *testing.T) {
	for _, odd := range []string{"(1, NULL, x'00010000')", "(1, 'noon', x'00010000')", "(NULL, 5, x'00010000')",
		"(1, 5, NULL)", "('one', 5, 7)", "(1, -5, x'00010000')", "(9, 5, x'00010000')"} {
		path := filepath.Join(t.TempDir(), "a.db3")
		statements := append([]string{
			createTopics + ")", "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id,timestamp,data)", createIndex,
			"INSERT INTO topics VALUES (1, '/n', 'std_msgs/msg/UInt32', 'cdr', '')",
		}, insertStatements(0, 10)...)
		statements = append(statements, "INSERT INTO messages(topic_id, timestamp, data) VALUES "+odd)
		sqlitetest.Run(t, path, append(statements, insertStatements(10, 20)...)...)
		r := open(t, path)
		info, err := r.Info()
		require.NoError(t, err, odd)
		reported := !info.Complete || len(info.Events) > 0 || info.StartTime < 0
		seen := map[int64]bool{}
		for _, m := range read(t, r, codec.Query{Start: -1 << 63, Damaged: func(error) { reported = true }}) {
			require.NotNil(t, m.Channel)
			if bytes.Equal(payload(int(m.LogTime)&0xff), m.Data) {
				seen[m.LogTime] = true
			}
		}
		require.Len(t, seen, 20, odd)
		require.True(t, reported, odd)
		require.NotContains(t, fmt.Sprint(info.Events), "sql:", odd)
	}
}

// A topic with unreadable profiles only lacks its QoS.
func TestOddQoS(t *testing.T) {
	for _, odd := range []string{"database", "metadata", "database metadata"} {
		dir := filepath.Join(t.TempDir(), "drive")
		w, err := Options{Storage: storageSQLite}.Create(dir, codec.CreateOptions{})
		require.NoError(t, err)
		channels := testChannels()
		channels[1].QoS = channels[0].QoS[:1]
		require.NoError(t, w.Declare(channels[1]))
		want := testMessages(5, channels[0])
		for i := range want {
			require.NoError(t, w.Write(&want[i]))
		}
		require.NoError(t, w.Close())
		if strings.Contains(odd, "database") {
			sqlitetest.Run(t, filepath.Join(dir, "drive_0.db3"),
				"UPDATE topics SET offered_qos_profiles = '- history: odd' WHERE name = '/chatter'")
		}
		if strings.Contains(odd, "metadata") {
			path := filepath.Join(dir, metadataFile)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			before, after, _ := bytes.Cut(text, []byte("/chatter"))
			after = bytes.Replace(after, []byte("history: 1"), []byte("history: odd"), 1)
			require.NoError(t, os.WriteFile(path, slices.Concat(before, []byte("/chatter"), after), 0o666))
		}
		r := open(t, dir)
		requireMessages(t, want, read(t, r, codec.Query{}))
		info, err := r.Info()
		require.NoError(t, err)
		require.Len(t, info.Topics, 2, odd)
		for _, topic := range info.Topics {
			c := topic.Channel
			switch {
			case c.Topic == "/silent":
				require.Equal(t, channels[1].QoS, c.QoS, odd)
			case odd == "database metadata":
				require.Empty(t, c.QoS, odd)
			default:
				require.Equal(t, channels[0].QoS, c.QoS, odd)
			}
			if c.Topic == "/chatter" {
				require.Equal(t, "RIHS01_00", c.TypeHash, odd)
			}
		}
		require.Equal(t, strings.Contains(odd, "database"), len(info.Events) > 0, odd)
		for _, e := range info.Events {
			require.Equal(t, codec.EventDamage, e.Kind)
			require.Contains(t, e.Text, "the QoS of topic /chatter cannot be read, and is the default unless "+
				`the recording has it elsewhere: parse QoS profile 1: history: "odd" is not one of`)
		}
	}
}

// Unreadable profiles are also reported if a damaged database is read page by page.
func TestOddQoSOfDamagedDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db3")
	writeDatabase(t, path, 10)
	sqlitetest.Run(t, path, "UPDATE topics SET offered_qos_profiles = '- history: odd'")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	clear(data[:16])
	require.NoError(t, os.WriteFile(path, data, 0o666))
	info, err := open(t, path).Info()
	require.NoError(t, err)
	reported := 0
	for _, e := range info.Events {
		if strings.Contains(e.Text, "page by page") || strings.Contains(e.Text, "the QoS of topic /n cannot be read") {
			reported++
		}
	}
	require.Equal(t, 2, reported, info.Events)
}

func TestSQLiteOddTopics(t *testing.T) {
	for _, odd := range []string{"(2, NULL, NULL, NULL, NULL)", "(2, 7, 8, 9, x'00')",
		"(2, '/m', 'a/b', 'cdr', '- history: [')"} {
		path := filepath.Join(t.TempDir(), "a.db3")
		writeDatabase(t, path, 10)
		sqlitetest.Run(t, path, "ALTER TABLE topics RENAME TO old", "CREATE TABLE topics(id INTEGER PRIMARY "+
			"KEY,name,type,serialization_format,offered_qos_profiles)", "INSERT INTO topics SELECT * FROM old",
			"DROP TABLE old", "INSERT INTO topics VALUES "+odd)
		r := open(t, path)
		info, err := r.Info()
		require.NoError(t, err)
		require.NotContains(t, fmt.Sprint(info.Events), "sql:", odd)
		require.Len(t, read(t, r, codec.Query{Damaged: func(err error) {
			require.NotContains(t, err.Error(), "sql:", odd)
		}}), 10, odd)
	}
}
