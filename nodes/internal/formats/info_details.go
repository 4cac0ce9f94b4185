package formats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/carla"
	"tapedeck/codec/mcap"
	"tapedeck/codec/record"
	"tapedeck/codec/rosbag"
	"tapedeck/codec/rosbag2"
	"tapedeck/codec/tlog"
	"tapedeck/codec/ulog"
	"tapedeck/nodes/internal/human"
)

// Detail is a line of what a format knows of a recording beside what there is to know of any.
type Detail struct{ Label, Text string }

// Details returns what the format of a recording knows of it beside the fields of codec.Info.
func Details(info *codec.Info) []Detail {
	switch e := info.Extra.(type) {
	case carla.Details:
		return []Detail{
			{"CARLA:", fmt.Sprintf("%s, version %d", e.Profile, e.Version)},
			{"Map:", human.OrDash(e.Map)},
			{"Frames:", fmt.Sprintf("%d in %.3f s of simulation", e.Packets["FrameStart"], e.Duration)},
			{"Actors:", counts(e.Actors)},
		}
	case record.Details:
		list := []Detail{{"Chunks:", fmt.Sprint(e.Chunks)}}
		if e.Map != "" {
			list = append(list, Detail{"Map:", human.Printable(e.Map)})
		}
		if e.Vehicle != "" {
			list = append(list, Detail{"Vehicle:", human.Printable(e.Vehicle)})
		}
		return list
	case rosbag.Extra:
		return chunks(map[string]int{e.Compression: e.Chunks})
	case mcap.Extra:
		return chunks(e.Chunks)
	case rosbag2.Extra:
		list := chunks(e.Chunks)
		if mode := strings.ToLower(e.CompressionMode); mode != "" && mode != "none" {
			list = append(list, Detail{"Compressed:", "each " + human.Printable(mode) + ", zstd"})
		}
		if e.ROSDistro != "" {
			list = append(list, Detail{"ROS:", human.Printable(e.ROSDistro)})
		}
		return list
	case tlog.Details:
		return tlogDetails(e)
	case ulog.Details:
		return ulogDetails(e)
	}
	return nil
}

func tlogDetails(e tlog.Details) []Detail {
	frames := fmt.Sprintf("%d of MAVLink 1, %d of MAVLink 2, %d signed", e.V1, e.V2, e.Signed)
	if e.BadChecksum > 0 {
		frames += fmt.Sprintf("; %d with a bad checksum", e.BadChecksum)
	}
	list := []Detail{{"Frames:", frames}, {"Components:", counted(e.Components)}, {"Kinds:", counted(e.Messages)}}
	if !e.Stamped {
		list = append(list, Detail{"Times:", "those in messages; the stream has none"})
	}
	return list
}

// byCount returns the names of several things, the most frequent first.
func byCount(m map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), strings.Compare(a, b))
	})
}

// counted names the most frequent of several things: "ATTITUDE (500), HEARTBEAT (10) and 3 more".
func counted(m map[string]uint64) string {
	const most = 8
	names := byCount(m)
	var parts []string
	for _, name := range names[:min(most, len(names))] {
		parts = append(parts, fmt.Sprintf("%s (%d)", name, m[name]))
	}
	text := human.OrDash(strings.Join(parts, ", "))
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func ulogDetails(e ulog.Details) []Detail {
	list := []Detail{{"PX4:", human.OrDash(strings.Join(strings.Fields(human.Printable(e.System+" "+e.Hardware+" "+
		e.Software)), " "))}}
	if !e.UTC {
		list = append(list, Detail{"Times:", "since boot; the log has no time of GPS"})
	}
	if e.Dropouts > 0 {
		list = append(list, Detail{"Dropouts:", fmt.Sprintf("%d, %.3f s", e.Dropouts, e.DropoutTime)})
	}
	return append(list, Detail{"Parameters:", fmt.Sprintf("%d, %s", e.Parameters, human.Count(e.Changes, "change"))})
}

// IsDetail reports whether Details has what metadata of this name say.
func IsDetail(name string) bool { return name == "ros_distro" || strings.HasPrefix(name, "carla.") }

// chunks says how many there are of each compression: "3 zstd, 1 not compressed".
func chunks(m map[string]int) []Detail {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] == 0 {
			continue
		}
		kind := name
		if name == "" || name == "none" {
			kind = "not compressed"
		}
		parts = append(parts, fmt.Sprintf("%d %s", m[name], kind))
	}
	if parts == nil {
		return nil
	}
	return []Detail{{"Chunks:", strings.Join(parts, ", ")}}
}

// counts says how many there are of each kind, most first: "36 traffic lights, 1 vehicle".
func counts(m map[string]uint64) string {
	var parts []string
	for _, name := range byCount(m) {
		parts = append(parts, human.Count(m[name], name))
	}
	return human.OrDash(strings.Join(parts, ", "))
}
