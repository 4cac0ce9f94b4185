package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/blob/blobtest"
	"tapedeck/nodes/internal/describe"
)

// TestInputsInStore names recordings in a store wherever a command takes one.
func TestInputsInStore(t *testing.T) {
	server := blobtest.New(t)
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
