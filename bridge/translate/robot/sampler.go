package robot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs/rosidl"
)

// maxColumns limits the numbers of a sample.
const maxColumns = 1024

// sampler reads the samples of one stream of an arm from messages. A column is found by its label, which is its name in
// messages.
type sampler struct {
	arm     int // index in Mapping.Arms
	role    episode.Role
	stream  *Stream
	columns []align.Column
	index   map[string]int // by label, the index of the first column that has it
	next    []int          // by column, the index of the next column with an equal label; 0: none

	// Buffers of sample:
	labels  []string  // by number, its label
	numbers []float64 // of the message
	values  []float64 // by column
	set     []bool    // by column, whether values has a value
}

func newSampler(arm int, r episode.Role, s *Stream) *sampler {
	v := &sampler{arm: arm, role: r, stream: s, index: map[string]int{}}
	for _, name := range s.Names {
		label, column, renamed := strings.Cut(name, ":")
		if !renamed {
			column = label
		}
		v.add(label, column)
	}
	return v
}

// vector returns the stream of the sampler in the arms of an episode. It creates the stream if there is none.
func (v *sampler) vector(arms []*episode.Arm) *align.Vector {
	a := arms[v.arm]
	if a.Streams[v.role] == nil {
		a.Streams[v.role] = &align.Vector{Name: a.Name + "/" + v.role.String(), Topic: v.stream.Topic}
	}
	return a.Streams[v.role]
}

// add adds a column with a label and a name, and returns its index.
func (v *sampler) add(label, name string) int {
	i := len(v.columns)
	v.columns, v.next, v.set = append(v.columns, v.column(name)), append(v.next, 0), append(v.set, false)
	at, known := v.index[label]
	if !known {
		v.index[strings.Clone(label)] = i
		return i
	}
	for v.next[at] > 0 {
		at = v.next[at]
	}
	v.next[at] = i
	return i
}

// find returns the index of the column with a label, and false if there is none. If several columns have the label, it
// returns the first one that has no value yet in the current sample.
func (v *sampler) find(label string) (int, bool) {
	at, ok := v.index[label]
	for ok && v.set[at] {
		at = v.next[at]
		ok = at > 0
	}
	return at, ok
}

// fieldsIn returns the fields of the stream in messages of a type.
func (v *sampler) fieldsIn(s *cdr.Schema) ([]*numbers, error) {
	paths := v.stream.Fields
	if paths == nil {
		paths = usualFields(v.role, s.Name())
	}
	var fields []*numbers
	for _, path := range paths {
		n, err := newNumbers(s, path)
		if err != nil {
			return nil, err
		}
		fields = append(fields, n)
	}
	return fields, nil
}

// sample returns the values of a message, one for each column. It may add columns. The result is valid until the next
// call, and nil if the message has no value of a column.
func (v *sampler) sample(fields []*numbers, payload []byte) ([]float64, error) {
	v.numbers, v.labels = v.numbers[:0], v.labels[:0]
	for _, f := range fields {
		start := len(v.labels)
		var err error
		v.numbers, v.labels, err = f.get(payload, v.numbers, v.labels)
		if errors.Is(err, errNoNumbers) {
			continue
		} else if err != nil {
			return nil, err
		}
		if f.labels != nil && len(fields) > 1 {
			for i := range v.labels[start:] {
				v.labels[start+i] += "." + f.name
			}
		}
	}
	if len(v.numbers) == 0 {
		return nil, nil
	}
	if err := v.scale(); err != nil {
		return nil, err
	}
	if err := v.label(fields); err != nil {
		return nil, err
	}
	v.values = v.values[:0]
	for range v.columns {
		v.values = append(v.values, align.Missing())
	}
	clear(v.set)
	found := false
	for i, x := range v.numbers {
		at, ok := v.find(v.labels[i])
		switch {
		case ok:
		case v.stream.Names != nil:
			continue
		case len(v.columns) == maxColumns:
			return nil, fmt.Errorf("more than %d columns", maxColumns)
		default:
			at = v.add(v.labels[i], v.labels[i])
			v.values = append(v.values, 0)
		}
		v.values[at], v.set[at] = x, true
		found = true
	}
	if !found {
		return nil, nil
	}
	return v.values, nil
}

// scale converts the numbers to the unit and form of the columns.
func (v *sampler) scale() error {
	n := len(v.numbers)
	if v.role.Base() == episode.Pose && v.stream.Quaternions && n == 6 {
		return errors.New("the pose has 6 numbers, not a quaternion")
	}
	scaled := v.numbers
	if v.role.Base() == episode.Pose {
		scaled = v.numbers[:min(3, n)]
		if n == 7 && !v.stream.Quaternions {
			q := v.numbers[3:]
			q[0], q[1], q[2] = align.ToEuler(q[0], q[1], q[2], q[3])
			v.numbers = v.numbers[:6]
		}
	}
	if v.stream.Scale != 0 {
		for i := range scaled {
			scaled[i] *= v.stream.Scale
		}
	}
	return nil
}

// label sets the labels of the numbers if messages do not have any.
func (v *sampler) label(fields []*numbers) error {
	n := len(v.numbers)
	if slices.ContainsFunc(fields, func(f *numbers) bool { return f.labels != nil }) {
		if len(v.labels) != n {
			return errors.New("some fields name their numbers and others do not")
		}
		return nil
	}
	if names := v.stream.Names; names != nil {
		if n != len(names) {
			return fmt.Errorf("%s, but %s", plural.Count(n, "number"), plural.Count(len(names), "name"))
		}
		for _, name := range names {
			label, _, _ := strings.Cut(name, ":")
			v.labels = append(v.labels, label)
		}
		return nil
	}
	single := len(fields) == n && v.role.Base() == episode.Gripper &&
		!slices.ContainsFunc(fields, func(f *numbers) bool { return f.paths[0].Type().Shape != rosidl.Single })
	for i := range n {
		label := v.role.ColumnName(i, n)
		switch {
		case v.role.Base() != episode.Gripper:
		case single && fields[i].name != "data":
			label = fields[i].name
		case n == 1:
			label = "position"
		}
		v.labels = append(v.labels, label)
	}
	return nil
}

// column returns the column with a name.
func (v *sampler) column(name string) align.Column {
	return v.role.Column(name, cmp.Or(v.stream.Unit, v.role.Unit("rad")))
}
