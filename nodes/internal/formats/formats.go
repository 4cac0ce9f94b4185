// Package formats lists the formats of recordings that converter and player know. For each it has what they need beside
// its reader and writer: options, translations, how episodes are written to it, what else there is to say of it.
//
// A new format needs its own package with a [codec.Format], and an entry in bridge/recordings/all. What the nodes need
// to know beside it is in properties; package live has the formats that the recorder writes.
package formats

import (
	"fmt"
	"slices"

	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/nodes/internal/formats/live"
)

// Format is what nodes know of a format.
type Format struct {
	codec.Format

	// With returns the format set up by the options that only it has; nil if it has none.
	With func(*Options) codec.Format
	// Group is the group of the options that only formats of its kind use, and Also another option that it uses.
	Group, Also string
	// Standard reports that only standard messages are written, so that logs of PX4 are read with
	// FlightOptions.Standard.
	Standard bool
	// Storages reports that Rosbag2Options apply.
	Storages bool
	// Native are the encodings in which messages are kept as they are unless the user asks for another one. The others
	// become messages of ROS 2. nil: all but those that are Bound.
	Native []string
	// Live is how the recorder writes the format; nil if it does not.
	Live *live.Format
	// Reindex rebuilds the metadata of the recording at path from its files, and calls told with each repair; nil if
	// the format has no such metadata.
	Reindex func(path string, told func(string)) (*codec.Info, error)
	// Episodes is how episodes are written; nil for formats of messages.
	Episodes *Episodes
	// Absent is why this executable cannot read and write the format; nil if it can.
	Absent error
}

// List are formats that a node knows.
type List []Format

// All returns the formats of all recordings. An executable that was built without cgo knows HDF5 files and says that it
// cannot read them.
func All() List {
	known := properties()
	var list List
	for _, format := range all.Formats() {
		f := known[format.Name]
		f.Format = format
		list = append(list, f)
	}
	for _, recorded := range live.Formats() {
		i := slices.IndexFunc(list, func(f Format) bool { return f.Name == recorded.Name })
		list[i].Live = recorded
	}
	return list
}

// properties returns what nodes need to know of formats beside their Format, by their names.
func properties() map[string]Format {
	return map[string]Format{
		"carla": {Group: "CARLA"},
		"hdf5":  hdf5Properties(),
		"lerobot": {Group: "LeRobot",
			Episodes: &Episodes{Rows: true, FixedRate: true, Check: checkLeRobot, New: newLeRobot}},
		"record": {Native: []string{codec.EncodingCDR, codec.EncodingProtobuf}},
		"rosbag2": {With: (*Options).rosbag2, Storages: true, Native: []string{codec.EncodingCDR},
			Reindex: rosbag2.Reindex},
		"session": {Episodes: &Episodes{New: newSessions}},
		"parquet": {With: (*Options).Parquet, Group: "Tables"},
		"csv":     {With: (*Options).CSV, Group: "Tables"},
		"jsonl":   {With: (*Options).JSONL, Group: "Tables"},
		"mp4":     {With: (*Options).mp4, Also: "video_codec"},
		"gpx":     {With: (*Options).GPX, Group: "Tracks", Standard: true},
		"geojson": {With: (*Options).GeoJSON, Group: "Tracks", Standard: true},
		"kml":     {With: (*Options).KML, Group: "Tracks", Standard: true},
		"tum":     {With: (*Options).TUM, Group: "Tracks", Standard: true},
	}
}

// FromStart reports whether messages depend on where reading begins: velocities that a CARLA log lacks follow from the
// frame before.
func FromStart(info *codec.Info) bool {
	_, carlaLog := info.Metadata[carla.KeyProfile]
	return carlaLog
}

// Codecs returns the formats as package codec knows them.
func (l List) Codecs() codec.Formats {
	codecs := make(codec.Formats, len(l))
	for i, f := range l {
		codecs[i] = f.Format
	}
	return codecs
}

// Open opens the recording that path means: by the name of its first file all of its files, see package series.
func (l List) Open(files *store.Files, path string) (codec.Reader, error) {
	return series.OpenSource(files, l.Codecs(), path)
}

// OpenFile opens one file of several alone, see series.OpenFile.
func (l List) OpenFile(files *store.Files, path string) (codec.Reader, error) {
	return series.OpenFile(files, l.Codecs(), path)
}

// Reindex is that of the format which has it.
func (l List) Reindex(path string, told func(string)) (*codec.Info, error) {
	for _, f := range l {
		if f.Reindex != nil {
			return f.Reindex(path, told)
		}
	}
	return nil, fmt.Errorf("reindex %s: %w", path, codec.ErrUnknownFormat)
}

// Configured returns f as the options have it write recordings.
func (f Format) Configured(o *Options) (Format, error) {
	if f.With != nil {
		f.Format = f.With(o)
	}
	switch {
	case f.Storages:
	case o.Storage != "" && o.Storage != f.Name:
		return f, fmt.Errorf("format %s has no choice of storage, and so none of %q; use --to rosbag2", f.Name,
			o.Storage)
	case o.Version != 0:
		return f, fmt.Errorf("format %s has no choice of version, and so none of %d; use --to rosbag2", f.Name,
			o.Version)
	case o.CompressionMode != "" && o.CompressionMode != "none":
		return f, fmt.Errorf("format %s has no compression mode %q; use --to rosbag2", f.Name, o.CompressionMode)
	}
	return f, nil
}

// KeepsMessages reports whether recordings of a format have messages, and thus each frame of a video as one, rather
// than episodes, tables, pictures, clouds or tracks.
func (f *Format) KeepsMessages() bool {
	return f.OpenFrom != nil && f.Create != nil && f.Episodes == nil
}

// TakesOfFrames reports whether an option with a value says how the frames of videos are kept in the format.
func (f *Format) TakesOfFrames(option, value string) bool {
	return f.KeepsMessages() && (option == "images" && value == ImagesRaw || option == "quality")
}

// Writes reports whether recordings of a format can be written.
func (f *Format) Writes() bool { return f.Create != nil || f.Episodes != nil }

// Saved returns the format in which recordings of a format are copied: the same, or MCAP if it can only be read.
func (l List) Saved(name string) string {
	for _, f := range l {
		if f.Name == name && f.Writes() {
			return name
		}
	}
	return mcap.Format.Name
}
