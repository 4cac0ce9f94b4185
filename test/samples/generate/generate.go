// Package generate makes stand-ins for the real recordings that tests of general properties read, where these are not here:
//
//	apollo/apollo_cpp_sensors.record, multichunk, incomplete_killed  our writer
//	bag/py_none.bag, py_lz4.bag, py_unindexed_active.bag             python3-rosbag, the very bytes of the samples
//	carla/scenario_runner_DistanceToLaneCenter.log                   our writer
//	mavlink/synthetic_px4_v2.tlog                                    gomavlib, the very bytes of the sample
//	rosbag2/rosbags_rs/test_bag_mcap, test_bag_sqlite3               our writer
//
// All others are real or missing. What tests expect of one real file is in those tests, which use package samples alone.
package generate

import (
	"path/filepath"
	"testing"

	"tapedeck/test/samples"
)

// generators are by the name of the sample for which they write a stand-in to a path.
var generators = map[string]func(path string) error{
	"mavlink/synthetic_px4_v2.tlog": flight,
}

// Path returns the path of a real recording, or else of one that it generates, if it can. Otherwise it skips the test.
func Path(t testing.TB, name string) string {
	t.Helper()
	generate := generators[name]
	if path, ok := samples.Find(name); ok || generate == nil {
		return samples.Path(t, name)
	} else {
		path = filepath.Join(t.TempDir(), filepath.Base(name))
		if err := generate(path); err != nil {
			t.Fatalf("generate %s: %v", name, err)
		}
		return path
	}
}


