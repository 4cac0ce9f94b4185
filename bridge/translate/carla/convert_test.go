package carla

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/carla"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
)

const half = 0.70710678118654752

type (
	vector   = carla.Vector
	vector3  = geometry_msgs.Vector3
	rotation = geometry_msgs.Quaternion
)

func requireClose(t *testing.T, want, got any) {
	t.Helper()
	numbers := func(v any) []float64 {
		switch v := v.(type) {
		case vector:
			return []float64{v.X, v.Y, v.Z}
		case vector3:
			return []float64{v.X, v.Y, v.Z}
		case geometry_msgs.Point:
			return []float64{v.X, v.Y, v.Z}
		case rotation:
			if v.W < 0 { // q and -q are equal orientations
				return []float64{-v.X, -v.Y, -v.Z, -v.W}
			}
			return []float64{v.X, v.Y, v.Z, v.W}
		}
		panic(v)
	}
	require.InDeltaSlice(t, numbers(want), numbers(got), 1e-9)
}

// TestPoint converts a location and back.
func TestPoint(t *testing.T) {
	require.Equal(t, geometry_msgs.Point{X: 392.5, Y: -195, Z: 0.5}, Point(vector{X: 39250, Y: 19500, Z: 50}))
	require.Equal(t, vector{X: 39250, Y: 19500, Z: 50}, Location(Point(vector{X: 39250, Y: 19500, Z: 50})))
}

// TestQuaternion checks the axes forward, left and up of an actor for each angle alone and together. Angles are those
// of Unreal Engine's FRotator: a positive pitch lifts the nose, a positive yaw turns to the right, a positive roll
// lowers the right side.
func TestQuaternion(t *testing.T) {
	for _, test := range []struct {
		name              string
		rotation          vector
		want              rotation
		forward, left, up vector3
	}{
		{"none", vector{}, rotation{W: 1}, vector3{X: 1}, vector3{Y: 1}, vector3{Z: 1}},
		{"yaw to the right", vector{Z: 90}, rotation{Z: -half, W: half}, vector3{Y: -1}, vector3{X: 1}, vector3{Z: 1}},
		{"nose up", vector{Y: 90}, rotation{Y: -half, W: half}, vector3{Z: 1}, vector3{Y: 1}, vector3{X: -1}},
		{"right side down", vector{X: 90}, rotation{X: half, W: half}, vector3{X: 1}, vector3{Z: 1}, vector3{Y: -1}},
		{"to the right and nose up", vector{Y: 30, Z: 90},
			rotation{X: -0.18301270189221933, Y: -0.18301270189221933, Z: -0.6830127018922193, W: 0.6830127018922193},
			vector3{Y: -math.Sqrt(3) / 2, Z: 0.5}, vector3{X: 1}, vector3{Y: 0.5, Z: math.Sqrt(3) / 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := Quaternion(test.rotation)
			requireClose(t, test.want, q)
			requireClose(t, test.forward, q.Rotate(vector3{X: 1}))
			requireClose(t, test.left, q.Rotate(vector3{Y: 1}))
			requireClose(t, test.up, q.Rotate(vector3{Z: 1}))
			requireClose(t, vector3{X: 1}, q.RotateBack(test.forward))
			requireClose(t, test.rotation, Rotation(q))
		})
	}
}

// TestRotation checks that Rotation is the inverse of Quaternion for angles in steps.
func TestRotation(t *testing.T) {
	for roll := -180.0; roll <= 180; roll += 22.5 {
		for pitch := -90.0; pitch <= 90; pitch += 15 {
			for yaw := -180.0; yaw <= 180; yaw += 22.5 {
				q := Quaternion(vector{X: roll, Y: pitch, Z: yaw})
				got := Rotation(q)
				requireSameOrientation(t, q, Quaternion(got))
				if math.Abs(pitch) < 90 && math.Abs(roll) < 180 && math.Abs(yaw) < 180 {
					requireClose(t, vector{X: roll, Y: pitch, Z: yaw}, got)
				}
				requireSameOrientation(t, q,
					Quaternion(Rotation(rotation{X: 3 * q.X, Y: 3 * q.Y, Z: 3 * q.Z, W: 3 * q.W})))
			}
		}
	}
	require.Equal(t, vector{}, Rotation(rotation{}))
}

func requireSameOrientation(t *testing.T, a, b rotation) {
	t.Helper()
	require.InDelta(t, 1, math.Abs(a.X*b.X+a.Y*b.Y+a.Z*b.Z+a.W*b.W), 1e-9)
}

// TestVelocities converts velocities and back.
func TestVelocities(t *testing.T) {
	requireClose(t, vector3{X: 1, Y: -2, Z: 3}, Velocity(vector{X: 1, Y: 2, Z: 3}))
	requireClose(t, vector{X: 1, Y: 2, Z: 3}, LinearVelocity(Velocity(vector{X: 1, Y: 2, Z: 3})))
	// A turn to the right is negative about z in ROS; the vector's x is against the direction of roll.
	requireClose(t, vector3{X: -math.Pi, Y: math.Pi / 2, Z: -math.Pi / 4}, Rate(vector{X: 180, Y: 90, Z: 45}))
	requireClose(t, vector{X: 180, Y: 90, Z: 45}, AngularVelocity(Rate(vector{X: 180, Y: 90, Z: 45})))
}

// TestTurning computes the angular velocity between two orientations.
func TestTurning(t *testing.T) {
	from, to := Quaternion(vector{Z: 170}), Quaternion(vector{Z: -100})
	requireClose(t, vector3{Z: -math.Pi / 2}, angularVelocityBetween(from, to, 1))
	requireClose(t, vector3{Z: -math.Pi / 4}, angularVelocityBetween(from, to, 2))
	from, to = Quaternion(vector{Y: 10}), Quaternion(vector{Y: 20})
	requireClose(t, vector3{Y: -math.Pi / 18}, angularVelocityBetween(from, to, 1))
	from, to = Quaternion(vector{X: 10}), Quaternion(vector{X: 20})
	requireClose(t, vector3{X: math.Pi / 18}, angularVelocityBetween(from, to, 1))
	q := Quaternion(vector{X: 1, Y: 2, Z: 3})
	require.Equal(t, vector3{}, angularVelocityBetween(rotation{W: 1}, rotation{W: 1}, 1))
	requireClose(t, vector3{}, angularVelocityBetween(q, rotation{X: -q.X, Y: -q.Y, Z: -q.Z, W: -q.W}, 1))
}

// TestStamp converts valid and invalid times.
func TestStamp(t *testing.T) {
	require.Equal(t, builtin_interfaces.Time{Sec: 12, Nanosec: 500000000}, Stamp(12.5))
	require.Equal(t, builtin_interfaces.Time{Sec: 0, Nanosec: 16935262}, Stamp(0.016935262829065323))
	for _, none := range []float64{-1, math.NaN(), math.Inf(1), 1e10} {
		require.Zero(t, Stamp(none))
	}
}
