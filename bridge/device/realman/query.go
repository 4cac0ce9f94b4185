package realman

import (
	"fmt"
	"time"
)

// Poll is a query that is repeated.
type Poll struct {
	Command string        // one that only reads, such as "get_current_arm_state"
	Period  time.Duration // at least; longer if the arm takes longer to reply
}

// part is a set of the parts of an Update, which arms can be asked for one by one.
type part uint16

const (
	partJoints part = 1 << iota
	partCurrents
	partVoltages
	partTemperatures
	partJointErrors
	partEnabled
	partPose
	partErrors
	partForce
	partGripper
	partController
	partModel
)

// without removes the parts p from u.
func (u *Update) without(p part) {
	p &= u.has
	u.has &^= p
	drop(p&partJoints, &u.Joints, &u.Speeds)
	drop(p&partCurrents, &u.Currents)
	drop(p&partVoltages, &u.Voltages)
	drop(p&partTemperatures, &u.Temperatures)
	drop(p&partJointErrors, &u.JointErrors)
	drop(p&partEnabled, &u.Enabled)
	drop(p&partPose, &u.Pose)
	drop(p&partErrors, &u.Errors)
	drop(p&partForce, &u.Force)
	drop(p&partGripper, &u.Gripper)
}

// drop clears fields unless p is empty.
func drop[T any](p part, fields ...*T) {
	var none T
	for _, f := range fields {
		if p != 0 {
			*f = none
		}
	}
}

// query is a command that only reads.
type query struct {
	reply string // name of the reply
	tells part
}

var queries = map[string]query{
	"get_current_arm_state":         {"current_arm_state", partJoints | partPose | partErrors},
	"get_joint_degree":              {"joint_degree", partJoints},
	"get_joint_en_state":            {"joint_en_state", partEnabled},
	"get_joint_err_flag":            {"joint_err_flag", partJointErrors},
	"get_current_joint_temperature": {"current_joint_temperature", partTemperatures},
	"get_current_joint_current":     {"current_joint_current", partCurrents},
	"get_current_joint_voltage":     {"current_joint_voltage", partVoltages},
	"get_controller_state":          {"controller_state", partController},
	"get_gripper_state":             {"get_gripper_state", partGripper},
	"get_force_data":                {"get_force_data", partForce},
	"get_arm_software_info":         {"arm_software_info", partModel},
	"get_arm_software_version":      {"arm_software_version", partModel},
}

// asked is the state of a Poll on a connection.
type asked struct {
	Poll
	query
	line   []byte
	due    time.Time
	sent   time.Time // zero unless a reply is awaited
	late   bool      // the reply is overdue
	misses int       // queries without a reply
	proven bool      // there was a reply: the arm knows the command
}

func newAsked(p Poll) *asked {
	return &asked{Poll: p, query: queries[p.Command], line: fmt.Appendf(nil, "{\"command\":%q}\r\n", p.Command)}
}

func (p *Poll) check() error {
	if _, ok := queries[p.Command]; !ok {
		return fmt.Errorf("unknown query %q", p.Command)
	}
	if p.Period <= 0 {
		return fmt.Errorf("query %q: period %v, want more than 0", p.Command, p.Period)
	}
	return nil
}

// A query without any reply after manyMisses attempts is sent rarely: the arm may lack the device.
const (
	manyMisses = 3
	rarely     = 10 * time.Second
)

func (a *asked) period() time.Duration {
	if a.misses >= manyMisses && !a.proven {
		return max(a.Period, rarely)
	}
	return a.Period
}

// begin records that the query is sent.
func (a *asked) begin(now time.Time) {
	a.sent = now
	a.due = a.due.Add(a.period())
	if a.due.Before(now) {
		a.due = now
	}
}

// postpone skips the query once.
func (a *asked) postpone(now time.Time) { a.due = now.Add(a.period()) }

// end records that no reply is awaited any more: it came, or it was missed or empty.
func (a *asked) end(missed bool) {
	a.sent, a.late = time.Time{}, false
	if missed {
		a.misses++
	} else {
		a.proven = true
	}
}
