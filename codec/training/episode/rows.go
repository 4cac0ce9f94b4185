package episode

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tapedeck/codec/training/align"
)

// Rows is an Episode on one timeline.
type Rows struct {
	Episode *Episode
	Options align.Options
	Stamps  []int64   // ns since the Unix epoch, strictly increasing
	Frames  [][]int   // by camera and row, the index of the frame; -1: none
	Arms    []ArmRows // in the order of Episode.Arms
	// ActionSource is the source of actions: "command", "next-state" or "copy", with exceptions for single streams, as
	// in "command, next-state for arm_0/gripper".
	ActionSource string
	Rewards      []float64 // by row: 1 for the last row of a successful episode, else 0
	Synthetic    bool      // success is unknown, so all rewards are 0
	Report       align.Report
}

// ArmRows is the rows of an Arm: streams with a sample for each row. A stream of the arm that has columns but no
// samples has rows of NaN.
type ArmRows struct {
	Arm           *Arm
	Streams       Streams       // streams of commands have the actions
	ActionSources [Roles]string // by the role of a command: "command", "next-state" or "copy"; "": no actions
}

// Align puts the streams of an episode on one timeline. An error names the episode.
func Align(e *Episode, o align.Options) (*Rows, error) {
	rows, err := alignEpisode(e, o)
	if err != nil {
		return nil, fmt.Errorf("align %s: %w", e.Name, err)
	}
	return rows, nil
}

func alignEpisode(e *Episode, o align.Options) (*Rows, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if e.Table != nil && o.KeepRows {
		return e.Table.rows(e, o)
	}
	if len(e.Arms) == 0 && !o.Partial {
		return nil, errors.New("there are no arms; if that is right, use --partial")
	}
	r := &Rows{Episode: e, Options: o, Arms: make([]ArmRows, len(e.Arms))}
	var streams align.Streams
	for _, c := range e.Cameras {
		streams.Cameras = append(streams.Cameras, &c.Track)
	}
	useCommands := o.Action == "" || o.Action == align.ActionAuto || o.Action == align.ActionCommand
	var states, commands []**align.Vector // where the aligned streams go
	for i, a := range e.Arms {
		r.Arms[i].Arm = a
		for role, v := range a.Streams {
			to := &r.Arms[i].Streams[role]
			switch role := Role(role); {
			case role >= CommandPose && useCommands && !absent(v):
				streams.Commands, commands = append(streams.Commands, v), append(commands, to)
			case role >= CommandPose || v == nil:
			case role == Joint && o.ContinuousJoints:
				streams.Vectors, states = append(streams.Vectors, continuous(v)), append(states, to)
			default:
				streams.Vectors, states = append(streams.Vectors, v), append(states, to)
			}
		}
	}
	if o.Action == align.ActionCommand && len(streams.Commands) == 0 {
		return nil, fmt.Errorf("there are no commands for actions; choose %s or %s", align.ActionNextState,
			align.ActionCopy)
	}
	t, err := align.Align(streams, o)
	if err != nil {
		return nil, err
	}
	r.Stamps, r.Frames, r.Report = t.Stamps, t.Frames, t.Report
	for i, to := range states {
		*to = t.Vectors[i]
	}
	for i, to := range commands {
		*to = t.Commands[i]
	}
	for i := range r.Arms {
		a := &r.Arms[i]
		a.setActions(o.Action)
		if o.ContinuousJoints && a.Streams[Joint] != nil && a.ActionSources[CommandJoint] == align.ActionCommand {
			a.matchTurns()
		}
	}
	r.finish()
	return r, nil
}

// finish sets rewards and ActionSource.
func (r *Rows) finish() {
	r.Rewards, r.Synthetic = make([]float64, len(r.Stamps)), r.Episode.Success == nil
	if !r.Synthetic && *r.Episode.Success {
		r.Rewards[len(r.Rewards)-1] = 1
	}
	r.ActionSource = r.actionSource()
}

// absent reports whether a stream has no samples.
func absent(v *align.Vector) bool { return v == nil || len(v.Stamps) == 0 }

// continuous returns joints with columns of kind Unwrap in place of Auto and Linear.
func continuous(v *align.Vector) *align.Vector {
	c := *v
	c.Columns = slices.Clone(v.Columns)
	for i := range c.Columns {
		if k := &c.Columns[i].Interp; *k == align.Auto || *k == align.Linear {
			*k = align.Unwrap
		}
	}
	return &c
}

// matchTurns adds whole turns to commanded angles, to bring them nearest to the continuous angles of the joints.
func (a *ArmRows) matchTurns() {
	order, err := match(a.Streams[Joint].Columns, "actions", a.Streams[CommandJoint].Columns)
	if err != nil {
		return // Action returns the error
	}
	for state, command := range order {
		unit := radians(a.Streams[CommandJoint].Columns[command].Unit)
		turn, scale := 2*math.Pi/unit, radians(a.Streams[Joint].Columns[state].Unit)/unit
		for i := range len(a.Streams[CommandJoint].Values) / len(order) {
			angle := &a.Streams[CommandJoint].Row(i)[command]
			*angle += turn * math.Round((a.Streams[Joint].Row(i)[state]*scale-*angle)/turn)
		}
	}
}

// setActions sets actions for streams without commands. fallback is align.ActionCopy to copy states; any other value
// takes the state of the next row.
func (a *ArmRows) setActions(fallback string) {
	for role := CommandPose; role < Roles; role++ {
		a.Streams[role], a.ActionSources[role] = actions(a.Streams[role.Base()], a.Streams[role], fallback)
	}
}

// actions returns the actions of a stream, and the source of the actions.
func actions(state, command *align.Vector, fallback string) (*align.Vector, string) {
	switch {
	case command != nil:
		return command, align.ActionCommand
	case state == nil:
		return nil, ""
	case fallback == align.ActionCopy:
		return state, align.ActionCopy
	}
	next := *state
	if n := len(state.Columns); len(state.Values) > 0 {
		next.Values = make([]float64, len(state.Values))
		copy(next.Values, state.Values[n:])
		copy(next.Values[len(state.Values)-n:], state.Values[len(state.Values)-n:])
	}
	return &next, align.ActionNextState
}

// actionSource returns Rows.ActionSource.
func (r *Rows) actionSource() string {
	streams := map[string][]string{}
	for _, a := range r.Arms {
		for role, source := range a.ActionSources {
			if source != "" {
				streams[source] = append(streams[source], a.Arm.Name+"/"+Role(role).Base().String())
			}
		}
	}
	var sources []string
	for _, source := range []string{align.ActionCommand, align.ActionNextState, align.ActionCopy} {
		switch names := streams[source]; {
		case len(names) == 0:
		case len(sources) == 0:
			sources = append(sources, source)
		default:
			sources = append(sources, source+" for "+strings.Join(names, " "))
		}
	}
	return strings.Join(sources, ", ")
}
