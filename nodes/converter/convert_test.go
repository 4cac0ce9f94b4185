package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/config"
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
	require.Contains(t, stdout, out+": 6 messages, 4 topics, 30 B of payload, 0.000000040 s")

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
	in := writeLines(t, "in.lines", []codec.Message{at(imu, 1e18, "a"), at(odom, 1e18+5e8, "b"), at(imu, 1e18+1e9, "c"), at(imu, 1e18+2e9, "d")}, info)
	tests := map[string]struct {
		args     []string
		want     string
		channels int
	}{
		"all":             {nil, "abcd", 3},
		"topic":           {[]string{"-t", "/imu"}, "acd", 1},
		"exclude":         {[]string{"-x", "/imu"}, "b", 2},
		"offsets":         {[]string{"--start", "0.5", "--end", "2"}, "bc", 3},
		"start of window": {[]string{"--start=1s"}, "cd", 3},
		"absolute":        {[]string{"--start=1000000001000000000", "--end=2001-09-09 01:46:42"}, "c", 3},
		"nothing":         {[]string{"--start", "100"}, "", 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.lines")
			_, stderr, err := run(t, append([]string{in, out}, test.args...)...)
			require.NoError(t, err)
			require.Empty(t, stderr)
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

func TestConvertWarns(t *testing.T) {
	in := writeLines(t, "in.lines", []codec.Message{at(imu, 1, "a")})
	cut(t, in)
	_, stderr, err := run(t, in, filepath.Join(t.TempDir(), "out.lines"), "-t", "/imu,/imo")
	require.NoError(t, err)
	require.Equal(t, "warning: no topic matches \"/imo\"\nwarning: "+in+" is not complete; what can be read of it is converted\n", stderr)
}

func TestFailureLeavesNothing(t *testing.T) {
	in := writeLines(t, "in.lines", []codec.Message{at(imu, 1, "a"), at(imu, 2, "b")})
	damaged := writeLines(t, "damaged.lines", []codec.Message{at(imu, 1, "a"), at(imu, 2, "b")})
	damage(t, damaged, "{\"Message\":{\"Channel\":null,\"LogTime\":2")
	for name, args := range map[string][]string{
		"write":   {in, "--compression", "fail"},
		"close":   {in, "--compression", "fail late"},
		"damaged": {damaged},
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
		out := filepath.Join(t.TempDir(), "out.lines")
		require.NoError(t, os.Mkdir(out+".part", 0o755))
		_, _, err := run(t, in, out)
		require.ErrorContains(t, err, "interrupted or is still running")
		_, _, err = run(t, in, out, "--overwrite")
		require.NoError(t, err)
		require.NoDirExists(t, out+".part")
	})
	t.Run("link to the input", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out.lines")
		require.NoError(t, os.Symlink(in, out))
		_, _, err := run(t, in, out, "--overwrite")
		require.ErrorContains(t, err, "is what is read from")
	})
	t.Run("folder that holds the input", func(t *testing.T) {
		_, _, err := run(t, in, filepath.Dir(in), "--to", "lines", "--overwrite")
		require.ErrorContains(t, err, "is what is read from")
	})
}
