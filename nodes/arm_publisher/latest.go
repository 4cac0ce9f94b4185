package main

import (
	"fmt"
	"strings"
	"time"

	"tapedeck/bridge/device/realman"
	diag "tapedeck/msgs/diagnostic_msgs"
)

// latest holds the latest values of an arm for its diagnostics.
type latest struct {
	joints       int // number of joints
	jointErrors  []int
	enabled      []bool
	errors       []int
	temperatures []float64
	voltages     []float64
	currents     []float64
	controller   *realman.Controller
	lift         *realman.Lift
	handle       *realman.Handle
	motion       string
	model        string
	grip         *realman.Gripper
	speeds       speeds
	updates      uint64    // number of updates of joints
	at           time.Time // time of the last update of joints
}

// update takes the values in u.
func (k *latest) update(u *realman.Update) {
	keep(&k.jointErrors, u.JointErrors)
	keep(&k.enabled, u.Enabled)
	keep(&k.errors, u.Errors)
	keep(&k.temperatures, u.Temperatures)
	keep(&k.voltages, u.Voltages)
	keep(&k.currents, u.Currents)
	keepOne(&k.controller, u.Controller)
	keepOne(&k.lift, u.Lift)
	keepOne(&k.handle, u.Handle)
	if u.Gripper != nil {
		keepOne(&k.grip, u.Gripper)
		k.grip.Positions, k.grip.Forces = nil, nil // valid only during the call
	}
	if u.Motion != "" {
		k.motion = u.Motion
	}
	if u.Model != "" {
		k.model = u.Model
	}
	k.speeds.update(u)
	if u.Joints != nil {
		k.joints, k.at = len(u.Joints), u.Received
		k.updates++
	}
}

// keep copies a list unless it is nil.
func keep[T any](to *[]T, list []T) {
	if list != nil {
		*to = append((*to)[:0], list...)
	}
}

// keepOne copies a value unless it is nil.
func keepOne[T any](to **T, v *T) {
	if v == nil {
		return
	}
	if *to == nil {
		*to = new(T)
	}
	**to = *v
}

// troubles returns the errors that the arm reports; "" if there are none.
func (k *latest) troubles() string {
	var list []string
	for _, code := range k.errors {
		list = append(list, fmt.Sprintf("%s (%#04x)", realman.SystemError(code), code))
	}
	for i, code := range k.jointErrors {
		if code != 0 {
			list = append(list, fmt.Sprintf("joint %d: %s (%#04x)", i+1, realman.JointError(code), code))
		}
	}
	if k.controller != nil && k.controller.Error != 0 {
		list = append(list, fmt.Sprintf("controller: %s (%#04x)", realman.SystemError(k.controller.Error),
			k.controller.Error))
	}
	if k.lift != nil && k.lift.Error > 0 {
		list = append(list, fmt.Sprintf("lift: %s (%#04x)", realman.JointError(k.lift.Error), k.lift.Error))
	}
	if k.grip != nil && k.grip.Fault != "" {
		list = append(list, "gripper: "+k.grip.Fault)
	}
	return strings.Join(list, "; ")
}

// disabled returns the numbers of the disabled joints.
func (k *latest) disabled() string {
	var list []string
	for i, on := range k.enabled {
		if !on {
			list = append(list, fmt.Sprint(i+1))
		}
	}
	return strings.Join(list, ", ")
}

// values returns the values for diagnostics.
func (k *latest) values() []diag.KeyValue {
	var list []diag.KeyValue
	add := func(key, format string, args ...any) {
		list = append(list, diag.KeyValue{Key: key, Value: fmt.Sprintf(format, args...)})
	}
	each := func(key, format string, values []float64) {
		if values == nil {
			return
		}
		var texts []string
		for _, x := range values {
			texts = append(texts, fmt.Sprintf(format, x))
		}
		add(key, "%s", strings.Join(texts, " "))
	}
	if k.joints > 0 {
		add("joints", "%d", k.joints)
	}
	each("joint temperatures (°C)", "%.1f", k.temperatures)
	each("joint voltages (V)", "%.1f", k.voltages)
	each("joint currents (A)", "%.3f", k.currents)
	if k.speeds.ratio != 0 {
		add("motion by speeds", "%.2f", k.speeds.ratio)
	}
	if k.motion != "" {
		add("motion", "%s", k.motion)
	}
	if c := k.controller; c != nil {
		add("controller", "%.1f V, %.2f A, %.1f °C", c.Voltage, c.Current, c.Temperature)
	}
	if g := k.grip; g != nil {
		state := "offline"
		if g.Online {
			state = "online"
		}
		if g.Mode >= 0 && g.Online {
			state = realman.GripperMode(g.Mode)
		}
		add("gripper", "%s", state)
	}
	if l := k.lift; l != nil {
		add("lift (m)", "%.3f", l.Height)
	}
	if h := k.handle; h != nil {
		add("handle", "%t %t", h[0], h[1])
	}
	return list
}
