package lerobot

import (
	"encoding/json"

	"tapedeck/codec/align"
)

// notes is meta/tapedeck.json: data that LeRobot's own files cannot hold.
type notes struct {
	Columns  map[string][]noteColumn `json:"columns"` // of the features of numbers
	Cameras  map[string]string       `json:"cameras"` // by feature
	Episodes []noteEpisode           `json:"episodes"`
}

// noteColumn describes a number of a feature.
type noteColumn struct {
	Arm    string `json:"arm"`
	Stream string `json:"stream"` // "joint", "gripper", "pose", "velocity" or "effort"
	Name   string `json:"name"`
	Unit   string `json:"unit,omitempty"`
	// Interp is the interpolation between samples.
	Interp align.Interp `json:"interp"`
}

// noteEpisode describes the origin of an episode.
type noteEpisode struct {
	Name         string                     `json:"name"`
	Start        int64                      `json:"start_ns"` // of its first row, ns since the Unix epoch
	Success      *bool                      `json:"success,omitempty"`
	ActionSource string                     `json:"action_source,omitempty"`
	Alignment    map[string]string          `json:"alignment,omitempty"`
	Report       *align.Report              `json:"report,omitempty"`
	Devices      map[string]json.RawMessage `json:"devices,omitempty"`
	Metadata     json.RawMessage            `json:"metadata,omitempty"`
}
