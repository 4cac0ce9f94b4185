// Package generate makes stand-ins for real recordings, for tests of general properties, where these are not here:
//
//	apollo/apollo_cpp_sensors.record, multichunk, incomplete_killed  by our writer
//	apollo/ others                                                   real only
//	bag/py_none.bag, py_lz4.bag, py_unindexed_active.bag             by python3-rosbag, the very bytes
//	bag/ others                                                      real only
//	carla/                                                           by our writer
//	mavlink/synthetic_px4_v2.tlog                                    by gomavlib, the very bytes
//	mavlink/dronekit_flight.tlog                                     real only
//	mcap/                                                            real only
//	rosbag2/rosbags_rs/test_bag_mcap, test_bag_sqlite3               by our writer
//	rosbag2/ others                                                  real only
//	session/easyteleop_reference/hdf5                                by h5py
//	session/easyteleop_reference/temp                                by our writer
//	ulog/flight.ulg                                                  by hand
//	ulog/ others                                                     real only
//
// What tests expect of one real file is in those tests, which use package samples alone.
package generate

import (
	"errors"
	"path/filepath"
	"testing"

	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/samples"
)

// CARLALog is the name of a log of CARLA's recorder.
const CARLALog = "carla/scenario_runner_DistanceToLaneCenter.log"

const reference = "session/easyteleop_reference/"

// generators are by the name of the sample for which they write a stand-in to a path.
var generators = map[string]func(path string) error{
	"apollo/apollo_cpp_sensors.record": sensors,
	"apollo/incomplete_killed.record":  chunks(459, true),
	"apollo/multichunk.record":         chunks(600, false),

	"bag/py_lz4.bag":              bag("lz4"),
	"bag/py_none.bag":             bag("none"),
	"bag/py_unindexed_active.bag": bag("unfinished"),

	CARLALog:                                Drive,
	"carla/sr2020_DistanceToLaneCenter.log": earlier,

	"mavlink/synthetic_px4_v2.tlog": flight,

	"rosbag2/rosbags_rs/test_bag_mcap":                    ros2(rosbag2.Format),
	"rosbag2/rosbags_rs/test_bag_mcap/test_bag_mcap.mcap": ros2(mcap.Format),
	"rosbag2/rosbags_rs/test_bag_sqlite3":                 ros2(rosbag2.Options{Storage: "sqlite3"}.Format()),

	reference + "hdf5/20261121_082214.hdf5": easyTeleop,
	reference + "temp":                      sessions,
	reference + "temp/20261121_082214":      teleoperation,

	"ulog/flight.ulg": ulog,
}

// Path returns the path of a real recording, or else of one that it generates, if it can. Otherwise it skips the test.
func Path(t testing.TB, name string) string {
	t.Helper()
	if path, ok := Find(t, name); ok {
		return path
	}
	return samples.Path(t, name)
}

// Find returns the path that Path returns, and reports whether the file exists.
func Find(t testing.TB, name string) (path string, ok bool) {
	t.Helper()
	path, ok = samples.Find(name)
	if ok {
		return path, true
	}
	generate := generators[name]
	if generate == nil {
		return "", false
	}
	path = filepath.Join(t.TempDir(), filepath.Base(name))
	err := generate(path)
	if errors.Is(err, errNoModule) {
		t.Logf("generate %s: %v", name, err)
		return "", false
	}
	if err != nil {
		t.Fatalf("generate %s: %v", name, err)
	}
	return path, true
}
