package bridge

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverrides(t *testing.T) {
	for _, test := range []struct {
		declared, override, want any // want nil: refused
	}{
		{true, false, false},
		{true, 1, nil},
		{true, "true", nil},
		{int64(1), 5, int64(5)},
		{int64(1), uint8(5), int64(5)},
		{int64(1), uint64(math.MaxUint64), nil},
		{int64(1), 5.0, nil},
		{int64(1), "5", nil},
		{int64(1), nil, nil},
		{1.5, 2, 2.0},
		{1.5, float32(2.5), 2.5},
		{1.5, "x", nil},
		{1.5, true, nil},
		{"a", "b", "b"},
		{"a", 1, nil},
		{[]byte{1}, []any{0, 255}, []byte{0, 255}},
		{[]byte{1}, []any{256}, nil},
		{[]byte{1}, []any{-1}, nil},
		{[]byte{1}, []byte{7}, []byte{7}},
		{[]bool{}, []any{true, false}, []bool{true, false}},
		{[]bool{}, []any{1}, nil},
		{[]int64{}, []any{1, int64(2)}, []int64{1, 2}},
		{[]int64{}, []int{1, 2}, []int64{1, 2}},
		{[]int64{}, []any{1, 2.5}, nil},
		{[]float64{}, []any{1, 2.5}, []float64{1, 2.5}},
		{[]float64{}, []int64{1, 2}, []float64{1, 2}},
		{[]string{"x"}, []any{}, []string{}},
		{[]string{"x"}, []any{"a", "b"}, []string{"a", "b"}},
		{[]string{"x"}, []string{"a"}, []string{"a"}},
		{[]string{"x"}, "a", nil},
		{[]string{"x"}, []any{"a", 1}, nil},
	} {
		p := NewParameters("/n", map[string]any{"p": test.override})
		err := p.Declare(Parameter{Name: "p", Value: test.declared})
		if test.want == nil {
			require.ErrorContains(t, err, "parameter p: ", "%+v", test)
			require.ErrorContains(t, err, "is not a value of type "+kinds[typeOf(test.declared)].name)
			continue
		}
		require.NoError(t, err, "%+v", test)
		value, ok := p.Get("p")
		require.True(t, ok)
		require.Equal(t, test.want, value)
	}
}

func TestDeclare(t *testing.T) {
	p := NewParameters("/n", map[string]any{"count": 200, "other": 1, "another": 2})
	require.EqualError(t, p.Declare(Parameter{Name: "count", Value: int64(5), From: 1, To: 100}),
		"parameter count: 200 is not within 1 and 100")
	require.NoError(t, p.Declare(Parameter{Name: "count", Value: int64(5)}))
	require.EqualError(t, p.Declare(Parameter{Name: "count", Value: int64(5)}),
		"declare parameter count: it is declared already")
	require.ErrorContains(t, p.Declare(Parameter{Value: int64(5)}), "no name")
	require.EqualError(t, p.Declare(Parameter{Name: "x", Value: 5}),
		"declare parameter x: its default has type int, which no ROS parameter can hold")
	require.NoError(t, p.Declare(Parameter{Name: "a", Value: "text", Description: "some"}))

	list := p.List()
	require.Len(t, list, 2)
	require.Equal(t, "a", list[0].Name)
	require.Equal(t, "count", list[1].Name)
	require.Equal(t, int64(200), list[1].Value)
	d, ok := p.Describe("a")
	require.True(t, ok)
	require.Equal(t, "some", d.Description)
	_, ok = p.Describe("b")
	require.False(t, ok)
	require.Equal(t, int64(200), valueOf(p, "count"))
	require.Equal(t, "text", valueOf(p, "a"))
}

func TestSet(t *testing.T) {
	p := NewParameters("/n", map[string]any{"fixed": 2})
	for _, d := range []Parameter{
		{Name: "fixed", Value: int64(1), ReadOnly: true},
		{Name: "count", Value: int64(5), From: 1, To: 100},
		{Name: "rate", Value: 1.0, From: 0, To: math.Inf(1)},
		{Name: "rates", Value: []float64{1}, From: 0, To: 2},
		{Name: "format", Value: "mcap", Constraint: func(v any) error {
			if v != "mcap" && v != "record" {
				return errors.New(`want "mcap" or "record"`)
			}
			return nil
		}},
	} {
		require.NoError(t, p.Declare(d))
	}
	var changes [][]Parameter
	refuse := errors.New("busy")
	p.OnChange(func(changed []Parameter) error {
		value, _ := p.Get(changed[0].Name)
		require.NotEqual(t, changed[0].Value, value, "the old value is still there")
		if changed[0].Value == int64(66) {
			return refuse
		}
		changes = append(changes, changed)
		return nil
	})

	for _, test := range []struct {
		name    string
		value   any
		message string // "": accepted
	}{
		{"count", 6, ""},
		{"count", 100, ""},
		{"count", 0, "parameter count: 0 is not within 1 and 100"},
		{"count", "six", `parameter count: "six" is not a value of type integer`},
		{"count", 66, "busy"},
		{"rate", 1e300, ""},
		{"rate", -0.1, "is not within 0 and +Inf"},
		{"rate", math.NaN(), "is not within"},
		{"rates", []any{0, 2}, ""},
		{"rates", []float64{0, 3}, "is not within 0 and 2"},
		{"fixed", 3, "parameter fixed is read-only"},
		{"nothing", 3, "parameter nothing is not declared"},
		{"format", "record", ""},
		{"format", "bag", `parameter format: want "mcap" or "record"`},
	} {
		before, count := p.List(), len(changes)
		err := p.Set(test.name, test.value)
		if test.message != "" {
			require.ErrorContains(t, err, test.message)
			require.Len(t, changes, count)
			for i, d := range p.List() {
				require.Equal(t, before[i].Value, d.Value)
			}
			continue
		}
		require.NoError(t, err)
		require.Len(t, changes, count+1)
		value, _ := p.Get(test.name)
		require.Equal(t, changes[count][0].Value, value)
	}
	require.Equal(t, int64(2), valueOf(p, "fixed"), "an override changes a read-only parameter")
	require.Equal(t, []float64{0, 2}, p.List()[4].Value)
}

func TestSetSeveral(t *testing.T) {
	p := NewParameters("/n", nil)
	require.NoError(t, p.Declare(Parameter{Name: "a", Value: int64(1)}))
	require.NoError(t, p.Declare(Parameter{Name: "b", Value: int64(1)}))
	require.Error(t, p.set([]Parameter{{Name: "a", Value: 2}, {Name: "b", Value: "x"}}))
	require.Equal(t, int64(1), valueOf(p, "a"))
	calls := 0
	p.OnChange(func(changed []Parameter) error { calls += len(changed); return nil })
	require.NoError(t, p.set([]Parameter{{Name: "a", Value: 2}, {Name: "b", Value: 3}}))
	require.Equal(t, 2, calls)
	require.Equal(t, int64(2), valueOf(p, "a"))
	require.Equal(t, int64(3), valueOf(p, "b"))
}

func TestFollow(t *testing.T) {
	p := NewParameters("/n", map[string]any{"a": 0})
	require.NoError(t, p.Declare(Parameter{Name: "a", Value: int64(1)}))
	require.NoError(t, p.Declare(Parameter{Name: "b", Value: int64(1)}))
	var seen []any
	follow := func(value any) error {
		if value == int64(4) {
			return errors.New("4 is refused")
		}
		seen = append(seen, value)
		return nil
	}
	require.NoError(t, p.Follow("a", follow))
	require.NoError(t, p.Set("b", 2))
	require.NoError(t, p.set([]Parameter{{Name: "a", Value: 2}, {Name: "a", Value: 3}}), "the last one counts")
	require.ErrorContains(t, p.Set("a", 4), "4 is refused")
	require.Equal(t, []any{int64(0), int64(2), int64(3)}, seen)
	require.Equal(t, seen[2], valueOf(p, "a"))
}

// valueOf returns the value of a declared parameter.
func valueOf(p *Parameters, name string) any {
	value, _ := p.Get(name)
	return value
}
