package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/nodes/internal/diff"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

func TestInfoOfApolloSample(t *testing.T) {
	path := samples.Path(t, "apollo/example.record.00000")
	stdout, _, err := run(t, "info", path)
	require.NoError(t, err)
	require.Equal(t, `
Files:      `+path+`
Bag size:   477.5 KiB (489010 bytes)
Format:     record
Chunks:     1
Duration:   0.138967839 s
Start:      2021-07-23 09:12:15.114943571 UTC (1627031535.114943571)
End:        2021-07-23 09:12:15.253911410 UTC (1627031535.253911410)
Messages:   34
Complete:   index is complete; contents not checked
Topics:     8
  Topic                             Type                                      Count      Hz  Encoding
  /apollo/canbus/chassis            apollo.canbus.Chassis                        15  107.94  protobuf
  /apollo/localization/pose         apollo.localization.LocalizationEstimate     15  107.94  protobuf
  /apollo/monitor                   apollo.common.monitor.MonitorMessage          0       -  protobuf
  /apollo/planning                  apollo.planning.ADCTrajectory                 1       -  protobuf
  /apollo/prediction                apollo.prediction.PredictionObstacles         2   14.39  protobuf
  /apollo/routing_request           apollo.routing.RoutingRequest                 0       -  protobuf
  /apollo/routing_response          apollo.routing.RoutingResponse                0       -  protobuf
  /apollo/routing_response_history  apollo.routing.RoutingResponse                1       -  protobuf
`, "\n"+stdout)
}

func TestInfoJSONOfApolloSample(t *testing.T) {
	stdout, _, err := run(t, "info", "--json", samples.Path(t, "apollo/example.record.00000"))
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	for key, want := range map[string]any{"format": "record", "size": 489010.0, "message_count": 34.0,
		"duration": 0.138967839, "complete": true, "contents_checked": false} {
		require.Equal(t, want, got[key], key)
	}
	require.Len(t, got["topics"], 8)
	require.Contains(t, stdout, `"start_time": 1627031535114943571,`)
}

// TestThereAndBack converts each sample to the other formats and back. The results must be equal to the samples.
func TestThereAndBack(t *testing.T) {
	names := []string{
		"apollo/apollo_cpp_sensors.record", "apollo/incomplete_killed.record", "apollo/ooo_chunks.record",
		"rosbag2/rosbags_rs/test_bag_mcap",
	}
	if !testing.Short() {
		names = append(names, "apollo/example.record.00000", "apollo/multichunk.record",
			"apollo/synthetic_genB_endpos.record")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			in := generate.Path(t, name)
			folder := t.TempDir()
			for _, step := range []struct{ from, to string }{
				{in, "a.mcap"}, {"a.mcap", "b.record"}, {"b.record", "c"}, {"c", "d.mcap"},
			} {
				from, to := step.from, filepath.Join(folder, step.to)
				if from != in {
					from = filepath.Join(folder, from)
				}
				args := []string{from, to, "--encoding", "keep"}
				if step.to == "c" {
					args = append(args, "--to", "rosbag2")
				}
				_, _, err := run(t, args...)
				require.NoError(t, err, step)
				stdout, _, err := run(t, "diff", "--bytes", "--times", "0", in, to)
				require.NoError(t, err, "%v\n%s", step, stdout)
				require.Contains(t, stdout, "note: log times are the same\n")
			}
		})
	}
}

func TestSegmentsBecomeOne(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.mcap")
	tail := "apollo/seg_emptytail.record.0000"
	stdout, _, err := run(t, samples.Path(t, tail+"0"), samples.Path(t, tail+"1"), out)
	require.NoError(t, err)
	require.Contains(t, stdout, ": 202 messages, ")
}

// TestRecoverDamagedSamples truncates samples and flips bits. recover must save messages of the original, in order, or
// print one line that says what is wrong.
func TestRecoverDamagedSamples(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 4
	}
	random := rand.New(rand.NewPCG(5, 6))
	for _, name := range []string{"apollo/multichunk.record", "apollo/example.record.00000",
		"rosbag2/rosbags_rs/test_bag_mcap/test_bag_mcap.mcap"} {
		t.Run(name, func(t *testing.T) {
			in := generate.Path(t, name)
			whole, err := os.ReadFile(in)
			require.NoError(t, err)
			saved := 0
			for i := range rounds {
				data := bytes.Clone(whole)
				if i%2 == 0 {
					data = data[:random.IntN(len(data))]
				} else {
					data[random.IntN(len(data))] ^= 1 << random.IntN(8)
				}
				damaged := filepath.Join(t.TempDir(), filepath.Base(in))
				require.NoError(t, os.WriteFile(damaged, data, 0o644))
				out := filepath.Join(t.TempDir(), "out"+filepath.Ext(strings.TrimSuffix(in, ".00000")))
				stdout, _, err := run(t, "recover", damaged, out)
				if err != nil {
					require.NoFileExists(t, out)
					require.Contains(t, err.Error(), damaged)
					continue
				}
				saved++
				require.Contains(t, stdout, "out")
				stdout, _, err = run(t, "diff", in, out)
				if err != nil {
					require.ErrorIs(t, err, diff.ErrDifferent)
					if i%2 == 0 {
						require.NotContains(t, stdout, "changed", "truncation changes no message")
						require.NotContains(t, stdout, "only in B")
					}
				}
			}
			require.GreaterOrEqual(t, saved, rounds/2)
		})
	}
}

func TestFullDisk(t *testing.T) {
	in := samples.Path(t, "apollo/example.record.00000")
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("mounting a small disk:", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, 0)) })
	for _, args := range [][]string{{in, filepath.Join(disk, "out.mcap")}, {in, filepath.Join(disk, "out.record")},
		{in, filepath.Join(disk, "out"), "--to", "rosbag2"}, {"recover", in, filepath.Join(disk, "out.record")}} {
		_, _, err := run(t, args...)
		require.ErrorContains(t, err, "no space left on device")
		entries, err := os.ReadDir(disk)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

func TestUnreadableFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := writeLines(t, "a.lines", nil)
	require.NoError(t, os.Chmod(path, 0))
	_, _, err := run(t, "info", path)
	require.ErrorContains(t, err, path+": permission denied")
}
