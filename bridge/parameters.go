package bridge

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
)

// Parameter is one parameter of a node.
type Parameter struct {
	Name string

	// Value is a bool, int64, float64, string, []byte, []bool, []int64, []float64 or []string. The parameter never
	// changes its type. Slices must not be modified.
	Value any

	Description string
	ReadOnly    bool // only overrides change it

	// From and To are the inclusive range of a number, if they differ. Infinities leave one side open.
	From, To float64

	Constraint func(value any) error // what else a value must obey; may be nil
}

// Parameters are the parameters of one node. Their methods may be called from several goroutines at once.
type Parameters struct {
	node string

	setting   sync.Mutex // held during a whole change; locked before mu
	mu        sync.RWMutex
	declared  map[string]*Parameter
	overrides map[string]any // not yet declared

	watchers []func([]Parameter) error
	event    func(added, changed []Parameter) // publishes on /parameter_events; nil while not served
}

// NewParameters returns the parameters of the node of that full name. overrides win over the values with which
// parameters are declared.
func NewParameters(node string, overrides map[string]any) *Parameters {
	return &Parameters{node: node, declared: make(map[string]*Parameter), overrides: maps.Clone(overrides)}
}

// Declare adds a parameter with d.Value, or what overrides give for it. An override may be of any Go type from which
// the value follows without loss.
func (p *Parameters) Declare(d Parameter) error {
	p.setting.Lock()
	defer p.setting.Unlock()
	if d.Name == "" {
		return fmt.Errorf("declare parameter: it has no name")
	}
	if typeOf(d.Value) == typeNotSet {
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
	v, ok := convert(value, d.Value)
	if !ok {
		if s, isString := value.(string); isString {
			value = strconv.Quote(s)
		}
		return nil, fmt.Errorf("parameter %s: %v is not a value of type %s", d.Name, value, typeOf(d.Value))
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

// Set changes a parameter. The value may be of any Go type from which the parameter's follows without loss. It is
// refused if the parameter is read-only or not declared, or if its range, its constraint or a function given to
// OnChange refuses it.
func (p *Parameters) Set(name string, value any) error {
	return p.set([]Parameter{{Name: name, Value: value}})
}

// set changes all parameters or, with an error, none.
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

// OnChange registers f to be called before parameters change, with their new values. An error refuses the change. f
// must not change parameters itself.
func (p *Parameters) OnChange(f func(changed []Parameter) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(slices.Clip(p.watchers), f)
}

// Follow calls f with the value of a parameter now, and before each change as OnChange does. No change is lost between.
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

// Get returns the value of a parameter, false if it is not declared.
func (p *Parameters) Get(name string) (any, bool) {
	d, ok := p.Describe(name)
	return d.Value, ok
}

// Describe returns a parameter with its value, false if it is not declared.
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

// parameterType is the type of a parameter, numbered as rcl_interfaces/msg/ParameterType does.
type parameterType uint8

const (
	typeNotSet parameterType = iota
	typeBool
	typeInteger
	typeDouble
	typeString
	typeByteArray
	typeBoolArray
	typeIntegerArray
	typeDoubleArray
	typeStringArray
)

func (t parameterType) String() string {
	return [...]string{"not set", "bool", "integer", "double", "string", "byte array", "bool array", "integer array",
		"double array", "string array"}[t]
}

func typeOf(value any) parameterType {
	switch value.(type) {
	case bool:
		return typeBool
	case int64:
		return typeInteger
	case float64:
		return typeDouble
	case string:
		return typeString
	case []byte:
		return typeByteArray
	case []bool:
		return typeBoolArray
	case []int64:
		return typeIntegerArray
	case []float64:
		return typeDoubleArray
	case []string:
		return typeStringArray
	}
	return typeNotSet
}

// convert returns value as the type of like.
func convert(value, like any) (any, bool) {
	switch like.(type) {
	case bool:
		v, ok := value.(bool)
		return v, ok
	case int64:
		return toInt(value)
	case float64:
		return toFloat(value)
	case string:
		v, ok := value.(string)
		return v, ok
	case []byte:
		return convertSlice(value, func(v any) (byte, bool) {
			i, ok := toInt(v)
			return byte(i), ok && i >= 0 && i <= math.MaxUint8
		})
	case []bool:
		return convertSlice(value, func(v any) (bool, bool) { b, ok := v.(bool); return b, ok })
	case []int64:
		return convertSlice(value, toInt)
	case []float64:
		return convertSlice(value, toFloat)
	case []string:
		return convertSlice(value, func(v any) (string, bool) { s, ok := v.(string); return s, ok })
	}
	return nil, false
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
		if out[i], ok = element(v); !ok {
			return nil, false
		}
	}
	return out, true
}

// elements returns the elements of a slice that may be converted to one of another type.
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
