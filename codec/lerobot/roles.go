package lerobot

import (
	"slices"
	"strings"
)

// place is what the numbers of a feature are without meta/tapedeck.json.
type place struct {
	command bool
	arm     string
	stream  string // as in episode.Arm.Stream
}

// usual are the features of numbers that this package and openpi write. Their numbers are of arm_0.
var usual = map[string]place{
	stateKey: {stream: "joint"}, actionKey: {command: true, stream: "joint"},
	"state": {stream: "joint"}, "actions": {command: true, stream: "joint"},
	"observation.pose": {stream: "pose"}, "observation.velocity": {stream: "velocity"},
	"observation.effort": {stream: "effort"},
	"action.pose":        {command: true, stream: "pose"},
}

// prefixes are prefixes of features that have a part of the states or of the actions: "action.gripper.position".
var prefixes = []struct {
	text    string
	command bool
}{
	{"observation.states.", false}, {"observation.state.", false}, {"states.", false}, {"state.", false},
	{"actions.", true}, {"action.", true},
}

// streamOf are the streams of states by the last word of a feature's name.
var streamOf = map[string]string{
	"position": "joint", "positions": "joint", "pos": "joint", "velocity": "velocity", "velocities": "velocity",
	"vel": "velocity", "effort": "effort", "efforts": "effort", "torque": "effort", "torques": "effort",
}

// placesOf returns the places of all features of numbers, by what their names say. A part of the states or the actions
// is an arm with its name. Each place belongs to one feature only.
func placesOf(all features) map[string]place {
	places := map[string]place{}
	for _, f := range all {
		if p, ok := usual[f.key]; ok && !f.isPicture() {
			p.arm = "arm_0"
			places[f.key] = p
		}
	}
	if places[stateKey].arm != "" { // the others are copies, or parts
		delete(places, "state")
	}
	if places[actionKey].arm != "" {
		delete(places, "actions")
	}
	taken := map[place]bool{}
	for _, p := range places {
		taken[p] = true
	}
	for _, f := range all {
		if _, known := places[f.key]; known || !f.isNumbers() {
			continue
		}
		for _, p := range partsOf(f.key) {
			if !taken[p] {
				places[f.key], taken[p] = p, true
				break
			}
		}
	}
	return places
}

// partsOf returns the places that a feature with a part of the states or the actions may have, the best first.
func partsOf(key string) (list []place) {
	for _, prefix := range prefixes {
		name, ok := strings.CutPrefix(key, prefix.text)
		if !ok || name == "" {
			continue
		}
		if i := strings.LastIndexAny(name, "._"); i > 0 {
			stream := streamOf[name[i+1:]]
			if stream == "joint" || stream != "" && !prefix.command {
				list = append(list, place{prefix.command, name[:i], stream})
			}
		}
		return append(list, place{prefix.command, name, "joint"})
	}
	return nil
}

// isNumbers reports whether the feature has numbers.
func (f *feature) isNumbers() bool {
	kind := strings.TrimRight(f.DType, "0123456789")
	return slices.Contains([]string{"float", "int", "uint", "bool"}, kind) && f.width() > 0
}
