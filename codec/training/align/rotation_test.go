package align

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// poses returns a stream of roll, pitch and yaw every 10 ms.
func poses(values ...float64) *Vector {
	v := &Vector{Name: "pose", Columns: []Column{{Name: "rx"}, {Name: "ry"}, {Name: "rz"}}, Values: values}
	v.Stamps = everyMs(0, 10, len(values)/3)
	return v
}

func TestEulerWays(t *testing.T) {
	tests := []struct {
		name       string
		a, b, half []float64
	}{
		{"yaw", []float64{0, 0, 1}, []float64{0, 0, 2}, []float64{0, 0, 1.5}},
		{"yaw across π", []float64{0, 0, 3.1}, []float64{0, 0, -3.0}, []float64{0, 0, (3.1+2*math.Pi-3)/2 - 2*math.Pi}},
		{"yaw to π", []float64{0, 0, 3.1}, []float64{0, 0, 2*math.Pi - 3.1}, []float64{0, 0, math.Pi}},
		{"roll across π", []float64{-3.1, 0, 0}, []float64{3.0, 0, 0},
			[]float64{(-3.1-2*math.Pi+3)/2 + 2*math.Pi, 0, 0}},
		{"roll of π, yaw", []float64{math.Pi, 0, 1}, []float64{math.Pi, 0, 1.5}, []float64{math.Pi, 0, 1.25}},
		{"pitch past a right angle", []float64{0.25, 1.4, 0.5}, []float64{0.25, 1.8, 0.5}, []float64{0.25, 1.6, 0.5}},
		{"pitch a right angle between", []float64{0.25, math.Pi/2 - 0.1, 0.5}, []float64{0.25, math.Pi/2 + 0.1, 0.5},
			[]float64{0.25, math.Pi / 2, 0.5}},
		{"pitch minus a right angle between", []float64{0.25, -math.Pi/2 - 0.1, 0.5},
			[]float64{0.25, -math.Pi/2 + 0.1, 0.5},
			[]float64{0.25, -math.Pi / 2, 0.5}},
		{"pitch across π", []float64{0, 3, 0}, []float64{0, -3, 0}, []float64{0, math.Pi, 0}},
		{"nowhere", []float64{1, 1, 1}, []float64{1, 1, 1}, []float64{1, 1, 1}},
		{"a turn and the same", []float64{0, 0, 1}, []float64{0, 0, 1 + 2*math.Pi}, []float64{0, 0, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := poses(append(append([]float64{}, test.a...), test.b...)...)
			table, err := Align(Streams{Cameras: []*Track{frameTrack(5, 3)}, Vectors: []*Vector{v}}, Options{})
			require.NoError(t, err)
			requireAngles(t, test.half, table.Vectors[0].Row(1))
			requireAngles(t, test.b, table.Vectors[0].Row(2))

			for i := range v.Columns {
				v.Columns[i].Unit = "deg"
			}
			for i := range v.Values {
				v.Values[i] *= 180 / math.Pi
			}
			table, err = Align(Streams{Cameras: []*Track{frameTrack(5, 3)}, Vectors: []*Vector{v}}, Options{})
			require.NoError(t, err)
			degrees := table.Vectors[0].Row(1)
			requireAngles(t, test.half, []float64{degrees[0] * math.Pi / 180, degrees[1] * math.Pi / 180,
				degrees[2] * math.Pi / 180})
		})
	}
}

// requireAngles compares angles. -π equals π.
func requireAngles(t *testing.T, want, got []float64) {
	for i := range want {
		require.InDelta(t, 0, wrap(want[i]-got[i], math.Pi), 1e-9, "want %v, got %v", want, got)
		require.True(t, got[i] > -math.Pi-1e-12 && got[i] <= math.Pi+1e-12, "got %v", got)
	}
}

// TestEulerIsContinuous follows rotations in small steps. The angles must change in small steps.
func TestEulerIsContinuous(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		e := euler{7 * (r.Float64() - 0.5), 7 * (r.Float64() - 0.5), 7 * (r.Float64() - 0.5)}
		f := e
		for i := range f {
			f[i] += 0.3 * (r.Float64() - 0.5)
		}
		before := e
		for k := 1; k <= 1000; k++ {
			at := e.turn(f, float64(k)/1000)
			// Near a pitch of a right angle, roll and yaw turn fast.
			if slow := math.Abs(math.Cos(at[1])) > 0.05; slow && at.distance(before) >= 0.1 {
				require.Less(t, at.distance(before), 0.1, "from %v to %v at %d", e, f, k)
			}
			before = at
		}
		require.InDelta(t, 0, before.distance(f), 1e-6)
	}
}

func TestToEuler(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		e := []float64{6.28 * (r.Float64() - 0.5), 3.14 * (r.Float64() - 0.5), 6.28 * (r.Float64() - 0.5)}
		x, y, z, w := ToQuaternion(e[0], e[1], e[2])
		roll, pitch, yaw := ToEuler(3*x, 3*y, 3*z, 3*w)
		require.InDeltaSlice(t, e, []float64{roll, pitch, yaw}, 1e-6)
	}
	x, y, z, w := ToQuaternion(0, 0, math.Pi/2)
	require.InDeltaSlice(t, []float64{0, 0, math.Sqrt2 / 2, math.Sqrt2 / 2}, []float64{x, y, z, w}, 1e-15)
	x, y, z, w = ToQuaternion(math.Pi/2, math.Pi/2, 0)
	require.InDeltaSlice(t, []float64{0.5, 0.5, -0.5, 0.5}, []float64{x, y, z, w}, 1e-15)
	roll, _, _ := ToEuler(0, 0, 0, 0)
	require.True(t, math.IsNaN(roll))
}

func TestQuaternionsKeepTheirSigns(t *testing.T) {
	v := &Vector{Name: "pose", Columns: []Column{{Name: "qx"}, {Name: "qy"}, {Name: "qz"}, {Name: "qw"}},
		Stamps: everyMs(0, 10, 4)}
	for i := range 4 {
		sign := 1 - 2*float64(i%2)
		x, y, z, w := ToQuaternion(0, 0, 0.2*float64(i))
		v.Values = append(v.Values, sign*x, sign*y, sign*z, sign*w)
	}
	bad := &Vector{Name: "other", Columns: v.Columns, Stamps: v.Stamps, Values: append([]float64{}, v.Values...)}
	copy(bad.Values[4:], make([]float64, 4))
	table, err := Align(Streams{Cameras: []*Track{frameTrack(5, 7)}, Vectors: []*Vector{v, bad}}, Options{})
	require.NoError(t, err)
	for _, rows := range table.Vectors {
		for i := range table.Stamps {
			x, y, z, w := ToQuaternion(0, 0, 0.1*float64(i))
			require.InDeltaSlice(t, []float64{x, y, z, w}, rows.Row(i), 1e-12, "row %d of %s", i, rows.Name)
		}
	}
	require.Equal(t, 1, table.Report.Vectors[1].Invalid, "a quaternion of length 0")
}
