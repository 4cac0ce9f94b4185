// Package hardware has the options of cameras and arms, which their publishers and the recorder share.
package hardware

import (
	"strconv"
	"strings"
	"time"
)

// Arm describes an arm: an entry of arm_publisher's parameter arms.
type Arm struct {
	Host         string   `param:"host" flag:"-" group:"Arm" help:"name or address of the arm's controller"`
	Port         int      `param:"port" group:"Arm" min:"1" max:"65535" help:"TCP port of the arm's controller"`
	Joints       int      `param:"joints" group:"Arm" min:"0" max:"7" help:"number of joints; 0 is as many as the arm reports"`
	JointNames   []string `param:"joint_names" flag:"joint-name" group:"Arm" value:"NAME" help:"names of the joints; by default joint1, joint2 and so on"`
	BaseFrame    string   `param:"base_frame" group:"Arm" value:"NAME" help:"coordinate frame of the poses that the arm reports; by default the name of the arm and _base_link"`
	ToolFrame    string   `param:"tool_frame" group:"Arm" value:"NAME" help:"coordinate frame of the tool, for forces reported in it; by default the name of the arm and _tool"`
	ForceFrame   string   `param:"force_frame" group:"Arm" value:"NAME" help:"coordinate frame of the force sensor; by default the name of the arm and _force_sensor"`
	Wrench       string   `param:"wrench" group:"Arm" options:"external|raw" help:"forces without the weight of the tool (external), or as the sensor measures them (raw)"`
	Effort       string   `param:"effort" group:"Arm" options:"none|current" help:"efforts in joint_states: none, because arms report no torques, or the currents in A of the joints, if the arm pushes them"`
	GripperRange string   `param:"gripper_range" group:"Arm" value:"CLOSED:OPEN" pattern:"[0-9]+(\\.[0-9]+)?:[0-9]+(\\.[0-9]+)?" help:"reading of the gripper when closed and when open, for the metadata of sessions"`

	Rate         float64       `param:"rate" group:"Requests" min:"0" max:"500" help:"state requests per second; 0 requests nothing and opens no connection"`
	Query        string        `param:"query" group:"Requests" options:"state|joints" help:"what to request: angles of joints, pose and errors (state), or only the angles (joints)"`
	GripperRate  float64       `param:"gripper_rate" group:"Requests" min:"0" max:"500" help:"gripper requests per second; 0 is never"`
	ForceRate    float64       `param:"force_rate" group:"Requests" min:"0" max:"500" help:"requests per second to the six-axis force sensor; 0 is never; controllers of the second generation need 50ms between requests"`
	StatusRate   float64       `param:"status_rate" group:"Requests" min:"0" max:"100" help:"requests per second for errors, temperatures, currents and voltages of the joints, and for the state of the controller; 0 is never"`
	ReplyTimeout time.Duration `param:"reply_timeout" group:"Requests" min:"1ms" help:"time limit for connecting, and for a reply before it counts as missing"`
	Silence      time.Duration `param:"silence" group:"Requests" min:"10ms" help:"reconnect if nothing arrives for this long, in addition to the time between requests and the reply_timeout"`
	Retry        time.Duration `param:"retry" group:"Requests" min:"1ms" help:"wait this long before reconnecting; the time grows up to 10 times as long"`

	Push       string        `param:"push" group:"Push" options:"none|listen|set" help:"data that the arm sends unasked over UDP: ignore it (none), receive it (listen), or also configure the arm to send it (set)"`
	PushPort   int           `param:"push_port" group:"Push" min:"0" max:"65535" help:"UDP port that the arm pushes to; 0 is any port, with push set"`
	PushIP     string        `param:"push_ip" group:"Push" value:"ADDRESS" help:"address that the arm is told to push to; by default that of this machine"`
	PushCycle  time.Duration `param:"push_cycle" group:"Push" min:"5ms" max:"10s" help:"push period to configure, in steps of 5ms"`
	PushFields []string      `param:"push_fields" flag:"push-field" group:"Push" value:"FIELD" options:"joint_speed|arm_current_status|hand|rm_plus_state|rm_plus_base|lift_state|aloha_state" help:"further fields to push: joint_speed, arm_current_status, hand, rm_plus_state, rm_plus_base, lift_state, aloha_state"`
	PushForce  string        `param:"push_force" group:"Push" options:"sensor|work|tool" help:"frame of the external forces to push"`
	SpeedUnit  string        `param:"speed_unit" group:"Push" options:"0.01deg/s|0.01rpm|0.02rpm" help:"unit of the speeds that the arm pushes, on which its documents disagree"`
}

// DefaultArm returns the defaults of an arm.
func DefaultArm() Arm {
	return Arm{
		Port: 8080, Wrench: "external", Effort: "none", GripperRange: "0:1000", Rate: 50, Query: "state",
		GripperRate: 20, StatusRate: 1, ReplyTimeout: time.Second, Silence: 3 * time.Second,
		Retry: 500 * time.Millisecond, Push: "listen", PushPort: 8089, PushCycle: 5 * time.Millisecond,
		PushFields: []string{"joint_speed", "arm_current_status"}, PushForce: "sensor", SpeedUnit: "0.01deg/s",
	}
}

// Positions returns the reading of the closed and of the open gripper.
func (a *Arm) Positions() [2]float64 {
	closed, open, _ := strings.Cut(a.GripperRange, ":")
	var r [2]float64
	for i, text := range []string{closed, open} {
		r[i], _ = strconv.ParseFloat(text, 64) // it fits the pattern
	}
	return r
}

// Metadata returns the metadata of the arm in sessions, under EasyTeleop's names.
func (a *Arm) Metadata() map[string]any {
	m := map[string]any{"type": "RealMan", "ip": a.Host, "port": a.Port}
	if a.Joints > 0 {
		m["joints"] = a.Joints
	} else if n := len(a.JointNames); n > 0 {
		m["joints"] = n
	}
	return m
}
