package lerobot

import (
	"slices"
	"strings"

	"tapedeck/codec/training/episode"
)

// standardRoles has the roles of the features that this package and openpi write. Their numbers belong to arm_0.
var standardRoles = map[string]episode.Role{
	stateKey: episode.Joint, "state": episode.Joint, actionKey: episode.CommandJoint, "actions": episode.CommandJoint,
	poseKey: episode.Pose, velocityKey: episode.Velocity, effortKey: episode.Effort,
	actionPoseKey: episode.CommandPose,
}

// prefixes are prefixes of the keys of features with some of the states or actions, such as "action.gripper.position".
var prefixes = []struct {
	text   string
	joints episode.Role // role of joints in features with the prefix
}{
	{"observation.states.", episode.Joint}, {"observation.state.", episode.Joint}, {"states.", episode.Joint},
	{"state.", episode.Joint}, {"actions.", episode.CommandJoint}, {"action.", episode.CommandJoint},
}

// roleByWord has the roles of states by the last word of a feature's key.
var roleByWord = map[string]episode.Role{
	"position": episode.Joint, "positions": episode.Joint, "pos": episode.Joint, "velocity": episode.Velocity,
	"velocities": episode.Velocity, "vel": episode.Velocity, "effort": episode.Effort, "efforts": episode.Effort,
	"torque": episode.Effort, "torques": episode.Effort,
}

// originsOf returns the origins of features of numbers by the names of the features, for datasets without
// meta/tapedeck.json. A feature with a prefix of prefixes belongs to an arm with the rest of the feature's name. Two
// features never have the same origin.
func originsOf(all features) map[string]episode.Origin {
	origins := map[string]episode.Origin{}
	for _, f := range all {
		if role, ok := standardRoles[f.key]; ok && !f.isPicture() {
			origins[f.key] = episode.Origin{Arm: "arm_0", Role: role}
		}
	}
	if _, ok := origins[stateKey]; ok { // "state" and "actions" then repeat all or some of the numbers
		delete(origins, "state")
	}
	if _, ok := origins[actionKey]; ok {
		delete(origins, "actions")
	}
	taken := map[episode.Origin]bool{}
	for _, o := range origins {
		taken[o] = true
	}
	for _, f := range all {
		if _, known := origins[f.key]; known || !f.isNumbers() {
			continue
		}
		for _, o := range candidates(f.key) {
			if !taken[o] {
				origins[f.key], taken[o] = o, true
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
			switch role, known := roleByWord[name[i+1:]]; {
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
