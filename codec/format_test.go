package codec

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := Formats{}.Open(path)
	require.EqualError(t, err, "open "+path+": neither a file nor a folder")
}

// A folder with other files is not taken for the output of a format, so that it is not replaced.
func TestCheckFiles(t *testing.T) {
	f := Format{Files: []string{".jpg", ".csv", ".yaml"}}
	for _, c := range []struct {
		files []string
		ok    bool
	}{
		{[]string{"a.csv", "b.csv"}, true},
		{[]string{"cam/1.jpg", "cam/index.csv", "other/camera_info.yaml"}, true},
		{[]string{"a.txt"}, false},
		{[]string{"photos/1.jpg"}, false},
		{[]string{"a.csv", "cam/index.csv"}, false},
		{[]string{"cam/index.csv", "cam/more/index.csv"}, false},
	} {
		folder := t.TempDir()
		for _, name := range c.files {
			path := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			require.NoError(t, os.WriteFile(path, nil, 0o666))
		}
		require.Equal(t, c.ok, f.CheckFiles(folder, nil) == nil, c.files)
	}
}

// The error about a file that is not a recording names its kind and says what to do.
func TestNoRecordings(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
	for content, want := range map[string]string{
		"":                                     "the file is empty; copy or download it again",
		pointer:                                "run 'git lfs pull' first",
		"\xa3\x95\x80\x80FMT":                  "DataFlash log of ArduPilot",
		"\n<!DOCTYPE html><html>":              "the file is a web page",
		"<HTML><body>404</body>":               "the file is a web page",
		"\x1f\x8b\x08rest":                     "unpack it first",
		"\x04\x22\x4d\x18rest":                 "unpack it first",
		strings.Repeat("a", 257) + "ustar\x00": "unpack it first",
		strings.Repeat("\x00", 600):            "it begins with zeros",
	} {
		path := filepath.Join(t.TempDir(), "drive")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		_, err := Formats{}.Open(path)
		require.ErrorIs(t, err, ErrUnknownFormat)
		require.ErrorContains(t, err, want)
	}
	for _, name := range []string{"meta/info.json", "metadata.yaml"} {
		for content, want := range map[string]string{"": "the file is empty", pointer: "run 'git lfs pull' first"} {
			folder := t.TempDir()
			file := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
			require.NoError(t, os.WriteFile(file, []byte(content), 0o666))
			_, err := Formats{}.Open(folder)
			require.ErrorIs(t, err, ErrUnknownFormat)
			require.ErrorContains(t, err, file)
			require.ErrorContains(t, err, want)
		}
	}
}
