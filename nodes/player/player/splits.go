package player

import (
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/graph/rosbag2compat"
)

// splits publishes an event on events/read_split when playback passes from one file of a recording to the next, as
// rosbag2 does. The time ranges of the files decide. All methods do nothing on a nil *splits.
type splits struct {
	node      bridge.Node
	publisher bridge.Publisher
	forms     rosbag2compat.Forms
	files     [][]codec.FileInfo // by recording, in order
	open      []int              // by recording: index of the current file; -1 before the first
}

// newSplits returns nil, and logs why, if the events cannot be published.
func newSplits(node bridge.Node, library *rosidl.Library, s *mergedRecordings) *splits {
	const typeName = "rosbag2_interfaces/msg/ReadSplitEvent"
	t := &splits{node: node}
	var err error
	t.forms, err = rosbag2compat.NewForms(library, typeName)
	if err != nil {
		node.Log(bridge.Info, "no events on events/read_split: %v", err)
		return nil
	}
	t.publisher, err = node.Advertise("events/read_split", typeName, codec.DefaultQoS())
	if err != nil {
		node.Log(bridge.Warn, "no events on events/read_split: %v", err)
		return nil
	}
	for _, p := range s.Parts {
		t.files = append(t.files, slices.DeleteFunc(slices.Clone(p.Info.Files), func(f codec.FileInfo) bool {
			return f.MessageCount == 0
		}))
	}
	t.open = slices.Repeat([]int{-1}, len(t.files))
	return t
}

// reach publishes the events that are due when playback reaches a recorded time, also those of skipped files.
func (t *splits) reach(now int64) {
	if t == nil {
		return
	}
	for i, files := range t.files {
		for j := len(files) - 1; j >= 0; j-- {
			if files[j].StartTime <= now {
				t.change(i, j)
				break
			}
		}
	}
}

// end closes all files.
func (t *splits) end() {
	if t == nil {
		return
	}
	for i, files := range t.files {
		if t.open[i] >= 0 {
			t.change(i, len(files))
		}
	}
}

// change publishes the events between the current file of a recording and the file with index to. After the last file,
// to is the number of files.
func (t *splits) change(recording, to int) {
	files, open := t.files[recording], &t.open[recording]
	if *open < 0 {
		*open = to // opening the first file is no event
	}
	for *open != to {
		next := to
		if *open < to {
			next = *open + 1
		}
		m := srv.ReadSplitEvent{ClosedFile: files[*open].Path, NodeName: t.node.Name()}
		if next < len(files) {
			m.OpenedFile = files[next].Path
		}
		data, err := t.forms.Marshal(&m)
		if err == nil {
			err = t.publisher.Publish(data)
		}
		if err != nil {
			t.node.Log(bridge.Warn, "publish on %s: %v", t.publisher.Topic(), err)
		}
		*open = next
	}
}
