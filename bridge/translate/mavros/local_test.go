package mavros

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// attitudeEast is an attitude in NED whose yaw is a quarter turn: forward is east.
func attitudeEast() *common.MessageAttitudeQuaternion {
	return &common.MessageAttitudeQuaternion{Q1: math.Sqrt2 / 2, Q4: math.Sqrt2 / 2, Yawspeed: 1}
}

// TestLocalPositionWaitsForAttitude checks that positions are published only when the attitude is known.
func TestLocalPositionWaitsForAttitude(t *testing.T) {
	s := newTestVehicle(t)
	m := &common.MessageLocalPositionNed{X: 1, Y: 2, Z: 3, Vx: 4, Vy: 5, Vz: 6}
	s.receive(m, m)
	require.Empty(t, s.sent)
	require.Len(t, s.lines, 1)
	s.receive(attitudeEast(), m)
	o := publishedMessage[nav_msgs.Odometry](s, localOdometry, 0)
	require.Equal(t, geometry_msgs.Point{X: 2, Y: 1, Z: -3}, o.Pose.Pose.Position)
	requireYaw(t, 0, o.Pose.Pose.Orientation, 1e-7)
	requireVector(t, [3]float64{5, 4, -6}, o.Twist.Twist.Linear, 1e-6) // north is left
	requireVector(t, [3]float64{0, 0, -1}, o.Twist.Twist.Angular, 1e-6)
}

// TestLocalPositionWithCovariance compares the covariances in ROS's axes with the triangle that the autopilot sends.
func TestLocalPositionWithCovariance(t *testing.T) {
	s := newTestVehicle(t)
	m := &common.MessageLocalPositionNedCov{X: 1, Y: 2, Z: 3, Vx: 4, Vy: 5, Vz: 6, Ax: 7, Ay: 8, Az: 9}
	// The rows of the triangle have 9, 8, 7 … elements. These are the indices of the three blocks on the diagonal.
	for i, at := range []int{0, 1, 2, 9, 10, 17} {
		m.Covariance[at] = float32(1 + i)
	}
	for i, at := range []int{24, 25, 26, 30, 31, 35} {
		m.Covariance[at] = float32(11 + i)
	}
	for i, at := range []int{39, 40, 41, 42, 43, 44} {
		m.Covariance[at] = float32(21 + i)
	}
	s.receive(attitudeEast(), m)
	o := publishedMessage[nav_msgs.Odometry](s, localOdometry, 0)
	// The position has xx 1, xy 2, xz 3, yy 4, yz 5, zz 6 in NED. The attitude has the variance in imu/data.
	requireCovariance(t, covariance{
		4, 2, -5, 0, 0, 0,
		2, 1, -3, 0, 0, 0,
		-5, -3, 6, 0, 0, 0,
		0, 0, 0, 1, 0, 0,
		0, 0, 0, 0, 1, 0,
		0, 0, 0, 0, 0, 1,
	}, o.Pose.Covariance, 1e-6)
	rate := math.Pow(0.02*math.Pi/180, 2)
	requireCovariance(t, covariance{ // forward is east, left is north: equal to ENU
		14, 12, -15, 0, 0, 0,
		12, 11, -13, 0, 0, 0,
		-15, -13, 16, 0, 0, 0,
		0, 0, 0, rate, 0, 0,
		0, 0, 0, 0, rate, 0,
		0, 0, 0, 0, 0, rate,
	}, o.Twist.Covariance, 1e-5)
	pose := publishedMessage[geometry_msgs.PoseWithCovarianceStamped](s, localPoseCov, 0)
	require.Equal(t, geometry_msgs.PoseWithCovarianceStamped{Header: o.Header, Pose: o.Pose}, pose)
	twist := publishedMessage[geometry_msgs.TwistWithCovarianceStamped](s, localVelocityBodyCov, 0)
	require.Equal(t, "base_link", twist.Header.FrameId)
	require.Equal(t, o.Twist, twist.Twist)
	a := publishedMessage[geometry_msgs.AccelWithCovarianceStamped](s, localAcceleration, 0)
	require.Equal(t, "map", a.Header.FrameId)
	require.Equal(t, geometry_msgs.Vector3{X: 8, Y: 7, Z: -9}, a.Accel.Accel.Linear)
	require.Equal(t, []float64{24, 22, -25}, a.Accel.Covariance[:3])
	require.Len(t, s.sent[localPose], 1)

	// While both messages come, odometry is from LOCAL_POSITION_NED_COV and the pose from LOCAL_POSITION_NED.
	s.receive(&common.MessageLocalPositionNed{}, m)
	require.Len(t, s.sent[localOdometry], 2)
	require.Len(t, s.sent[localPose], 2)

	m.Covariance[0] = float32(math.NaN())
	s.receive(m)
	s.message(localOdometry, -1, &o)
	require.EqualValues(t, unknownCovariance(), o.Pose.Covariance)
}

// TestOdometryFrames checks the axes for each pair of frames that ODOMETRY may have.
func TestOdometryFrames(t *testing.T) {
	const half = math.Sqrt2 / 2
	for name, test := range map[string]struct {
		world, body   common.MAV_FRAME
		position      geometry_msgs.Point
		velocity      [3]float64
		yaw           float64
		diagonal      [6]float64 // diagonal of the pose's covariance
		speedDiagonal [3]float64 // diagonal of the linear velocity's covariance
	}{
		// The body's yaw is a quarter turn to the right in the first three cases, to the left in the other cases.
		"NED": {common.MAV_FRAME_LOCAL_NED, common.MAV_FRAME_BODY_FRD, geometry_msgs.Point{X: 2, Y: 1, Z: -3},
			[3]float64{4, -5, -6}, 0, [6]float64{2, 1, 3, 5, 4, 6}, [3]float64{1, 2, 3}},
		"NED, velocity": {common.MAV_FRAME_LOCAL_NED, common.MAV_FRAME_LOCAL_NED,
			geometry_msgs.Point{X: 2, Y: 1, Z: -3},
			[3]float64{5, 4, -6}, 0, [6]float64{2, 1, 3, 5, 4, 6}, [3]float64{2, 1, 3}},
		"FRD": {common.MAV_FRAME_LOCAL_FRD, common.MAV_FRAME_BODY_NED, geometry_msgs.Point{X: 1, Y: -2, Z: -3},
			[3]float64{4, -5, -6}, -math.Pi / 2, [6]float64{1, 2, 3, 4, 5, 6}, [3]float64{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &common.MessageOdometry{
				FrameId: test.world, ChildFrameId: test.body, X: 1, Y: 2, Z: 3, Q: [4]float32{half, 0, 0, half}, Vx: 4,
				Vy: 5,
				Vz: 6, Rollspeed: 7, Pitchspeed: 8, Yawspeed: 9,
			}
			for i, at := range []int{0, 6, 11, 15, 18, 20} {
				m.PoseCovariance[at], m.VelocityCovariance[at] = float32(1+i), float32(1+i)
			}
			s := newTestVehicle(t)
			s.receive(m)
			o := publishedMessage[nav_msgs.Odometry](s, odometryIn, 0)
			require.Equal(t, "odom", o.Header.FrameId)
			require.Equal(t, test.position, o.Pose.Pose.Position)
			requireYaw(t, test.yaw, o.Pose.Pose.Orientation, 1e-7)
			requireVector(t, test.velocity, o.Twist.Twist.Linear, 1e-6)
			requireVector(t, [3]float64{7, -8, -9}, o.Twist.Twist.Angular, 1e-6)
			requireCovariance(t, diagonal6(test.diagonal[:]...), o.Pose.Covariance, 1e-6)
			requireCovariance(t, diagonal6(append(test.speedDiagonal[:], 4, 5, 6)...), o.Twist.Covariance, 1e-5)
		})
	}
	for _, frames := range [][2]common.MAV_FRAME{
		{common.MAV_FRAME_GLOBAL, common.MAV_FRAME_BODY_FRD}, {common.MAV_FRAME_LOCAL_NED, common.MAV_FRAME_LOCAL_FRD},
	} {
		s := newTestVehicle(t)
		s.receive(&common.MessageOdometry{FrameId: frames[0], ChildFrameId: frames[1]})
		require.Empty(t, s.sent)
		require.Len(t, s.lines, 1)
	}
}

// TestCovarianceCrossTerms rotates a covariance whose elements all differ.
func TestCovarianceCrossTerms(t *testing.T) {
	var upper [21]float32
	for i := range upper {
		upper[i] = float32(i + 1)
	}
	requireCovariance(t, covariance{
		7, 2, -8, 10, 9, -11,
		2, 1, -3, 5, 4, -6,
		-8, -3, 12, -14, -13, 15,
		10, 5, -14, 19, 17, -20,
		9, 4, -13, 17, 16, -18,
		-11, -6, 15, -20, -18, 21,
	}, fromTriangle(&upper).rotated(toENU.m, toENU.m), 1e-9)
}
