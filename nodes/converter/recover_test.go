package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// damage makes the first line of a recording of lines that begins with prefix unreadable.
func damage(t *testing.T, path, prefix string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), prefix)
	require.NoError(t, os.WriteFile(path, bytes.Replace(data, []byte(prefix), []byte("?"), 1), 0o644))
}

// cut takes the end off a recording of lines.
func cut(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.TrimSuffix(data, []byte("{\"End\":true}\n")), 0o644))
}

func TestRecover(t *testing.T) {
	var many []codec.Message
	for i := range int64(100) {
		many = append(many, at(imu, 1000+i, fmt.Sprint(i)))
	}
	t.Run("damaged", func(t *testing.T) {
		in := writeLines(t, "in.lines", many)
		damage(t, in, "{\"Message\":{\"Channel\":null,\"LogTime\":1017")
		stdout, stderr, err := run(t, "recover", in)
		require.NoError(t, err)
		require.Contains(t, stderr, "damaged: "+in+": line 20: ")
		require.Contains(t, stdout, "99 messages")
		require.Contains(t, stdout, "1 damaged place\n")
		_, messages := readAll(t, strings.TrimSuffix(in, ".lines")+".recover.lines")
		require.Len(t, messages, 99)
	})
	t.Run("many damaged places", func(t *testing.T) {
		in := writeLines(t, "in.lines", many)
		for i := range 30 {
			damage(t, in, fmt.Sprintf("{\"Message\":{\"Channel\":null,\"LogTime\":10%02d", 2*i+1))
		}
		stdout, stderr, err := run(t, "recover", in, filepath.Join(t.TempDir(), "out"))
		require.NoError(t, err)
		require.Equal(t, shownDamage+1, strings.Count(stderr, "\n"))
		require.Contains(t, stderr, "damaged: and 10 more places\n")
		require.Contains(t, stdout, "30 damaged places\n")
	})
	t.Run("unfinished", func(t *testing.T) {
		in := writeLines(t, "in.lines", many, odom)
		cut(t, in)
		out := filepath.Join(t.TempDir(), "out.lines")
		stdout, stderr, err := run(t, "recover", in, out)
		require.NoError(t, err)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "the recording was incomplete; everything readable is saved")
		channels, messages := readAll(t, out)
		require.Len(t, channels, 2)
		require.Len(t, messages, 100)
	})
	t.Run("whole", func(t *testing.T) {
		stdout, _, err := run(t, "recover", writeLines(t, "in.lines", many))
		require.NoError(t, err)
		require.Contains(t, stdout, "nothing was damaged")
	})
	t.Run("nothing to save", func(t *testing.T) {
		in := writeLines(t, "in.lines", many[:1])
		damage(t, in, "{\"Message\":")
		out := filepath.Join(t.TempDir(), "out.lines")
		_, _, err := run(t, "recover", in, out)
		require.ErrorContains(t, err, "no message could be saved")
		require.NoFileExists(t, out)
		require.NoDirExists(t, out+".part")
	})
}

func TestRecoveredName(t *testing.T) {
	tests := []struct{ in, format, want string }{
		{"a/drive.lines", "lines", "a/drive.recover.lines"},
		{"folder/", "lines", "folder.recover.lines"},
		{"x.mcap", "lines", "x.mcap.recover.lines"},
		{"x.mcap", "mcap", "x.recover.mcap"},
		{"drive.record", "record", "drive.record.recover"},
		{"drive.record.00000", "record", "drive.record.00000.recover"},
		{"drive.record.00000", "mcap", "drive.record.00000.recover.mcap"},
		{"drive.record.00000.active", "record", "drive.record.00000.recover"},
		{"folder/", "unknown", "folder.recover"},
	}
	for _, test := range tests {
		require.Equal(t, test.want, recoveredName(test.in, test.format))
	}
}

// TestRecoverKilled reads what a killed recorder leaves, by the name that it would have got and by the one that it has.
func TestRecoverKilled(t *testing.T) {
	for _, name := range []string{"drive.record.00000", "drive.mcap", "drive"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := known.Codecs().Create(path, codec.CreateOptions{})
		require.NoError(t, err)
		channel := &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: codec.EncodingCDR}
		for i := range int64(100) {
			require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: i, Data: []byte("payload")}))
		}
		require.NoError(t, w.Sync())
		stdout, _, err := run(t, "info", path)
		require.NoError(t, err)
		require.Contains(t, stdout, codec.ActiveSuffix)
		require.Contains(t, stdout, "Messages:   100\n")
		require.Contains(t, stdout, "Complete:   no, it was not finished; what is here can be read and played,\n")
		names := []string{path}
		if name != "drive" {
			names = append(names, path+codec.ActiveSuffix)
		}
		for _, in := range names {
			out := path + ".saved.mcap"
			stdout, _, err = run(t, "recover", in, out, "--overwrite")
			require.NoError(t, err)
			require.Contains(t, stdout, "100 messages")
			_, messages := readAll(t, out)
			require.Len(t, messages, 100)
			require.NoFileExists(t, out+codec.ActiveSuffix)
		}
	}
}

func TestReindexOfFile(t *testing.T) {
	path := writeLines(t, "a.lines", sequence(imu, 1, "a"))
	_, _, err := run(t, "reindex", path)
	require.ErrorContains(t, err, "'converter recover'")
}
