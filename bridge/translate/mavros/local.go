package mavros

import (
	"math"

	"tapedeck/bridge"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// localState is the position relative to the autopilot's origin, from several kinds of messages.
type localState struct {
	// Last receptions of LOCAL_POSITION_NED and LOCAL_POSITION_NED_COV, in ns since the Unix epoch; 0: never.
	positionAt, covarianceAt int64

	// Messages. Each publication overwrites them.
	odometry     nav_msgs.Odometry
	external     nav_msgs.Odometry // from ODOMETRY
	pose         geometry_msgs.PoseStamped
	poseCov      geometry_msgs.PoseWithCovarianceStamped
	velocity     geometry_msgs.TwistStamped
	velocityCov  geometry_msgs.TwistWithCovarianceStamped
	acceleration geometry_msgs.AccelWithCovarianceStamped
}

// localPositionNED publishes a position without covariance.
func (v *Vehicle) localPositionNED(m *common.MessageLocalPositionNed) {
	if !v.setLocal(newVector(m.X, m.Y, m.Z), newVector(m.Vx, m.Vy, m.Vz)) {
		return
	}
	v.positionAt = v.now
	o := &v.localState.odometry
	o.Pose.Covariance, o.Twist.Covariance = unknownCovariance(), unknownCovariance()
	if !v.isRecent(v.covarianceAt) {
		v.out.Send(localOdometry, o)
	}
	v.sendLocal()
}

// localPositionNEDCov publishes a position with covariance.
func (v *Vehicle) localPositionNEDCov(m *common.MessageLocalPositionNedCov) {
	if !v.setLocal(newVector(m.X, m.Y, m.Z), newVector(m.Vx, m.Vy, m.Vz)) {
		return
	}
	v.covarianceAt = v.now
	o := &v.localState.odometry
	c := &m.Covariance // the upper right triangle of 9×9: position, velocity, acceleration
	toBody := rotation(v.orientation.Conjugate()).times(toENU.m)
	pose := fromBlock(c[0], c[1], c[2], c[9], c[10], c[17], v.o.OrientationStdev)
	o.Pose.Covariance = pose.rotated(toENU.m, identity.m)
	twist := fromBlock(c[24], c[25], c[26], c[30], c[31], c[35], v.o.AngularVelocityStdev)
	o.Twist.Covariance = twist.rotated(toBody, identity.m)
	v.out.Send(localOdometry, o)
	v.poseCov.Header, v.poseCov.Pose = o.Header, o.Pose
	v.out.Send(localPoseCov, &v.poseCov)
	v.velocityCov.Header, v.velocityCov.Twist = v.header(v.o.BaseFrame), o.Twist
	v.out.Send(localVelocityBodyCov, &v.velocityCov)
	if !v.isRecent(v.positionAt) {
		v.sendLocal()
	}
	v.acceleration.Header = o.Header
	v.acceleration.Accel.Accel.Linear = toENU.m.rotate(newVector(m.Ax, m.Ay, m.Az)).vector3()
	acceleration := fromBlock(c[39], c[40], c[41], c[42], c[43], c[44], 0)
	v.acceleration.Accel.Covariance = acceleration.rotated(toENU.m, identity.m)
	v.out.Send(localAcceleration, &v.acceleration)
}

// setLocal sets odometry and velocity, but not covariances, from position and velocity in NED. It returns false while
// the attitude is unknown.
func (v *Vehicle) setLocal(position, velocity vector) bool {
	if !v.oriented {
		v.logOnce(bridge.Warn, "local_position/… is not published until the autopilot sends its attitude")
		return false
	}
	o := &v.localState.odometry
	o.Header, o.ChildFrameId = v.header(v.o.MapFrame), v.o.BaseFrame
	o.Pose.Pose = geometry_msgs.Pose{Position: toENU.m.rotate(position).point(), Orientation: v.orientation}
	v.velocity.Twist.Linear = toENU.m.rotate(velocity).vector3()
	v.velocity.Twist.Angular = rotation(v.orientation).rotate(v.rates).vector3()
	o.Twist.Twist.Linear = rotation(v.orientation.Conjugate()).rotate(toENU.m.rotate(velocity)).vector3()
	o.Twist.Twist.Angular = v.rates.vector3()
	return true
}

// sendLocal publishes pose and velocities set by setLocal.
func (v *Vehicle) sendLocal() {
	o := &v.localState.odometry
	v.pose.Header, v.pose.Pose = o.Header, o.Pose.Pose
	v.out.Send(localPose, &v.pose)
	v.velocity.Header = o.Header
	v.out.Send(localVelocity, &v.velocity)
	v.velocity.Header, v.velocity.Twist = v.header(v.o.BaseFrame), o.Twist.Twist
	v.out.Send(localVelocityBody, &v.velocity)
}

// localAxes are the axes of the frames that ODOMETRY may use.
var localAxes = map[common.MAV_FRAME]axes{
	common.MAV_FRAME_LOCAL_NED: toENU, common.MAV_FRAME_LOCAL_ENU: identity, common.MAV_FRAME_LOCAL_FRD: toFLU,
	common.MAV_FRAME_LOCAL_FLU: identity,
}

// sendOdometry publishes an ODOMETRY message on odometry/in.
func (v *Vehicle) sendOdometry(m *common.MessageOdometry) {
	world, ok := localAxes[m.FrameId]
	q := newQuaternion(m.Q[0], m.Q[1], m.Q[2], m.Q[3])
	toBody := toFLU.m // rotates the velocity
	switch m.ChildFrameId {
	case common.MAV_FRAME_BODY_FRD, common.MAV_FRAME_BODY_NED:
	case m.FrameId:
		toBody = toFLU.m.times(rotation(q.Conjugate()))
	default:
		ok = false
	}
	if !ok {
		v.logOnce(bridge.Warn, "odometry/in is not published: frames %v and %v are not supported", m.FrameId,
			m.ChildFrameId)
		return
	}
	o := &v.external
	o.Header, o.ChildFrameId = v.header(v.o.OdomFrame), v.o.BaseFrame
	o.Pose.Pose.Position = world.m.rotate(newVector(m.X, m.Y, m.Z)).point()
	o.Pose.Pose.Orientation = convertAttitude(q, world, toFLU)
	o.Pose.Covariance = fromTriangle(&m.PoseCovariance).rotated(world.m, world.m)
	o.Twist.Twist.Linear = toBody.rotate(newVector(m.Vx, m.Vy, m.Vz)).vector3()
	o.Twist.Twist.Angular = toFLU.m.rotate(newVector(m.Rollspeed, m.Pitchspeed, m.Yawspeed)).vector3()
	o.Twist.Covariance = fromTriangle(&m.VelocityCovariance).rotated(toBody, toFLU.m)
	v.out.Send(odometryIn, o)
}

// fromBlock returns a covariance with the given upper right triangle in its first three rows and columns, and the given
// standard deviation in the last three.
func fromBlock(xx, xy, xz, yy, yz, zz float32, stdev float64) covariance {
	if math.IsNaN(float64(xx)) {
		return unknownCovariance()
	}
	upper := [21]float32{0: xx, 1: xy, 2: xz, 6: yy, 7: yz, 11: zz}
	c := fromTriangle(&upper)
	c[21], c[28], c[35] = stdev*stdev, stdev*stdev, stdev*stdev
	return c
}
