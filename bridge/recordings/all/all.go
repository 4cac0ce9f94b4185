// Package all lists all formats of recordings, and opens recordings of any format.
//
// HDF5 files are read by the program hdf5_helper, which must be beside the executable or on the PATH.
package all

import (
	"slices"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/cloud"
	"tapedeck/codec/format/hdf5"
	"tapedeck/codec/format/images"
	"tapedeck/codec/format/lerobot"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/mp4"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/format/session"
	"tapedeck/codec/format/table"
	"tapedeck/codec/format/tlog"
	"tapedeck/codec/format/track"
	"tapedeck/codec/format/ulog"
	"tapedeck/codec/store"
	"tapedeck/codec/store/http"
)

// Formats returns all formats of recordings: first the formats that can be read, in the order in which they are tried,
// then the formats that can only be written.
func Formats() codec.Formats {
	return slices.Concat(codec.Formats{carla.Format, hdf5.Format, lerobot.Format, mcap.Format, record.Format,
		rosbag.Format, rosbag2.Format, session.Format, tlog.Format, ulog.Format}, written())
}

// written returns the formats that can only be written.
func written() codec.Formats {
	return codec.Formats{table.Parquet, table.CSV, table.JSONL, images.Format, mp4.Options{}.Format(), cloud.PCD,
		cloud.PLY, track.Options{}.GPX(), track.Options{}.GeoJSON(), track.Options{}.KML(), track.Options{}.TUM()}
}

// Open opens recordings as one recording of ROS 2 messages, merged by time. Each path is a folder, the first file of a
// recording, or the URL of a file at a web server. recordings.Open has options, and can read from other stores.
func Open(paths ...string) (*recordings.Recording, error) {
	return recordings.Open(paths, recordings.Options{Formats: Formats(), Files: store.New(http.New())})
}
