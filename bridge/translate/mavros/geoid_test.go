package mavros

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// testGeoid has heights of 0, 2, 4 and 6 m at the equator, for 0, 30, 60 and 90 degrees east, and so on. The height of
// both poles is -10 m.
const testGeoid = "P5\n# Geoid file in PGM format for the GeographicLib::Geoid class\n# Description a test\n# " +
	"Offset -10\n# Scale 0.002\n12 3\n65535\n"

func writeGeoid(t *testing.T, header string) string {
	path := filepath.Join(t.TempDir(), "test.pgm")
	data := []byte(header)
	for row := range 3 {
		for column := range 12 {
			pixel := uint16(0)
			if row == 1 {
				pixel = uint16(5000 + 1000*column)
			}
			data = binary.BigEndian.AppendUint16(data, pixel)
		}
	}
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return path
}

// TestGeoid interpolates heights, also across the meridian of Greenwich and at the poles.
func TestGeoid(t *testing.T) {
	g, err := openGeoid(writeGeoid(t, testGeoid))
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	for _, test := range []struct{ latitude, longitude, want float64 }{
		{0, 0, 0},
		{0, 30, 2},
		{0, 45, 3},
		{0, 345, 11}, // between 22 m at 330 degrees and 0 m at 360
		{0, -15, 11},
		{0, 360, 0},
		{0, -360, 0},
		{0, 180, 12},
		{0, -180, 12},
		{90, 77, -10},
		{-90, 77, -10},
		{45, 30, -4},
		{-45, 30, -4},
		{-22.5, 45, -0.25},
		{0, math.Nextafter(0, -1), 0},
	} {
		got, err := g.heightAt(test.latitude, test.longitude)
		require.NoError(t, err)
		require.InDelta(t, test.want, got, 1e-9, "%v, %v", test.latitude, test.longitude)
	}
	for _, place := range [][2]float64{{91, 0}, {math.NaN(), 0}, {0, math.NaN()}, {0, math.Inf(1)}} {
		_, err := g.heightAt(place[0], place[1])
		require.ErrorContains(t, err, "not a position on Earth")
	}
}

// TestGeoidFiles opens files that are not a geoid.
func TestGeoidFiles(t *testing.T) {
	for header, want := range map[string]string{
		"": "no header",
		"P5\n# Offset -10\n# Scale 0.002\n12 3\n255\n":         "16-bit PGM",
		"P6\n# Offset -10\n# Scale 0.002\n12 3\n65535\n":       "16-bit PGM",
		"P5\n# Scale 0.002\n12 3\n65535\n":                     "# Offset",
		"P5\n# Offset x\n# Scale 0.002\n12 3\n65535\n":         "Offset x",
		"P5\n# Offset -10\n# Scale 0.002\n12 4\n65535\n":       "cut short",
		"P5\n# Offset -10\n# Scale 0.002\n12 -3\n65535\n":      "12 columns and -3 rows",
		"P5\n# Offset -10\n# Scale 0.002\n99999999 3\n65535\n": "99999999 columns",
	} {
		path := writeGeoid(t, header)
		_, err := openGeoid(path)
		require.ErrorContains(t, err, "read geoid "+path)
		require.ErrorContains(t, err, want)
	}
	_, err := FindGeoid("/no/such/file")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestGeoidAtOnce computes heights in several goroutines.
func TestGeoidAtOnce(t *testing.T) {
	g, err := openGeoid(writeGeoid(t, testGeoid))
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	var all sync.WaitGroup
	wrong := make(chan float64, 4)
	for i := range 4 {
		all.Go(func() {
			for range 1000 {
				if h, err := g.heightAt(0, float64(30*i)); err != nil || math.Abs(h-float64(2*i)) > 1e-9 {
					wrong <- h
					return
				}
			}
		})
	}
	all.Wait()
	require.Empty(t, wrong)
}

// TestGeoidClosedWithReader checks that a translator closes its geoid.
func TestGeoidClosedWithReader(t *testing.T) {
	g, err := openGeoid(writeGeoid(t, testGeoid))
	require.NoError(t, err)
	require.NoError(t, (&translator{}).Close())
	require.NoError(t, (&translator{openedGeoid: g}).Close())
	_, err = g.heightAt(0, 0)
	require.ErrorIs(t, err, os.ErrClosed)
}
