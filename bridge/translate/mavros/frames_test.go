package mavros

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTangentPlane moves a thousandth of a degree along the meridian and the parallel, where the ellipsoid's radii of
// curvature are 6375150 m and 6391435 m.
func TestTangentPlane(t *testing.T) {
	p := newTangentPlane(52, 13, 100)
	require.Equal(t, vector{}, p.place(52, 13, 100))
	up := p.place(52, 13, 150)
	require.InDeltaSlice(t, []float64{0, 0, 50}, up[:], 1e-8)
	north, east := p.place(52.001, 13, 100), p.place(52, 13.001, 100)
	require.InDelta(t, 0, north[0], 1e-8)
	require.InDelta(t, 111.26910, north[1], 1e-3)
	require.InDelta(t, 68.67909, east[0], 1e-3)
	require.InDelta(t, 0, east[2], 1e-3)
	far := p.place(52.001, 13.001, 130)
	// The expected position is from GeographicLib's CartConvert.
	require.InDeltaSlice(t, []float64{68.677883, 111.270104, 29.998660}, far[:], 1e-6)
}
