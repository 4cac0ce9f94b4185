package rosbag2

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// Python's sqlite3 reads our databases.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	for version, want := range map[int]string{
		4: "ok\n(3, 'foxy')\n2 /chatter cdr 30 1\nno definitions\n",
		8: "ok\n(4, 'foxy')\n2 /chatter cdr 30 1\ndefinitions 1 True\n",
	} {
		dir := filepath.Join(t.TempDir(), "drive")
		w, err := Options{Storage: storageSQLite, Version: version}.Create(dir, codec.CreateOptions{
			Metadata: map[string]string{"ros_distro": "foxy"}})
		require.NoError(t, err)
		channels := testChannels()
		require.NoError(t, w.Declare(channels[1]))
		messages := testMessages(30, channels[0])
		for i := range messages {
			require.NoError(t, w.Write(&messages[len(messages)-1-i])) // the last one first
		}
		require.NoError(t, w.Close())
		out, err := exec.Command(python, "-c", `
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
print(c.execute("PRAGMA integrity_check").fetchone()[0])
print(c.execute("SELECT * FROM schema").fetchone())
rows = c.execute("SELECT topic_id, name, serialization_format, timestamp FROM messages JOIN topics ON topics.id = topic_id ORDER BY timestamp, messages.id").fetchall()
print(rows[0][0], rows[0][1], rows[0][2], len(rows), len(c.execute("SELECT * FROM metadata").fetchall()))
assert rows == sorted(rows, key=lambda r: r[3])
try:
    d = c.execute("SELECT encoded_message_definition FROM message_definitions WHERE topic_type = 'std_msgs/msg/String'").fetchall()
    print("definitions", len(d), "string data" in d[0][0])
except sqlite3.OperationalError:
    print("no definitions")
`, filepath.Join(dir, "drive_0.db3")).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, want, string(out))
	}
}
