package condition

import (
	"math"
	"strconv"
	"strings"
)

// Statistics summarize the values of a numeric field in several messages.
type Statistics struct {
	Count    uint64  // finite values
	Min, Max float64 // of finite values
	NaN      uint64
	Infinite uint64
}

// Add adds a value.
func (s *Statistics) Add(v float64) {
	switch {
	case math.IsNaN(v):
		s.NaN++
	case math.IsInf(v, 0):
		s.Infinite++
	default:
		s.Merge(Statistics{Count: 1, Min: v, Max: v})
	}
}

// Merge adds the values of o.
func (s *Statistics) Merge(o Statistics) {
	if s.Count == 0 {
		s.Min, s.Max = o.Min, o.Max
	} else if o.Count > 0 {
		s.Min, s.Max = min(s.Min, o.Min), max(s.Max, o.Max)
	}
	s.Count, s.NaN, s.Infinite = s.Count+o.Count, s.NaN+o.NaN, s.Infinite+o.Infinite
}

// Fields returns the paths of the fields that the condition compares.
func (c *Condition) Fields() (paths []string) {
	for _, t := range c.tests {
		paths = append(paths, t.path)
	}
	return paths
}

// Possible reports whether one of several messages may meet the condition. statistics returns the statistics of a field
// in these messages, nil if unknown.
func (c *Condition) Possible(statistics func(field string) *Statistics) bool {
	for i := range c.tests {
		if s := statistics(c.tests[i].path); s != nil && !c.tests[i].possible(s) {
			return false
		}
	}
	return true
}

func (t *test) possible(s *Statistics) bool {
	text := strings.TrimPrefix(t.constant, `"`)
	c, err := strconv.ParseFloat(text, 64)
	switch {
	case t.function == "len":
		return true
	case text == "true":
		c = 1
	case text == "false":
		c = 0
	case err != nil || math.IsNaN(c): // the field is a text, or the condition an error
		return true
	}
	if s.Infinite > 0 || s.NaN > 0 && t.op == "!=" {
		return true
	}
	if s.Count == 0 {
		return false
	}
	low, high := s.Min, s.Max
	if t.function == "abs" {
		low, high = math.Abs(low), math.Abs(high)
		if low > high {
			low, high = high, low
		}
		if s.Min < 0 && s.Max > 0 {
			low = 0
		}
	}
	// The field may be a float32. The constant is rounded then.
	return within(t.op, low, high, c) || within(t.op, low, high, float64(float32(c)))
}

// within reports whether a value between low and high may compare with c by op.
func within(op string, low, high, c float64) bool {
	switch op {
	case ">", ">=":
		return comparisons[op](high, c)
	case "<", "<=":
		return comparisons[op](low, c)
	case "==":
		return low <= c && c <= high
	}
	return low != c || high != c
}
