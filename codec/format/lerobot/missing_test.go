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

// writeDatasetWithoutVideos writes a dataset of two episodes. The videos of its cameras top and wrist are missing.
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

// fakeFFmpeg replaces ffmpeg by a program that writes no frames. calls returns how often the program was called.
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

// TestMissingVideos reads a dataset with missing videos twice. Each video must be looked for once and never decoded,
// and all other data must be read.
func TestMissingVideos(t *testing.T) {
	for name, c := range map[string]struct {
		text string // content of the video's file; "": no file
		want string // text of the error
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
			checks := map[string]int{} // by path
			s.checkContents = func(path string) error {
				checks[path]++
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
			require.Len(t, checks, 4)
			for path, n := range checks {
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

// TestBrokenVideo reads videos that ffmpeg cannot decode. Each image must be reported, and each video decoded once.
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
	require.Zero(t, calls(), "Info must decode no frame")
	damaged := 0
	it, err := r.Read(codec.Query{Damaged: func(error) { damaged++ }})
	require.NoError(t, err)
	for _, err := it.Next(); err == nil; _, err = it.Next() {
	}
	require.NoError(t, it.Close())
	require.Equal(t, 2*2*3, damaged, "reported images")
	require.Equal(t, 4, calls(), "decoded videos")
}

// TestTableIsAPointer reads a table that Git LFS has not fetched. The error must name the table and advise to fetch it.
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
