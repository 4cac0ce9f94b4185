package mavros

import (
	"fmt"
	"strings"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
)

// flightMode returns mavros' name for the mode of a vehicle.
func flightMode(m *ardupilotmega.MessageHeartbeat) string {
	if m.BaseMode&ardupilotmega.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED == 0 {
		return fmt.Sprintf("MODE(0x%02X)", uint8(m.BaseMode))
	}
	name := ""
	switch m.Autopilot {
	case ardupilotmega.MAV_AUTOPILOT_ARDUPILOTMEGA:
		name = ardupilotMode(m.Type, m.CustomMode)
	case ardupilotmega.MAV_AUTOPILOT_PX4:
		name = px4Modes[m.CustomMode&^0xffff]
		if name == "" {
			name = px4Modes[m.CustomMode&^0xff00ffff]
		}
	}
	if name == "" {
		name = fmt.Sprintf("CMODE(%d)", m.CustomMode)
	}
	return name
}

// px4Modes are PX4's modes: the main mode in the third byte and, for AUTO, the sub-mode in the fourth.
var px4Modes = map[uint32]string{
	1 << 16: "MANUAL", 2 << 16: "ALTCTL", 3 << 16: "POSCTL", 5 << 16: "ACRO", 6 << 16: "OFFBOARD",
	7 << 16: "STABILIZED", 8 << 16: "RATTITUDE", 4<<16 | 1<<24: "AUTO.READY", 4<<16 | 2<<24: "AUTO.TAKEOFF",
	4<<16 | 3<<24: "AUTO.LOITER", 4<<16 | 4<<24: "AUTO.MISSION", 4<<16 | 5<<24: "AUTO.RTL", 4<<16 | 6<<24: "AUTO.LAND",
	4<<16 | 7<<24: "AUTO.RTGS", 4<<16 | 8<<24: "AUTO.FOLLOW_TARGET", 4<<16 | 9<<24: "AUTO.PRECLAND",
}

// ardupilotMode returns the name of an ArduPilot mode, or "" if the mode is unknown.
func ardupilotMode(kind ardupilotmega.MAV_TYPE, mode uint32) string {
	var label fmt.Stringer
	switch kind {
	case ardupilotmega.MAV_TYPE_QUADROTOR, ardupilotmega.MAV_TYPE_HEXAROTOR, ardupilotmega.MAV_TYPE_OCTOROTOR,
		ardupilotmega.MAV_TYPE_TRICOPTER, ardupilotmega.MAV_TYPE_COAXIAL, ardupilotmega.MAV_TYPE_HELICOPTER,
		ardupilotmega.MAV_TYPE_DODECAROTOR, ardupilotmega.MAV_TYPE_DECAROTOR, ardupilotmega.MAV_TYPE_GENERIC_MULTIROTOR:
		if former, ok := formerCopterModes[mode]; ok {
			return former
		}
		label = ardupilotmega.COPTER_MODE(mode)
	case ardupilotmega.MAV_TYPE_FIXED_WING, ardupilotmega.MAV_TYPE_VTOL_TAILSITTER_DUOROTOR,
		ardupilotmega.MAV_TYPE_VTOL_TAILSITTER_QUADROTOR, ardupilotmega.MAV_TYPE_VTOL_TILTROTOR,
		ardupilotmega.MAV_TYPE_VTOL_FIXEDROTOR, ardupilotmega.MAV_TYPE_VTOL_TAILSITTER,
		ardupilotmega.MAV_TYPE_VTOL_TILTWING:
		label = ardupilotmega.PLANE_MODE(mode)
	case ardupilotmega.MAV_TYPE_GROUND_ROVER, ardupilotmega.MAV_TYPE_SURFACE_BOAT:
		label = ardupilotmega.ROVER_MODE(mode)
	case ardupilotmega.MAV_TYPE_SUBMARINE:
		label = ardupilotmega.SUB_MODE(mode)
	case ardupilotmega.MAV_TYPE_ANTENNA_TRACKER:
		label = ardupilotmega.TRACKER_MODE(mode)
	default:
		return ""
	}
	_, name, _ := strings.Cut(label.String(), "_MODE_") // an unknown mode is a number
	if own, ok := mavrosModes[name]; ok {
		return own
	}
	return name
}

// formerCopterModes are modes that ArduCopter no longer has.
var formerCopterModes = map[uint32]string{8: "POSITION", 10: "OF_LOITER"}

// mavrosModes are mavros' names for modes that MAVLink's definitions name differently.
var mavrosModes = map[string]string{"FLY_BY_WIRE_A": "FBWA", "FLY_BY_WIRE_B": "FBWB", "INITIALIZING": "INITIALISING"}
