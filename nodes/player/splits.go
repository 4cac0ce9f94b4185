package main

import (
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/rosbag2compat"
)

// splits publishes on events/read_split, as rosbag2 does, when playback passes from one file of a recording to the
// next, judged by the files' time ranges. A nil one does nothing.
type splits struct {
	node      bridge.Node
	publisher bridge.Publisher
	forms     rosbag2compat.Forms
	files     [][]codec.FileInfo // of each recording, in order
	open      []string           // the current file of each; "" before the first
}

// newSplits returns nil, and logs why, if the events cannot be published.
func newSplits(node bridge.Node, library *rosidl.Library, s *source) *splits {
	const typeName = "rosbag2_interfaces/msg/ReadSplitEvent"
	t := &splits{node: node}
	var err error
	if t.forms, err = rosbag2compat.NewForms(library, typeName); err != nil {
		node.Log(bridge.Info, "no events on events/read_split: %v", err)
		return nil
	}
	if t.publisher, err = node.Advertise("events/read_split", typeName, codec.DefaultQoS()); err != nil {
		node.Log(bridge.Warn, "no events on events/read_split: %v", err)
		return nil
	}
	for _, r := range s.recordings {
		t.files = append(t.files, slices.DeleteFunc(slices.Clone(r.info.Files), func(f codec.FileInfo) bool {
			return f.MessageCount == 0
		}))
	}
	t.open = make([]string, len(t.files))
	return t
}

// reach publishes the events due when playback reaches a recorded time.
func (t *splits) reach(now int64) {
	if t == nil {
		return
	}
	for i, files := range t.files {
		for j := len(files) - 1; j >= 0; j-- {
			if files[j].StartTime <= now {
				t.change(i, files[j].Path)
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
	for i := range t.open {
		t.change(i, "")
	}
}

func (t *splits) change(recording int, path string) {
	closed := t.open[recording]
	if closed == path {
		return
	}
	t.open[recording] = path
	if closed == "" {
		return // the first one is opened without an event
	}
	data, err := t.forms.Marshal(&srv.ReadSplitEvent{ClosedFile: closed, OpenedFile: path, NodeName: t.node.Name()})
	if err == nil {
		err = t.publisher.Publish(data)
	}
	if err != nil {
		t.node.Log(bridge.Warn, "publish on %s: %v", t.publisher.Topic(), err)
	}
}
