package realman

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
)

const (
	degree = math.Pi / 180
	gram   = 9.80665e-3 // N
)

// unit converts numbers on the wire: the number wire is si in SI.
type unit struct{ wire, si float64 }

var (
	whole       = unit{1, 1}
	milli       = unit{1e3, 1}
	micro       = unit{1e6, 1}
	millidegree = unit{1e3, degree}
	grams       = unit{1, gram}
)

// Bounds in SI of plausible values: numbers beyond them are damaged.
const (
	maxAngle       = 1e4 // rad
	maxSpeed       = 1e3
	maxCurrent     = 1e3
	maxVoltage     = 1e3
	maxTemperature = 1e3
	maxPosition    = 1e2 // m
	maxEuler       = 10  // rad
	maxForce       = 1e5
	maxGripper     = 1e6
	maxCode        = 1 << 32
)

// decoder turns replies and packets of one arm into updates. Each call of decode overwrites the last update.
type decoder struct {
	joints int     // number of joints of the arm; 0: as many as the arm reports
	speed  float64 // unit of speeds, in rad/s

	packet     packet
	update     Update
	count      int // of joints, by the first field with a number for each joint
	err        error
	errors     []int
	codes      [MaxJoints]int
	enabled    [MaxJoints]bool
	pose       Pose
	force      Force
	gripper    Gripper
	controller Controller
	lift       Lift
	handle     Handle
	pushSet    bool
}

// quantity is a number that an arm has for each joint.
type quantity struct {
	unit  unit
	limit float64 // in SI
	field fieldSet
}

var (
	angles       = quantity{millidegree, maxAngle, fieldJoints}
	currents     = quantity{micro, maxCurrent, fieldCurrents}
	voltages     = quantity{milli, maxVoltage, fieldVoltages}
	temperatures = quantity{milli, maxTemperature, fieldTemperatures}
	jointErrs    = quantity{whole, maxCode, fieldJointErrors}
	enabledFlags = quantity{whole, maxCode, fieldEnabled}
)

// readers read decoder.packet into decoder.update, by the name of the reply or packet.
var readers = map[string]func(*decoder){
	"realtime_arm_joint_state": (*decoder).readPushed,
	"current_arm_state":        (*decoder).readArmState,
	"joint_degree": func(d *decoder) {
		d.update.Joints = d.perJoint("joint", &d.packet.Joint, angles)
	},
	"joint_en_state": func(d *decoder) { d.readEnabled("en_state", &d.packet.EnState) },
	"joint_err_flag": func(d *decoder) { d.readJointErrors("err_flag", &d.packet.ErrFlag) },
	"current_joint_temperature": func(d *decoder) {
		d.update.Temperatures = d.perJoint("joint_temperature", &d.packet.JointTemperature, temperatures)
	},
	"current_joint_current": func(d *decoder) {
		d.update.Currents = d.perJoint("joint_current", &d.packet.JointCurrent, currents)
	},
	"current_joint_voltage": func(d *decoder) {
		d.update.Voltages = d.perJoint("joint_voltage", &d.packet.JointVoltage, voltages)
	},
	"controller_state":     (*decoder).readController,
	"get_gripper_state":    (*decoder).readGripper,
	"get_force_data":       (*decoder).readForceData,
	"arm_software_info":    (*decoder).readModel,
	"arm_software_version": (*decoder).readModel,
	"set_realtime_push":    (*decoder).readPushSet,
}

// decode reads an object. Other messages of controllers become an update without content. After an error the update has
// its name if that could be read.
func (d *decoder) decode(data []byte) (*Update, error) {
	d.packet, d.update, d.count, d.err = packet{}, Update{}, d.joints, nil
	// A word such as "offline" may replace an object: then its fields are missing.
	var word *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &d.packet); err != nil && !errors.As(err, &word) {
		d.err = fmt.Errorf("%w: %s", err, excerpt(data))
	}
	// The state is a bool in some answers to commands.
	name := string(d.packet.State)
	if _, known := readers[name]; !known && d.packet.Command != "" {
		name = string(d.packet.Command)
	}
	d.update.Name = name
	if name == "" && d.err == nil {
		d.err = fmt.Errorf("there is neither a state nor a command: %s", excerpt(data))
	}
	p := &d.packet
	if read := readers[name]; read != nil && d.err == nil {
		d.update.Refused = name != "set_realtime_push" &&
			(p.State == "false" || p.GetState == "false" || p.ReadState == "false")
		if !d.update.Refused {
			read(d)
		}
	}
	if d.err != nil {
		if name != "" {
			d.err = fmt.Errorf("%.40q: %w", name, d.err)
		}
		return &Update{Name: name}, d.err
	}
	return &d.update, nil
}

// fail keeps the first error, about a field.
func (d *decoder) fail(field, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%s "+format, append([]any{field}, args...)...)
	}
}

// scaled returns the numbers of a field in SI; nil if the field is missing. It fails unless there are least to most
// numbers.
func (d *decoder) scaled(field string, n *numbers, least, most int, u unit, limit float64) []float64 {
	if !n.given {
		return nil
	}
	list := n.list[:n.count]
	if n.err != nil {
		d.fail(field, "%w", n.err)
		return nil
	}
	if n.count < least || n.count > most {
		want := fmt.Sprint(least)
		if most > least {
			want = fmt.Sprintf("%d to %d", least, most)
		}
		d.fail(field, "has %s, want %s", plural.Count(n.count, "number"), want)
		return nil
	}
	for i := range list {
		x := list[i] / u.wire * u.si
		if math.Abs(x) > limit {
			d.fail(field, "has %g, which is implausible", list[i])
			return nil
		}
		list[i] = x
	}
	return list
}

// perJoint returns the numbers of a field with one for each joint.
func (d *decoder) perJoint(field string, n *numbers, q quantity) []float64 {
	least, most := MinJoints, MaxJoints
	if d.count > 0 {
		least, most = d.count, d.count
	}
	list := d.scaled(field, n, least, most, q.unit, q.limit)
	if list != nil {
		d.count = len(list)
		d.update.has |= q.field
	}
	return list
}

// one returns the number of a field, NaN if it is missing.
func (d *decoder) one(field string, n *numbers, u unit, limit float64) float64 {
	if list := d.scaled(field, n, 1, 1, u, limit); list != nil {
		return list[0]
	}
	return math.NaN()
}

// areWhole reports whether the numbers of a field are whole, and fails otherwise.
func (d *decoder) areWhole(field string, list []float64) bool {
	for _, x := range list {
		if x != math.Trunc(x) {
			d.fail(field, "has %g, want a whole number", x)
			return false
		}
	}
	return true
}

// integer returns the whole number of a field, -1 if it is missing.
func (d *decoder) integer(field string, n *numbers) int {
	list := d.scaled(field, n, 1, 1, whole, maxCode)
	if list == nil || !d.areWhole(field, list) {
		return -1
	}
	return int(list[0])
}

// need fails if a field is missing.
func (d *decoder) need(field string, n *numbers) {
	if !n.given {
		d.fail(field, "is missing")
	}
}

// readPushed reads a packet.
func (d *decoder) readPushed() {
	p, j := &d.packet, &d.packet.JointStatus
	d.need("joint_status.joint_position", &j.Position)
	d.update.Joints = d.perJoint("joint_status.joint_position", &j.Position, angles)
	d.update.Speeds = d.perJoint("joint_status.joint_speed", &j.Speed, quantity{unit{1, d.speed}, maxSpeed, 0})
	d.update.Currents = d.perJoint("joint_status.joint_current", &j.Current, currents)
	d.update.Voltages = d.perJoint("joint_status.joint_voltage", &j.Voltage, voltages)
	d.update.Temperatures = d.perJoint("joint_status.joint_temperature", &j.Temperature, temperatures)
	d.readJointErrors("joint_status.joint_err_code", &j.ErrCode)
	d.readEnabled("joint_status.joint_en_flag", &j.EnFlag)
	d.readErrors("", &p.errorCodes)
	d.readWaypoint()
	d.update.Motion = string(p.Motion)
	d.readForce("six_force_sensor.", &p.SixForce, 6)
	d.readForce("one_force_sensor.", &p.OneForce, 1)
	d.readLift()
	d.readHandle()
	d.readHand()
	d.readPlus()
}

func (d *decoder) readJointErrors(field string, n *numbers) {
	list := d.perJoint(field, n, jointErrs)
	if list == nil || !d.areWhole(field, list) {
		return
	}
	for i, x := range list {
		d.codes[i] = int(x)
	}
	d.update.JointErrors = d.codes[:len(list)]
}

func (d *decoder) readEnabled(field string, n *numbers) {
	list := d.perJoint(field, n, enabledFlags)
	for i, x := range list {
		d.enabled[i] = x != 0
	}
	if list != nil {
		d.update.Enabled = d.enabled[:len(list)]
	}
}

func (d *decoder) readHandle() {
	h := &d.packet.Handle
	if h.IO1.given {
		d.handle = Handle{d.integer("aloha_state.io1_state", &h.IO1) == 1,
			d.integer("aloha_state.io2_state", &h.IO2) == 1}
		d.update.Handle = &d.handle
	}
}

func (d *decoder) readArmState() {
	s := &d.packet.ArmState
	d.need("arm_state.joint", &s.Joint)
	d.need("arm_state.pose", &s.Pose)
	d.update.Joints = d.perJoint("arm_state.joint", &s.Joint, angles)
	if pose := d.scaled("arm_state.pose", &s.Pose, 6, 6, whole, math.MaxInt64); pose != nil {
		position, euler := numbers{given: true, count: 3}, numbers{given: true, count: 3}
		copy(position.list[:], pose[:3])
		copy(euler.list[:], pose[3:])
		d.setPose("arm_state.pose", "arm_state.pose", &position, &euler)
	}
	d.readErrors("arm_state.", &s.errorCodes)
}

// readErrors reads the errors of an arm of any generation.
func (d *decoder) readErrors(prefix string, e *errorCodes) {
	if !e.Err.given && !e.ArmErr.given && !e.SysErr.given {
		return
	}
	list := d.errors[:0]
	for _, f := range []struct {
		name string
		n    *numbers
	}{{prefix + "err", &e.Err.numbers}, {prefix + "arm_err", &e.ArmErr}, {prefix + "sys_err", &e.SysErr}} {
		codes := d.scaled(f.name, f.n, 0, maxNumbers, whole, maxCode)
		if !d.areWhole(f.name, codes) {
			return
		}
		for _, code := range codes {
			if code != 0 {
				list = append(list, int(code))
			}
		}
	}
	if list == nil {
		list = []int{}
	}
	d.errors, d.update.Errors = list, list
	d.update.has |= fieldErrors
}

func (d *decoder) readWaypoint() {
	w := &d.packet.Waypoint
	quat := d.scaled("waypoint.quat", &w.Quat, 4, 4, micro, 2)
	switch {
	case !w.Position.given:
	case quat != nil && quat[0] == 0 && quat[1] == 0 && quat[2] == 0 && quat[3] == 0 && w.Euler.given,
		quat == nil && w.Euler.given:
		d.setPose("waypoint.position", "waypoint.euler", &w.Position, &w.Euler)
	case quat == nil:
		d.fail("waypoint.quat", "is missing")
	default:
		length := math.Hypot(math.Hypot(quat[0], quat[1]), math.Hypot(quat[2], quat[3]))
		if length < 0.9 || length > 1.1 {
			d.fail("waypoint.quat", "has the length %.3g, want 1", length)
			return
		}
		d.setPosition("waypoint.position", &w.Position)
		d.pose.Quaternion = [4]float64{quat[1] / length, quat[2] / length, quat[3] / length, quat[0] / length}
	}
}

func (d *decoder) setPosition(field string, n *numbers) {
	if list := d.scaled(field, n, 3, 3, micro, maxPosition); list != nil {
		d.pose.Position = [3]float64(list)
		d.update.Pose = &d.pose
		d.update.has |= fieldPose
	}
}

// setPose sets the pose by a position and angles about the fixed axes x, y and z.
func (d *decoder) setPose(position, euler string, p, e *numbers) {
	d.setPosition(position, p)
	if list := d.scaled(euler, e, 3, 3, milli, maxEuler); list != nil {
		q := &d.pose.Quaternion
		q[0], q[1], q[2], q[3] = align.ToQuaternion(list[0], list[1], list[2])
	}
}

// readForce reads a force sensor with a number of axes.
func (d *decoder) readForce(prefix string, f *force, axes int) {
	if !f.Force.given && !f.ZeroForce.given {
		return
	}
	d.force = Force{}
	d.need(prefix+"zero_force", &f.ZeroForce)
	d.setForce(prefix+"force", &f.Force, axes, &d.force.Raw)
	d.setForce(prefix+"zero_force", &f.ZeroForce, axes, &d.force.External)
	if frame := d.integer(prefix+"coordinate", &f.Coordinate); frame >= 0 {
		d.force.Frame = Frame(frame)
		if d.force.Frame > ToolFrame {
			d.fail(prefix+"coordinate", "is %d, want 0 to %d", frame, ToolFrame)
		}
	}
}

// setForce sets one of the two readings in d.force: six axes, or z alone.
func (d *decoder) setForce(field string, n *numbers, axes int, to *[6]float64) {
	list := d.scaled(field, n, axes, axes, milli, maxForce)
	if list == nil {
		return
	}
	if axes == 1 {
		to[2] = list[0]
	} else {
		*to = [6]float64(list)
	}
	d.update.Force = &d.force
	d.update.has |= fieldForce
}

func (d *decoder) readForceData() {
	d.need("force_data", &d.packet.ForceData)
	d.need("zero_force_data", &d.packet.ZeroForceData)
	d.force = Force{}
	d.setForce("force_data", &d.packet.ForceData, 6, &d.force.Raw)
	d.setForce("zero_force_data", &d.packet.ZeroForceData, 6, &d.force.External)
}

func (d *decoder) readLift() {
	l := &d.packet.Lift
	if !l.Height.given {
		return
	}
	d.lift = Lift{
		Height: d.one("lift_state.height", &l.Height, milli, maxPosition),
		Error:  max(0, d.integer("lift_state.err_flag", &l.ErrFlag)),
	}
	d.update.Lift = &d.lift
}

func (d *decoder) readController() {
	p := &d.packet
	d.need("voltage", &p.Voltage)
	d.controller = Controller{
		Voltage:     d.one("voltage", &p.Voltage, milli, maxVoltage),
		Current:     d.one("current", &p.Current, milli, maxCurrent),
		Temperature: d.one("temperature", &p.Temperature, milli, maxTemperature),
		Error:       max(0, d.integer("err_flag", &p.ErrFlag)),
	}
	d.update.Controller = &d.controller
	d.update.has |= fieldController
}

func (d *decoder) readGripper() {
	p := &d.packet
	d.need("actpos", &p.ActPos)
	d.setGripper(Gripper{
		Online:    d.integer("status", &p.Status) != 0,
		Positions: d.scaled("actpos", &p.ActPos, 1, 1, whole, maxGripper),
		Forces:    d.scaled("current_force", &p.CurrentForce, 1, 1, grams, maxForce),
		Mode:      d.integer("mode", &p.Mode),
		Fault:     bits(max(0, d.integer("error", &p.Error)), gripperErrors),
	})
}

func (d *decoder) setGripper(g Gripper) {
	d.gripper = g
	d.update.Gripper = &d.gripper
	d.update.has |= fieldGripper
}

// readHand reads the fingers of a hand, pushed by arms of the fourth generation.
func (d *decoder) readHand() {
	h := &d.packet.Hand
	field, pos := "hand.hand_pos", &h.HandPos
	if !pos.given {
		field, pos = "hand.pos", &h.Pos
	}
	if !pos.given {
		return
	}
	g := Gripper{Online: true, Mode: -1, Fault: fault(d.integer("hand.hand_err", &h.HandErr))}
	g.Positions = d.scaled(field, pos, 1, maxNumbers, whole, maxGripper)
	if h.HandForce.count == pos.count {
		g.Forces = d.scaled("hand.hand_force", &h.HandForce, 1, maxNumbers, milli, maxForce)
	}
	d.setGripper(g)
}

// fault describes an error code of a device.
func fault(code int) string {
	if code <= 0 {
		return ""
	}
	return fmt.Sprintf("error %d", code)
}

// plusModes are the values of Gripper.Mode by the state of a device of the fourth generation.
var plusModes = []int{0: 5, 1: 4, 2: 3, 3: 6, 4: 6, 5: 3, 6: 3}

// readPlus reads the gripper or hand pushed by arms of the fourth generation.
func (d *decoder) readPlus() {
	s := &d.packet.PlusState
	if !s.Pos.given {
		return
	}
	g := Gripper{Online: true, Mode: -1, Fault: fault(d.integer("rm_plus_state.sys_err", &s.SysErr))}
	g.Positions = d.scaled("rm_plus_state.pos", &s.Pos, 1, maxNumbers, whole, maxGripper)
	g.Forces = d.scaled("rm_plus_state.force", &s.Force, 1, maxNumbers, milli, maxForce)
	states := d.scaled("rm_plus_state.dof_state", &s.DofState, 1, maxNumbers, whole, maxCode)
	if n := d.integer("rm_plus_base.dof", &d.packet.PlusBase.DoF); n > 0 && n < len(g.Positions) {
		g.Positions = g.Positions[:n] // the rest is padding
	}
	if n := len(g.Positions); len(g.Forces) >= n {
		g.Forces = g.Forces[:n]
	} else {
		g.Forces = nil
	}
	if len(g.Positions) == 1 && len(states) > 0 && states[0] >= 0 && int(states[0]) < len(plusModes) {
		g.Mode = plusModes[int(states[0])]
	}
	d.setGripper(g)
}

func (d *decoder) readModel() {
	d.update.has |= fieldModel
	d.update.Model = string(d.packet.Product)
	if v := d.packet.CtrlInfo.Version; v != "" {
		d.update.Model += " " + string(v)
	}
}

func (d *decoder) readPushSet() {
	d.pushSet = d.packet.State == "true"
	d.update.PushSet = &d.pushSet
}
