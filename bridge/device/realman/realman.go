// Package realman observes arms of RealMan over the JSON protocol of their controllers: it queries their state over TCP
// many times a second, and receives their pushed packets over UDP. It never moves an arm.
//
// RealMan documents the protocol in https://github.com/RealManRobot/rm_docs in docs/robot/json, in all
// forms that controllers of the second to fourth generation write. Where the documentation is silent, the package
// follows https://github.com/RealManRobot/rm_robot and https://github.com/RealManRobot/RM_API2. Numbers on the wire are
// integers in units such as 0.001°; an Update has SI units.
package realman

import "time"

// Smallest and largest number of joints of RealMan's arms.
const (
	MinJoints = 6
	MaxJoints = 7
)

// Possible units of the joint speeds that arms push, in rad/s. RealMan's documentation names one for the second and
// third generation and another one for the fourth. RM_API2 names the third.
const (
	CentidegreesPerSecond = degree / 100
	CentiRPM              = 6 * degree / 100 // 0.01 revolutions per minute
	FiftiethRPM           = 6 * degree / 50  // 0.02 revolutions per minute
)

// Update is the content of one reply or pushed packet. Missing fields are nil, or empty unless documented otherwise. An
// Update is valid until the call that receives it returns.
type Update struct {
	Name   string // of the reply, as the controller spells it: "current_arm_state"
	Pushed bool   // it is a packet, not a reply
	// When the arm had this state: for a reply, halfway between request and reception; for a packet, its reception.
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
	Errors     []int  // see SystemError; empty if there are none
	Motion     string // "idle", "move_J", "current_drag"
	Force      *Force
	Gripper    *Gripper
	Controller *Controller
	Lift       *Lift
	Handle     *Handle
	Model      string // "RM65-BI", and the version of its software
	PushSet    *bool  // whether the controller accepted the configuration of its push
	Refused    bool   // the controller reports that it cannot answer

	has fieldSet // the present fields
}

// Pose is the pose of the tool in the work frame that is set in the arm, by default its base.
type Pose struct {
	Position   [3]float64 // m
	Quaternion [4]float64 // x, y, z, w, of length 1; from roll, pitch and yaw if the arm sends only these
}

// Force is the reading of a force sensor at the flange; a sensor with a single axis measures fz.
type Force struct {
	Raw      [6]float64 // fx, fy, fz in N, mx, my, mz in N·m, in the frame of the sensor
	External [6]float64 // without the weight of the tool
	Frame    Frame      // of External
}

// Frame is the coordinate frame of forces.
type Frame int

// Frames of forces.
const (
	SensorFrame Frame = iota
	WorkFrame
	ToolFrame
)

// Gripper is the state of the gripper or hand of an arm.
type Gripper struct {
	Online bool
	// In the device's unit: 0 (closed) to 1000 for RealMan's two-finger gripper; one for each finger of a hand; empty
	// if offline.
	Positions []float64
	Forces    []float64 // N; empty, or one for each of Positions
	Mode      int       // see GripperMode; -1: unknown
	Fault     string    // in words; "" if there is none
}

// Controller is the state of the box that controls an arm.
type Controller struct {
	Voltage     float64 // V
	Current     float64 // A
	Temperature float64 // °C
	Error       int     // 0: none
}

// Lift is the state of the lift below an arm.
type Lift struct {
	Height float64 // m
	Error  int     // see JointError
}

// Handle is the state of the two inputs of a teaching handle; true is active.
type Handle [2]bool
