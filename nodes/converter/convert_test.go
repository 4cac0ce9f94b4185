package main

import (
	"context"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/session"
	"tapedeck/codec/text/human"
	rows "tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/test/samples"
)

func TestConvertMergesInputs(t *testing.T) {
	first, second := codec.DefaultQoS(), codec.DefaultQoS()
	second.Reliability = codec.BestEffort
	a := *imu
	a.QoS = []codec.QoS{first}
	b := *imu
	b.QoS, b.TypeHash = []codec.QoS{first, second}, "RIHS01_00"
	other := *imu
	other.Schema = codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("float64 x")}

	one := writeLines(t, "one.lines", []codec.Message{at(&a, 10, "a"), at(&a, 30, "c"), at(odom, 40, "d")}, info)
	two := writeLines(t, "two.lines", []codec.Message{at(&b, 20, "b"), at(&other, 30, "x"), at(&b, 50, "e")})
	out := filepath.Join(t.TempDir(), "out.lines")
	stdout, _, err := run(t, one, two, out)
	require.NoError(t, err)
	require.Contains(t, stdout, out+": 6 messages, 3 topics, 30 B of payload, 0.000000040 s")

	channels, messages := readAll(t, out)
	require.Len(t, channels, 4)
	require.Equal(t, info, channels[0], "a channel without messages is kept")
	require.Equal(t, []codec.QoS{first, second}, channels[1].QoS)
	require.Equal(t, "RIHS01_00", channels[1].TypeHash)
	var got []string
	for _, m := range messages {
		got = append(got, m.Channel.Topic+" "+string(m.Data[4:]))
	}
	require.Equal(t, []string{"/imu a", "/imu b", "/imu c", "/imu x", "/odom d", "/imu e"}, got)
	require.Equal(t, other.Schema.Data, messages[3].Channel.Schema.Data)
	require.Equal(t, messages[0].Channel, messages[1].Channel)
}

func TestConvertSelects(t *testing.T) {
	in := writeLines(t, "in.lines", []codec.Message{at(imu, 1e18, "a"), at(odom, 1e18+5e8, "b"),
		at(imu, 1e18+1e9, "c"), at(imu, 1e18+2e9, "d")}, info)
	tests := map[string]struct {
		args     []string
		want     string
		channels int
	}{
		"all":             {nil, "abcd", 3},
		"topic":           {[]string{"-t", "/imu"}, "acd", 1},
		"exclude":         {[]string{"-x", "/imu"}, "b", 2},
		"offsets":         {[]string{"--start", "0.5", "--end", "1"}, "bc", 3},
		"time of day":     {[]string{"--begin", "01:46:41", "--end", "01:46:41"}, "c", 3},
		"start of window": {[]string{"--start=1s"}, "cd", 3},
		"absolute":        {[]string{"--start=1000000001000000000", "--end=2001-09-09 01:46:41"}, "c", 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.lines")
			_, _, err := run(t, append([]string{in, out}, test.args...)...)
			require.NoError(t, err)
			channels, messages := readAll(t, out)
			require.Len(t, channels, test.channels)
			got := ""
			for _, m := range messages {
				got += string(m.Data[4:])
			}
			require.Equal(t, test.want, got)
		})
	}
}

// TestChunkGroups converts a recording to MCAP files and bags whose chunks each have one topic.
func TestChunkGroups(t *testing.T) {
	var messages []codec.Message
	for i := range int64(100) {
		messages = append(messages, at(imu, 1e18+i*1e7, "a"), at(odom, 1e18+i*1e7+1, strings.Repeat("b", 40_000)))
	}
	in := writeLines(t, "in.lines", messages)
	for groups, want := range map[string]string{"one": "1 ", "auto": "2 ", "/imu;/odom": "2 "} {
		for _, name := range []string{"out.mcap", "bag"} {
			out := filepath.Join(t.TempDir(), name)
			_, stderr, err := run(t, in, out, "--chunk-groups", groups, "--compression", "none")
			require.NoError(t, err, stderr)
			stdout, _, err := run(t, "info", out)
			require.NoError(t, err)
			require.Regexp(t, "Chunks: +"+want, stdout, groups)
			_, _, err = run(t, "diff", in, out)
			require.NoError(t, err)
		}
	}
	_, _, err := run(t, in, filepath.Join(t.TempDir(), "a.mcap"), "--chunk-groups", "(")
	require.ErrorIs(t, err, config.ErrUsage)
}

func TestConvertWarns(t *testing.T) {
	in := writeLines(t, "in.lines", []codec.Message{at(imu, 1, "a")})
	removeEnd(t, in)
	_, stderr, err := run(t, in, filepath.Join(t.TempDir(), "out.lines"), "-t", "/imu,/imo", "--allow-unmatched")
	require.NoError(t, err)
	require.Equal(t, "warning: no topic matches --topics /imo\nwarning: "+
		in+" is incomplete; converting everything readable\n", stderr)
}

func TestFailureLeavesNothing(t *testing.T) {
	in := writeLines(t, "in.lines", []codec.Message{at(imu, 1, "a"), at(imu, 2, "b")})
	damaged := writeLines(t, "damaged.lines", []codec.Message{at(imu, 1, "a"), at(imu, 2, "b")})
	damage(t, damaged, "{\"Message\":{\"Channel\":null,\"LogTime\":2")
	for name, args := range map[string][]string{
		"write":   {in, "--compression", "fail"},
		"close":   {in, "--compression", "fail late"},
		"damaged": {damaged, "--strict"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			out := filepath.Join(folder, "out.lines")
			_, _, err := run(t, append(args, out)...)
			require.Error(t, err)
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
		t.Run(name+" keeps what was there", func(t *testing.T) {
			out := writeLines(t, "out.lines", []codec.Message{at(odom, 1, "old")})
			_, _, err := run(t, append(args, out, "--overwrite")...)
			require.Error(t, err)
			_, messages := readAll(t, out)
			require.Len(t, messages, 1)
		})
	}
}

func TestInterruption(t *testing.T) {
	in := writeLines(t, "in.lines", slices.Repeat([]codec.Message{at(imu, 1, "a")}, 300))
	out := filepath.Join(t.TempDir(), "out.lines")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{in, out}, {"recover", in, out}, {"info", in}, {"diff", in, in}} {
		require.ErrorIs(t, config.Execute(ctx, newCommand(io.Discard, io.Discard), args), context.Canceled)
		require.NoFileExists(t, out)
		require.NoDirExists(t, out+".part")
	}
}

func TestEachOnItsOwn(t *testing.T) {
	a := writeLines(t, "a.lines", []codec.Message{at(imu, 1, "a"), at(odom, 2, "b")})
	b := writeLines(t, "b.lines", []codec.Message{at(imu, 3, "c")})
	damaged := writeLines(t, "damaged.lines", []codec.Message{at(imu, 1, "a"), at(imu, 2, "b")})
	damage(t, damaged, "{\"Message\":{\"Channel\":null,\"LogTime\":2")
	folder := filepath.Join(t.TempDir(), "new")
	for _, jobs := range []string{"0", "1", "7"} {
		stdout, stderr, err := run(t, a, damaged, b, "--output-folder", folder, "--to", "mcap", "--jobs", jobs,
			"--overwrite", "--strict")
		require.EqualError(t, err, "not converted: 1 of 3 recordings")
		require.Equal(t, 2, strings.Count(stderr, "\n"), stderr)
		require.Contains(t, stderr, "warning: "+damaged+" is incomplete")
		require.Contains(t, stderr, "\n"+damaged+": line 4: ")
		for name, messages := range map[string]int{"a.lines.mcap": 2, "b.lines.mcap": 1} {
			require.Contains(t, stdout, filepath.Join(folder, name)+": "+human.Count(messages, "message"))
			_, got := readAll(t, filepath.Join(folder, name))
			require.Len(t, got, messages)
		}
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, entries, 3, "with the manifest")
	}
	_, stderr, err := run(t, a, b, "--output-folder", folder, "--to", "mcap", "--overwrite", "-u", "1s")
	require.NoError(t, err)
	require.Contains(t, stderr, "warning: "+a+": the selected time, ")
	require.Contains(t, stderr, "warning: "+b+": the selected time, ")
	none := filepath.Join(t.TempDir(), "none")
	_, _, err = run(t, a, "--output-folder", none, "--to", "record", "--compression", "zstd")
	require.ErrorIs(t, err, config.ErrUsage)
	require.NoDirExists(t, none)
	_, _, err = run(t, a, "--output-folder", folder)
	require.ErrorIs(t, err, config.ErrUsage)
	_, _, err = run(t, a, b, "--output-folder", a, "--to", "mcap")
	require.ErrorContains(t, err, "create "+a)
}

// Converting each recording by itself does not fail because of a discarded one.
func TestEachLeavesOutDiscarded(t *testing.T) {
	folder := t.TempDir()
	var ins []string
	for _, name := range []string{"a", "b"} {
		joint := &rows.Vector{Name: "arm_0/joint", Columns: []rows.Column{{Name: "0", Unit: "deg"}},
			Stamps: []int64{2e9}, Values: []float64{1}}
		ins = append(ins, filepath.Join(folder, name))
		require.NoError(t, session.Write(ins[len(ins)-1], &episode.Episode{Discarded: name == "b",
			Arms: []*episode.Arm{{Name: "arm_0", Streams: episode.Streams{episode.Joint: joint}}}}, session.Options{}))
	}
	for _, json := range []bool{false, true} {
		args := append(slices.Clone(ins), "--output-folder", filepath.Join(t.TempDir(), "out"), "--to", "mcap")
		want := "left out: " + ins[1] + ": no episode is left, as all were discarded while they were recorded"
		if json {
			args, want = append(args, "--json"), `"status":"discarded","error":"no episode is left`
		}
		stdout, stderr, err := run(t, args...)
		require.NoError(t, err)
		require.Empty(t, stderr)
		require.Contains(t, stdout, want)
		require.Contains(t, stdout, "a.mcap")
	}
}

func TestReport(t *testing.T) {
	number := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/Int32", Encoding: codec.EncodingCDR}
	in := writeLines(t, "in.lines", []codec.Message{at(imu, 1e9, "a"), at(odom, 2e9, "b"), at(number, 3e9, "1234"),
		at(number, 4e9, "5678")})
	out := filepath.Join(t.TempDir(), "out.bag")
	stdout, _, err := run(t, in, out, "--throttle", "/n=1/2")
	require.NoError(t, err)
	require.Contains(t, stdout, ": 1 message, 3 topics, 4 B of payload")
	require.Contains(t, stdout, "\nleft out: throttled (1 message on /n)\n")
	require.Contains(t, stdout, "\nlost: messages that cannot be translated: ")
	_, _, err = run(t, in, out, "--topics", "/imu", "--overwrite")
	require.ErrorContains(t, err, "translate messages of /imu [sensor_msgs/msg/Imu]: ")
	out = filepath.Join(t.TempDir(), "out.lines")
	stdout, _, err = run(t, in, out)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(stdout, "\n"), stdout)
}

func TestOverwrite(t *testing.T) {
	in := writeLines(t, "in.lines", []codec.Message{at(imu, 1, "new")})
	t.Run("file", func(t *testing.T) {
		out := writeLines(t, "out.lines", []codec.Message{at(odom, 1, "old")})
		_, _, err := run(t, in, out, "--overwrite")
		require.NoError(t, err)
		_, messages := readAll(t, out)
		require.Equal(t, "/imu", messages[0].Channel.Topic)
		require.NoDirExists(t, out+".part")
	})
	t.Run("folder with other things", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "home.lines")
		require.NoError(t, os.Mkdir(out, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(out, "thesis.tex"), nil, 0o644))
		_, _, err := run(t, in, out, "--overwrite")
		require.ErrorContains(t, err, "holds more than a recording")
		require.FileExists(t, filepath.Join(out, "thesis.tex"))
	})
	t.Run("left over from before", func(t *testing.T) {
		folder := t.TempDir()
		out := filepath.Join(folder, "out.lines")
		require.NoError(t, os.MkdirAll(out+".part/out.lines", 0o755))
		running, err := codec.LockFolder(out + ".part")
		require.NoError(t, err)
		for _, args := range [][]string{{in, out}, {in, out, "--overwrite"}} {
			_, _, err = run(t, args...)
			require.ErrorContains(t, err, "another process is working on it")
			require.DirExists(t, out+".part/out.lines")
		}
		require.NoError(t, running.Close())
		_, _, err = run(t, in, out)
		require.NoError(t, err)
		require.NoDirExists(t, out+".part")

		require.NoError(t, os.MkdirAll(filepath.Join(folder, "x.lines.part", "thesis"), 0o755))
		_, _, err = run(t, in, filepath.Join(folder, "x.lines"))
		require.ErrorContains(t, err, "interrupted or is still running")
		require.DirExists(t, filepath.Join(folder, "x.lines.part", "thesis"))
	})
	t.Run("link to the input", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out.lines")
		require.NoError(t, os.Symlink(in, out))
		_, _, err := run(t, in, out, "--overwrite")
		require.ErrorContains(t, err, "is an input")
	})
	t.Run("folder that holds the input", func(t *testing.T) {
		_, _, err := run(t, in, filepath.Dir(in), "--to", "lines", "--overwrite")
		require.ErrorContains(t, err, "is an input")
	})
}

// TestTables writes tables of a ROS 1 bag to standard output and to files, and checks what commands print about the
// files.
func TestTables(t *testing.T) {
	path := samples.Path(t, "bag/cruise_example.bag")
	stdout, stderr, err := run(t, path, "-", "--to", "csv", "--topics", "/turtle1/pose")
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, "log_time,publish_time,x,y,theta,linear_velocity,angular_velocity", strings.Join(rows[0], ","))
	require.Contains(t, stderr, "-: "+human.Count(len(rows)-1, "message")+", 1 topic")

	stdout, _, err = run(t, path, "-", "--to", "csv")
	require.ErrorContains(t, err, "standard output can hold one topic as csv, but there are /rosout and ")
	require.Empty(t, stdout)
	_, _, err = run(t, path, "-", "--to", "parquet")
	require.ErrorContains(t, err, "recordings of the format parquet cannot be written to standard output")
	_, _, err = run(t, path, filepath.Join(t.TempDir(), "out"), "--to", "csv", "--storage", "sqlite3")
	require.ErrorContains(t, err, "format csv has no choice of storage")

	for _, to := range []string{"parquet", "csv", "jsonl"} {
		out := filepath.Join(t.TempDir(), "out")
		stdout, _, err := run(t, path, out, "--to", to, "--table-times", "iso")
		require.NoError(t, err)
		require.Contains(t, stdout, out+": 8647 messages, 9 topics")
		require.FileExists(t, filepath.Join(out, "turtle1_pose."+to))
		_, _, err = run(t, "info", out)
		require.ErrorContains(t, err, "it looks like an output of the format "+to+", which can only be written")
		_, _, err = run(t, path, out, "--to", to, "--overwrite")
		require.NoError(t, err)
	}
}
