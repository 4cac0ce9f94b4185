package v4l2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2/internal/kernel"
)

// Control is a setting of a device, such as its exposure.
type Control struct {
	ID             uint32
	Name           string // as v4l2-ctl prints it: "exposure_time_absolute"
	Label          string // as the driver has it: "Exposure Time, Absolute"
	Type           ControlType
	Min, Max, Step int64 // indexes for a menu
	Default        int64
	Menu           []MenuItem
	ReadOnly       bool
	Inactive       bool // without effect now, such as exposure time while exposure is automatic
}

// MenuItem is a value of a menu: an index and its meaning.
type MenuItem struct {
	Index int64
	Text  string // the number, for an integer menu
}

// ControlType is the type of a control's values.
type ControlType uint32

// Types of controls.
const (
	IntegerControl     ControlType = kernel.V4L2_CTRL_TYPE_INTEGER
	BooleanControl     ControlType = kernel.V4L2_CTRL_TYPE_BOOLEAN
	MenuControl        ControlType = kernel.V4L2_CTRL_TYPE_MENU
	ButtonControl      ControlType = kernel.V4L2_CTRL_TYPE_BUTTON // any value pushes it
	Integer64Control   ControlType = kernel.V4L2_CTRL_TYPE_INTEGER64
	StringControl      ControlType = kernel.V4L2_CTRL_TYPE_STRING // cannot be set here
	BitmaskControl     ControlType = kernel.V4L2_CTRL_TYPE_BITMASK
	IntegerMenuControl ControlType = kernel.V4L2_CTRL_TYPE_INTEGER_MENU
)

// switches reports whether controls of this type may enable or disable others, as automatic exposure does.
func (t ControlType) switches() bool {
	return t == BooleanControl || t == MenuControl || t == IntegerMenuControl
}

// Setting is a wanted value of a control.
type Setting struct {
	Control string // its name as v4l2-ctl prints it, "exposure_time_absolute", or its number, "0x009a0902"
	Value   string // a number, "true" or "false", or a menu item: "Manual Mode"
}

// ParseSetting reads "exposure_time_absolute=157".
func ParseSetting(s string) (Setting, error) {
	control, value, found := strings.Cut(s, "=")
	setting := Setting{strings.TrimSpace(control), strings.TrimSpace(value)}
	if !found || setting.Control == "" || setting.Value == "" {
		return Setting{}, fmt.Errorf("control %q: want NAME=VALUE, such as exposure_time_absolute=157", s)
	}
	return setting, nil
}

// String returns "exposure_time_absolute=157".
func (s Setting) String() string { return s.Control + "=" + s.Value }

// Controls lists the controls of the device.
func (c *CaptureDevice) Controls() ([]Control, error) {
	var controls []Control
	item := kernel.QueryExtCtrl{ID: kernel.V4L2_CTRL_FLAG_NEXT_CTRL}
	for range maxItems {
		err := c.handle.Ioctl(kernel.VIDIOC_QUERY_EXT_CTRL, unsafe.Pointer(&item))
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTTY) {
			break
		}
		if err != nil {
			return nil, failed(c.path, "list controls", err)
		}
		if control, ok := newControl(&item); ok {
			if err := c.addMenu(&control); err != nil {
				return nil, err
			}
			controls = append(controls, control)
		}
		item = kernel.QueryExtCtrl{ID: item.ID | kernel.V4L2_CTRL_FLAG_NEXT_CTRL}
	}
	return controls, nil
}

// newControl returns a control from the driver's description; false for arrays, classes and disabled controls.
func newControl(item *kernel.QueryExtCtrl) (Control, bool) {
	array := item.Flags&kernel.V4L2_CTRL_FLAG_HAS_PAYLOAD != 0 && item.Type != kernel.V4L2_CTRL_TYPE_STRING
	if array || item.Flags&kernel.V4L2_CTRL_FLAG_DISABLED != 0 || item.Type == kernel.V4L2_CTRL_TYPE_CTRL_CLASS {
		return Control{}, false
	}
	label := kernel.String(item.Name[:])
	return Control{
		ID:       item.ID,
		Name:     controlName(label),
		Label:    label,
		Type:     ControlType(item.Type),
		Min:      item.Minimum,
		Max:      item.Maximum,
		Step:     int64(item.Step),
		Default:  item.DefaultValue,
		ReadOnly: item.Flags&kernel.V4L2_CTRL_FLAG_READ_ONLY != 0,
		Inactive: item.Flags&kernel.V4L2_CTRL_FLAG_INACTIVE != 0,
	}, true
}

// controlName returns a control's name as v4l2-ctl writes it: lower-case letters and digits, joined by _.
func controlName(label string) string {
	words := strings.FieldsFunc(strings.ToLower(label),
		func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "_")
}

func (c *CaptureDevice) addMenu(control *Control) error {
	if control.Type != MenuControl && control.Type != IntegerMenuControl || control.Min < 0 {
		return nil
	}
	for index := control.Min; index <= control.Max && index-control.Min < maxItems; index++ {
		item := kernel.QueryMenu{ID: control.ID, Index: uint32(index)}
		err := c.handle.Ioctl(kernel.VIDIOC_QUERYMENU, unsafe.Pointer(&item))
		if errors.Is(err, unix.EINVAL) {
			continue // menus have holes
		}
		if err != nil {
			return failed(c.path, "list the menu "+control.Name, err)
		}
		text := kernel.String(item.Name[:])
		if control.Type == IntegerMenuControl {
			text = strconv.FormatInt(item.Value(), 10)
		}
		control.Menu = append(control.Menu, MenuItem{index, text})
	}
	return nil
}

// Set sets controls: first menus and booleans, in order, as they switch modes that others depend on, then the rest.
// Unknown controls and invalid values are errors that list the valid ones; nothing is set then.
func (c *CaptureDevice) Set(settings []Setting) error {
	if len(settings) == 0 {
		return nil
	}
	controls, err := c.Controls()
	if err != nil {
		return err
	}
	type assignment struct {
		control *Control
		value   int64
	}
	var first, rest []assignment
	for _, setting := range settings {
		control, err := find(controls, setting.Control)
		if err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}
		value, err := control.parse(setting.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}
		if control.Type.switches() {
			first = append(first, assignment{control, value})
		} else {
			rest = append(rest, assignment{control, value})
		}
	}
	for _, a := range append(first, rest...) {
		if err := c.set(a.control, a.value); err != nil {
			return err
		}
	}
	return nil
}

// find returns the control with a name or number.
func find(controls []Control, name string) (*Control, error) {
	id, err := strconv.ParseUint(name, 0, 32)
	i := slices.IndexFunc(controls, func(control Control) bool {
		return control.Name == controlName(name) || err == nil && control.ID == uint32(id)
	})
	if i >= 0 {
		return &controls[i], nil
	}
	if len(controls) == 0 {
		return nil, fmt.Errorf("no control %s: the camera has none", name)
	}
	names := make([]string, len(controls))
	for i := range controls {
		names[i] = controls[i].Name
	}
	return nil, fmt.Errorf("no control %s: the camera has %s", name, list(names))
}

// parse returns the value for a text.
func (c *Control) parse(text string) (int64, error) {
	switch {
	case c.ReadOnly:
		return 0, fmt.Errorf("control %s is read-only", c.Name)
	case c.Type < IntegerControl || c.Type > IntegerMenuControl || c.Type == StringControl:
		return 0, fmt.Errorf("control %s: values of type %d are not supported", c.Name, c.Type)
	case c.Type == ButtonControl:
		return 1, nil
	case c.Type == MenuControl || c.Type == IntegerMenuControl:
		return c.parseItem(text)
	case c.Type == BooleanControl && fold(text) == "true":
		return 1, nil
	case c.Type == BooleanControl && fold(text) == "false":
		return 0, nil
	}
	value, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("control %s: %q is not a number", c.Name, text)
	}
	if c.Type == BitmaskControl {
		if value < 0 || value&^(c.Max&0xffffffff) != 0 {
			return 0, fmt.Errorf("control %s: 0x%x has bits outside 0x%x", c.Name, value, c.Max&0xffffffff)
		}
		return value, nil
	}
	if value < c.Min || value > c.Max {
		return 0, fmt.Errorf("control %s: %d is out of range: from %d to %d", c.Name, value, c.Min, c.Max)
	}
	// Unsigned, as the difference may overflow an int64.
	if c.Step > 1 && (uint64(value)-uint64(c.Min))%uint64(c.Step) != 0 {
		return 0, fmt.Errorf("control %s: %d is not one of its values: from %d to %d in steps of %d", c.Name, value,
			c.Min, c.Max, c.Step)
	}
	return value, nil
}

// parseItem returns the menu index for a text: an index or the text of an item. A number is taken as an index first, as
// by v4l2-ctl.
func (c *Control) parseItem(text string) (int64, error) {
	number, err := strconv.ParseInt(text, 0, 64)
	i := slices.IndexFunc(c.Menu, func(item MenuItem) bool { return err == nil && item.Index == number })
	if i < 0 {
		i = slices.IndexFunc(c.Menu, func(item MenuItem) bool { return fold(item.Text) == fold(text) })
	}
	if i >= 0 {
		return c.Menu[i].Index, nil
	}
	items := make([]string, len(c.Menu))
	for i, item := range c.Menu {
		items[i] = fmt.Sprintf("%d (%s)", item.Index, item.Text)
	}
	return 0, fmt.Errorf("control %s: %q is not in its menu: %s", c.Name, text, list(items))
}

func (c *CaptureDevice) set(control *Control, value int64) error {
	var err error
	if control.Type == Integer64Control {
		item := kernel.ExtControl{ID: control.ID}
		binary.NativeEndian.PutUint64(item.Value[:], uint64(value))
		err = c.handle.Ioctl(kernel.VIDIOC_S_EXT_CTRLS, unsafe.Pointer(&kernel.ExtControls{Count: 1, Controls: &item}))
	} else {
		err = c.handle.Ioctl(kernel.VIDIOC_S_CTRL, unsafe.Pointer(&kernel.Control{ID: control.ID, Value: int32(value)}))
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%s: set control %s to %d: %w; another control overrides it, such as an automatic mode",
			c.path, control.Name, value, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%s: set control %s to %d: %w; it cannot be changed now, for example while another program "+
			"captures", c.path, control.Name, value, err)
	}
	return failed(c.path, fmt.Sprintf("set control %s to %d", control.Name, value), err)
}
