package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/samples/generate"
)

// TestRecoverOfCARLA damages real logs. What is saved is what CARLA had written without what is lost: durations lead
// from frame to frame, and the last one is unknown.
func TestRecoverOfCARLA(t *testing.T) {
	const durationAt = 5 + 8 // in a frame
	for _, name := range []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"} {
		path := generate.Path(t, "carla/"+name)
		log, err := os.ReadFile(path)
		require.NoError(t, err)
		_, frames := readAll(t, path)
		starts := []int{len(log)} // where frames begin, and the end
		for _, f := range slices.Backward(frames) {
			starts = slices.Insert(starts, 0, starts[0]-len(f.Data))
		}
		float := func(at int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(log[at:])) }
		setDuration := func(log []byte, frame int, s float64) {
			binary.LittleEndian.PutUint64(log[starts[frame]+durationAt:], math.Float64bits(s))
		}
		cut := bytes.Clone(log[:starts[100]])
		setDuration(cut, 99, -1)
		without := func(from, to int) []byte {
			kept := slices.Concat(log[:starts[from]], log[starts[to]:])
			setDuration(kept, from-1, float(starts[to]+durationAt+8)-float(starts[from-1]+durationAt+8))
			return kept
		}
		for what, c := range map[string]struct{ log, want []byte }{
			"whole":              {log, log},
			"cut within a frame": {log[:starts[100]+77], cut},
			"cut between frames": {log[:starts[100]], cut},
			"zeros behind it":    {slices.Concat(log[:starts[100]], make([]byte, 9000)), cut},
			"a size is wrong": {slices.Concat(log[:starts[100]+30], []byte{0xff}, log[starts[100]+31:]),
				without(100, 101)},
			"zeros over three frames": {slices.Concat(log[:starts[100]], make([]byte, starts[103]-starts[100]),
				log[starts[103]:]), without(100, 103)},
			"other bytes in between": {slices.Concat(log[:starts[100]], bytes.Repeat([]byte("garbage"), 1000),
				log[starts[100]:]), log},
			"the end of another log": {slices.Concat(log[:starts[100]], log[starts[50]+40:starts[51]], log[starts[100]:]), log},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				in := filepath.Join(t.TempDir(), "a.log")
				require.NoError(t, os.WriteFile(in, c.log, 0o644))
				_, _, err := run(t, "recover", in)
				require.NoError(t, err)
				got, err := os.ReadFile(filepath.Join(filepath.Dir(in), "a.recover.log"))
				require.NoError(t, err)
				require.True(t, bytes.Equal(c.want, got), "%d instead of %d bytes", len(got), len(c.want))
			})
		}
	}
}
