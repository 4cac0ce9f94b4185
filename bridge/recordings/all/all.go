// Package all lists the formats of all recordings, and opens a recording of any of them.
//
// HDF5 needs cgo and libhdf5. A program that opens HDF5 files calls Main first.
package all

import (
	"slices"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/carla"
	"tapedeck/codec/cloud"
	"tapedeck/codec/images"
	"tapedeck/codec/lerobot"
	"tapedeck/codec/mcap"
	"tapedeck/codec/mp4"
	"tapedeck/codec/record"
	"tapedeck/codec/rosbag"
	"tapedeck/codec/rosbag2"
	"tapedeck/codec/session"
	"tapedeck/codec/store"
	"tapedeck/codec/store/http"
	"tapedeck/codec/table"
	"tapedeck/codec/tlog"
	"tapedeck/codec/track"
	"tapedeck/codec/ulog"
)

// Formats returns the formats of all recordings: those that are read in the order in which they are tried, then those
// that are only written.
func Formats() codec.Formats {
	return slices.Concat(codec.Formats{carla.Format, hdf5Format(), lerobot.Format, mcap.Format, record.Format,
		rosbag.Format, rosbag2.Format, session.Format, tlog.Format, ulog.Format}, written())
}

// written returns the formats that are only written.
func written() codec.Formats {
	return codec.Formats{table.Parquet, table.CSV, table.JSONL, images.Format, mp4.Options{}.Format(), cloud.PCD,
		cloud.PLY, track.Options{}.GPX(), track.Options{}.GeoJSON(), track.Options{}.KML(), track.Options{}.TUM()}
}

// Open opens recordings as one of ROS 2 messages, in the order of time. Each path is a file, a folder, the first file
// of a recording, or the URL of a file at a web server. recordings.Open has options, and reads other stores.
func Open(paths ...string) (*recordings.Recording, error) {
	return recordings.Open(paths, recordings.Options{Formats: Formats(), Files: store.New(http.New())})
}
