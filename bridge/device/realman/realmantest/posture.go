package realmantest

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Posture is the state of an arm in the units of the protocol.
type Posture struct {
	Joints      []int  // 0.001°
	Speeds      []int  // of packets; nil: there are none
	Position    [3]int // 0.000001 m
	Euler       [3]int // 0.001 rad
	Quaternion  [4]int // w, x, y, z in 0.000001
	Errors      []int
	JointErrors []int // nil: none
	Current     int   // of each joint, 0.000001 A
	Temperature int   // of each joint and of the controller, 0.001 °C
	Gripper     int   // 0 to 1000; -1: there is none
	Grip        int   // g
	Mode        int   // of the gripper
	Force       []int // 0.001 N and N·m; nil: there is no sensor
}

// Still is a state of a real arm with six joints.
var Still = Posture{
	Joints: []int{-1968, -35327, 62138, 165412, -9854, -293299}, Speeds: []int{0, 0, 0, 0, 0, 1},
	Position: [3]int{-86608, 11750, 820234}, Euler: [3]int{-447, 551, 2325},
	Quaternion: [4]int{316706, -328490, -90433, 885218},
	Current:    -79000, Temperature: 35000, Gripper: 150, Grip: 100, Mode: 1,
}

// Moving returns the motion of an arm with a number of joints: each moves back and forth by 30°, out of phase.
func Moving(joints int) func(time.Duration) Posture {
	return func(since time.Duration) Posture {
		p := Still
		p.Joints, p.Speeds = make([]int, joints), make([]int, joints)
		for i := range p.Joints {
			sin, cos := math.Sincos(since.Seconds() + float64(i))
			p.Joints[i] = int(30000 * sin)
			p.Speeds[i] = int(3000 * cos)
		}
		sin, _ := math.Sincos(since.Seconds())
		p.Position[0] += int(100000 * sin)
		p.Gripper = int(500 + 500*sin)
		return p
	}
}

func (p *Posture) perJoint(value int) []int {
	return slices.Repeat([]int{value}, len(p.Joints))
}

func (p *Posture) jointErrors() []int {
	if p.JointErrors == nil {
		return p.perJoint(0)
	}
	return p.JointErrors
}

// addErrors adds the errors in the form of a generation.
func (p *Posture) addErrors(to object, generation int) {
	list := p.Errors
	if len(list) == 0 {
		list = []int{0}
	}
	switch generation {
	case 2:
		to["arm_err"], to["sys_err"] = list[0], 0
	case 3:
		to["err"] = list
	default:
		to["err"] = object{"err_len": len(list), "err_code": list}
	}
}

type object map[string]any

func (o object) String() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // all values can be marshalled
	}
	return string(text)
}

// reply returns the reply to a command, "" if the command is unknown.
func (p Posture) reply(command string, generation int) string {
	switch command {
	case "get_current_arm_state":
		state := object{"joint": p.Joints, "pose": append(p.Position[:], p.Euler[:]...)}
		p.addErrors(state, generation)
		return object{"state": "current_arm_state", "arm_state": state}.String()
	case "get_joint_degree":
		return object{"state": "joint_degree", "joint": p.Joints}.String()
	case "get_joint_en_state":
		return object{"state": "joint_en_state", "en_state": p.perJoint(1)}.String()
	case "get_joint_err_flag":
		return object{"state": "joint_err_flag", "err_flag": p.jointErrors(), "brake_state": p.perJoint(0)}.String()
	case "get_current_joint_temperature":
		return object{"state": "current_joint_temperature", "joint_temperature": p.perJoint(p.Temperature)}.String()
	case "get_current_joint_current":
		return object{"state": "current_joint_current", "joint_current": p.perJoint(p.Current)}.String()
	case "get_current_joint_voltage":
		return object{"state": "current_joint_voltage", "joint_voltage": p.perJoint(23000)}.String()
	case "get_controller_state":
		return object{"state": "controller_state", "voltage": 24000, "current": 1500, "temperature": p.Temperature,
			"err_flag": 0}.String()
	case "get_gripper_state":
		online := 1
		if p.Gripper < 0 {
			online = 0
		}
		return object{"command": command, "enable": 1, "status": online, "error": 0, "mode": p.Mode,
			"current_force": p.Grip, "temperature": 40, "actpos": max(0, p.Gripper)}.String()
	case "get_force_data":
		if p.Force == nil {
			return object{"command": command, "state": false}.String()
		}
		return object{"command": command, "force_data": p.Force, "zero_force_data": p.Force}.String()
	case "get_arm_software_info":
		if generation > 2 {
			return object{"command": "arm_software_info", "Product_version": "RM65-BI",
				"ctrl_info": object{"version": "V1.4.6"}}.String()
		}
	case "get_arm_software_version":
		if generation == 2 {
			return object{"state": "arm_software_version", "Product_version": "RM65-B",
				"Ctrl_version": 7014147}.String()
		}
	}
	return ""
}

// packet returns the packet that an arm pushes.
func (p Posture) packet(generation int) string {
	status := object{
		"joint_current": p.perJoint(p.Current), "joint_en_flag": p.perJoint(1), "joint_err_code": p.jointErrors(),
		"joint_position": p.Joints, "joint_temperature": p.perJoint(p.Temperature), "joint_voltage": p.perJoint(23000),
	}
	if p.Speeds != nil {
		status["joint_speed"] = p.Speeds
	}
	waypoint := object{"position": p.Position, "euler": p.Euler, "quat": p.Quaternion}
	all := object{"state": "realtime_arm_joint_state", "joint_status": status, "waypoint": waypoint,
		"arm_current_status": "idle"}
	p.addErrors(all, generation)
	if p.Force != nil {
		all["six_force_sensor"] = object{"force": p.Force, "zero_force": p.Force, "coordinate": 0}
	}
	if generation > 3 {
		waypoint["position"] = object{"x": p.Position[0], "y": p.Position[1], "z": p.Position[2]}
		if p.Gripper >= 0 {
			all["rm_plus_state"] = object{"pos": []int{p.Gripper}, "force": []int{p.Grip}, "dof_state": []int{2},
				"sys_err": 0}
			all["rm_plus_base"] = object{"type": 1, "dof": 1}
		}
	}
	return all.String()
}
