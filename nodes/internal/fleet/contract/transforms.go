package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/human"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// tree is the frames that transforms connect.
type tree struct {
	parents map[string]edge // by child frame
}

// edge leads from a frame to its parent.
type edge struct {
	parent string
	time   int64 // log time of the first transform of the child
}

// addTransforms adds the transforms of a message to the tree.
func (s *channelState) addTransforms(m *codec.Message) error {
	var message tf2_msgs.TFMessage
	if err := cdr.Unmarshal(m.Data, &message); err != nil {
		return err
	}
	for i := range message.Transforms {
		s.tree.add(&message.Transforms[i], m.LogTime)
		s.addFrame(strings.TrimPrefix(message.Transforms[i].ChildFrameId, "/"))
	}
	return nil
}

// add takes a transform with the log time now.
func (t *tree) add(transform *geometry_msgs.TransformStamped, now int64) {
	child := strings.TrimPrefix(transform.ChildFrameId, "/")
	e, known := t.parents[child]
	if !known {
		e.time = now
	}
	e.parent = strings.TrimPrefix(transform.Header.FrameId, "/")
	if known || len(t.parents) < 100*maxNames {
		t.parents[child] = e
	}
}

// find adds findings about cycles and about several roots.
func (t *tree) find(p *Pass, topic string) {
	visited := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(t.parents)) {
		var way []string
		for e, known := t.parents[name]; known && !visited[name]; e, known = t.parents[name] {
			visited[name], way = true, append(way, name)
			name = e.parent
		}
		if i := slices.Index(way, name); i >= 0 {
			var since int64
			for _, name := range way[i:] {
				since = max(since, t.parents[name].time)
			}
			p.found.add(Finding{topic, since, 0, TF, "one tree", "a cycle: " + human.List(way[i:])})
		}
	}
	roots := map[string]int64{}
	for _, e := range t.parents {
		if _, child := t.parents[e.parent]; child {
			continue
		}
		if since, known := roots[e.parent]; !known || e.time < since {
			roots[e.parent] = e.time
		}
	}
	if len(roots) < 2 {
		return
	}
	names := slices.Sorted(maps.Keys(roots))
	times := slices.Sorted(maps.Values(roots))
	p.found.add(Finding{topic, times[1], 0, TF, "one tree", fmt.Sprintf("%d roots: %s", len(names), human.List(names))})
}

// transforms reports whether the topic has transforms.
func (t *topicState) transforms() bool {
	return slices.Contains(t.types, (*tf2_msgs.TFMessage)(nil).TypeName())
}

// findMissingFrames adds a finding about expected frames without a transform.
func (p *Pass) findMissingFrames(t *topicState) {
	if !t.transforms() {
		return
	}
	var missing []string
	for _, frame := range t.expected.Frames {
		if !t.frames[strings.TrimPrefix(frame, "/")] {
			missing = append(missing, frame)
		}
	}
	if len(missing) > 0 {
		p.found.add(Finding{t.name, 0, 0, Frame, "transforms of all frames", "none of " + human.List(missing)})
	}
}
