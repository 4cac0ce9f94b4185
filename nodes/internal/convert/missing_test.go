package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/episode"
	"tapedeck/nodes/internal/formats"
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

// withPointers returns sessions whose images are Git LFS pointers.
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

// withoutEpisode returns a file with links to two other files, one of them missing.
func withoutEpisode(t *testing.T) string {
	o := DefaultOptions()
	folder := t.TempDir()
	o.To, o.Mapping, o.LinkFile = "hdf5", mappingFile(t, robotMapping), filepath.Join(folder, "all.hdf5")
	_, _, err := do(t, filepath.Join(folder, "each"), o, robotRecording(t, "x.mcap"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(folder, "each/episode_1.hdf5")))
	return o.LinkFile
}

// Missing files are an error that names them and says what to do, or a loss with --partial.
func TestMissingFiles(t *testing.T) {
	for name, c := range map[string]struct {
		make    func(*testing.T) string
		wants   []string
		loss    string
		exclude string // topics that are missing
	}{
		"lerobot": {withoutVideos, []string{"lacks 2 files: videos/observation.images.camera_0/0.mp4, " +
			"videos/observation.images.camera_0/1.mp4 (", "images of camera_0)", "'git lfs pull', or use --partial"},
			"messages on /camera_0/image", "/camera_0/image*"},
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
					j := Job{Formats: formats.All(), Inputs: []string{in}, Output: out, Options: o}
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
					require.NoError(t, err, "the topic with missing files is excluded")
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
				if format == "session" { // also if episodes are read as messages
					o.Overwrite, o.Offset = true, time.Second
					edited, err := convert()
					require.NoError(t, err)
					require.Contains(t, texts(edited.Losses), c.loss)
				}
				if format == "mcap" {
					require.NotZero(t, r.Messages)
				} else {
					require.NotEmpty(t, episodesOf(t, out)[0].Arms[0].Streams[episode.Joint].Values)
				}
			}
		})
	}
}

// Damaged images are reported and handled as if they had not been recorded: --missing-image decides about their rows.
func TestDamagedImages(t *testing.T) {
	in := episodesAs(t, "session", "sessions")
	images, err := filepath.Glob(filepath.Join(in, "*/frames/*/*"))
	require.NoError(t, err)
	require.Len(t, images, 15)
	png, err := os.ReadFile(images[7])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(images[7], png[:len(png)-5], 0o666)) // the first episode has five images
	require.NoError(t, os.Truncate(images[9], 0))
	const unreadable, cut = "damaged images, the first: ", "the PNG is cut off: its end is missing"
	for name, c := range map[string]struct {
		format, missing string
		rows            int // of the second episode
		loss            string
	}{
		"hdf5, drop":    {"hdf5", "drop", 7, "frame 2: " + cut + " (2 messages on camera_0)"},
		"hdf5, hold":    {"hdf5", "hold", 7, cut},
		"lerobot, drop": {"lerobot", "drop", 0, cut},
		"lerobot, hold": {"lerobot", "hold", 10, cut},
		"black":         {"lerobot", "black", 10, "frame 2: " + cut},
		"session":       {"session", "drop", 0, "the file is empty (1 message on camera_0)"},
	} {
		t.Run(name, func(t *testing.T) {
			out, o := filepath.Join(t.TempDir(), "out"), DefaultOptions()
			o.To, o.MissingImage = c.format, c.missing
			r, _, err := do(t, out, o, in)
			if name == "lerobot, drop" {
				require.ErrorContains(t, err, "rows are missing after row ")
				o.Holes = "split"
				r, _, err = do(t, out, o, in)
			}
			require.NoError(t, err)
			require.Contains(t, texts(r.Losses), unreadable)
			require.Contains(t, texts(r.Losses), c.loss)
			if c.rows > 0 {
				require.Equal(t, c.rows, r.Episodes[1].Report.Rows)
			}
			o.Strict, o.Overwrite = true, true
			_, _, err = do(t, out, o, in)
			require.ErrorContains(t, err, "is not written because of --strict: it would lose ")
			require.ErrorContains(t, err, unreadable)
		})
	}
}
