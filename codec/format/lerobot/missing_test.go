package lerobot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/training/episode"
)

// writeDatasetWithoutVideos returns a dataset of two episodes. Their videos of the cameras top and wrist are missing.
func writeDatasetWithoutVideos(t *testing.T) string {
	path := writeForeignDataset(t)
	name := filepath.Join(path, infoPath)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	changed := strings.NewReplacer(`"video_path": null`, `"video_path": "videos/{video_key}/{episode_index:d}.mp4"`,
		`"features": {`, `"features": {
			"observation.images.top": {"dtype": "video", "shape": [48, 64, 3]},
			"observation.images.wrist": {"dtype": "video", "shape": [48, 64, 3]},`).Replace(string(text))
	require.NoError(t, os.WriteFile(name, []byte(changed), 0o666))
	return path
}

// fakeFFmpeg replaces ffmpeg by a program that only writes a line to a file. calls counts the lines.
func fakeFFmpeg(t *testing.T) (calls func() int) {
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	script := fmt.Sprintf("#!/bin/sh\necho x >> '%s'\n", log)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ffmpeg"), []byte(script), 0o777))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	return func() int {
		text, err := os.ReadFile(log)
		if err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		return strings.Count(string(text), "\n")
	}
}

// Missing videos are looked for once and never decoded. All other data is read.
func TestMissingVideos(t *testing.T) {
	for name, c := range map[string]struct {
		text string // of the file; "": there is none
		want string
	}{
		"absent":  {"", "no such file or directory"},
		"pointer": {"version https://git-lfs.github.com/spec/v1\noid sha256:7bd3\n", "run 'git lfs pull' first"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeDatasetWithoutVideos(t)
			folder := filepath.Join(path, "videos", "observation.images.top")
			if c.text != "" {
				require.NoError(t, os.MkdirAll(folder, 0o777))
				for e := range 2 {
					require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(e, ".mp4")), []byte(c.text),
						0o666))
				}
			}
			calls := fakeFFmpeg(t)
			s, err := Open(nil, path)
			require.NoError(t, err)
			looked := map[string]int{}
			s.check = func(path string) error {
				looked[path]++
				return codec.CheckContents(nil, path)
			}
			r := episode.NewReader(nil, Name, path, s)
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			require.EqualValues(t, 2*2*3, info.MessageCount)
			for range 2 {
				missing := 0
				it, err := r.Read(codec.Query{Damaged: func(err error) { missing++ }})
				require.NoError(t, err)
				n := 0
				for _, err := it.Next(); err == nil; _, err = it.Next() {
					n++
				}
				require.NoError(t, it.Close())
				require.Equal(t, 2*2*3, n)
				require.Equal(t, 4, missing)
			}
			require.Len(t, looked, 4)
			for path, n := range looked {
				require.Equal(t, 1, n, path)
			}
			require.Zero(t, calls())
			missing := r.Missing()
			require.Len(t, missing, 4)
			require.Equal(t, filepath.Join(folder, "0.mp4"), missing[0].Path)
			require.Equal(t, 3, missing[0].Images)
			require.ErrorContains(t, missing[0], c.want)
		})
	}
}

// A file that is no video is decoded only once.
func TestBrokenVideo(t *testing.T) {
	path := writeDatasetWithoutVideos(t)
	for _, camera := range []string{"top", "wrist"} {
		folder := filepath.Join(path, "videos", imagePrefix+camera)
		require.NoError(t, os.MkdirAll(folder, 0o777))
		for e := range 2 {
			require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(e, ".mp4")), []byte("not a video"), 0o666))
		}
	}
	calls := fakeFFmpeg(t)
	r, err := codec.Formats{Format}.Open(path)
	require.NoError(t, err)
	info, err := r.Info()
	require.NoError(t, err)
	require.EqualValues(t, 2*(2+2)*3, info.MessageCount)
	require.Zero(t, calls(), "the description needs no frame")
	damaged := 0
	it, err := r.Read(codec.Query{Damaged: func(error) { damaged++ }})
	require.NoError(t, err)
	for _, err := it.Next(); err == nil; _, err = it.Next() {
	}
	require.NoError(t, it.Close())
	require.Equal(t, 2*2*3, damaged, "each image is reported")
	require.Equal(t, 4, calls(), "each video is decoded once")
}

// Tables that Git LFS has not fetched are an error that says so.
func TestTableIsAPointer(t *testing.T) {
	path := writeForeignDataset(t)
	name := filepath.Join(path, "data/chunk-000/episode_000001.parquet")
	require.NoError(t, os.WriteFile(name, []byte("version https://git-lfs.github.com/spec/v1\n"), 0o666))
	s, err := Open(nil, path)
	require.NoError(t, err)
	_, err = s.Episodes()
	require.ErrorContains(t, err, name)
	require.ErrorContains(t, err, "run 'git lfs pull' first")
}
