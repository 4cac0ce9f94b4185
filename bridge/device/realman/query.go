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

// fieldSet is a set of fields of an Update, one for each kind of value that an arm reports. Speeds belong to
// fieldJoints.
type fieldSet uint16

const (
	fieldJoints fieldSet = 1 << iota
	fieldCurrents
	fieldVoltages
	fieldTemperatures
	fieldJointErrors
	fieldEnabled
	fieldPose
	fieldErrors
	fieldForce
	fieldGripper
	fieldController
	fieldModel
)

// without removes the fields of s from u.
func (u *Update) without(s fieldSet) {
	s &= u.has
	u.has &^= s
	drop(s&fieldJoints, &u.Joints, &u.Speeds)
	drop(s&fieldCurrents, &u.Currents)
	drop(s&fieldVoltages, &u.Voltages)
	drop(s&fieldTemperatures, &u.Temperatures)
	drop(s&fieldJointErrors, &u.JointErrors)
	drop(s&fieldEnabled, &u.Enabled)
	drop(s&fieldPose, &u.Pose)
	drop(s&fieldErrors, &u.Errors)
	drop(s&fieldForce, &u.Force)
	drop(s&fieldGripper, &u.Gripper)
}

// drop clears fields unless s is empty.
func drop[T any](s fieldSet, fields ...*T) {
	var none T
	for _, f := range fields {
		if s != 0 {
			*f = none
		}
	}
}

// query is a command that only reads.
type query struct {
	reply  string   // name of the reply
	fields fieldSet // in the reply
}

var queries = map[string]query{
	"get_current_arm_state":         {"current_arm_state", fieldJoints | fieldPose | fieldErrors},
	"get_joint_degree":              {"joint_degree", fieldJoints},
	"get_joint_en_state":            {"joint_en_state", fieldEnabled},
	"get_joint_err_flag":            {"joint_err_flag", fieldJointErrors},
	"get_current_joint_temperature": {"current_joint_temperature", fieldTemperatures},
	"get_current_joint_current":     {"current_joint_current", fieldCurrents},
	"get_current_joint_voltage":     {"current_joint_voltage", fieldVoltages},
	"get_controller_state":          {"controller_state", fieldController},
	"get_gripper_state":             {"get_gripper_state", fieldGripper},
	"get_force_data":                {"get_force_data", fieldForce},
	"get_arm_software_info":         {"arm_software_info", fieldModel},
	"get_arm_software_version":      {"arm_software_version", fieldModel},
}

// pollState is the state of a Poll on a connection.
type pollState struct {
	Poll
	query
	line   []byte
	due    time.Time
	sent   time.Time // zero unless a reply is awaited
	late   bool      // the reply is overdue
	misses int       // queries without a reply
	proven bool      // there was a reply: the arm knows the command
}

func newPollState(p Poll) *pollState {
	return &pollState{Poll: p, query: queries[p.Command], line: fmt.Appendf(nil, "{\"command\":%q}\r\n", p.Command)}
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

// A query that had no reply in manyMisses attempts is sent at most once per rarely: the arm may lack the device.
const (
	manyMisses = 3
	rarely     = 10 * time.Second
)

func (s *pollState) period() time.Duration {
	if s.misses >= manyMisses && !s.proven {
		return max(s.Period, rarely)
	}
	return s.Period
}

// begin records that the query is sent now.
func (s *pollState) begin(now time.Time) {
	s.sent = now
	s.due = s.due.Add(s.period())
	if s.due.Before(now) {
		s.due = now
	}
}

// postpone skips the query once.
func (s *pollState) postpone(now time.Time) { s.due = now.Add(s.period()) }

// end records that the reply came, or that it was missed or empty.
func (s *pollState) end(missed bool) {
	s.sent, s.late = time.Time{}, false
	if missed {
		s.misses++
	} else {
		s.proven = true
	}
}
