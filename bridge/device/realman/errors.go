package realman

import (
	"fmt"
	"strings"
)

var systemErrors = map[int]string{
	0x1001: "communication with a joint is disturbed",
	0x1002: "the target is beyond the limit of a joint",
	0x1003: "the target cannot be reached, or is singular",
	0x1004: "communication with the real-time kernel failed",
	0x1005: "the bus of the joints failed",
	0x1006: "the kernel of the planner failed",
	0x1007: "a joint is too fast",
	0x1008: "the board at the end of the arm cannot be reached",
	0x1009: "the speed is beyond its limit",
	0x100A: "the acceleration is beyond its limit",
	0x100B: "the brake of a joint did not open",
	0x100C: "it was dragged too fast",
	0x100D: "it collided",
	0x100E: "there is no such work frame",
	0x100F: "there is no such tool frame",
	0x1010: "a joint was disabled",
	0x1011: "an arc cannot be planned",
	0x1012: "it would collide with itself",
	0x1013: "it reached the electronic fence",
	0x1014: "a joint is beyond its soft limit",
	0x2001: "the gripper failed",
	0x2002: "the hand failed",
	0x2003: "the six-axis force sensor failed",
	0x2004: "the one-axis force sensor failed",
	0x2005: "the output current is wrong",
	0x5003: "the controller is too hot",
	0x5005: "the current of the controller is too high",
	0x5006: "the current of the controller is too low",
	0x5007: "the voltage of the controller is too high",
	0x5008: "the voltage of the controller is too low",
	0x5009: "communication with the real-time kernel failed",
}

// SystemError describes a code of Update.Errors.
func SystemError(code int) string {
	if text, ok := systemErrors[code]; ok {
		return text
	}
	return "unknown error"
}

// jointErrors describes the bits of a joint's error code.
var jointErrors = []string{
	"motor control failed", "voltage too high", "voltage too low", "too hot", "it did not start", "encoder failed",
	"current too high", "software failed", "temperature sensor failed", "position beyond its limit", "wrong joint id",
	"it does not follow", "current sensor failed", "brake did not open", "commanded position jumped", "turns were lost",
}

// jointSilent is the code of a joint that lost frames of its bus.
const jointSilent = 0xF000

// JointError describes a code of Update.JointErrors; "" for 0.
func JointError(code int) string {
	if code == jointSilent {
		return "communication failed"
	}
	return bits(code, jointErrors)
}

// gripperErrors describes the bits of a gripper's error code.
var gripperErrors = []string{"blocked", "too hot", "current too high", "driver failed", "communication failed"}

// bits returns the names of the bits of a code.
func bits(code int, names []string) string {
	if code < 0 {
		return fmt.Sprintf("error %d", code)
	}
	var list []string
	for i, name := range names {
		if code&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	if rest := code >> len(names) << len(names); rest != 0 {
		list = append(list, fmt.Sprintf("error %#04x", rest))
	}
	return strings.Join(list, ", ")
}

var gripperModes = map[int]string{
	1: "open", 2: "closed", 3: "stopped", 4: "closing", 5: "opening", 6: "stopped by force",
}

// GripperMode describes Gripper.Mode.
func GripperMode(mode int) string {
	if text, ok := gripperModes[mode]; ok {
		return text
	}
	return fmt.Sprintf("mode %d", mode)
}
