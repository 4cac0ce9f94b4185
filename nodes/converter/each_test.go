package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/convert/manifest"
)

// Shards convert each recording of a list once, also after earlier conversions. A failure does not stop the others.
func TestShards(t *testing.T) {
	folder := t.TempDir()
	list, out := filepath.Join(folder, "files.txt"), filepath.Join(folder, "new")
	var paths []string
	for i := range 7 {
		paths = append(paths, writeLines(t, fmt.Sprintf("%d.lines", i), []codec.Message{at(imu, 1e9, "a")}))
	}
	paths = append(paths, filepath.Join(folder, "nowhere.lines"))
	require.NoError(t, os.WriteFile(list, []byte(strings.Join(paths, "\n")), 0o666))
	shards := func(args ...string) map[string]int {
		all := map[string]int{}
		for i := range 3 {
			stdout, stderr, code := execute(t, append([]string{"@" + list, "--output-folder", out, "--to", "mcap",
				"--json", "--shard", fmt.Sprintf("%d/3", i)}, args...)...)
			if strings.Contains(stdout, "failed") {
				require.Equal(t, someFailed, code, stderr)
			} else {
				require.Zero(t, code, stderr)
			}
			for text := range strings.Lines(stdout) {
				var line eachLine
				require.NoError(t, json.Unmarshal([]byte(text), &line))
				all[line.Status]++
			}
		}
		return all
	}
	require.Equal(t, map[string]int{"converted": 7, "failed": 1}, shards())
	require.Equal(t, map[string]int{"skipped": 7, "failed": 1}, shards())

	// A killed conversion has an entry without an end, and an incomplete output.
	entry := filepath.Join(out, manifest.Folder, "3.lines.mcap.json")
	require.NoError(t, os.WriteFile(entry, []byte("{\"done\": false}\n"), 0o666))
	require.NoError(t, os.Mkdir(filepath.Join(out, "3.lines.mcap.part"), 0o777))
	require.NoError(t, os.Remove(filepath.Join(out, "4.lines.mcap")))
	require.Equal(t, map[string]int{"converted": 2, "skipped": 5, "failed": 1}, shards())
	require.NoDirExists(t, filepath.Join(out, "3.lines.mcap.part"))
	require.Equal(t, map[string]int{"failed": 8}, shards("--topics", "/imu"), "other options")
	require.Equal(t, map[string]int{"converted": 7, "failed": 1}, shards("--topics", "/imu", "--overwrite"))

	_, stderr, code := execute(t, paths[0], filepath.Join(folder, "x.mcap"), "--shard", "0/2")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--output-folder FOLDER")
}

// Folders are searched, and outputs keep their subfolders. Recordings with equal names get different outputs, also if
// their splits would have equal names.
func TestFolders(t *testing.T) {
	folder := t.TempDir()
	logs, out := filepath.Join(folder, "logs"), filepath.Join(folder, "logs/new")
	for _, name := range []string{"car1/drive.mcap", "car1/drive_1.mcap", "car2/drive.mcap", "drive.mcap"} {
		path := filepath.Join(logs, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		var messages []codec.Message
		for i := range 200 {
			messages = append(messages, at(imu, 1e9+int64(i), name+strings.Repeat("x", 1000)))
		}
		_, stderr, err := run(t, writeLines(t, "a.lines", messages), path)
		require.NoError(t, err, stderr)
	}
	require.NoError(t, os.WriteFile(filepath.Join(logs, "notes.txt"), []byte("no recording"), 0o666))
	convert := func(want map[string]int, args ...string) {
		stdout, stderr, err := run(t, append(args, "--output-folder", out, "--to", "mcap", "--max-bag-size", "100kB",
			"--json")...)
		require.NoError(t, err, stderr)
		got := map[string]int{}
		for text := range strings.Lines(stdout) {
			var line eachLine
			require.NoError(t, json.Unmarshal([]byte(text), &line))
			rel, err := filepath.Rel(out, line.Output)
			require.NoError(t, err)
			got[line.Status+" "+rel]++
			if line.Status == "converted" {
				require.EqualValues(t, 200, line.Messages)
			}
		}
		require.Equal(t, want, got)
	}
	convert(map[string]int{"converted car1/drive.mcap": 1, "converted car1/drive_1.mcap.mcap": 1,
		"converted car2/drive.mcap": 1, "converted drive.mcap": 1}, logs)
	require.FileExists(t, filepath.Join(out, "car1/drive_1.mcap"), "a part of drive.mcap")
	convert(map[string]int{"skipped car1/drive.mcap": 1, "skipped car1/drive_1.mcap.mcap": 1,
		"skipped car2/drive.mcap": 1, "skipped drive.mcap": 1}, logs+"/")
	out = filepath.Join(folder, "other")
	one, two := filepath.Join(logs, "car1/drive.mcap"), filepath.Join(logs, "car2/drive.mcap")
	convert(map[string]int{"converted car1/drive.mcap": 1, "converted car2/drive.mcap": 1}, one, two, one)
	_, stderr, err := run(t, t.TempDir(), "--output-folder", out, "--to", "mcap")
	require.NoError(t, err)
	require.Equal(t, "warning: there are no recordings to be converted\n", stderr)
}

// A recording that is named by the beginning of its files' names is also skipped after its conversion.
func TestSeriesIsRemembered(t *testing.T) {
	folder := t.TempDir()
	in := writeLines(t, "a.lines", []codec.Message{at(imu, 1e9, "a"), at(imu, 2e9, "b")})
	_, stderr, err := run(t, in, filepath.Join(folder, "drive.record.00000"), "--max-bag-messages", "1")
	require.NoError(t, err, stderr)
	require.FileExists(t, filepath.Join(folder, "drive.record.00001"))
	for _, want := range []string{"out/drive.mcap: 2 messages", "out/drive.mcap: converted before"} {
		stdout, stderr, err := run(t, filepath.Join(folder, "drive"), "--output-folder", filepath.Join(folder, "out"),
			"--to", "mcap")
		require.NoError(t, err, stderr)
		require.Contains(t, stdout, want)
	}
}
