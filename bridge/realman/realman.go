// Package realman observes arms of RealMan over the JSON protocol of their controllers: it asks over TCP for their
// state, many times a second, and listens to what they push over UDP. It never moves one.
//
// The protocol is that of RealMan's documentation, https://github.com/RealManRobot/rm_docs in docs/robot/json, in all
// forms that controllers of the second to fourth generation write; what the documentation leaves open is as
// https://github.com/RealManRobot/rm_robot and https://github.com/RealManRobot/RM_API2 read it. Numbers on the wire are
// integers in units such as 0.001°; an Update has them in those of SI.
package realman

import "time"

// Units of the speeds of joints that arms push. The documents of the second and third generation, and of the fourth,
// and RM_API2 tell different ones; in rad/s.
const (
	CentidegreesPerSecond = degree / 100
	CentiRPM              = 6 * degree / 100 // 0.01 revolutions per minute
	FiftiethRPM           = 6 * degree / 50  // 0.02 revolutions per minute
)

// Update is what an arm tells at once, in a reply or a packet of its push. What it does not tell is nil, or empty where
// nothing else is said. It is valid until the call that was given it returns.
type Update struct {
	Name   string // of the reply, as the controller says it: "current_arm_state"
	Pushed bool   // it is a packet, not a reply
	// when the arm was so: of a reply halfway between asking and receiving, of a packet when it was received
	Stamp    time.Time
	Received time.Time

	Joints       []float64 // angles in rad; they may be beyond ±π
	Speeds       []float64 // rad/s
	Currents     []float64 // A
	Voltages     []float64 // V
	Temperatures []float64 // °C
	JointErrors  []int     // see JointError
	Enabled      []bool

	Pose       *Pose
	Errors     []int  // those that there are, see SystemError; empty if there is none
	Motion     string // what it does: "idle", "move_J", "current_drag"
	Force      *Force
	Gripper    *Gripper
	Controller *Controller
	Lift       *Lift
	Handle     *Handle
	Model      string // "RM65-BI", and the version of its software
	PushSet    *bool  // whether the controller took what it was told of its push
	Refused    bool   // the controller says that it cannot tell

	has part
}

// Pose is where the tool is: in the work frame that is set in the arm, which is its base unless somebody changed it.
type Pose struct {
	Position   [3]float64 // m
	Quaternion [4]float64 // x, y, z, w, of length 1; from roll, pitch and yaw where the arm tells only these
}

// Force is what a force sensor at the flange feels; one with a single axis feels fz.
type Force struct {
	Raw      [6]float64 // fx, fy, fz in N, mx, my, mz in N·m, in the frame of the sensor
	External [6]float64 // without the weight of the tool
	Frame    Frame      // of External
}

// Frame is where forces are told in.
type Frame int

// Frames of forces.
const (
	SensorFrame Frame = iota
	WorkFrame
	ToolFrame
)

// Gripper is the state of what an arm holds at its end.
type Gripper struct {
	Online bool
	// as the device says it: of RealMan's two-finger gripper 0 (closed) to 1000, of hands one for each finger; empty if
	// offline
	Positions []float64
	Forces    []float64 // N; empty, or one for each of Positions
	Mode      int       // see GripperMode; -1 if it does not tell
	Fault     string    // what is wrong with it, in words; "" if nothing is
}

// Controller is the state of the box that controls an arm.
type Controller struct {
	Voltage     float64 // V
	Current     float64 // A
	Temperature float64 // °C
	Error       int     // 0: none
}

// Lift is the state of the lift that an arm stands on.
type Lift struct {
	Height float64 // m
	Error  int     // see JointError
}

// Handle says which inputs are active of the handle of an arm that is moved by hand to lead another one.
type Handle [2]bool
