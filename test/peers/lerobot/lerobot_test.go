// Package lerobot tests codec/format/lerobot against other programs: hyparquet reads the tables, and ffprobe and ffmpeg
// read the videos.
package lerobot

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/lerobot"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/internal/process"
)

// frames implements episode.Frames with JPEGs.
type frames struct{}

func (frames) Frame(i int) (episode.Frame, error) {
	m := image.NewRGBA(image.Rect(0, 0, 96, 64))
	for k := range m.Pix {
		m.Pix[k] = uint8(i * 5)
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, m, nil)
	return episode.Frame{Encoding: "jpeg", Data: b.Bytes()}, err
}

func (frames) Close() error { return nil }

// depths implements episode.Frames with depths in mm, of 16 bits.
type depths struct{}

func (depths) Frame(i int) (episode.Frame, error) {
	f := episode.Frame{Encoding: "16UC1", Width: 96, Height: 64, Step: 2 * 96}
	for k := range 96 * 64 {
		f.Data = binary.LittleEndian.AppendUint16(f.Data, uint16(20+k+i))
	}
	return f, nil
}

func (depths) Close() error { return nil }

const fps = 30

// newRows returns n rows of an episode.
func newRows(t *testing.T, task string, start int64, n int) *episode.Rows {
	e := &episode.Episode{Name: task, Task: task}
	joint := &align.Vector{Name: "arm_0/joint",
		Columns: []align.Column{{Name: "joint_0", Unit: "rad", Interp: align.Linear},
			{Name: "joint_1", Unit: "rad", Interp: align.Linear}}}
	camera := &episode.Camera{Track: align.Track{Name: "front"},
		Open: func() (episode.Frames, error) { return frames{}, nil }}
	for i := range n {
		joint.Stamps = append(joint.Stamps, start+int64(math.Round(float64(i)*1e9/fps)))
		joint.Values = append(joint.Values, float64(i)/4, -float64(i)/8)
	}
	camera.Stamps = joint.Stamps
	depth := &episode.Camera{Track: align.Track{Name: "depth", Stamps: joint.Stamps},
		Open: func() (episode.Frames, error) { return depths{}, nil }}
	e.Arms, e.Cameras = []*episode.Arm{{Name: "arm_0", Streams: episode.Streams{episode.Joint: joint}}},
		[]*episode.Camera{camera, depth}
	r, err := episode.Align(e, align.Options{Timeline: "fixed:" + strconv.Itoa(fps)})
	require.NoError(t, err)
	require.Len(t, r.Stamps, n)
	return r
}

// write writes a dataset of episodes with these numbers of rows.
func write(t *testing.T, o lerobot.Options, lengths ...int) string {
	path := filepath.Join(t.TempDir(), "set")
	w, err := lerobot.Create(path, o)
	require.NoError(t, err)
	for i, n := range lengths {
		require.NoError(t, w.Write(newRows(t, []string{"pick", "place"}[i%2], 1e18+int64(i)*1e12, n)))
	}
	require.NoError(t, w.Close())
	return path
}

// table is the content of a table as peer.js reads it.
type table struct {
	Groups []int
	Keys   map[string]string
	Rows   []map[string]any
}

// TestHyparquet checks tables as hyparquet reads them.
func TestHyparquet(t *testing.T) {
	modules := process.Modules(t, "tables of LeRobot are not read with hyparquet")
	path := write(t, lerobot.Options{}, 20, 7, 12)
	script, err := filepath.Abs("peer.js")
	require.NoError(t, err)
	node := exec.Command("node", script, path)
	node.Dir = modules
	var stderr bytes.Buffer
	node.Stderr = &stderr
	output, err := node.Output()
	require.NoError(t, err, stderr.String())
	var tables map[string]table
	require.NoError(t, json.Unmarshal(output, &tables))
	require.Len(t, tables, 3)

	data := tables["data/chunk-000/file-000.parquet"]
	require.Equal(t, []int{20, 7, 12}, data.Groups)
	require.Contains(t, data.Keys["huggingface"],
		`"action":{"_type":"List","feature":{"_type":"Value","dtype":"float32"},"length":2}`)
	index := 0
	for e, n := range data.Groups {
		for i := range n {
			row := data.Rows[index]
			require.Equal(t, []any{float64(i) / 4, -float64(i) / 8}, row["observation.state"])
			next := float64(min(i+1, n-1))
			require.Equal(t, []any{next / 4, -next / 8}, row["action"])
			require.Equal(t, float64(float32(float64(i)/fps)), row["timestamp"])
			require.EqualValues(t, i, row["frame_index"])
			require.EqualValues(t, e, row["episode_index"])
			require.EqualValues(t, index, row["index"])
			require.EqualValues(t, e%2, row["task_index"])
			f, err := frames{}.Frame(i)
			require.NoError(t, err)
			sum := sha256.Sum256(f.Data)
			picture := row["observation.images.front"].(map[string]any)
			require.Equal(t, hex.EncodeToString(sum[:]), picture["bytes"])
			if index%5 == 0 {
				f, err := depths{}.Frame(i)
				require.NoError(t, err)
				require.Equal(t, f.Data, tiff(t, row["observation.images.depth"].(map[string]any)["bytes"]))
			}
			index++
		}
	}

	tasks := tables["meta/tasks.parquet"]
	require.Contains(t, tasks.Keys["pandas"], `"index_columns":["task"]`)
	require.Len(t, tasks.Rows, 2)
	require.EqualValues(t, 1, tasks.Rows[1]["task_index"])

	episodes := tables["meta/episodes/chunk-000/file-000.parquet"].Rows
	require.Len(t, episodes, 3)
	last := episodes[2]
	require.EqualValues(t, 12, last["length"])
	require.EqualValues(t, 27, last["dataset_from_index"])
	require.EqualValues(t, 39, last["dataset_to_index"])
	require.Equal(t, []any{0., -11. / 8}, last["stats/observation.state/min"])
	require.Equal(t, []any{11. / 4, 0.}, last["stats/observation.state/max"])
	require.Equal(t, []any{12.}, last["stats/observation.state/count"])
	colours := last["stats/observation.images.front/mean"].([]any)
	require.Len(t, colours, 3)
	require.InDelta(t, 27.5/255, colours[0].([]any)[0].([]any)[0], 0.01)
	require.Equal(t, []any{[]any{[]any{20. + 96*64 - 1 + 11}}}, last["stats/observation.images.depth/max"])
}

// tiff returns the pixels that ffmpeg decodes from a TIFF in base64.
func tiff(t *testing.T, text any) []byte {
	data, err := base64.StdEncoding.DecodeString(text.(string))
	require.NoError(t, err)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed (Debian: ffmpeg); TIFFs of depths are not decoded")
	}
	file := filepath.Join(t.TempDir(), "depth.tiff")
	require.NoError(t, os.WriteFile(file, data, 0o666))
	pixels, err := exec.Command("ffmpeg", "-v", "error", "-i", file, "-f", "rawvideo", "-pix_fmt", "gray16le",
		"-").Output()
	require.NoError(t, err)
	return pixels
}

// TestFFprobe checks frames, times and depths of videos, and that no other files are written beside them.
func TestFFprobe(t *testing.T) {
	for _, program := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed (Debian: ffmpeg); videos of LeRobot are not read")
		}
	}
	path := write(t, lerobot.Options{Video: true}, 20, 7)
	output, err := exec.Command("ffprobe", "-v", "error", "-show_entries",
		"packet=pts_time:stream=r_frame_rate,width,height,pix_fmt", "-of", "json",
		filepath.Join(path, "videos/observation.images.front/chunk-000/file-000.mp4")).Output()
	require.NoError(t, err)
	var video struct {
		Packets []struct {
			Time string `json:"pts_time"`
		}
		Streams []map[string]any
	}
	require.NoError(t, json.Unmarshal(output, &video))
	require.Len(t, video.Packets, 27)
	for i, p := range video.Packets {
		require.Equal(t, fmt.Sprintf("%.6f", float64(i)/fps), strings.TrimSpace(p.Time))
	}
	require.Len(t, video.Streams, 1)
	require.Equal(t, "30/1", video.Streams[0]["r_frame_rate"])
	require.Equal(t, "yuv420p", video.Streams[0]["pix_fmt"])
	require.EqualValues(t, 96, video.Streams[0]["width"])

	// LeRobot decodes depths by the formula below.
	codes, err := exec.Command("ffmpeg", "-v", "error", "-i",
		filepath.Join(path, "videos/observation.images.depth/chunk-000/file-000.mp4"), "-f", "rawvideo", "-pix_fmt",
		"gray12le", "-").Output()
	require.NoError(t, err)
	require.Len(t, codes, 27*96*64*2)
	low, high := math.Log(0.01+3.5), math.Log(10+3.5)
	for k := range 96 * 64 {
		code := float64(binary.LittleEndian.Uint16(codes[2*(96*64*19+k):]))
		require.InDelta(t, 20+k+19, 1000*(math.Exp(low+(high-low)*code/4095)-3.5), 4.4/2)
	}

	entries, err := os.ReadDir(filepath.Join(path, "videos/observation.images.front/chunk-000"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "the folder has other files than the video")
}
