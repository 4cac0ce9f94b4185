package bridge

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"tapedeck/msgs/rcl_interfaces"
)

// Parameter is one parameter of a node.
type Parameter struct {
	Name string

	// Value is a bool, int64, float64, string, []byte, []bool, []int64, []float64 or []string. The parameter never
	// changes its type. Slices must not be modified.
	Value any

	Description string
	ReadOnly    bool // only overrides change the value

	// From and To are the inclusive range of a number. If From and To are equal, there is no range. An infinity leaves
	// one side open.
	From, To float64

	Constraint func(value any) error // refuses values with an error; may be nil
}

// Parameters are the parameters of one node. Their methods may be called from several goroutines at once.
type Parameters struct {
	node string

	setting   sync.Mutex // held during a whole change; locked before mu
	mu        sync.RWMutex
	declared  map[string]*Parameter
	overrides map[string]any // not yet declared

	watchers []func([]Parameter) error
	event    func(added, changed []Parameter) // publishes on /parameter_events; nil before Serve
}

// NewParameters returns the parameters of a node; node is its full name. overrides win over the values with which
// parameters are declared.
func NewParameters(node string, overrides map[string]any) *Parameters {
	return &Parameters{node: node, declared: make(map[string]*Parameter), overrides: maps.Clone(overrides)}
}

// Declare adds a parameter with the value of its override, or d.Value without one. An override may have any Go type
// that converts to the parameter's type without loss.
func (p *Parameters) Declare(d Parameter) error {
	p.setting.Lock()
	defer p.setting.Unlock()
	if d.Name == "" {
		return fmt.Errorf("declare parameter: it has no name")
	}
	if typeOf(d.Value) == rcl_interfaces.ParameterType_PARAMETER_NOT_SET {
		return fmt.Errorf("declare parameter %s: its default has type %T, which no ROS parameter can hold", d.Name,
			d.Value)
	}
	p.mu.RLock()
	_, twice := p.declared[d.Name]
	override, given := p.overrides[d.Name]
	p.mu.RUnlock()
	if twice {
		return fmt.Errorf("declare parameter %s: it is declared already", d.Name)
	}
	if given {
		value, err := d.accept(override)
		if err != nil {
			return err
		}
		d.Value = value
	}
	p.mu.Lock()
	delete(p.overrides, d.Name)
	p.declared[d.Name] = &d
	event := p.event
	p.mu.Unlock()
	if event != nil {
		event([]Parameter{d}, nil)
	}
	return nil
}

// accept converts value to the parameter's type and checks it.
func (d *Parameter) accept(value any) (any, error) {
	to := kinds[typeOf(d.Value)]
	v, ok := to.convert(value)
	if !ok {
		if s, isString := value.(string); isString {
			value = strconv.Quote(s)
		}
		return nil, fmt.Errorf("parameter %s: %v is not a value of type %s", d.Name, value, to.name)
	}
	if d.From != d.To {
		for _, number := range numbers(v) {
			if !(number >= d.From && number <= d.To) {
				return nil, fmt.Errorf("parameter %s: %v is not within %v and %v", d.Name, value, d.From, d.To)
			}
		}
	}
	if d.Constraint != nil {
		if err := d.Constraint(v); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", d.Name, err)
		}
	}
	return v, nil
}

// Set changes a parameter. The value may have any Go type that converts to the parameter's type without loss. Set fails
// if the parameter is read-only or not declared, or if the parameter's range, its constraint or a function given to
// OnChange refuses the value.
func (p *Parameters) Set(name string, value any) error {
	return p.set([]Parameter{{Name: name, Value: value}})
}

// set changes all parameters. If it returns an error, it has changed none.
func (p *Parameters) set(values []Parameter) error {
	p.setting.Lock()
	defer p.setting.Unlock()
	changed := make([]Parameter, len(values))
	p.mu.RLock()
	for i, v := range values {
		d, ok := p.declared[v.Name]
		if !ok {
			p.mu.RUnlock()
			return fmt.Errorf("parameter %s is not declared", v.Name)
		}
		changed[i] = *d
	}
	watchers, event := p.watchers, p.event
	p.mu.RUnlock()

	for i := range changed {
		d := &changed[i]
		if d.ReadOnly {
			return fmt.Errorf("parameter %s is read-only", d.Name)
		}
		value, err := d.accept(values[i].Value)
		if err != nil {
			return err
		}
		d.Value = value
	}
	for _, watch := range watchers {
		if err := watch(changed); err != nil {
			return err
		}
	}
	p.mu.Lock()
	for i := range changed {
		p.declared[changed[i].Name].Value = changed[i].Value
	}
	p.mu.Unlock()
	if event != nil {
		event(nil, changed)
	}
	return nil
}

// OnChange registers f, which is called with the new values before parameters change. An error of f refuses the change.
// f must not change parameters itself.
func (p *Parameters) OnChange(f func(changed []Parameter) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(slices.Clip(p.watchers), f)
}

// Follow calls f at once with the present value of a parameter, and registers f with OnChange for changes of that
// parameter. No change in between is missed.
func (p *Parameters) Follow(name string, f func(value any) error) error {
	p.setting.Lock()
	defer p.setting.Unlock()
	value, _ := p.Get(name)
	if err := f(value); err != nil {
		return err
	}
	p.OnChange(func(changed []Parameter) error {
		for _, d := range changed {
			if d.Name != name {
				continue
			}
			if err := f(d.Value); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// Get returns the value of a parameter, or false if the parameter is not declared.
func (p *Parameters) Get(name string) (any, bool) {
	d, ok := p.Describe(name)
	return d.Value, ok
}

// Describe returns a parameter with its value, or false if the parameter is not declared.
func (p *Parameters) Describe(name string) (Parameter, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if d, ok := p.declared[name]; ok {
		return *d, true
	}
	return Parameter{}, false
}

// List returns the declared parameters by name.
func (p *Parameters) List() []Parameter {
	p.mu.RLock()
	defer p.mu.RUnlock()
	list := make([]Parameter, 0, len(p.declared))
	for _, name := range slices.Sorted(maps.Keys(p.declared)) {
		list = append(list, *p.declared[name])
	}
	return list
}

// kind is a type that a parameter may have.
type kind struct {
	name    string
	is      func(value any) bool
	convert func(value any) (any, bool) // to this type
	read    func(m *rcl_interfaces.ParameterValue) any
	write   func(m *rcl_interfaces.ParameterValue, value any)
}

// kinds are indexed by the constants of rcl_interfaces/msg/ParameterType.
var kinds = [...]kind{
	rcl_interfaces.ParameterType_PARAMETER_NOT_SET: {
		name:    "not set",
		is:      func(any) bool { return false },
		convert: func(any) (any, bool) { return nil, false },
		read:    func(*rcl_interfaces.ParameterValue) any { return nil },
		write:   func(*rcl_interfaces.ParameterValue, any) {},
	},
	rcl_interfaces.ParameterType_PARAMETER_BOOL: kindOf("bool", is[bool],
		func(m *rcl_interfaces.ParameterValue) *bool { return &m.BoolValue }),
	rcl_interfaces.ParameterType_PARAMETER_INTEGER: kindOf("integer", toInt,
		func(m *rcl_interfaces.ParameterValue) *int64 { return &m.IntegerValue }),
	rcl_interfaces.ParameterType_PARAMETER_DOUBLE: kindOf("double", toFloat,
		func(m *rcl_interfaces.ParameterValue) *float64 { return &m.DoubleValue }),
	rcl_interfaces.ParameterType_PARAMETER_STRING: kindOf("string", is[string],
		func(m *rcl_interfaces.ParameterValue) *string { return &m.StringValue }),
	rcl_interfaces.ParameterType_PARAMETER_BYTE_ARRAY: kindOf("byte array", slice(toByte),
		func(m *rcl_interfaces.ParameterValue) *[]byte { return &m.ByteArrayValue }),
	rcl_interfaces.ParameterType_PARAMETER_BOOL_ARRAY: kindOf("bool array", slice(is[bool]),
		func(m *rcl_interfaces.ParameterValue) *[]bool { return &m.BoolArrayValue }),
	rcl_interfaces.ParameterType_PARAMETER_INTEGER_ARRAY: kindOf("integer array", slice(toInt),
		func(m *rcl_interfaces.ParameterValue) *[]int64 { return &m.IntegerArrayValue }),
	rcl_interfaces.ParameterType_PARAMETER_DOUBLE_ARRAY: kindOf("double array", slice(toFloat),
		func(m *rcl_interfaces.ParameterValue) *[]float64 { return &m.DoubleArrayValue }),
	rcl_interfaces.ParameterType_PARAMETER_STRING_ARRAY: kindOf("string array", slice(is[string]),
		func(m *rcl_interfaces.ParameterValue) *[]string { return &m.StringArrayValue }),
}

func kindOf[T any](name string, to func(any) (T, bool), field func(*rcl_interfaces.ParameterValue) *T) kind {
	return kind{
		name:    name,
		is:      func(value any) bool { _, ok := value.(T); return ok },
		convert: func(value any) (any, bool) { v, ok := to(value); return v, ok },
		read:    func(m *rcl_interfaces.ParameterValue) any { return *field(m) },
		write:   func(m *rcl_interfaces.ParameterValue, value any) { *field(m) = value.(T) },
	}
}

// typeOf returns the index of a value's type in kinds.
func typeOf(value any) uint8 {
	return uint8(max(0, slices.IndexFunc(kinds[:], func(k kind) bool { return k.is(value) })))
}

func is[T any](value any) (T, bool) { v, ok := value.(T); return v, ok }

func slice[T any](element func(any) (T, bool)) func(any) ([]T, bool) {
	return func(value any) ([]T, bool) { return convertSlice(value, element) }
}

func convertSlice[T any](value any, element func(any) (T, bool)) ([]T, bool) {
	if v, ok := value.([]T); ok {
		return slices.Clone(v), true
	}
	in, ok := elements(value)
	if !ok {
		return nil, false
	}
	out := make([]T, len(in))
	for i, v := range in {
		out[i], ok = element(v)
		if !ok {
			return nil, false
		}
	}
	return out, true
}

// elements returns the elements of a slice whose type may be converted to another slice type.
func elements(value any) ([]any, bool) {
	switch value.(type) {
	case []any, []int, []int64, []float64:
	default:
		return nil, false
	}
	v := reflect.ValueOf(value)
	list := make([]any, v.Len())
	for i := range list {
		list[i] = v.Index(i).Interface()
	}
	return list, true
}

func toInt(value any) (int64, bool) {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return int64(v.Uint()), v.Uint() <= math.MaxInt64
	}
	return 0, false
}

func toByte(value any) (byte, bool) {
	i, ok := toInt(value)
	return byte(i), ok && i >= 0 && i <= math.MaxUint8
}

func toFloat(value any) (float64, bool) {
	if v := reflect.ValueOf(value); v.CanFloat() {
		return v.Float(), true
	}
	i, ok := toInt(value)
	return float64(i), ok
}

// numbers returns the numbers in a value, for the check of ranges.
func numbers(value any) []float64 {
	if list, ok := convertSlice(value, toFloat); ok {
		return list
	}
	if number, ok := toFloat(value); ok {
		return []float64{number}
	}
	return nil
}
