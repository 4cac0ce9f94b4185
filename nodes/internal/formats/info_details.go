package formats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/format/tlog"
	"tapedeck/codec/format/ulog"
	"tapedeck/codec/text/human"
	"tapedeck/codec/training/episode"
)

// Detail is a line about a recording that only its format has.
type Detail struct{ Label, Text string }

// Details returns the lines that only the recording's format has.
func Details(info *codec.Info) (list []Detail) {
	add := func(label, text string) {
		if text != "" {
			list = append(list, Detail{label, text})
		}
	}
	switch e := info.Extra.(type) {
	case carla.Details:
		add("CARLA:", fmt.Sprintf("%s, version %d", e.Profile, e.Version))
		add("Map:", human.OrDash(e.Map))
		add("Frames:", fmt.Sprintf("%d in %.3f s of simulation", e.Packets["FrameStart"], e.Duration))
		add("Actors:", counts(e.Actors))
	case record.Details:
		add("Chunks:", fmt.Sprint(e.Chunks))
		add("Map:", human.Printable(e.Map))
		add("Vehicle:", human.Printable(e.Vehicle))
	case rosbag.Extra:
		add("Chunks:", chunks(map[string]int{e.Compression: e.Chunks}))
	case mcap.Extra:
		add("Chunks:", chunks(e.Chunks))
	case rosbag2.Extra:
		add("Chunks:", chunks(e.Chunks))
		if mode := strings.ToLower(e.CompressionMode); mode != "" && mode != "none" {
			add("Compressed:", "each "+human.Printable(mode)+", zstd")
		}
		add("ROS:", human.Printable(e.ROSDistro))
	case tlog.Details:
		frames := fmt.Sprintf("%d of MAVLink 1, %d of MAVLink 2, %d signed", e.V1, e.V2, e.Signed)
		if e.Text > 0 {
			frames += fmt.Sprintf("; %s of text between them", human.Count(e.Text, "byte"))
		}
		if e.BadChecksum > 0 {
			frames += fmt.Sprintf("; %d with a bad checksum", e.BadChecksum)
		}
		add("Frames:", frames)
		add("Components:", largestCounts(e.Components))
		add("Kinds:", largestCounts(e.Messages))
		if !e.Stamped {
			add("Times:", "those in messages; the stream has none")
		}
	case episode.Details:
		add("Not read:", human.Printable(strings.Join(e.Unread, "; ")))
	case ulog.Details:
		add("PX4:", human.OrDash(strings.Join(strings.Fields(human.Printable(e.System+" "+e.Hardware+" "+e.Software)),
			" ")))
		if !e.UTC {
			add("Times:", "since boot; the log has no time of GPS")
		}
		if e.Dropouts > 0 {
			add("Dropouts:", fmt.Sprintf("%d, %.3f s", e.Dropouts, e.DropoutTime))
		}
		add("Parameters:", fmt.Sprintf("%d, %s", e.Parameters, human.Count(e.Changes, "change")))
	}
	return list
}

// byCount returns the keys of m, the one with the largest count first.
func byCount(m map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), strings.Compare(a, b))
	})
}

// largestCounts lists the largest counts, such as "ATTITUDE (500), HEARTBEAT (10) and 3 more".
func largestCounts(m map[string]uint64) string {
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

// IsDetail reports whether Details has the metadata of this name.
func IsDetail(name string) bool { return name == "ros_distro" || strings.HasPrefix(name, "carla.") }

// chunks lists the number of chunks by compression, such as "3 zstd, 1 not compressed".
func chunks(m map[string]int) string {
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
	return strings.Join(parts, ", ")
}

// counts lists counts with their nouns, the largest first: "36 traffic lights, 1 vehicle".
func counts(m map[string]uint64) string {
	var parts []string
	for _, name := range byCount(m) {
		parts = append(parts, human.Count(m[name], name))
	}
	return human.OrDash(strings.Join(parts, ", "))
}
