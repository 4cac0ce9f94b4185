package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/device/realman"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/nodes/internal/hardware"
)

// arm publishes one arm.
type arm struct {
	name    string
	options *hardware.Arm
	node    bridge.Node
	arm     *realman.Arm
	base    string // frame of the base
	tool    string // frame of the tool
	sensor  string // frame of the force sensor

	// Messages, reused: realman.Arm does not call handle concurrently.
	jointStates sensor_msgs.JointState
	toolPose    geometry_msgs.PoseStamped
	wrench      geometry_msgs.WrenchStamped
	gripper     sensor_msgs.JointState

	topics *rospub.Topics

	mu       sync.Mutex // guards the fields below
	latest   latest
	watch    watch
	problems problemLog
}

// newArm prepares an arm and advertises the topics that every arm has.
func newArm(name string, o *hardware.Arm, node bridge.Node) (*arm, error) {
	a := &arm{
		name: name, options: o, node: node, topics: rospub.NewTopics(node, name),
		base:   cmp.Or(o.BaseFrame, name+"_base_link"),
		tool:   cmp.Or(o.ToolFrame, name+"_tool"),
		sensor: cmp.Or(o.ForceFrame, name+"_force_sensor"),
	}
	a.arm = &realman.Arm{
		Host: o.Host, Port: o.Port, Joints: cmp.Or(len(o.JointNames), o.Joints), SpeedUnit: speedUnits[o.SpeedUnit],
		Polls: polls(o), Timeout: o.ReplyTimeout, Silence: o.Silence, Retry: o.Retry,
		Fresh:  freshCycles * max(o.PushCycle, minFresh/freshCycles),
		Handle: a.handle, Problem: a.problem,
	}
	if o.Push == pushSet {
		a.arm.Push = &realman.Push{Cycle: o.PushCycle, IP: o.PushIP, ForceFrame: pushForces[o.PushForce],
			Fields: o.PushFields}
	}
	for topic, m := range map[string]msgs.Message{"joint_states": &a.jointStates, "tool_pose": &a.toolPose} {
		if _, err := a.topics.Topic(topic, m, codec.DefaultQoS()); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Values that were pushed within freshCycles cycles, or within minFresh, are not queried.
const (
	freshCycles = 5
	minFresh    = 250 * time.Millisecond
)

var speedUnits = map[string]float64{
	"0.01deg/s": realman.CentidegreesPerSecond, "0.01rpm": realman.CentiRPM, "0.02rpm": realman.FiftiethRPM,
}

var pushForces = map[string]realman.Frame{"sensor": realman.SensorFrame, "work": realman.WorkFrame,
	"tool": realman.ToolFrame}

// polls returns the queries of an arm.
func polls(o *hardware.Arm) []realman.Poll {
	if o.Rate == 0 {
		return nil
	}
	var list []realman.Poll
	add := func(rate float64, commands ...string) {
		for _, command := range commands {
			if rate > 0 {
				list = append(list, realman.Poll{Command: command, Period: period(rate)})
			}
		}
	}
	if o.Query == "joints" {
		add(o.Rate, "get_joint_degree")
	} else {
		add(o.Rate, "get_current_arm_state")
	}
	add(o.GripperRate, "get_gripper_state")
	add(o.ForceRate, "get_force_data")
	add(o.StatusRate, "get_controller_state", "get_joint_err_flag", "get_joint_en_state",
		"get_current_joint_temperature", "get_current_joint_current", "get_current_joint_voltage")
	// Each generation of controllers knows only one of the two: the second one get_arm_software_version.
	add(1/longest.Seconds(), "get_arm_software_info", "get_arm_software_version")
	return list
}

// longest is the longest period of a query.
const longest = time.Hour

// period returns the period of a rate in Hz.
func period(rate float64) time.Duration {
	return time.Duration(min(1/rate, longest.Seconds()) * float64(time.Second))
}

// send publishes m on a topic.
func (a *arm) send(topic string, m msgs.Message) {
	t, err := a.topics.Topic(topic, m, codec.DefaultQoS())
	if err == nil {
		err = t.Send(m)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		a.problem(fmt.Errorf("publish %s/%s: %w", a.name, topic, err))
	}
}

// handle publishes an update.
func (a *arm) handle(u *realman.Update) {
	a.mu.Lock()
	a.latest.update(u)
	a.mu.Unlock()
	stamp := builtin_interfaces.TimeAt(u.Stamp.UnixNano())
	if u.Joints != nil {
		a.setJoints(u)
		a.jointStates.Header.Stamp = stamp
		a.send("joint_states", &a.jointStates)
	}
	if p := u.Pose; p != nil {
		q := p.Quaternion
		a.toolPose = geometry_msgs.PoseStamped{
			Header: std_msgs.Header{Stamp: stamp, FrameId: a.base},
			Pose: geometry_msgs.Pose{
				Position:    geometry_msgs.Point{X: p.Position[0], Y: p.Position[1], Z: p.Position[2]},
				Orientation: geometry_msgs.Quaternion{X: q[0], Y: q[1], Z: q[2], W: q[3]},
			},
		}
		a.send("tool_pose", &a.toolPose)
	}
	if u.Force != nil {
		a.setForce(u.Force)
		a.wrench.Header.Stamp = stamp
		a.send("wrench", &a.wrench)
	}
	if g := u.Gripper; g != nil && len(g.Positions) > 0 && g.Online {
		a.setGripper(g)
		a.gripper.Header.Stamp = stamp
		a.send("gripper", &a.gripper)
	}
}

// setJoints sets the JointState of the joints. Angles are not wrapped.
func (a *arm) setJoints(u *realman.Update) {
	m := &a.jointStates
	if len(m.Name) != len(u.Joints) {
		m.Name = a.options.JointNames
		if len(m.Name) == 0 {
			m.Name = nil
			for i := range u.Joints {
				m.Name = append(m.Name, fmt.Sprint("joint", i+1))
			}
		}
	}
	m.Position, m.Velocity, m.Effort = u.Joints, u.Speeds, nil
	if a.options.Effort == "current" {
		m.Effort = u.Currents
	}
}

// setForce sets the WrenchStamped.
func (a *arm) setForce(f *realman.Force) {
	forces, frame := f.External, [...]string{realman.SensorFrame: a.sensor, realman.WorkFrame: a.base,
		realman.ToolFrame: a.tool}[f.Frame]
	if a.options.Wrench == "raw" {
		forces, frame = f.Raw, a.sensor
	}
	a.wrench.Header.FrameId = frame
	a.wrench.Wrench.Force = geometry_msgs.Vector3{X: forces[0], Y: forces[1], Z: forces[2]}
	a.wrench.Wrench.Torque = geometry_msgs.Vector3{X: forces[3], Y: forces[4], Z: forces[5]}
}

// setGripper sets the JointState of the gripper. Its names are columns of session tables, its positions their values.
func (a *arm) setGripper(g *realman.Gripper) {
	m := &a.gripper
	m.Name, m.Position = m.Name[:0], m.Position[:0]
	add := func(name string, i, n int, x float64) {
		if n > 1 {
			name = fmt.Sprintf("%s_%d", name, i)
		}
		m.Name, m.Position = append(m.Name, name), append(m.Position, x)
	}
	for i, x := range g.Positions {
		add("position", i, len(g.Positions), x)
	}
	for i, x := range g.Forces {
		add("force", i, len(g.Forces), x)
	}
	add("status", 0, 1, 1)
	if g.Mode >= 0 {
		add("mode", 0, 1, float64(g.Mode))
	}
}
