package builtin_interfaces

import "math"

// TimeAt returns the time that is ns nanoseconds after the Unix epoch. ROS 2 has seconds from 1901 to 2038. An
// earlier time gets the first second, a later time the last one.
func TimeAt(ns int64) Time {
	sec, rest := ns/1e9, ns%1e9
	if rest < 0 {
		sec, rest = sec-1, rest+1e9
	}
	return Time{Sec: int32(min(max(sec, math.MinInt32), math.MaxInt32)), Nanosec: uint32(rest)}
}

// Nanoseconds returns t in ns since the Unix epoch.
func (t Time) Nanoseconds() int64 { return int64(t.Sec)*1e9 + int64(t.Nanosec) }

// Nanoseconds returns d in ns.
func (d Duration) Nanoseconds() int64 { return int64(d.Sec)*1e9 + int64(d.Nanosec) }
