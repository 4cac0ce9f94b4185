package hardware

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/internal/process"
)

// enough is the number of images and samples of each stream to wait for. Cameras have started over by then.
const enough = pictures + 5

// TestTake checks the session that a recorder writes of three cameras and two arms of different generations, its
// metadata of devices, and conversions of the session.
func TestTake(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	arms := g.hardware("/**")
	running := []*process.Process{
		g.start("recorder", "--config", "hardware.yaml", "--hardware", "hardware.yaml"),
		g.start("camera_publisher", "--config", "hardware.yaml"),
		g.start("arm_publisher", "--ros-args", "--params-file", "hardware.yaml"),
	}
	process.Await(t, func() bool {
		s, err := session.Open(nil, g.path("take"))
		if err != nil {
			return false
		}
		defer s.Close()
		list, err := s.Episodes()
		require.NoError(t, err)
		return complete(list[0])
	})
	for _, p := range running {
		require.NotContains(t, p.Interrupt(), "not one that")
	}

	s, err := session.Open(nil, g.path("take"))
	require.NoError(t, err)
	defer s.Close()
	list, err := s.Episodes()
	require.NoError(t, err)
	require.Empty(t, s.Damage)
	require.False(t, s.Incomplete)
	e := list[0]
	require.Equal(t, "pick up the cube", e.Task)
	for i, c := range e.Cameras {
		g.checkPictures(c, i == 2)
	}
	for i, a := range e.Arms {
		arms[i].check(t, a)
	}
	g.checkMetadata(arms)

	// Convert the session, also if a busy machine has delayed samples.
	patient := []string{"--max-gap", "-1", "--max-image-skew", "-1"}
	require.Contains(t, g.run("converter", append(patient, "take", "train.hdf5")...), "train.hdf5")
	require.Contains(t, g.run("converter", "info", "train.hdf5"), "arm_1")
	g.run("converter", append(patient, "--missing-image", "hold", "take", "train", "--to", "lerobot")...)
	require.FileExists(t, g.path("train/meta/info.json"))
}

// complete reports whether each camera and each stream of an episode has enough images or samples.
func complete(e *episode.Episode) bool {
	few := func(v *align.Vector) bool { return v == nil || len(v.Stamps) < enough }
	return len(e.Cameras) == 3 && len(e.Arms) == 2 &&
		!slices.ContainsFunc(e.Cameras, func(c *episode.Camera) bool { return len(c.Stamps) < enough }) &&
		!slices.ContainsFunc(e.Arms, func(a *episode.Arm) bool {
			return few(a.Streams[episode.Joint]) || few(a.Streams[episode.Pose]) || few(a.Streams[episode.Gripper])
		})
}

// checkPictures requires that the frames of a camera are picture(0), picture(1) and so on, repeated from the beginning.
func (g *graph) checkPictures(c *episode.Camera, pixels bool) {
	t := g.t
	frames, err := c.Open()
	require.NoError(t, err)
	defer frames.Close()
	first := -1
	for i, stamp := range c.Stamps {
		f, err := frames.Frame(i)
		require.NoError(t, err)
		if i > 0 {
			require.Greater(t, stamp, c.Stamps[i-1])
		}
		is := func(k int) bool { return bytes.Equal(g.jpeg(k), f.Data) }
		if pixels {
			decoded, err := png.Decode(bytes.NewReader(f.Data))
			require.NoError(t, err)
			is = func(k int) bool { return slices.Equal(pixelsOf(picture(k)), pixelsOf(decoded)) }
		}
		for k := 0; first < 0 && k < pictures; k++ {
			if is(k) {
				first = k
			}
		}
		if i == 0 {
			require.NotEqual(t, -1, first, "%s: the first image is unknown", c.Name)
		}
		require.True(t, is((first+i)%pictures), "%s: image %d is not the successor of the previous one", c.Name, i)
	}
}

// check requires that each posture of the arm is recorded once and completely, and that no other posture is recorded.
func (a *arm) check(t *testing.T, recorded *episode.Arm) {
	joint, pose, gripper := recorded.Streams[episode.Joint], recorded.Streams[episode.Pose],
		recorded.Streams[episode.Gripper]
	require.Len(t, joint.Columns, a.joints)
	postures, seen := map[int64]int{}, map[int]bool{} // numbers of postures: by stamp, and as a set
	for i, stamp := range joint.Stamps {
		row := joint.Values[i*a.joints:][:a.joints]
		n := int(math.Round(degrees(row[0], joint.Columns[0]) * 1000 / stepOfJoint))
		require.False(t, seen[n], "%s: posture %d was recorded twice", recorded.Name, n)
		postures[stamp], seen[n] = n, true
		for k, p := range a.posture(n).Joints {
			require.InDelta(t, float64(p)/1000, degrees(row[k], joint.Columns[k]), 1e-9, "%s: joint %d of posture %d",
				recorded.Name, k, n)
		}
	}
	both := 0
	for i, stamp := range pose.Stamps {
		row := pose.Values[i*len(pose.Columns):][:len(pose.Columns)]
		n := postures[stamp]
		if n == 0 {
			continue // at an end of the recording, or if the recorder was far behind
		}
		both++
		p := a.posture(n)
		for k := range 3 {
			require.InDelta(t, float64(p.Position[k])/1e6, row[k], 1e-9)
			require.InDelta(t, float64(p.Euler[k])/1e3, row[3+k], 2e-3) // quaternions are sent with more digits
		}
	}
	require.Positive(t, both)
	column := slices.IndexFunc(gripper.Columns, func(c align.Column) bool { return c.Name == "position" })
	require.NotEqual(t, -1, column)
	before := -1.0
	for i := range gripper.Stamps {
		position := gripper.Values[i*len(gripper.Columns)+column]
		require.Equal(t, float64(int(position)%1001), position)
		require.NotEqual(t, before, position)
		before = position
	}
}

// degrees returns an angle in degrees.
func degrees(value float64, c align.Column) float64 {
	if c.Unit == "rad" {
		return value * 180 / math.Pi
	}
	return value
}

// checkMetadata requires the metadata of the devices.
func (g *graph) checkMetadata(arms []*arm) {
	text, err := os.ReadFile(g.path("take/metadata.json"))
	require.NoError(g.t, err)
	var metadata struct {
		Devices struct{ Cameras, Robots map[string]map[string]any }
	}
	require.NoError(g.t, json.Unmarshal(text, &metadata))
	cameras, robots := metadata.Devices.Cameras, metadata.Devices.Robots
	require.Len(g.t, cameras, 3)
	require.Subset(g.t, cameras["camera_0"], map[string]any{"type": "Wrist", "device": "jpegs", "fps": 50.0})
	require.Subset(g.t, cameras["camera_1"], map[string]any{"type": "V4L2", "device": "film.mjpeg", "fps": 40.0,
		"width": 16.0, "height": 8.0})
	require.Subset(g.t, cameras["camera_2"], map[string]any{"device": "pngs", "fps": 50.0})
	require.Len(g.t, robots, 2)
	require.Subset(g.t, robots["arm_0"], map[string]any{"type": "RealMan", "ip": "127.0.0.1",
		"port": float64(arms[0].Port()), "joints": 6.0})
	require.Subset(g.t, robots["arm_1"], map[string]any{"type": "RealMan", "ip": "127.0.0.2",
		"port": float64(arms[1].Port())})
}
