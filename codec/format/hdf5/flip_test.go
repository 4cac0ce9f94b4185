package hdf5

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/samples"
)

// TestFlippedBits reads files with one to three wrong bits. libhdf5 crashes on about one such file in
// a thousand. Reading the file then returns an error.
func TestFlippedBits(t *testing.T) {
	seed, flips := uint64(1), 20
	if testing.Short() {
		flips = 5
	}
	files := [][]byte{
		readFile(t, writeALOHA(t, 5, 5, 14)),
		readFile(t, writeEpisodes(t, Options{}, alignRows(t, newEpisode(3), align.Options{}))),
	}
	files = append(files, samples.Seeds(t, "session/easyteleop_reference/hdf5/*.hdf5")...)
	random := rand.New(rand.NewPCG(seed, 0))
	failed := 0
	for i, file := range files {
		path := filepath.Join(t.TempDir(), "a.hdf5")
		for range flips {
			damaged := append([]byte(nil), file...)
			for range 1 + random.IntN(3) {
				// Most metadata is at the beginning of a file.
				at := random.IntN(min(len(file), 8<<random.IntN(20)))
				damaged[at] ^= 1 << random.IntN(8)
			}
			require.NoError(t, os.WriteFile(path, damaged, 0o666))
			if err := readAll(path); err != nil {
				require.NotContains(t, err.Error(), "panic", "a panic of Go code in the reading process")
				if strings.Contains(err.Error(), "libhdf5 failed") {
					failed++
					t.Log(i, err)
				}
			}
		}
	}
	t.Logf("seed %d: libhdf5 failed %d times in %d", seed, failed, flips*len(files))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// readAll reads all numbers and images of a file, and returns the first error.
func readAll(path string) error {
	s, err := Open(nil, path)
	if err != nil {
		return err
	}
	defer s.Close()
	episodes, err := s.Episodes()
	if err != nil {
		return err
	}
	for _, e := range episodes {
		for _, c := range e.Cameras {
			var all []int
			for i := range c.Stamps {
				all = append(all, i)
			}
			if err := c.EachFrame(all, func(int, *episode.Frame) error { return nil }); err != nil {
				return err
			}
		}
	}
	return nil
}

// FuzzHDF5 reads files with any contents.
func FuzzHDF5(f *testing.F) {
	f.Add(readFile(f, writeALOHA(f, 2, 2, 14)))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x.hdf5")
		require.NoError(t, os.WriteFile(path, b, 0o666))
		codectest.ReadAll(t, path, Format, uint64(len(b)))
	})
}
