// Package lerobot writes episodes of robots as datasets of LeRobot's format v3.0, and reads datasets of v3.0 and v2.1.
//
// A dataset is a folder. Numbers, and images that are not in videos, are in data/chunk-000/file-000.parquet and further
// files. Videos are in videos/<feature>/chunk-000/file-000.mp4 and further files, metadata in meta. The source of the
// layout is huggingface/lerobot, src/lerobot/datasets. The package adds meta/tapedeck.json with times, units and the
// alignment of the episodes. LeRobot ignores this file.
package lerobot

import (
	"encoding/json"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
)

// Name is the name of the format.
const Name = "lerobot"

// Version is the version of the format that Writer writes.
const Version = "v3.0"

// Format is the format of LeRobot's datasets.
var Format = codec.Format{
	Name:     Name,
	Episodic: true,
	Sniff: func(files *store.Files, path string, head []byte) bool {
		if head != nil {
			return false
		}
		text, err := files.ReadFile(store.Join(path, infoPath))
		if err != nil {
			return false
		}
		var i struct {
			Version string `json:"codebase_version"`
		}
		return json.Unmarshal(text, &i) == nil && strings.HasPrefix(i.Version, "v")
	},
	// Datasets are folders, which may have any name.
	Named: func(string) bool { return false },
	Files: []string{".json", ".mp4", ".parquet"},
	OpenFrom: func(files *store.Files, path string) (codec.Reader, error) {
		s, err := Open(files, path)
		if err != nil {
			return nil, err
		}
		return episode.NewReader(files, Name, path, s), nil
	},
}

// Names of features.
const (
	stateKey      = "observation.state"
	poseKey       = "observation.pose"
	velocityKey   = "observation.velocity"
	effortKey     = "observation.effort"
	actionKey     = "action"
	actionPoseKey = "action.pose"
	imagePrefix   = "observation.images."
)

// Paths in a dataset.
const (
	infoPath     = "meta/info.json"
	statsPath    = "meta/stats.json"
	tasksPath    = "meta/tasks.parquet"
	notesPath    = "meta/tapedeck.json"
	episodesPath = "meta/episodes/chunk-000/file-000.parquet"
	dataPath     = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
	videoPath    = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
)
