// Package generate makes stand-ins for missing real recordings, for tests of general properties:
//
//	apollo/apollo_cpp_sensors.record, multichunk, incomplete_killed  by tapedeck
//	apollo/ others                                                   real only
//	bag/py_none.bag, py_lz4.bag, py_unindexed_active.bag             by python3-rosbag, equal bytes
//	bag/ others                                                      real only
//	carla/                                                           by tapedeck
//	mavlink/synthetic_px4_v2.tlog                                    by gomavlib, equal bytes
//	mavlink/dronekit_flight.tlog                                     real only
//	mcap/                                                            real only
//	rosbag2/rosbags_rs/test_bag_mcap, test_bag_sqlite3               by tapedeck
//	rosbag2/ others                                                  real only
//	session/easyteleop_reference/hdf5                                by h5py
//	session/easyteleop_reference/temp                                by tapedeck
//	ulog/flight.ulg                                                  by hand
//	ulog/ others                                                     real only
//
// Tests that expect values of a real recording use package samples only.
package generate

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/samples"
)

// CARLALog is the name of a log of CARLA's recorder.
const CARLALog = "carla/scenario_runner_DistanceToLaneCenter.log"

const reference = "session/easyteleop_reference/"

// generators has the functions that write stand-ins to a path, by the name of the sample.
var generators = map[string]func(path string) error{
	"apollo/apollo_cpp_sensors.record": sensors,
	"apollo/incomplete_killed.record":  chunks(459, true),
	"apollo/multichunk.record":         chunks(600, false),

	"bag/py_lz4.bag":              bag("lz4"),
	"bag/py_none.bag":             bag("none"),
	"bag/py_unindexed_active.bag": bag("unfinished"),

	CARLALog:                                Drive,
	"carla/sr2020_DistanceToLaneCenter.log": driveOld,

	"mavlink/synthetic_px4_v2.tlog": flight,

	"rosbag2/rosbags_rs/test_bag_mcap":                    ros2(rosbag2.Format),
	"rosbag2/rosbags_rs/test_bag_mcap/test_bag_mcap.mcap": ros2(mcap.Format),
	"rosbag2/rosbags_rs/test_bag_sqlite3":                 ros2(rosbag2.Options{Storage: "sqlite3"}.Format()),

	reference + "hdf5/20261121_082214.hdf5": easyTeleop,
	reference + "temp":                      sessions,
	reference + "temp/20261121_082214":      teleoperation,

	"ulog/flight.ulg": ulog,
}

// Path returns the path of a real recording, or of its stand-in. It skips the test if there is neither.
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

// Write writes all stand-ins into a folder, under the names of the samples. It leaves out stand-ins that Python cannot
// write because a module is missing, and returns their names.
func Write(folder string) (missing []string, err error) {
	written := "\x00" // no name begins with it
	for _, name := range slices.Sorted(maps.Keys(generators)) {
		if strings.HasPrefix(name, written+"/") {
			continue // a file of the last stand-in, which is a folder
		}
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		err := generators[name](path)
		switch {
		case errors.Is(err, errNoModule):
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("generate %s: %w", name, err)
		}
		written = name
	}
	return missing, nil
}
