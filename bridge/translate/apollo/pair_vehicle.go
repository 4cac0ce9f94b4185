package apollo

import (
	"math"

	"tapedeck/codec"
	"tapedeck/codec/encoding/number"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
)

// chassis exchanges only the speed of a Chassis.
func chassis(x exchanger, m *geometry_msgs.TwistStamped) {
	x.number("speed_mps", &m.Twist.Linear.X)
	x.header(&m.Header, vehicleFrame, "")
	rest := m.Twist
	rest.Linear.X = 0
	x.lose(rest != geometry_msgs.Twist{}, "velocities other than forward")
}

// trajectory exchanges an ADCTrajectory. It also writes the length of the path, in m, and its duration, in s.
func trajectory(x exchanger, m *nav_msgs.Path) {
	x.header(&m.Header, worldFrame, "")
	start := m.Header.Stamp.Nanoseconds()
	var length, last float64
	elements(x, "trajectory_point", &m.Poses, func(x exchanger, i int) {
		p := &m.Poses[i]
		at, q := &p.Pose.Position, &p.Pose.Orientation
		if !x.toROS2 {
			if i > 0 {
				before := m.Poses[i-1].Pose.Position
				length += math.Hypot(at.X-before.X, at.Y-before.Y)
			}
			last = 0
			if ns := p.Header.Stamp.Nanoseconds(); ns != 0 {
				last = seconds(ns - start)
			}
			x.lose(p.Header.FrameId != "" && p.Header.FrameId != m.Header.FrameId, "frame_id of poses")
			x.lose(hasRollOrPitch(*q), "roll and pitch of poses")
		}
		x.message("path_point", func(x exchanger) {
			x.number("x", &at.X)
			x.number("y", &at.Y)
			x.number("z", &at.Z)
			x.yaw("theta", q)
			if !x.toROS2 {
				x.out.number("s", length)
			}
		})
		x.number("relative_time", &last)
		if x.toROS2 {
			p.Header = m.Header
			p.Header.Stamp = builtin_interfaces.TimeAt(codec.Later(start, number.Int64(math.Round(last*1e9))))
		}
	})
	if !x.toROS2 {
		x.out.number("total_path_length", length)
		x.out.number("total_path_time", last)
	}
}

// Gears of apollo.canbus.Chassis.GearPosition.
const (
	gearNeutral = 0
	gearDrive   = 1
	gearReverse = 2
	gearLow     = 4
)

// control exchanges a ControlCommand. Apollo uses percentages. Positive steering is left in Apollo and right in CARLA.
func control(x exchanger, m *carla_msgs.CarlaEgoVehicleControl) {
	x.header(&m.Header, "", "")
	x.scaled("throttle", &m.Throttle, 100)
	x.scaled("brake", &m.Brake, 100)
	x.scaled("steering_target", &m.Steer, -100)
	x.bool("parking_brake", &m.HandBrake)
	if x.toROS2 {
		switch x.in.enum("gear_location") {
		case gearDrive, gearLow:
			m.Gear = 1
		case gearReverse:
			m.Gear, m.Reverse = -1, true
		}
		return
	}
	switch {
	case m.Reverse || m.Gear < 0:
		x.out.integer("gear_location", gearReverse)
	case m.Gear > 0:
		x.out.integer("gear_location", gearDrive)
	case m.ManualGearShift:
		x.out.integer("gear_location", gearNeutral)
	}
	x.lose(m.Gear > 1 || m.Gear < -1, "gear")
	x.lose(m.ManualGearShift, "manual_gear_shift")
}
