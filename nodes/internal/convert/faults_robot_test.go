package convert

import (
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/nodes/internal/formats"
	"tapedeck/test/samples"
)

// rewrite converts to out.
func rewrite(t *testing.T, out string, o Options, inputs ...string) (*Result, []string, error) {
	var warnings []string
	j := Job{Formats: formats.All(), Inputs: inputs, Output: out, Options: o,
		Warn: func(text string) { warnings = append(warnings, text) }}
	r, err := j.Run(t.Context())
	return r, warnings, err
}

// jointsIn returns the positions of the first message on a topic with joints.
func jointsIn(t *testing.T, path, topic string) []float64 {
	r, err := formats.All().Open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == topic }})
	require.NoError(t, err)
	defer it.Close()
	m, err := it.Next()
	require.NoError(t, err)
	var joints sensor_msgs.JointState
	require.NoError(t, cdr.Unmarshal(m.Data, &joints))
	return joints.Position
}

// Two columns of a dataset with the same name stay two columns through each format.
func TestColumnsOfOneName(t *testing.T) {
	in := samples.Path(t, "faults/lerobot_dup_names")
	want := episodesOf(t, in)[0].Arms[0].Streams[episode.Joint].Values
	require.NotEqual(t, want[1], want[2])
	for _, to := range []string{"mcap", "hdf5", "session", "lerobot"} {
		o := DefaultOptions()
		o.To, o.Partial, o.Timeline = to, true, "topic:arm_0/joint"
		if to == "mcap" {
			o.Timeline, o.Partial = "auto", false
		}
		if to == "lerobot" {
			o.Timeline = "fixed:10"
		}
		if to == "session" {
			o.Timeline = "auto"
		}
		out := filepath.Join(t.TempDir(), "out")
		_, _, err := rewrite(t, out, o, in)
		require.NoError(t, err, to)
		got := jointsIn(t, out, "/arm_0/joint_states")
		require.InDeltaSlice(t, want[:3], got, 1e-6, to)
	}
}

// If a dataset does not give the unit of joints, they have no unit in other formats until an option names it.
func TestUnknownJointUnit(t *testing.T) {
	in := samples.Path(t, "faults/lerobot_degrees")
	first := episodesOf(t, in)[0].Arms[0].Streams[episode.Joint].Values[0]
	for _, to := range []string{"mcap", "hdf5", "session", "lerobot"} {
		for _, unit := range []string{"auto", "deg", "rad"} {
			o := DefaultOptions()
			o.To, o.JointUnit = to, unit
			switch to {
			case "hdf5":
				o.Partial, o.Timeline = true, "topic:arm_0/joint"
			case "lerobot":
				o.Partial, o.Timeline = true, "fixed:10"
			case "session":
				o.Partial = true
			}
			out := filepath.Join(t.TempDir(), "out")
			_, warnings, err := rewrite(t, out, o, in)
			require.NoError(t, err, to)
			want := first
			if unit == "deg" {
				want *= math.Pi / 180
			}
			require.InDelta(t, want, jointsIn(t, out, "/arm_0/joint_states")[0], 1e-6)
			if unit == "auto" {
				require.Contains(t, warnings, in+": the unit of arm_0/joint, arm_0/command/joint is unknown: "+
					"numbers are read unchanged; name the unit with --joint-unit when you convert")
			}
			if to != "mcap" {
				known := episodesOf(t, out)[0].Arms[0].Streams[episode.Joint].Columns[0].Unit
				require.Equal(t, unit == "auto", known == "", "%s: %q", to, known)
			}
		}
	}
	// MCAP keeps the unit in metadata, although JointState is in rad.
	mcap, back := filepath.Join(t.TempDir(), "x.mcap"), filepath.Join(t.TempDir(), "session")
	o := DefaultOptions()
	_, _, err := rewrite(t, mcap, o, in)
	require.NoError(t, err)
	o.To, o.Partial = "session", true
	_, _, err = rewrite(t, back, o, mcap)
	require.NoError(t, err)
	require.Equal(t, []align.Column{{Name: "joint_0", Interp: align.Linear}, {Name: "joint_1", Interp: align.Linear},
		{Name: "joint_2", Interp: align.Linear}}, episodesOf(t, back)[0].Arms[0].Streams[episode.Joint].Columns)
}

func TestSelectedEpisodes(t *testing.T) {
	in := robotRecording(t, "x.mcap")
	o := DefaultOptions()
	o.To, o.Mapping = "session", mappingFile(t, robotMapping)
	sessions := filepath.Join(t.TempDir(), "sessions")
	_, _, err := rewrite(t, sessions, o, in)
	require.NoError(t, err)
	names := func(path string) (list []string) {
		for _, e := range episodesOf(t, path) {
			list = append(list, e.Task)
		}
		return list
	}
	require.Equal(t, []string{"pick", "place"}, names(sessions))
	for _, c := range []struct {
		in, to, only, without string
		want                  []string
		err                   string
	}{
		{in, "session", "1", "", []string{"place"}, ""},
		{sessions, "session", "1", "", []string{"place"}, ""},
		{sessions, "hdf5", "", "1", []string{"pick"}, ""},
		{sessions, "lerobot", "1", "", []string{"place"}, ""},
		{sessions, "mcap", "0", "", []string{"pick"}, ""},
		{sessions, "mcap", "0,2", "", nil, "--episodes 0,2: there is no episode 2; there are 0-1"},
		{sessions, "hdf5", "", "0-1", nil, "--leave-out-episodes 0-1: all episodes are left out"},
		{in, "mcap", "0", "", nil, "--episodes 0: no input has episodes; select a time with --start and --end"},
		{sessions, "mcap", "x", "", nil, "want a list such as 0,2-5"},
	} {
		o := DefaultOptions()
		o.To, o.Only, o.OmitEpisodes = c.to, c.only, c.without
		if c.in == in && c.to != "mcap" {
			o.Mapping = mappingFile(t, robotMapping)
		}
		out := filepath.Join(t.TempDir(), "out")
		r, _, err := rewrite(t, out, o, c.in)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Contains(t, r.SkippedEpisodes, "of 0-1")
		if c.to != "mcap" {
			require.Equal(t, c.want, names(out))
			continue
		}
		reader, err := formats.All().Open(nil, out)
		require.NoError(t, err)
		info, err := reader.Info()
		require.NoError(t, err)
		require.Contains(t, info.Metadata[episode.MetadataKey], "pick")
		require.NotContains(t, info.Metadata[episode.MetadataKey], "place")
		require.NoError(t, reader.Close())
	}
}

// discardedTakes writes the folders of a kept session and of a discarded one.
func discardedTakes(t *testing.T) (kept, discarded string) {
	folder := t.TempDir()
	for i, task := range []string{"pick", "place"} {
		arm := &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: &align.Vector{Name: "arm_0/joint",
			Stamps: []int64{2e9, 3e9, 4e9},
			Values: []float64{1, 2, 3}, Columns: []align.Column{{Name: "0", Unit: "deg"}}}}}
		for k := range arm.Streams[episode.Joint].Stamps {
			arm.Streams[episode.Joint].Stamps[k] += int64(i) * 10e9
		}
		require.NoError(t, session.Write(filepath.Join(folder, task), &episode.Episode{Task: task, Discarded: i == 1,
			Arms: []*episode.Arm{arm}}, session.Options{}))
	}
	return filepath.Join(folder, "pick"), filepath.Join(folder, "place")
}

// A discarded episode is in no output unless --episodes names it. recover keeps it if the format can mark it.
func TestDiscardedEpisodes(t *testing.T) {
	kept, discarded := discardedTakes(t)
	folder := filepath.Dir(kept)
	tasks := func(path string) (list []string) {
		r, err := formats.All().Open(nil, path)
		require.NoError(t, err)
		defer r.Close()
		info, err := r.Info()
		require.NoError(t, err)
		details, ok := info.Extra.(episode.Details)
		if !ok {
			require.NoError(t, json.Unmarshal([]byte(info.Metadata[episode.MetadataKey]), &details))
		}
		for _, e := range details.Episodes {
			text := e.Task
			if e.Discarded {
				text += ", discarded"
			}
			list = append(list, text)
		}
		return list
	}
	const skipped = "episodes 1 of 0-1 (discarded while recording: 1; --episodes 1 takes them)"
	all := []string{"pick", "place"}
	for _, c := range []struct {
		ins     []string
		only    string
		save    bool // as recover does
		want    []string
		skipped string
		err     string
	}{
		{ins: []string{folder}, want: all[:1], skipped: skipped},
		{ins: []string{kept, discarded}, want: all[:1], skipped: skipped},
		{ins: []string{folder}, only: "0-1", want: all},
		{ins: []string{folder}, only: "1", want: all[1:], skipped: "episodes 0 of 0-1"},
		{ins: []string{discarded}, err: "as all were discarded while they were recorded; --episodes 0 of a conversion"},
		{ins: []string{folder}, save: true, want: []string{"pick", "place, discarded"}},
	} {
		for _, to := range []string{"session", "hdf5", "lerobot", "mcap", "rosbag2"} {
			o := DefaultOptions()
			o.To, o.Only, o.Partial = to, c.only, true
			if to == "hdf5" || to == "lerobot" {
				o.Timeline = "fixed:1"
			}
			out := filepath.Join(t.TempDir(), "out")
			j := Job{Formats: formats.All(), Inputs: c.ins, Output: out, Options: o}
			want, wantSkipped := c.want, c.skipped
			if c.save {
				j.Damaged = func(err error) { require.NoError(t, err) }
			}
			if c.save && (to == "hdf5" || to == "lerobot") { // these formats have no mark for discarded episodes
				want, wantSkipped = all[:1], skipped
			}
			r, err := j.Run(t.Context())
			if c.err != "" {
				require.ErrorIs(t, err, episode.ErrDiscarded)
				require.ErrorContains(t, err, c.err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, wantSkipped, r.SkippedEpisodes)
			if to == "mcap" && len(c.ins) > 1 { // the metadata have the names of both inputs
				continue
			}
			require.Equal(t, want, tasks(out), to)
			if !c.save && to != "mcap" && to != "rosbag2" {
				for _, e := range episodesOf(t, out) {
					require.NotContains(t, string(e.Metadata), "discarded", to)
				}
			}
			if !c.save || to != "mcap" {
				continue
			}
			o.To, o.RobotOptions.Stamps = "session", "auto"
			again, _, err := do(t, out+".again", o, out) // from messages
			require.NoError(t, err)
			require.Equal(t, skipped, again.SkippedEpisodes)
			require.Equal(t, all[:1], tasks(out+".again"))
		}
	}
}

// Frames of a dataset's videos become JPEGs in a recording, which is a loss, or pixels with --images raw.
func TestVideosBecomeJPEGs(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed")
	}
	in := filepath.Join(t.TempDir(), "set")
	set := DefaultOptions()
	set.To, set.Video = "lerobot", true
	image, joints := channel(t, "/camera_0/image_raw", "sensor_msgs/msg/Image"),
		channel(t, "/arm_0/joint_states", "sensor_msgs/msg/JointState")
	var all []codec.Message
	for i := range 5 {
		now := int64(1_000_000_000_000 + 100_000_000*i)
		all = append(all, codec.Message{Channel: image, LogTime: now, Data: payload(t, &sensor_msgs.Image{
			Width: 64, Height: 64, Step: 192, Encoding: "rgb8", Data: make([]byte, 192*64)})},
			codec.Message{Channel: joints, LogTime: now, Data: payload(t, &sensor_msgs.JointState{
				Name: []string{"a"}, Position: []float64{float64(i)}})})
	}
	_, _, err := rewrite(t, in, set, write(t, "x.mcap", all...))
	require.NoError(t, err)
	for images, want := range map[string]string{"vlen": "sensor_msgs/msg/CompressedImage",
		"raw": "sensor_msgs/msg/Image"} {
		o := DefaultOptions()
		o.Images = images
		out := filepath.Join(t.TempDir(), "x.mcap")
		result, _, err := rewrite(t, out, o, in)
		require.NoError(t, err)
		kinds := map[string]bool{}
		r, err := formats.All().Open(nil, out)
		require.NoError(t, err)
		info, err := r.Info()
		require.NoError(t, err)
		for _, topic := range info.Topics {
			kinds[topic.Channel.Type] = true
		}
		require.NoError(t, r.Close())
		require.True(t, kinds[want])
		require.Equal(t, images == "raw", len(result.Losses) == 0)
		o.Strict, o.Overwrite = true, true
		_, _, err = rewrite(t, out, o, in)
		if images == "raw" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "pixels of videos, as JPEGs of quality 95; --images raw keeps them")
		}
	}
}
