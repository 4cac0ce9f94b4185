package v4l2

// Control is something that can be set on a device, such as its exposure.
type Control struct {
	ID                    uint32
	Name                  string // as v4l2-ctl prints it: "exposure_time_absolute"
	Label                 string // as the driver has it: "Exposure Time, Absolute"
	Type                  ControlType
	Min, Max, Step, Value int64 // Value is the one at the time of listing; of a menu they are indexes
	Default               int64
	Menu                  map[int64]string // what the indexes of a menu mean
	ReadOnly              bool
	Inactive              bool // has no effect now, as an exposure time while exposure is automatic
}

// ControlType is what values a control has.
type ControlType int

// Types of controls.
const (
	IntegerControl     ControlType = 1
	BooleanControl     ControlType = 2
	MenuControl        ControlType = 3
	ButtonControl      ControlType = 4 // any value pushes it
	Integer64Control   ControlType = 5
	StringControl      ControlType = 7 // cannot be set here
	BitmaskControl     ControlType = 8
	IntegerMenuControl ControlType = 9
)

// Setting asks for a value of a control.
type Setting struct {
	Control string // its name as v4l2-ctl prints it, "exposure_time_absolute", or its number, "0x009a0902"
	Value   string // a number, "true" or "false", or of a menu the item: "Manual Mode"
}

// ParseSetting reads "exposure_time_absolute=157".
func ParseSetting(s string) (Setting, error) { panic("not yet written") }
