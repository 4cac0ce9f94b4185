package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store/storetest"
	"tapedeck/nodes/internal/describe"
)

// TestInputsInStore gives recordings in a store to every command that takes one.
func TestInputsInStore(t *testing.T) {
	server := storetest.New(t)
	dir := t.TempDir()
	t.Chdir(dir)
	const drive = "drive.mcap"
	_, _, err := run(t, imuDrive(t, "drive", 100, "imu"), drive)
	require.NoError(t, err)
	content, err := os.ReadFile(drive)
	require.NoError(t, err)
	server.Put("car/drive.mcap", content)
	url := server.URL("car/drive.mcap")

	stdout, _, err := run(t, "info", url, "--json")
	require.NoError(t, err)
	var info describe.Recording
	require.NoError(t, json.Unmarshal([]byte(stdout), &info))
	require.Equal(t, url, info.Path)

	local, _, err := run(t, "echo", drive, "/imu")
	require.NoError(t, err)
	stdout, _, err = run(t, "echo", url, "/imu")
	require.NoError(t, err)
	require.Equal(t, local, stdout)

	_, _, err = run(t, "diff", drive, url)
	require.NoError(t, err)
	_, _, err = run(t, "report", url, "-o", "drive.html")
	require.NoError(t, err)
	require.FileExists(t, "drive.html")
	_, _, err = run(t, "expect", url, "-o", "drive.expect.yaml")
	require.NoError(t, err)
	_, _, err = run(t, "check", url, "--expect", "drive.expect.yaml")
	require.NoError(t, err)

	for _, args := range [][]string{
		{url, "copy.bag"}, {"recover", url, "saved.mcap"}, {"recover", url}, {url, "--output-folder", "all", "--to", "mcap"},
	} {
		_, _, err := run(t, args...)
		require.NoError(t, err, args)
	}
	for _, path := range []string{"copy.bag", "saved.mcap", "drive.recover.mcap", "all/drive.mcap"} {
		require.FileExists(t, path)
		_, _, err := run(t, "diff", url, path)
		require.True(t, path == "copy.bag" || err == nil, path) // a bag has another encoding
	}
	require.Equal(t, []string{"car/drive.mcap"}, server.Keys())
	entries, err := filepath.Glob("s3*")
	require.NoError(t, err)
	require.Empty(t, entries)

	_, _, err = run(t, "info", server.URL("car/none.mcap"))
	require.ErrorContains(t, err, server.URL("car/none.mcap"))
}

// TestFleetInStore converts, indexes and searches a prefix of a store, and writes to it.
func TestFleetInStore(t *testing.T) {
	server := storetest.New(t)
	t.Chdir(t.TempDir())
	putOf := func(frame, key string) {
		_, _, err := run(t, imuDrive(t, "drive", 20, frame), "drive.mcap", "--overwrite", "--compression", "none")
		require.NoError(t, err)
		content, err := os.ReadFile("drive.mcap")
		require.NoError(t, err)
		server.Put(key, content)
	}
	put := func(key string) { putOf("imu", key) }
	const recordings = 5
	for i := range recordings {
		put(fmt.Sprintf("logs/car%d/%d.mcap", i%2, i))
	}
	statuses := func(args ...string) map[string]int {
		stdout, stderr, err := run(t, append(args, "--json")...)
		require.NoError(t, err, stderr)
		n := map[string]int{}
		for text := range strings.Lines(stdout) {
			var line eachLine
			require.NoError(t, json.Unmarshal([]byte(text), &line))
			n[line.Status]++
		}
		return n
	}
	convert := func(shard string) map[string]int {
		return statuses(server.URL("logs/"), "--output-folder", server.URL("new"), "--to", "mcap", "--shard", shard)
	}
	require.Equal(t, map[string]int{"converted": 3}, convert("0/2"))
	require.Equal(t, map[string]int{"skipped": 3}, convert("0/2"))
	require.Equal(t, map[string]int{"skipped": 3, "converted": 2}, convert("0/1"))
	var made []string
	for _, key := range server.Keys() {
		if strings.HasPrefix(key, "new/car") {
			made = append(made, key)
		}
	}
	require.Equal(t, []string{"new/car0/0.mcap", "new/car0/2.mcap", "new/car0/4.mcap", "new/car1/1.mcap",
		"new/car1/3.mcap"}, made)
	_, _, err := run(t, server.URL("logs/car0/0.mcap"), "--output-folder", server.URL("logs/car1"), "--to", "mcap")
	require.NoError(t, err)
	_, _, err = run(t, server.URL("logs/car0/0.mcap"), "--output-folder", "https://example.org/x", "--to", "mcap")
	require.ErrorContains(t, err, "--output-folder")

	// A conversion killed before its entry was finished leaves an output that is replaced, also if the entry is
	// truncated.
	entry := "new/.converted/car0/0.mcap.json"
	text, ok := server.Content(entry)
	require.True(t, ok)
	server.Put(entry, text[:len(text)/2])
	server.Put("new/car0/0.mcap", []byte("half"))
	require.Equal(t, map[string]int{"skipped": 4, "converted": 2}, convert("0/1")) // the killed one, and a new recording
	_, _, err = run(t, "diff", server.URL("logs/car0/0.mcap"), server.URL("new/car0/0.mcap"))
	require.NoError(t, err)

	index := func() map[string]int { return statuses("index", server.URL("logs/"), "-o", "catalogue") }
	n := index()
	require.Equal(t, map[string]int{"indexed": recordings + 1}, n)
	require.Equal(t, map[string]int{"skipped": recordings + 1}, index())
	const changed = "logs/car0/2.mcap"
	was, _ := server.Content(changed)
	putOf("gps", changed)
	is, _ := server.Content(changed)
	require.Len(t, is, len(was), "only its ETag tells")
	put("logs/car0/4.mcap") // unchanged
	require.Equal(t, map[string]int{"indexed": 1, "skipped": recordings}, index())
	require.Equal(t, map[string]int{"skipped": recordings + 1}, index())

	// A catalogue in a store has the same files as in a folder. It has a recording only if all its files were sent.
	toStore := func() map[string]int {
		return statuses("index", server.URL("logs/"), "-o", server.URL("catalogue"))
	}
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Path, "/catalogue/events/0.") && r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	_, _, err = run(t, "index", server.URL("logs/"), "-o", server.URL("catalogue"))
	require.ErrorContains(t, err, "not indexed: 2 of 6 recordings")
	server.Intercept(nil)
	require.Equal(t, map[string]int{"indexed": 2, "skipped": recordings - 1}, toStore())
	require.Equal(t, map[string]int{"skipped": recordings + 1}, toStore())
	var tables, stored []string
	require.NoError(t, filepath.WalkDir("catalogue", func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			tables = append(tables, path)
		}
		return err
	}))
	for _, key := range server.Keys() {
		if strings.HasPrefix(key, "catalogue/") {
			stored = append(stored, key)
		}
	}
	require.Len(t, tables, 4*(recordings+1))
	require.ElementsMatch(t, tables, stored)
	putOf("map", changed)
	require.Equal(t, map[string]int{"indexed": 1, "skipped": recordings}, toStore())
	_, _, err = run(t, "index", server.URL("logs/"), "-o", "https://example.org/catalogue")
	require.ErrorContains(t, err, "--output: https://example.org/catalogue is no URL of a store that can be written to")
	_, _, err = run(t, "find", server.URL("none"), "/imu *")
	require.ErrorContains(t, err, "is no catalogue")

	const condition = "/imu linear_acceleration.z > -1000"
	stdout, stderr, err := run(t, "find", server.URL("catalogue"), condition, "--clip", server.URL("clips"), "--json")
	require.NoError(t, err, stderr)
	_, _, err = run(t, "index", server.URL("logs/"), "-o", "catalogue")
	require.NoError(t, err)
	local, stderr, err := run(t, "find", "catalogue", condition, "--clip", server.URL("clips"), "--json")
	require.NoError(t, err, stderr)
	require.Equal(t, local, stdout)
	var line foundLine
	first, _, _ := strings.Cut(stdout, "\n")
	require.NoError(t, json.Unmarshal([]byte(first), &line))
	require.True(t, strings.HasPrefix(line.Clip, server.URL("clips/")), line.Clip)
	_, _, err = run(t, "info", line.Clip)
	require.NoError(t, err)
}
