// Package hardware has the options of cameras and arms, which their publishers and the recorder share.
package hardware

import (
	_ "embed"
	"strconv"
	"strings"
	"time"
)

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// Arm describes an arm: an entry of arm_publisher's parameter arms.
type Arm struct {
	Host         string   `param:"host" flag:"-" group:"Arm"`
	Port         int      `param:"port" group:"Arm" min:"1" max:"65535"`
	Joints       int      `param:"joints" group:"Arm" min:"0" max:"7"`
	JointNames   []string `param:"joint_names" flag:"joint-name" group:"Arm" value:"NAME"`
	BaseFrame    string   `param:"base_frame" group:"Arm" value:"NAME"`
	ToolFrame    string   `param:"tool_frame" group:"Arm" value:"NAME"`
	ForceFrame   string   `param:"force_frame" group:"Arm" value:"NAME"`
	Wrench       string   `param:"wrench" group:"Arm" options:"external|raw"`
	Effort       string   `param:"effort" group:"Arm" options:"none|current"`
	GripperRange string   `param:"gripper_range" group:"Arm" value:"CLOSED:OPEN"`

	Rate         float64       `param:"rate" group:"Requests" min:"0" max:"500"`
	Query        string        `param:"query" group:"Requests" options:"state|joints"`
	GripperRate  float64       `param:"gripper_rate" group:"Requests" min:"0" max:"500"`
	ForceRate    float64       `param:"force_rate" group:"Requests" min:"0" max:"500"`
	StatusRate   float64       `param:"status_rate" group:"Requests" min:"0" max:"100"`
	ReplyTimeout time.Duration `param:"reply_timeout" group:"Requests" min:"1ms"`
	Silence      time.Duration `param:"silence" group:"Requests" min:"10ms"`
	Retry        time.Duration `param:"retry" group:"Requests" min:"1ms"`

	Push       string        `param:"push" group:"Push" options:"none|listen|set"`
	PushPort   int           `param:"push_port" group:"Push" min:"0" max:"65535"`
	PushIP     string        `param:"push_ip" group:"Push" value:"ADDRESS"`
	PushCycle  time.Duration `param:"push_cycle" group:"Push" min:"5ms" max:"10s"`
	PushFields []string      `param:"push_fields" flag:"push-field" group:"Push" value:"FIELD"`
	PushForce  string        `param:"push_force" group:"Push" options:"sensor|work|tool"`
	SpeedUnit  string        `param:"speed_unit" group:"Push" options:"0.01deg/s|0.01rpm|0.02rpm"`
}

// OptionTexts returns the help texts of the options.
func (*Arm) OptionTexts() string { return optionTexts }

// DefaultArm returns the defaults of an arm.
func DefaultArm() Arm {
	return Arm{
		Port: 8080, Wrench: "external", Effort: "none", GripperRange: "0:1000", Rate: 50, Query: "state",
		GripperRate: 20, StatusRate: 1, ReplyTimeout: time.Second, Silence: 3 * time.Second,
		Retry: 500 * time.Millisecond, Push: "listen", PushPort: 8089, PushCycle: 5 * time.Millisecond,
		PushFields: []string{"joint_speed", "arm_current_status"}, PushForce: "sensor", SpeedUnit: "0.01deg/s",
	}
}

// Positions returns the readings of the closed and the open gripper.
func (a *Arm) Positions() [2]float64 {
	closed, open, _ := strings.Cut(a.GripperRange, ":")
	var r [2]float64
	for i, text := range []string{closed, open} {
		r[i], _ = strconv.ParseFloat(text, 64)
	}
	return r
}

// Metadata returns the metadata of the arm in sessions, with EasyTeleop's names.
func (a *Arm) Metadata() map[string]any {
	m := map[string]any{"type": "RealMan", "ip": a.Host, "port": a.Port}
	if a.Joints > 0 {
		m["joints"] = a.Joints
	} else if n := len(a.JointNames); n > 0 {
		m["joints"] = n
	}
	return m
}
