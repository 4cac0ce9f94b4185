// Package formats is the list of all formats of recordings that tapedeck's nodes read and write, with what the nodes
// have to know of each beyond its bytes: options, translations, how it is recorded, how episodes are written to it.
//
// A format is added by its package, which says in its [codec.Format] what it can hold, and by a line in All.
package formats

import (
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/carla"
	"tapedeck/codec/lerobot"
	"tapedeck/codec/mcap"
	_ "tapedeck/codec/record"
	"tapedeck/codec/rosbag"
	"tapedeck/codec/rosbag2"
	"tapedeck/codec/session"
)

// Format is what nodes know of a format.
type Format struct {
	Name string // as in codec.Format

	// Native are the encodings in which messages are kept as they are unless the user asks for another one. The others
	// become messages of ROS 2. nil: all but those that are Bound.
	Native []string
	// Live is how the recorder writes the format; nil if it does not.
	Live *Live
	// Author returns how a recording of messages of ROS 2 is written as a whole, where messages have no translation one
	// by one; nil: they have.
	Author func(*Options) (Author, error)
	// Episodes is how episodes are written; nil for formats of messages.
	Episodes *Episodes
}

// All are the formats.
var All = []Format{
	{Name: carla.Name, Author: newCARLAAuthor, Live: &Live{Storage: "carla", First: ".log", Others: `_\d+\.log`}},
	{Name: "hdf5", Episodes: &Episodes{Files: []string{".hdf5"}, Linked: true, New: newHDF5}},
	{Name: lerobot.Name, Episodes: &Episodes{Files: []string{".json", ".mp4", ".parquet"}, FixedRate: true,
		New: newLeRobot}},
	{Name: mcap.Name},
	{
		Name: "record", Native: []string{codec.EncodingCDR, codec.EncodingProtobuf},
		Live: &Live{Storage: "record", First: ".record.00000", Ending: `\.record(\.\d{5})?`, Others: `\.record\.\d{5}`},
	},
	{Name: rosbag.Name},
	{Name: rosbag2.Name, Native: []string{codec.EncodingCDR}, Live: &Live{Storage: "mcap", Compresses: true}},
	{Name: session.Name, Episodes: &Episodes{Files: []string{".csv", ".jpg", ".json", ".png"}, New: newSessions}},
}

// Of returns what is known of a format that has that name. One that is not in the list has messages and nothing
// special.
func Of(name string) Format {
	i := slices.IndexFunc(All, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{Name: name}
	}
	return All[i]
}

// Writes reports whether recordings of a format can be written.
func Writes(f codec.Format) bool { return f.Create != nil || Of(f.Name).Episodes != nil }

// Attachments returns how many files are attached to a recording, which no output keeps.
func Attachments(info *codec.Info) int {
	extra, _ := info.Extra.(mcap.Extra)
	return extra.Attachments
}
