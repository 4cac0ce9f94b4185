package convert

import (
	"slices"

	"tapedeck/codec"
	"tapedeck/config"
)

// holding says which encodings of messages an output holds.
type holding struct {
	format codec.Format
	to     string            // what messages become; "": nothing is translated
	stays  func(string) bool // encodings that are kept though they are not to
}

// newHolding returns what an output of that format and storage holds with the option encoding.
func newHolding(format codec.Format, storage, encoding string) (*holding, error) {
	if keeps, ok := format.StorageKeeps[storage]; ok {
		format.Keeps = keeps
	}
	h := &holding{format: format, stays: func(string) bool { return false }}
	switch encoding {
	case "keep":
		h.stays = h.can
	case "auto":
		h.auto()
	default:
		if !h.can(encoding) {
			return nil, config.Usagef("--encoding %s: the format %s holds only %s", encoding, format.Name, list(format.Keeps.Encodings))
		}
		h.to = encoding
	}
	return h, nil
}

// auto chooses what suits the format.
func (h *holding) auto() {
	if only := h.format.Keeps.Encodings; len(only) == 1 {
		h.to = only[0]
		return
	}
	switch h.format.Name {
	case "rosbag2":
		h.to = codec.EncodingCDR
	case "record":
		h.to = codec.EncodingCDR
		h.stays = func(encoding string) bool { return encoding == codec.EncodingProtobuf }
	default:
		h.to = codec.EncodingCDR
		h.stays = func(encoding string) bool { return encoding != codec.EncodingCARLA }
	}
}

// can says whether the format can hold messages of that encoding at all.
func (h *holding) can(encoding string) bool {
	return h.format.Keeps.Encodings == nil || slices.Contains(h.format.Keeps.Encodings, encoding)
}

// takes says whether messages of that encoding are written as they are.
func (h *holding) takes(encoding string) bool { return encoding == h.to || h.stays(encoding) }

// kept returns the encodings that are not to become those of ROS 2.
func (h *holding) kept() []string {
	return slices.DeleteFunc([]string{codec.EncodingCARLA, codec.EncodingProtobuf, codec.EncodingROS1}, func(encoding string) bool {
		return h.to != "" && !h.takes(encoding)
	})
}
