// Package ulog reads the flight logs of PX4 (ULog): https://docs.px4.io/main/en/dev_log/ulog_file_format.html
//
// A log is a header, definitions and data, all of them messages with a size and a type. Data are the structs of PX4's
// topics, whose formats the log defines. This package converts them to messages of ROS 2. If a release of px4_msgs has
// a type with equal fields, in any order, the message is of this type; otherwise it is of the package "ulog", and has
// the definition of the log. All structs have a fixed size, so that converting is copying.
//
// Beside the topics of PX4 there are /px4/log with the texts that PX4 logged, and /px4/parameter_events with the
// parameters at the start and all changes. Dropouts are events of the kind codec.EventDrop. Info.Records have the
// log's information and default parameters, Info.Attachments its binary values.
//
// LogTime is the timestamp of the message, except for messages that were published long before they were logged: see
// clock. PX4 counts time from boot; if the log has a time of GPS, LogTime is Unix time. A message without a timestamp
// has the time of the previous message.
package ulog

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/store"
)

// Name is the name of the format.
const Name = "ulog"

const (
	magic          = "ULog\x01\x12\x35"
	magicEncrypted = "ULogEnc"
	magicKey       = "ULogKey"
	headerSize     = 16
)

// LogTopic has the texts of a log, ParameterTopic the parameters. PX4's own topics are in the namespace, too.
const (
	namespace      = "/px4/"
	LogTopic       = namespace + "log"
	ParameterTopic = namespace + "parameter_events"
)

// ErrEncrypted is wrapped by the error for a log that PX4 encrypted.
var ErrEncrypted = errors.New("the log is encrypted; decrypt it with decrypt_logs.py of PX4's Tools/log_encryption " +
	"and your private key, then open the .ulg file")

// Format is the format of PX4's logs.
var Format = codec.Format{
	Extension: ".ulg",
	Name:      Name,
	Sniff: func(_ *store.Files, _ string, head []byte) bool {
		return bytes.HasPrefix(head, []byte(magic)) || isEncrypted(head)
	},
	Named: func(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ulg") },
	OpenFrom: func(files *store.Files, path string) (codec.Reader, error) {
		return chunked.Open(files, path, newReader)
	},
}

func isEncrypted(head []byte) bool {
	return bytes.HasPrefix(head, []byte(magicEncrypted)) || bytes.HasPrefix(head, []byte(magicKey))
}

// Details is Info.Extra of a log.
type Details struct {
	Version     uint8   `json:"version"`            // of the format, from the header
	System      string  `json:"system,omitempty"`   // sys_name
	Hardware    string  `json:"hardware,omitempty"` // ver_hw
	Software    string  `json:"software,omitempty"` // ver_sw
	UTC         bool    `json:"utc"`                // times are of GPS or of a simulation, not since boot
	UTCOffset   int64   `json:"utc_offset"`         // ns added to the times since boot
	Dropouts    int     `json:"dropouts"`
	DropoutTime float64 `json:"dropout_time"` // s
	Parameters  int     `json:"parameters"`   // at the start
	Changes     int     `json:"parameter_changes"`
	Appended    int     `json:"appended"` // sections of data behind the first one
	Px4Msgs     int     `json:"px4_msgs"` // topics with a type of px4_msgs
}
