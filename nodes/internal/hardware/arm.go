package hardware

import (
	"strconv"
	"strings"
	"time"
)

// Arm says where an arm is and what it has: an entry of arm_publisher's parameter arms.
type Arm struct {
	Host         string   `param:"host" flag:"-" group:"Arm" help:"name or address of the arm's controller"`
	Port         int      `param:"port" group:"Arm" min:"1" max:"65535" help:"TCP port of the arm's controller"`
	Joints       int      `param:"joints" group:"Arm" min:"0" max:"7" help:"how many joints the arm has; 0: as many as it tells of"`
	JointNames   []string `param:"joint_names" flag:"joint-name" group:"Arm" value:"NAME" help:"what the joints are called; by default joint1, joint2 and on"`
	BaseFrame    string   `param:"base_frame" group:"Arm" value:"NAME" help:"coordinate frame that the arm tells poses in; by default the name of the arm and _base_link"`
	ToolFrame    string   `param:"tool_frame" group:"Arm" value:"NAME" help:"coordinate frame of the tool, for forces told in it; by default the name of the arm and _tool"`
	ForceFrame   string   `param:"force_frame" group:"Arm" value:"NAME" help:"coordinate frame of the force sensor; by default the name of the arm and _force_sensor"`
	Wrench       string   `param:"wrench" group:"Arm" options:"external|raw" help:"forces without the weight of the tool, or as the sensor feels them"`
	Effort       string   `param:"effort" group:"Arm" options:"none|current" help:"what joint_states has for efforts: nothing, for arms tell no torques, or the currents in A of the joints that are pushed"`
	GripperRange string   `param:"gripper_range" group:"Arm" value:"CLOSED:OPEN" pattern:"[0-9]+(\\.[0-9]+)?:[0-9]+(\\.[0-9]+)?" help:"what the gripper tells when it is closed and when it is open, for the metadata of sessions"`

	Rate         float64       `param:"rate" group:"Asking" min:"0" max:"500" help:"how often a second the arm is asked for its state; 0: it is asked nothing, and there is no connection"`
	Query        string        `param:"query" group:"Asking" options:"state|joints" help:"what is asked for: angles of joints, pose and errors, or the angles alone"`
	GripperRate  float64       `param:"gripper_rate" group:"Asking" min:"0" max:"500" help:"how often a second the arm is asked for its gripper; 0 is never"`
	ForceRate    float64       `param:"force_rate" group:"Asking" min:"0" max:"500" help:"how often a second the arm is asked for its six-axis force sensor; 0 is never; controllers of the second generation need 50ms from one to the next"`
	StatusRate   float64       `param:"status_rate" group:"Asking" min:"0" max:"100" help:"how often a second the arm is asked for errors, temperatures, currents and voltages of its joints, and for its controller; 0 is never"`
	ReplyTimeout time.Duration `param:"reply_timeout" group:"Asking" min:"1ms" help:"how long a connection is waited for, and a reply until it is counted as missing"`
	Silence      time.Duration `param:"silence" group:"Asking" min:"10ms" help:"give a connection up on which nothing came for so long, beside the time from one question to the next, and a reply that did not"`
	Retry        time.Duration `param:"retry" group:"Asking" min:"1ms" help:"how long to wait before another connection; longer each time, up to 10 times as long"`

	Push       string        `param:"push" group:"Push" options:"none|listen|set" help:"whether to listen to what the arm pushes, and whether to tell it to push, which changes its configuration"`
	PushPort   int           `param:"push_port" group:"Push" min:"0" max:"65535" help:"UDP port that the arm pushes to; 0: any, if it is told to"`
	PushIP     string        `param:"push_ip" group:"Push" value:"ADDRESS" help:"whom the arm is told to push to; by default this machine"`
	PushCycle  time.Duration `param:"push_cycle" group:"Push" min:"5ms" max:"10s" help:"how often the arm is told to push, in steps of 5ms"`
	PushFields []string      `param:"push_fields" flag:"push-field" group:"Push" value:"FIELD" options:"joint_speed|arm_current_status|hand|rm_plus_state|rm_plus_base|lift_state|aloha_state" help:"what the arm is told to push besides: joint_speed, arm_current_status, hand, rm_plus_state, rm_plus_base, lift_state, aloha_state"`
	PushForce  string        `param:"push_force" group:"Push" options:"sensor|work|tool" help:"the frame in which the arm is told to push external forces"`
	SpeedUnit  string        `param:"speed_unit" group:"Push" options:"0.01deg/s|0.01rpm|0.02rpm" help:"unit of the speeds that the arm pushes, of which its documents tell different ones"`
}

// DefaultArm returns what holds for an arm of which nothing else is said.
func DefaultArm() Arm {
	return Arm{
		Port: 8080, Wrench: "external", Effort: "none", GripperRange: "0:1000",
		Rate: 50, Query: "state", GripperRate: 20, StatusRate: 1, ReplyTimeout: time.Second, Silence: 3 * time.Second,
		Retry: 500 * time.Millisecond,
		Push:  "listen", PushPort: 8089, PushCycle: 5 * time.Millisecond,
		PushFields: []string{"joint_speed", "arm_current_status"}, PushForce: "sensor",
		SpeedUnit: "0.01deg/s",
	}
}

// Positions returns what the gripper tells when it is closed and when it is open.
func (a *Arm) Positions() [2]float64 {
	closed, open, _ := strings.Cut(a.GripperRange, ":")
	var r [2]float64
	for i, text := range []string{closed, open} {
		r[i], _ = strconv.ParseFloat(text, 64) // it fits the pattern
	}
	return r
}

// metadata returns what sessions tell of the arm, under the names that EasyTeleop has for it.
func (a *Arm) metadata() map[string]any {
	m := map[string]any{"type": "RealMan", "ip": a.Host, "port": a.Port}
	if a.Joints > 0 {
		m["joints"] = a.Joints
	} else if n := len(a.JointNames); n > 0 {
		m["joints"] = n
	}
	return m
}
