package player

import (
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/graph/rosbag2compat"
)

// splits publishes on events/read_split, as rosbag2 does, when playback passes from one file of a recording to the
// next, judged by the files' time ranges. A nil one does nothing.
type splits struct {
	node      bridge.Node
	publisher bridge.Publisher
	forms     rosbag2compat.Forms
	files     [][]codec.FileInfo // of each recording, in order
	open      []int              // index of the current file of each; -1 before the first
}

// newSplits returns nil, and logs why, if the events cannot be published.
func newSplits(node bridge.Node, library *rosidl.Library, s *source) *splits {
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

// reach publishes the events due when playback reaches a recorded time, also those of files that it has passed.
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

// change publishes the events on the way to a file of a recording; behind the last one, there is none.
func (t *splits) change(recording, to int) {
	files, open := t.files[recording], &t.open[recording]
	if *open < 0 {
		*open = to // the first one is opened without an event
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
