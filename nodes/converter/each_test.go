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
	"tapedeck/nodes/internal/manifest"
)

// Shards convert each recording of a list once, whatever was done before; what fails does not stop the others.
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

	// As if killed: its entry was begun, its output not completed.
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
