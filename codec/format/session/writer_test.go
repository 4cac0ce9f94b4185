package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/store"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// newCamera returns a camera without frames.
func newCamera(name string) *episode.Camera { return &episode.Camera{Track: align.Track{Name: name}} }

// grayJPEG returns a JPEG of a grey level.
func grayJPEG(t *testing.T, level byte) episode.Frame {
	m := image.NewGray(image.Rect(0, 0, 8, 8))
	for i := range m.Pix {
		m.Pix[i] = level
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, nil))
	return episode.Frame{Encoding: "jpeg", Data: b.Bytes()}
}

// read reads a session with one episode.
func read(t *testing.T, path string) (*Source, *episode.Episode) {
	s, err := Open(nil, path)
	require.NoError(t, err)
	list, err := s.Episodes()
	require.NoError(t, err)
	require.Len(t, list, 1)
	return s, list[0]
}

// text returns the content of a file in a folder.
func text(t *testing.T, folder, name string) string {
	data, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	return string(data)
}

// TestLive writes frames and samples of all kinds, and reads the session before and after Complete. After Sync, the
// unfinished session must have all frames and samples. After Complete, it must also have metadata and events.
func TestLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "20260114_120000")
	w, err := Create(path, Options{Task: "fold the towel", Metadata: json.RawMessage(`{"operator": "left"}`)})
	require.NoError(t, err)
	c := newCamera("camera_0")
	c.Device, c.Topic = json.RawMessage(`{"fps": 30}`), "/wrist/image/compressed"
	first := grayJPEG(t, 10)
	require.NoError(t, w.Frame(c, 1764000000_033_000_000, first))
	require.NoError(t, w.Frame(c, 1764000000_066_123_456, grayJPEG(t, 20)))
	joint := &align.Vector{Name: "arm_0/joint", Columns: []align.Column{{Name: "a", Unit: "rad"},
		{Name: "b", Unit: "deg"}}}
	gripper := &align.Vector{Name: "arm_0/gripper", Columns: []align.Column{{Name: "position"}}}
	pose := &align.Vector{Name: "arm_0/pose", Columns: []align.Column{{Name: "x"}, {Name: "y"}, {Name: "z"},
		{Name: "qx"},
		{Name: "qy"}, {Name: "qz"}, {Name: "qw"}}}
	command := &align.Vector{Name: "arm_0/command/joint", Columns: joint.Columns}
	arm := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: joint, episode.Gripper: gripper,
		episode.Pose: pose, episode.CommandJoint: command},
		GripperRange: [2]float64{0, 90}}
	require.NoError(t, w.Sample(arm, episode.Joint, 1764000000_000_000_000, []float64{math.Pi / 2, 7}))
	require.NoError(t, w.Sample(arm, episode.Gripper, 1764000000_010_000_000, []float64{40}))
	gripper.Columns = append(gripper.Columns, align.Column{Name: "force"})
	require.NoError(t, w.Sample(arm, episode.Gripper, 1764000000_020_000_000, []float64{align.Missing(), 0.5}))
	require.NoError(t, w.Sample(arm, episode.Pose, 1764000000_020_000_000, []float64{1, 2, 3, 0, 0, 2, 2}))
	require.NoError(t, w.Sample(arm, episode.CommandJoint, 1764000000_020_000_000, []float64{0, 8}))
	note, err := codec.EventMessage(codec.Event{Kind: codec.EventDrop, Topic: "/a", Time: 5, Count: 2, Text: "dropped"})
	require.NoError(t, err)
	require.NoError(t, w.Write(note))
	require.ErrorContains(t, w.Write(&codec.Message{Channel: &codec.Channel{Topic: "/a"}}),
		"/a: a session keeps frames")
	require.NoError(t, w.Sync())

	s, e := read(t, path)
	require.True(t, s.Incomplete)
	require.Equal(t, "20260114_120000", e.Name)
	require.Empty(t, s.Damage)
	require.Len(t, e.Cameras[0].Stamps, 2)
	require.Len(t, e.Arms[0].Streams[episode.Gripper].Stamps, 2)

	size := int64(0)
	for _, name := range []string{"frames/camera_0/*", "arm_0/*"} {
		files, err := filepath.Glob(filepath.Join(path, name))
		require.NoError(t, err)
		for _, file := range files {
			stat, err := os.Stat(file)
			require.NoError(t, err)
			size += stat.Size()
		}
	}
	require.Equal(t, size, w.Size())

	require.NoError(t, w.Complete(false))
	require.NoError(t, w.Sync())
	require.ErrorIs(t, w.Frame(c, 1, first), os.ErrClosed)
	require.NoFileExists(t, filepath.Join(path, metadataName+tempSuffix))
	s, e = read(t, path)
	require.False(t, s.Incomplete)
	require.Equal(t, "fold the towel", e.Task)
	require.EqualValues(t, 1764000000_000_000_000, e.Start)
	require.EqualValues(t, 1764000000_066_123_456, e.End)
	require.Equal(t, []codec.Event{{Kind: codec.EventDrop, Topic: "/a", Time: 5, Count: 2, Text: "dropped"}},
		s.Events)
	require.Contains(t, string(e.Metadata), `"operator": "left"`)
	require.JSONEq(t, `{"fps": 30}`, string(e.Cameras[0].Device))
	require.JSONEq(t, `{"joint_unit": "deg", "gripper_range": [0, 90]}`, string(e.Arms[0].Device))
	require.Equal(t, [2]float64{0, 90}, e.Arms[0].GripperRange)
	require.Equal(t, []int64{1764000000_033_000_000, 1764000000_066_123_456}, e.Cameras[0].Stamps)
	require.FileExists(t, filepath.Join(path, "frames/camera_0/frame_1764000000.066123456.jpg"))
	frames, err := e.Cameras[0].Open()
	require.NoError(t, err)
	f, err := frames.Frame(0)
	require.NoError(t, err)
	require.Equal(t, first, f)
	require.Equal(t, "timestamp,index,value\r\n1764000000.000,0,90.0\r\n1764000000.000,1,7.0\r\n",
		text(t, path, "arm_0/joints.csv"))
	require.Equal(t, "timestamp,index,value\r\n1764000000.010,position,40\r\n1764000000.020,force,0.5\r\n",
		text(t, path, "arm_0/grippers.csv"))
	require.Equal(t, "force position | 1764000000.010: - 40| 1764000000.020: 0.5 -",
		format(e.Arms[0].Streams[episode.Gripper]))
	p := e.Arms[0].Streams[episode.Pose]
	require.Len(t, p.Columns, 6)
	require.InDeltaSlice(t, []float64{1, 2, 3, 0, 0, math.Pi / 2}, p.Values, 1e-12)
	require.Equal(t, []float64{0, 8}, e.Arms[0].Streams[episode.CommandJoint].Values)
}

// TestRevisedMetadata writes an episode with the metadata of a session. Changed fields of the episode must replace the
// members of the metadata and of the arm's description. All other members must stay.
func TestRevisedMetadata(t *testing.T) {
	success := true
	for name, metadata := range map[string]string{
		"documented": `{"task": "old", "devices": {"robots": {"arm_0": {"gripper_range": [0, 1000], "ip": "::1"}}, ` +
			`"lights": {}}, "operator": 12345678901234567}`,
		"EasyTeleop": `{"devices": {"arm_0": {"gripper_range": [0, 1000], "ip": "::1"}}}`,
		"other":      `{"operator": 12345678901234567}`,
	} {
		t.Run(name, func(t *testing.T) {
			gripper := &align.Vector{Columns: []align.Column{{Name: "position"}}, Stamps: []int64{5e9},
				Values: []float64{0.5}}
			arm := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Gripper: gripper},
				GripperRange: [2]float64{0, 1},
				Device:       json.RawMessage(`{"gripper_range": [0, 1000], "ip": "::1"}`)}
			path := filepath.Join(t.TempDir(), "take")
			require.NoError(t, Write(path, &episode.Episode{Task: "new", Success: &success, Arms: []*episode.Arm{arm},
				Metadata: json.RawMessage(metadata)}, Options{}))
			s, e := read(t, path)
			require.Empty(t, s.Damage)
			require.Equal(t, "new", e.Task)
			require.Equal(t, &success, e.Success)
			require.Equal(t, [2]float64{0, 1}, e.Arms[0].GripperRange)
			require.Contains(t, string(e.Arms[0].Device), `"ip": "::1"`)
			if name != "EasyTeleop" {
				require.Contains(t, string(e.Metadata), "12345678901234567")
			}
			if name == "documented" {
				require.Contains(t, string(e.Metadata), "lights")
			}
		})
	}
}

// TestKilled reads sessions whose writers were killed, with an incomplete frame and without metadata. They must be
// incomplete, without damage.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, Options{})
	require.NoError(t, err)
	s, e := read(t, path)
	require.True(t, s.Incomplete)
	require.Empty(t, e.Cameras)
	require.NoError(t, w.Frame(newCamera("camera_0"), 1e9, grayJPEG(t, 1)))
	require.NoError(t, os.WriteFile(filepath.Join(path, "frames/camera_0/frame_2.000.png.part"), []byte("\x89PNG"),
		0o666))
	require.NoError(t, os.Remove(filepath.Join(path, metadataName+tempSuffix)))
	s, e = read(t, path)
	require.Empty(t, s.Damage)
	require.Equal(t, []int64{1e9}, e.Cameras[0].Stamps)
	require.NoError(t, w.Complete(false))
}

// TestDiscard discards episodes before and after Complete. The mark must be on the disk when Discard returns, and later
// writes must keep it.
func TestDiscard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, Options{Task: "fold"})
	require.NoError(t, err)
	c := newCamera("camera_0")
	c.Device = json.RawMessage(`{"fps": 30}`)
	require.NoError(t, w.Frame(c, 1e9, grayJPEG(t, 1)))
	// If the disk fails, Discard returns an error and the old metadata stays.
	fresh := filepath.Join(path, metadataName+tempSuffix+".tmp")
	require.NoError(t, os.MkdirAll(filepath.Join(fresh, "x"), 0o777))
	require.ErrorContains(t, w.Discard(), metadataName+tempSuffix)
	s, e := read(t, path)
	require.True(t, s.Incomplete)
	require.False(t, e.Discarded)
	require.Equal(t, "fold", e.Task)
	require.NoError(t, os.RemoveAll(fresh))
	require.NoError(t, w.Discard())
	require.NoError(t, w.Discard())
	s, e = read(t, path) // before Complete, as after kill -9
	require.True(t, s.Incomplete)
	require.Empty(t, s.Damage)
	require.True(t, e.Discarded)
	require.Equal(t, "fold", e.Task)
	require.Len(t, e.Cameras[0].Stamps, 1)
	require.NoError(t, w.Frame(c, 2e9, grayJPEG(t, 2)))
	require.NoError(t, w.Complete(false))
	require.NoFileExists(t, filepath.Join(path, metadataName+tempSuffix))
	s, e = read(t, path)
	require.False(t, s.Incomplete)
	require.True(t, e.Discarded)
	require.EqualValues(t, 2e9, e.End)

	// A copy of an episode has the mark exactly if the episode is discarded.
	for _, discarded := range []bool{true, false} {
		e.Discarded = discarded
		copied := filepath.Join(t.TempDir(), "copy")
		require.NoError(t, Write(copied, e, Options{}))
		_, again := read(t, copied)
		require.Equal(t, discarded, again.Discarded)
		require.Equal(t, discarded, episode.Summarize(again).Discarded)
		require.JSONEq(t, `{"fps": 30}`, string(again.Cameras[0].Device))
		again.Metadata = json.RawMessage(`{"operator": "left"}`) // metadata of another format
		require.NoError(t, Write(copied+"2", again, Options{}))
		_, again = read(t, copied+"2")
		require.Equal(t, discarded, again.Discarded)
	}

	// An episode can be discarded after Complete.
	path = filepath.Join(t.TempDir(), "b")
	w, err = Create(path, Options{})
	require.NoError(t, err)
	require.NoError(t, w.Frame(c, 1e9, grayJPEG(t, 1)))
	require.NoError(t, w.Complete(false))
	require.NoError(t, w.Discard())
	s, e = read(t, path)
	require.False(t, s.Incomplete)
	require.True(t, e.Discarded)
	require.EqualValues(t, 1e9, e.End)
	require.JSONEq(t, `{"fps": 30}`, string(e.Cameras[0].Device))
	require.NoFileExists(t, filepath.Join(path, metadataName+tempSuffix))
	require.NoFileExists(t, filepath.Join(path, metadataName+".tmp"))
}

// syncHookDisk is a disk that calls sync instead of syncing.
type syncHookDisk struct {
	codec.OS
	sync func() error
}

func (d *syncHookDisk) Syncer(string) (codec.Syncer, error) { return syncHook{d}, nil }

type syncHook struct{ disk *syncHookDisk }

func (h syncHook) Sync() error { return h.disk.sync() }

func (syncHook) Close() error { return nil }

// TestMetadataComesLast checks that Complete renames metadata.json after all data is on the disk. So a session with
// metadata.json is complete even after a power failure.
func TestMetadataComesLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	disk := &syncHookDisk{}
	w, err := Create(path, Options{Disk: disk})
	require.NoError(t, err)
	v := &align.Vector{Name: "arm_0/joint", Columns: make([]align.Column, 1)}
	require.NoError(t, w.Sample(&episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: v}}, episode.Joint,
		1e9, []float64{1}))
	require.NoError(t, w.Frame(newCamera("camera_0"), 1e9, grayJPEG(t, 1)))
	synced := 0
	disk.sync = func() error {
		synced++
		require.NoFileExists(t, filepath.Join(path, metadataName))
		require.FileExists(t, filepath.Join(path, metadataName+tempSuffix))
		require.FileExists(t, filepath.Join(path, "frames/camera_0/frame_1.000.jpg"))
		require.Equal(t, tableHeader+"1.000,0,1.0\r\n", text(t, path, "arm_0/joints.csv"))
		return nil
	}
	require.NoError(t, w.Complete(false))
	require.Equal(t, 1, synced)
	require.FileExists(t, filepath.Join(path, metadataName))
}

// TestSyncFails checks that a session is not complete after an error of Sync, though the next sync succeeds.
func TestSyncFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	disk := &syncHookDisk{}
	w, err := Create(path, Options{Disk: disk})
	require.NoError(t, err)
	require.NoError(t, w.Frame(newCamera("camera_0"), 1e9, grayJPEG(t, 1)))
	failing := syscall.EIO
	disk.sync = func() error {
		if failing == 0 {
			return nil
		}
		err := failing
		failing = 0
		return err
	}
	err = w.Sync()
	require.ErrorAs(t, err, new(*codec.MissingError))
	require.EqualError(t, err, "write "+path+": input/output error; what was written before is readable, look at the "+
		"disk before going on")
	require.Equal(t, err, w.Sync())
	require.ErrorIs(t, w.Frame(newCamera("camera_0"), 2e9, grayJPEG(t, 1)), syscall.EIO)
	require.ErrorIs(t, w.Complete(true), syscall.EIO)
	require.NoFileExists(t, filepath.Join(path, metadataName))
	s, _ := read(t, path)
	require.True(t, s.Incomplete)
	require.False(t, w.Info().Complete)
}

// TestCrash simulates crashes at many moments. All data before a Sync must be on the disk. If metadata.json exists, all
// data must be there.
func TestCrash(t *testing.T) {
	t.Chdir(t.TempDir())
	disk := &disktest.Disk{}
	w, err := Create("a", Options{Disk: disk})
	require.NoError(t, err)
	v := &align.Vector{Name: "arm_0/joint", Columns: make([]align.Column, 1)}
	arm := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: v}}
	picture := grayJPEG(t, 1)
	for i := range int64(3) {
		require.NoError(t, w.Sample(arm, episode.Joint, i*1e9, []float64{1}))
		require.NoError(t, w.Frame(newCamera("camera_0"), i*1e9, picture))
		require.NoError(t, w.Sync())
		disk.Mark(int(i) + 1)
	}
	require.NoError(t, w.Discard())
	require.NoError(t, w.Complete(false))
	require.NoError(t, w.Discard())
	complete := 0
	disk.Crashes(1000, 1, func(c disktest.Crash) {
		frames := 0
		for name, content := range c.Files {
			if filepath.Ext(name) == ".jpg" && bytes.Equal(content, picture.Data) {
				frames++
			}
		}
		require.GreaterOrEqual(t, frames, c.Mark, c.Name)
		if metadata, found := c.Files["a/"+metadataName]; found {
			complete++
			require.Equal(t, 3, frames, c.Name)
			require.Equal(t, tableHeader+"0.000,0,1.0\r\n1.000,0,1.0\r\n2.000,0,1.0\r\n",
				string(c.Files["a/arm_0/joints.csv"]), c.Name)
			require.True(t, json.Valid(metadata), c.Name)
		}
	})
	require.NotZero(t, complete)

	r, err := Open(store.On(disk), "a")
	require.NoError(t, err)
	list, err := r.Episodes()
	require.NoError(t, err)
	require.True(t, list[0].Discarded)
	require.Len(t, list[0].Cameras[0].Stamps, 3)
	require.NoError(t, r.Close())
	_, err = Create("a", Options{Disk: disk})
	require.ErrorIs(t, err, fs.ErrExist)
	w, err = Create("a", Options{Disk: disk, Overwrite: true})
	require.NoError(t, err)
	require.Len(t, disk.Files(), 1)
	require.NoError(t, w.Complete(false))
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestFlush checks that samples are written to the table after flushPace, without Sync.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a")
		w, err := Create(path, Options{})
		require.NoError(t, err)
		v := &align.Vector{Name: "arm_0/joint", Columns: make([]align.Column, 1)}
		require.NoError(t, w.Sample(&episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: v}},
			episode.Joint, 1e9, []float64{1}))
		require.Empty(t, text(t, path, "arm_0/joints.csv"))
		time.Sleep(flushPace + time.Millisecond)
		synctest.Wait()
		require.Equal(t, tableHeader+"1.000,0,1.0\r\n", text(t, path, "arm_0/joints.csv"))
		require.NoError(t, w.Complete(false))
	})
}

// TestInvalidFramesAndSamples adds invalid frames and samples. Each must return an error. All valid ones must be
// written.
func TestInvalidFramesAndSamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, Options{})
	require.NoError(t, err)
	pixels := func(encoding string, width, height, step, bytes int) episode.Frame {
		return episode.Frame{Encoding: encoding, Width: width, Height: height, Step: step, Data: make([]byte, bytes)}
	}
	c := newCamera("camera_0")
	require.NoError(t, w.Frame(c, 2e9, pixels("mono8", 2, 2, 0, 4)))
	require.NoError(t, w.Frame(c, 1e9, grayJPEG(t, 0)))
	for _, r := range []struct {
		camera string
		stamp  int64
		frame  episode.Frame
		want   string
	}{
		{"camera_0", 1e9, pixels("mono8", 2, 2, 0, 4), "camera_0 at 1.000: a frame with this stamp exists already"},
		{"camera_0", 2e9, grayJPEG(t, 0), "camera_0 at 2.000: a frame with this stamp exists already"},
		{"camera_0", 3e9, episode.Frame{Encoding: "jpeg", Data: []byte("GIF89a")},
			`camera_0 at 3.000: the frame is not a jpeg: its data begins with "GIF89a"`},
		{"camera_0", 3e9, pixels("bayer_rggb8", 2, 2, 2, 4),
			"camera_0 at 3.000: unsupported image encoding \"bayer_rggb8\": want one of jpeg, png, mono8, mono16, " +
				"32FC1, rgb8, bgr8, rgba8, bgra8, yuv422_yuy2, yuv422"},
		{"camera_0", 3e9, pixels("rgb8", 2, 2, 0, 11),
			"camera_0 at 3.000: 11 bytes of data, want 12 for 2×2 pixels of rgb8"},
		{"camera_0", 3e9, pixels("rgb8", 2, 2, 5, 12),
			"camera_0 at 3.000: row of 5 bytes, want at least 6 for 2 pixels of rgb8"},
		{"camera_0", 3e9, pixels("rgb8", 0, 2, 0, 12), "camera_0 at 3.000: invalid image size 0×2"},
		{"camera_0", 3e9, pixels("yuyv", 3, 2, 0, 12),
			"camera_0 at 3.000: odd width 3 of a yuyv image, whose pixels come in pairs"},
		{"../x", 3e9, grayJPEG(t, 0), "../x at 3.000: a device cannot be called \"../x\": want letters, digits, _, . " +
			"and -"},
	} {
		require.EqualError(t, w.Frame(newCamera(r.camera), r.stamp, r.frame), "write "+path+": "+r.want)
	}
	v := &align.Vector{Name: "arm_0/gripper", Columns: []align.Column{{Name: "a"}}}
	a := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Gripper: v}}
	require.EqualError(t, w.Sample(a, episode.Gripper, 1e9, []float64{1, 2}),
		"write "+path+": arm_0/gripper at 1.000: 2 values for 1 column")
	for _, name := range []string{"", "a,b", "a\nb", "2000"} {
		v.Columns = []align.Column{{Name: "a"}, {Name: name}}
		require.EqualError(t, w.Sample(a, episode.Gripper, 1e9, []float64{1, 2}),
			fmt.Sprintf("write %s: arm_0/gripper at 1.000: a column cannot be called %q", path, name))
	}
	require.NoError(t, w.Complete(false))
	s, e := read(t, path)
	require.Empty(t, s.Damage)
	require.Equal(t, []int64{1e9, 2e9}, e.Cameras[0].Stamps)
	require.Empty(t, e.Arms)
}

// TestColumnsOfOneName writes a sample of two columns with one name. The columns must get different indices, because a
// table can hold only one number for each stamp and index.
func TestColumnsOfOneName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, Options{})
	require.NoError(t, err)
	v := &align.Vector{Name: "arm_0/gripper", Columns: []align.Column{{Name: "position"}, {Name: "position"}}}
	a := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Gripper: v}}
	require.NoError(t, w.Sample(a, episode.Gripper, 1e9, []float64{1, 2}))
	require.NoError(t, w.Complete(false))
	_, e := read(t, path)
	require.Equal(t, []align.Column{{Name: "position"}, {Name: "position_2"}},
		e.Arms[0].Streams[episode.Gripper].Columns)
	require.Equal(t, []float64{1, 2}, e.Arms[0].Streams[episode.Gripper].Values)
}

// TestDiskFails writes samples to a full disk. The error must list the samples that are missing, and all later calls
// but Complete must return this error.
func TestDiskFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, Options{})
	require.NoError(t, err)
	v := &align.Vector{Name: "arm_0/joint", Topic: "/joint_states", Columns: make([]align.Column, 1)}
	a := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: v}}
	require.NoError(t, w.Sample(a, episode.Joint, 1e9, []float64{1}))
	require.NoError(t, w.Sync())
	require.NoError(t, w.Sample(a, episode.Joint, 2e9, []float64{2}))
	require.NoError(t, w.Sample(a, episode.Joint, 3e9, []float64{3}))
	table := w.tables[0]
	require.NoError(t, table.file.Close())
	table.file, err = os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	failure := w.Sync()
	var missing *codec.MissingError
	require.ErrorAs(t, failure, &missing)
	require.ErrorIs(t, failure, syscall.ENOSPC)
	require.Equal(t, path, missing.Path)
	require.EqualValues(t, 2, missing.Count())
	require.Equal(t, "/joint_states", missing.Topics[0].Channel.Topic)
	require.EqualValues(t, 2e9, missing.Start)
	require.EqualValues(t, 3e9, missing.End)
	require.Equal(t, failure, w.Sample(a, episode.Joint, 4e9, []float64{4}))
	require.Equal(t, failure, w.Frame(newCamera("camera_0"), 4e9, grayJPEG(t, 0)))
	require.NoError(t, w.Complete(false)) // Sync has returned the error
	_, e := read(t, path)
	require.Equal(t, []int64{1e9}, e.Arms[0].Streams[episode.Joint].Stamps)
}

// TestPictureFails makes a worker fail after Frame returned nil. The next Frame must return an error that counts the
// missing frame.
func TestPictureFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, Options{Workers: 1})
	require.NoError(t, err)
	c := newCamera("camera_0")
	raw := episode.Frame{Encoding: "mono8", Width: 1, Height: 1, Data: []byte{1}}
	require.NoError(t, w.Frame(c, 1e9, raw))
	require.NoError(t, w.Sync())
	folder := filepath.Join(path, "frames/camera_0")
	require.NoError(t, os.Rename(folder, folder+"_gone"))
	require.NoError(t, os.WriteFile(folder, nil, 0o666))
	require.NoError(t, w.Frame(c, 2e9, raw))
	w.pictures.wait()
	failure := w.Frame(c, 3e9, raw)
	var missing *codec.MissingError
	require.ErrorAs(t, failure, &missing)
	require.ErrorIs(t, failure, syscall.ENOTDIR)
	require.EqualValues(t, 1, missing.Count())
	require.NoError(t, w.Complete(false))
	require.FileExists(t, filepath.Join(path, metadataName))
}

// TestOverwrite overwrites a session. Other folders must not be overwritten.
func TestOverwrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for i := range 2 {
		w, err := Create(path, Options{Overwrite: true})
		require.NoError(t, err)
		require.NoError(t, w.Frame(newCamera(fmt.Sprint("camera_", i)), 1e9, grayJPEG(t, 0)))
		require.NoError(t, w.Complete(false))
	}
	_, e := read(t, path)
	require.Len(t, e.Cameras, 1)
	require.Equal(t, "camera_1", e.Cameras[0].Name)
	_, err := Create(path, Options{})
	require.ErrorIs(t, err, os.ErrExist)
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "thesis.tex"), nil, 0o666))
	_, err = Create(other, Options{Overwrite: true})
	require.EqualError(t, err, "create "+other+": not overwritten: the folder is not a session")
	require.FileExists(t, filepath.Join(other, "thesis.tex"))
	_, err = Create(path+"_2", Options{Metadata: json.RawMessage("[]")})
	require.ErrorContains(t, err, "metadata is not a JSON object")
}

// TestRandomEpisodes writes random episodes and reads them. They must be equal.
func TestRandomEpisodes(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		e := &episode.Episode{Name: "a", Task: "t"}
		for i := range random.IntN(3) {
			c := newCamera(fmt.Sprint("camera_", i*9))
			for stamp := int64(1764000000e9); random.IntN(9) > 0; stamp += random.Int64N(50e6) + 1 {
				c.Stamps = append(c.Stamps, stamp)
			}
			c.Open = func() (episode.Frames, error) { return grayFrames{t}, nil }
			if len(c.Stamps) > 0 {
				e.Cameras = append(e.Cameras, c)
			}
		}
		for i := range 1 + random.IntN(2) {
			a := &episode.Arm{Name: fmt.Sprint("arm_", i)}
			e.Arms = append(e.Arms, a)
			for role := range episode.Roles {
				a.Streams[role] = randomVector(random, a.Name, role)
			}
		}
		path := filepath.Join(t.TempDir(), "a")
		require.NoError(t, Write(path, e, Options{EasyTeleop: seed%2 == 0, Quaternions: true}))
		source, back := read(t, path)
		require.Empty(t, source.Damage)
		require.Equal(t, len(e.Cameras), len(back.Cameras))
		for i, c := range e.Cameras {
			require.Equal(t, c.Stamps, back.Cameras[i].Stamps)
			frames, err := back.Cameras[i].Open()
			require.NoError(t, err)
			f, err := frames.Frame(len(c.Stamps) - 1)
			require.NoError(t, err)
			require.Equal(t, grayJPEG(t, byte(len(c.Stamps)-1)), f)
		}
		for i, a := range e.Arms {
			for role := range episode.Roles {
				require.Equal(t, format(a.Streams[role]), format(back.Arms[i].Streams[role]), "%s/%v", a.Name, role)
			}
		}
	}
}

// grayFrames implements episode.Frames. Frame i is a JPEG of grey level i.
type grayFrames struct{ t *testing.T }

func (g grayFrames) Frame(i int) (episode.Frame, error) { return grayJPEG(g.t, byte(i)), nil }

func (g grayFrames) Close() error { return nil }

// randomVector returns a random stream with the columns that a session has for a role.
func randomVector(random *rand.Rand, arm string, role episode.Role) *align.Vector {
	v := &align.Vector{Name: arm + "/" + role.String()}
	n := 1 + random.IntN(7)
	for i := range n {
		index := fmt.Sprint(i)
		if role.Base() == episode.Gripper {
			index = string(rune('a' + i))
		}
		v.Columns = append(v.Columns, columnOf(role, i, n, index, "deg"))
	}
	for i := range 1 + random.IntN(30) {
		v.Stamps = append(v.Stamps, int64(i)*20e6+random.Int64N(10e6))
		for c := range v.Columns {
			x := math.Round(random.NormFloat64()*1e3) / []float64{1, 1000, 7}[random.IntN(3)]
			if i > 0 && c > 0 && random.IntN(5) == 0 {
				x = align.Missing()
			}
			v.Values = append(v.Values, x)
		}
	}
	random.Shuffle(len(v.Stamps), func(i, j int) { v.Stamps[i], v.Stamps[j] = v.Stamps[j], v.Stamps[i] })
	return v
}

// TestRecording splits a recording into three sessions, with another task for the third. Each session must have its
// task, frames and samples. Names of existing files must be skipped.
func TestRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "take")
	require.NoError(t, os.WriteFile(path+"_2", []byte("somebody else's"), 0o666))
	var reported []string
	s, err := Record(path, Options{Task: "fold"}, func(info codec.FileInfo, err error) {
		reported = append(reported, fmt.Sprint(filepath.Base(info.Path), " ", info.MessageCount, " ",
			info.StartTime/1e9, " ",
			info.EndTime/1e9, " ", err))
	})
	require.NoError(t, err)
	c := newCamera("camera_0")
	v := &align.Vector{Name: "arm_0/joint", Columns: make([]align.Column, 1)}
	a := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: v}}
	raw := episode.Frame{Encoding: "mono8", Width: 1, Height: 1, Data: []byte{1}}
	for i := range int64(6) {
		if i == 2 || i == 4 {
			require.NoError(t, s.SplitTask(map[int64]string{2: "", 4: "unfold"}[i]))
		}
		require.NoError(t, s.Frame(c, i*1e9, raw))
		require.NoError(t, s.Sample(a, episode.Joint, i*1e9, []float64{float64(i)}))
	}
	require.Equal(t, path+"_3", s.File())
	require.NoError(t, s.Sync())
	require.EqualError(t, s.Remove(path+"_3"), "remove "+path+"_3: not a completed file of this recording")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Positive(t, s.Size())
	require.Equal(t, []string{"take 4 0 1 <nil>", "take_1 4 2 3 <nil>", "take_3 4 4 5 <nil>"}, reported)
	for name, task := range map[string]string{"": "fold", "_1": "fold", "_3": "unfold"} {
		_, e := read(t, path+name)
		require.Equal(t, task, e.Task)
		require.Len(t, e.Cameras[0].Stamps, 2)
		require.Len(t, e.Arms[0].Streams[episode.Joint].Stamps, 2)
	}
	require.NoError(t, s.Remove(path))
	require.NoDirExists(t, path)
	require.Error(t, s.Remove(path))
}

// TestTaskOfFirstSession sets a task before the first frame. The first session must have the task.
func TestTaskOfFirstSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "take")
	s, err := Record(path, Options{}, nil)
	require.NoError(t, err)
	require.NoError(t, s.SplitTask("fold"))
	require.NoError(t, s.Frame(newCamera("camera_0"), 1e9, grayJPEG(t, 0)))
	require.NoError(t, s.Close())
	_, e := read(t, path)
	require.Equal(t, "fold", e.Task)
	require.NoDirExists(t, path+"_1")
}

// TestSplitKeepsTask splits an episode with a task into three sessions. All sessions must have the task.
func TestSplitKeepsTask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "take")
	s, err := Record(path, Options{Task: "any"}, nil)
	require.NoError(t, err)
	require.NoError(t, s.SplitTask("fold"))
	for i := range int64(3) {
		require.NoError(t, s.Frame(newCamera("camera_0"), i*1e9, grayJPEG(t, 0)))
		if i < 2 {
			require.NoError(t, s.Split())
		}
	}
	require.NoError(t, s.Close())
	for _, name := range []string{path, path + "_1", path + "_2"} {
		_, e := read(t, name)
		require.Equal(t, "fold", e.Task, name)
	}
}

// TestRecordingAfterDiskError writes another session after an error of the disk. The error must not be reported again.
func TestRecordingAfterDiskError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "take")
	var reported []error
	s, err := Record(path, Options{}, func(_ codec.FileInfo, err error) { reported = append(reported, err) })
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(path, "frames/camera_0"), nil, 0o666))
	failure := s.Frame(newCamera("camera_0"), 1e9, grayJPEG(t, 0))
	require.ErrorIs(t, failure, syscall.ENOTDIR)
	require.NoError(t, s.Split())
	require.NoError(t, s.Frame(newCamera("camera_0"), 1e9, grayJPEG(t, 0)))
	require.NoError(t, s.Close())
	require.Equal(t, []error{nil, nil}, reported)
}

// TestQuaternionByNames writes poses with quaternions. Names of columns must determine the order of x, y, z and w;
// without clear names, w must be last.
func TestQuaternionByNames(t *testing.T) {
	half := math.Sqrt(0.5)
	for name, values := range map[string][]float64{
		"qx qy qz qw": {1, 2, 3, 0, 0, half, half}, "qw qx qy qz": {1, 2, 3, half, 0, 0, half},
		"q1 q2 q3 q4": {1, 2, 3, 0, 0, half, half}, "qw qw qw qw": {1, 2, 3, 0, 0, half, half},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session")
			w, err := Create(path, Options{})
			require.NoError(t, err)
			pose := &align.Vector{Name: "arm_0/pose"}
			for _, column := range append([]string{"x", "y", "z"}, strings.Fields(name)...) {
				pose.Columns = append(pose.Columns, align.Column{Name: column, Interp: align.Quaternion})
			}
			require.NoError(t, w.Sample(&episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Pose: pose}},
				episode.Pose, 1764000000_000_000_000, values))
			require.NoError(t, w.Complete(false))
			_, e := read(t, path)
			require.InDeltaSlice(t, []float64{1, 2, 3, 0, 0, math.Pi / 2}, e.Arms[0].Streams[episode.Pose].Values, 1e-9)
		})
	}
}

// TestRecordingLosses writes frames that lose data as PNGs to two sessions. Losses must count the frames of both.
func TestRecordingLosses(t *testing.T) {
	r, err := Record(filepath.Join(t.TempDir(), "take"), Options{}, nil)
	require.NoError(t, err)
	c := newCamera("camera_0")
	c.Topic = "/wrist"
	frame := func(stamp int64, encoding string) {
		require.NoError(t, r.Frame(c, stamp, episode.Frame{Encoding: encoding, Width: 2, Height: 1,
			Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}))
	}
	frame(1, "yuv422")
	frame(2, "rgba8")
	require.NoError(t, r.Split())
	frame(3, "yuv422_yuy2")
	require.NoError(t, r.Close())
	require.Equal(t, []codec.Loss{{Topic: "/wrist", What: "colours of YUV, which RGB rounds", Messages: 2}}, r.Losses())
}
