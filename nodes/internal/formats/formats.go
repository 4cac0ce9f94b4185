// Package formats lists the formats of recordings that converter and player know. For each format it has the options,
// translations, writers of episodes and texts that package codec does not have.
//
// A new format needs its own package with a [codec.Format], and an entry in bridge/recordings/all. Properties for the
// nodes are in the function properties. Package live has the formats that the recorder writes.
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

// Format is a format with its properties for the nodes.
type Format struct {
	codec.Format

	// With returns the format configured by its own options; nil if it has none.
	With func(*Options) codec.Format
	// Group is the group of the options that only formats of one kind use. Also is another option that the format uses.
	Group, Also string
	// Standard reports whether only standard messages are written. Logs of PX4 are then read with
	// FlightOptions.Standard.
	Standard bool
	// Storages reports whether Rosbag2Options apply.
	Storages bool
	// Native are the encodings of messages that are not translated unless the user asks for another encoding. Messages
	// of other encodings become ROS 2 messages. nil: all encodings but those that are Bound.
	Native []string
	// Live describes how the recorder writes the format; nil if it does not.
	Live *live.Format
	// Reindex rebuilds the metadata of the recording at path from its files. It calls repaired with each repair. nil if
	// the format has no such metadata.
	Reindex func(path string, repaired func(string)) (*codec.Info, error)
	// Episodes describes how episodes are written; nil for formats of messages.
	Episodes *Episodes
}

// List is a list of known formats.
type List []Format

// All returns the formats of all recordings.
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

// properties returns the properties of formats for nodes, by name, without Format and Live.
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

// FromStart reports whether messages depend on where reading begins: velocities that a CARLA log lacks are computed
// from the previous frame.
func FromStart(info *codec.Info) bool {
	_, carlaLog := info.Metadata[carla.KeyProfile]
	return carlaLog
}

// Codecs returns the formats for package codec.
func (l List) Codecs() codec.Formats {
	codecs := make(codec.Formats, len(l))
	for i, f := range l {
		codecs[i] = f.Format
	}
	return codecs
}

// Open opens the recording at path. The name of its first file means all of its files; see package series.
func (l List) Open(files *store.Files, path string) (codec.Reader, error) {
	return series.OpenRecording(files, l.Codecs(), path)
}

// OpenFile opens only one file of a recording; see series.OpenFile.
func (l List) OpenFile(files *store.Files, path string) (codec.Reader, error) {
	return series.OpenFile(files, l.Codecs(), path)
}

// Reindex rebuilds the metadata of the recording at path; see Format.Reindex.
func (l List) Reindex(path string, repaired func(string)) (*codec.Info, error) {
	for _, f := range l {
		if f.Reindex != nil {
			return f.Reindex(path, repaired)
		}
	}
	return nil, fmt.Errorf("reindex %s: %w", path, codec.ErrUnknownFormat)
}

// Configured returns f configured by the options.
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

// KeepsMessages reports whether recordings of a format have messages, also for the frames of a video. Others have
// episodes, tables, pictures, clouds or tracks.
func (f *Format) KeepsMessages() bool {
	return f.OpenFrom != nil && f.Create != nil && f.Episodes == nil
}

// TakesFrameOption reports whether an option with a value says how the format keeps frames of videos.
func (f *Format) TakesFrameOption(option, value string) bool {
	return f.KeepsMessages() && (option == "images" && value == ImagesRaw || option == "quality")
}

// Writes reports whether recordings of the format can be written.
func (f *Format) Writes() bool { return f.Create != nil || f.Episodes != nil }

// Saved returns the format of copies of recordings of a format: the format itself, or MCAP if it cannot be written.
func (l List) Saved(name string) string {
	for _, f := range l {
		if f.Name == name && f.Writes() {
			return name
		}
	}
	return mcap.Format.Name
}
