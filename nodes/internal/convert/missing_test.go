package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/nodes/internal/formats/allformats"
)

// withoutVideos returns a dataset of LeRobot with two episodes whose videos are missing.
func withoutVideos(t *testing.T) string {
	path := episodesAs(t, "lerobot", "set")
	name := filepath.Join(path, "meta/info.json")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	changed := strings.NewReplacer(`"v3.0"`, `"v2.1"`, `"dtype":"image"`, `"dtype":"video"`,
		`"dtype": "image"`, `"dtype": "video"`,
		"data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "data/chunk-000/file-000.parquet",
		`"video_path": null`, `"video_path": "videos/{video_key}/{episode_index:d}.mp4"`,
		`"video_path":null`, `"video_path": "videos/{video_key}/{episode_index:d}.mp4"`).Replace(string(text))
	require.NoError(t, os.WriteFile(name, []byte(changed), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(path, "meta/episodes.jsonl"),
		[]byte(`{"episode_index": 0, "length": 4}`+"\n"+`{"episode_index": 1, "length": 9}`+"\n"), 0o666))
	return path
}

// episodesAs returns the episodes of a robot in a format.
func episodesAs(t *testing.T, format, name string) string {
	o := DefaultOptions()
	o.To, o.Mapping = format, mappingFile(t, robotMapping)
	path := filepath.Join(t.TempDir(), name)
	_, _, err := do(t, path, o, robotRecording(t, "x.mcap"))
	require.NoError(t, err)
	return path
}

// withPointers returns sessions whose images are pointers of Git LFS.
func withPointers(t *testing.T) string {
	path := episodesAs(t, "session", "sessions")
	images, err := filepath.Glob(filepath.Join(path, "*/frames/*/*"))
	require.NoError(t, err)
	require.NotEmpty(t, images)
	for _, image := range images {
		require.NoError(t, os.WriteFile(image, []byte("version https://git-lfs.github.com/spec/v1\n"), 0o666))
	}
	return path
}

// withoutFrames returns sessions without the folders of their images.
func withoutFrames(t *testing.T) string {
	path := episodesAs(t, "session", "sessions")
	folders, err := filepath.Glob(filepath.Join(path, "*/frames"))
	require.NoError(t, err)
	require.Len(t, folders, 2)
	for _, folder := range folders {
		require.NoError(t, os.RemoveAll(folder))
	}
	return path
}

// withoutEpisode returns a file with links to two others, of which one is missing.
func withoutEpisode(t *testing.T) string {
	o := DefaultOptions()
	folder := t.TempDir()
	o.To, o.Mapping, o.LinkFile = "hdf5", mappingFile(t, robotMapping), filepath.Join(folder, "all.hdf5")
	_, _, err := do(t, filepath.Join(folder, "each"), o, robotRecording(t, "x.mcap"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(folder, "each/episode_1.hdf5")))
	return o.LinkFile
}

// Files that are missing are an error that names them and says what to do, and a loss with --partial.
func TestMissingFiles(t *testing.T) {
	for name, c := range map[string]struct {
		make    func(*testing.T) string
		wants   []string
		loss    string
		exclude string // topics that are missing
	}{
		"lerobot": {withoutVideos, []string{"lacks 2 files: videos/observation.images.camera_0/0.mp4, " +
			"videos/observation.images.camera_0/1.mp4 (", "images of camera_0)", "'git lfs pull', or use --partial"},
			"messages on /camera_0/image_raw)", "/camera_0/image_raw"},
		"pointers": {withPointers, []string{"lacks 2 files: ", "/frames/camera_0", "(15 images of camera_0)",
			"this is a Git LFS pointer, not the file itself; run 'git lfs pull' first, or use --partial"},
			"images whose files are missing (15 messages on /camera_0/image/compressed)", "/camera_0/image/compressed"},
		"no frames": {withoutFrames, []string{"lacks 2 files: ", "/frames/camera_0 (images of camera_0)", "--partial"},
			"images whose files are missing (/camera_0/image/compressed)", "/camera_0/image/compressed"},
		"link": {withoutEpisode, []string{"lacks 1 file: ", "all.hdf5:/episodes/episode_1", "--partial"},
			"episodes whose files are missing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := c.make(t)
			for _, format := range []string{"mcap", "session"} {
				folder := t.TempDir()
				out, o := filepath.Join(folder, "out"), DefaultOptions()
				o.To = format
				convert := func() (*Result, error) {
					j := Job{Formats: allformats.List(), Inputs: []string{in}, Output: out, Options: o}
					return j.Run(t.Context())
				}
				_, err := convert()
				require.ErrorContains(t, err, in)
				for _, want := range c.wants {
					require.ErrorContains(t, err, want)
				}
				if c.exclude != "" {
					o.Exclude = []string{c.exclude}
					_, err = convert()
					require.NoError(t, err, "what is missing is not selected")
					o.Exclude, o.Overwrite = nil, true
				}
				o.Partial, o.Strict = true, true
				_, err = convert()
				require.ErrorContains(t, err, "is not written because of --strict")
				require.ErrorContains(t, err, c.loss)
				o.Strict = false
				r, err := convert()
				require.NoError(t, err)
				require.Contains(t, texts(r.Losses), c.loss)
				if format == "mcap" {
					require.NotZero(t, r.Messages)
				} else {
					require.NotEmpty(t, episodesOf(t, out)[0].Arms[0].Joint.Values)
				}
			}
		})
	}
}
