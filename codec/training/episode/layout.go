package episode

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec/training/align"
)

// Layout is the union of the arms of several episodes, and of the columns of their streams. The zero value is empty.
type Layout struct {
	arms []*Arm // with streams that have columns but no samples
}

// Add adds the arms of e. A column that is in degrees in one episode and in radians in another gets the unit of the
// first. For any other difference of units, Add returns an error that names the stream.
func (l *Layout) Add(e *Episode) error {
	for _, a := range e.Arms {
		arm := named(l.arms, a.Name)
		if arm == nil {
			arm = &Arm{Name: a.Name}
			l.arms = append(l.arms, arm)
			slices.SortFunc(l.arms, func(a, b *Arm) int { return CompareNames(a.Name, b.Name) })
		}
		for role, v := range a.Streams {
			if v == nil {
				continue
			}
			if arm.Streams[role] == nil {
				arm.Streams[role] = &align.Vector{Name: v.Name, Topic: v.Topic}
			}
			columns, err := merge(arm.Streams[role].Columns, v.Columns)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", e.Name, v.Name, err)
			}
			arm.Streams[role].Columns = columns
		}
	}
	return nil
}

// named returns the arm with a name, nil if there is none.
func named(arms []*Arm, name string) *Arm {
	i := slices.IndexFunc(arms, func(a *Arm) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return arms[i]
}

// merge returns the union of the columns a and b. It is sorted by name if both a and b are sorted; otherwise the
// columns of a come first.
func merge(a, b []align.Column) ([]align.Column, error) {
	byName := func(a, b align.Column) int { return compareColumns(a.Name, b.Name) }
	union := slices.Clone(a)
	for k, i := range align.Places(b, a) {
		c := b[k]
		if i < 0 {
			union = append(union, c)
		} else if radiansOf(c.Unit) != radiansOf(a[i].Unit) {
			return nil, fmt.Errorf("%s is in %s, elsewhere in %s", c.Name, unitText(c.Unit), unitText(a[i].Unit))
		}
	}
	if slices.IsSortedFunc(a, byName) && slices.IsSortedFunc(b, byName) {
		slices.SortStableFunc(union, byName)
	}
	return union, nil
}

// unitText names a unit in an error.
func unitText(unit string) string {
	if unit == "" {
		return "an unknown unit"
	}
	return strconv.Quote(unit)
}

// compareColumns compares names of columns. Numbers are compared by value and come before words.
func compareColumns(a, b string) int {
	m, wordA := strconv.Atoi(a)
	n, wordB := strconv.Atoi(b)
	switch {
	case wordA == nil && wordB == nil:
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(a, b))
	case wordA == nil:
		return -1
	case wordB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// CompareNames compares names, and numbers in names by value: camera_2 is before camera_10.
func CompareNames(a, b string) int {
	for a != "" && b != "" {
		i, j := digits(a), digits(b)
		if i > 0 && j > 0 {
			m, n := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n), cmp.Compare(i, j)); c != 0 {
				return c
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			break
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(a, b)
}

// digits returns how many digits s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// Apply returns a copy of e with the arms, columns and units of the layout. Add(e) must come first. Values
// that e lacks are missing, and become NaN in rows. Streams of commands get missing columns, but an arm without
// commands gets none.
func (l *Layout) Apply(e *Episode) *Episode {
	applied := *e
	applied.Arms = nil
	for _, arm := range l.arms {
		a := &Arm{Name: arm.Name}
		if known := named(e.Arms, arm.Name); known != nil {
			*a = *known
		}
		for role, stream := range arm.Streams {
			v := &a.Streams[role]
			switch {
			case stream == nil, *v == nil && Role(role) >= CommandPose:
			case *v == nil:
				empty := *stream
				*v = &empty
			default:
				*v = Spread(*v, stream.Columns)
			}
		}
		applied.Arms = append(applied.Arms, a)
	}
	return &applied
}

// Spread returns v with the given columns and units. Values of columns that v lacks are missing.
func Spread(v *align.Vector, columns []align.Column) *align.Vector {
	if slices.EqualFunc(v.Columns, columns, func(a, b align.Column) bool {
		return a.Name == b.Name && a.Unit == b.Unit
	}) {
		return v
	}
	from, factor := align.Places(columns, v.Columns), make([]float64, len(columns))
	wide := *v
	wide.Columns = slices.Clone(columns)
	for i, c := range columns {
		if from[i] >= 0 {
			wide.Columns[i] = v.Columns[from[i]]
			wide.Columns[i].Unit = c.Unit
			factor[i] = UnitFactor(v.Columns[from[i]].Unit, c.Unit)
		}
	}
	wide.Values = make([]float64, 0, len(v.Stamps)*len(columns))
	for i := range v.Stamps {
		for k, c := range from {
			x := align.Missing()
			if c >= 0 {
				x = v.Row(i)[c]
				if factor[k] != 1 { // keeps the bits of align.Missing
					x *= factor[k]
				}
			}
			wide.Values = append(wide.Values, x)
		}
	}
	return &wide
}
