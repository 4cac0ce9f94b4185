package lerobot

import (
	"slices"
	"strings"

	"tapedeck/codec/training/episode"
)

// usual has the roles of the features of numbers that this package and openpi write. The numbers belong to arm_0.
var usual = map[string]episode.Role{
	stateKey: episode.Joint, "state": episode.Joint, actionKey: episode.CommandJoint, "actions": episode.CommandJoint,
	poseKey: episode.Pose, velocityKey: episode.Velocity, effortKey: episode.Effort,
	actionPoseKey: episode.CommandPose,
}

// prefixes are prefixes of features with some of the states or actions: "action.gripper.position".
var prefixes = []struct {
	text   string
	joints episode.Role
}{
	{"observation.states.", episode.Joint}, {"observation.state.", episode.Joint}, {"states.", episode.Joint},
	{"state.", episode.Joint}, {"actions.", episode.CommandJoint}, {"action.", episode.CommandJoint},
}

// roleOf has the roles of states by the last word of a feature's name.
var roleOf = map[string]episode.Role{
	"position": episode.Joint, "positions": episode.Joint, "pos": episode.Joint, "velocity": episode.Velocity,
	"velocities": episode.Velocity, "vel": episode.Velocity, "effort": episode.Effort, "efforts": episode.Effort,
	"torque": episode.Effort, "torques": episode.Effort,
}

// originsOf returns the origins of features of numbers by the names of the features, for datasets without
// meta/tapedeck.json. A feature with some of the states or actions is an arm with the rest of its name. Each origin
// belongs to only one feature.
func originsOf(all features) map[string]episode.Origin {
	origins := map[string]episode.Origin{}
	for _, f := range all {
		if role, ok := usual[f.key]; ok && !f.isPicture() {
			origins[f.key] = episode.Origin{Arm: "arm_0", Role: role}
		}
	}
	if _, ok := origins[stateKey]; ok { // "state" and "actions" then have copies, or some of the numbers
		delete(origins, "state")
	}
	if _, ok := origins[actionKey]; ok {
		delete(origins, "actions")
	}
	taken := map[episode.Origin]bool{}
	for _, p := range origins {
		taken[p] = true
	}
	for _, f := range all {
		if _, known := origins[f.key]; known || !f.isNumbers() {
			continue
		}
		for _, p := range candidates(f.key) {
			if !taken[p] {
				origins[f.key], taken[p] = p, true
				break
			}
		}
	}
	return origins
}

// candidates returns possible origins of a feature with some of the states or actions, the best first.
func candidates(key string) (list []episode.Origin) {
	for _, prefix := range prefixes {
		name, ok := strings.CutPrefix(key, prefix.text)
		if !ok || name == "" {
			continue
		}
		if i := strings.LastIndexAny(name, "._"); i > 0 {
			switch role, known := roleOf[name[i+1:]]; {
			case known && role == episode.Joint:
				list = append(list, episode.Origin{Arm: name[:i], Role: prefix.joints})
			case known && prefix.joints == episode.Joint:
				list = append(list, episode.Origin{Arm: name[:i], Role: role})
			}
		}
		return append(list, episode.Origin{Arm: name, Role: prefix.joints})
	}
	return nil
}

// isNumbers reports whether the feature has numbers.
func (f *feature) isNumbers() bool {
	kind := strings.TrimRight(f.DType, "0123456789")
	return slices.Contains([]string{"float", "int", "uint", "bool"}, kind) && f.width() > 0
}
