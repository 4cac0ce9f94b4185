package track

import (
	"fmt"
	"slices"
	"strings"

	"tapedeck/codec/internal/stamped"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// maxDepth is the most transforms between two frames.
const maxDepth = 100

// frames holds the transforms between frames, and the frames that have tracks.
type frames struct {
	wanted   []frame
	known    map[string]transform // by child
	messages int
}

// frame is a frame that has a track. to is the frame to which the track is relative; "" is the parent.
type frame struct{ name, to string }

// transform is the last transform of a frame.
type transform struct {
	parent string
	static bool
	pose   geometry_msgs.Pose
}

// newFrames parses Options.Frames.
func newFrames(options []string) (*frames, error) {
	f := &frames{known: map[string]transform{}}
	for text := range strings.SplitSeq(strings.Join(options, ","), ",") {
		name, to, _ := strings.Cut(text, "=")
		name = strings.TrimPrefix(name, "/")
		if name != "" {
			if slices.ContainsFunc(f.wanted, func(other frame) bool { return other.name == name }) {
				return nil, fmt.Errorf("the frames of tracks name %s twice; write one file for each", name)
			}
			f.wanted = append(f.wanted, frame{name, strings.TrimPrefix(to, "/")})
		}
	}
	return f, nil
}

// transforms adds the transforms of a message to the tracks of frames.
func (w *writer) transforms(d *tf2_msgs.TFMessage, m *stamped.Message) error {
	f := w.frames
	f.messages++
	static := strings.HasSuffix(m.Channel.Topic, "/tf_static")
	for i := range d.Transforms {
		t := &d.Transforms[i]
		child, parent := strings.TrimPrefix(t.ChildFrameId, "/"), strings.TrimPrefix(t.Header.FrameId, "/")
		f.known[child] = transform{parent, static, geometry_msgs.Pose{
			Position: geometry_msgs.Point(t.Transform.Translation), Orientation: t.Transform.Rotation}}
		for _, frame := range f.wanted {
			if !f.moves(frame, child) {
				continue
			}
			at := w.time(m, t.Header.Stamp.Nanoseconds())
			pose, err := f.find(frame)
			if err == nil {
				err = w.pose(w.topics.Add(frame.name), at, &pose)
			}
			if err != nil {
				w.lost.Add(m.Channel.Topic, fmt.Sprintf("transforms of %s: %v", frame.name, err), 1)
			}
		}
	}
	return nil
}

// moves reports whether a transform of child gives the wanted frame its next pose. On the way from the wanted frame to
// the frame of reference, this is the first transform that is not static, such as the transform of the vehicle that
// carries a sensor. If all transforms on the way are static, each of them gives a pose.
func (f *frames) moves(wanted frame, child string) bool {
	name, passed := wanted.name, false
	for range maxDepth {
		last, ok := f.known[name]
		passed = passed || name == child
		switch {
		case !ok:
			return false
		case !last.static:
			return name == child
		case wanted.to == "" || last.parent == wanted.to:
			return passed
		}
		name = last.parent
	}
	return false
}

// find returns the pose of a frame from the last transforms.
func (f *frames) find(wanted frame) (geometry_msgs.Pose, error) {
	last := f.known[wanted.name]
	for range maxDepth {
		if wanted.to == "" || last.parent == wanted.to {
			return last.pose, nil
		}
		next, ok := f.known[last.parent]
		if !ok {
			break
		}
		last = transform{parent: next.parent, pose: compose(&next.pose, &last.pose)}
	}
	return last.pose, fmt.Errorf("no transforms lead to %s", wanted.to)
}

// compose converts a pose from a frame to the frame's parent. frame is the pose of the frame in its parent.
func compose(frame, pose *geometry_msgs.Pose) geometry_msgs.Pose {
	turned := product(product(frame.Orientation, geometry_msgs.Quaternion{X: pose.Position.X, Y: pose.Position.Y,
		Z: pose.Position.Z}), conjugate(frame.Orientation))
	return geometry_msgs.Pose{
		Position: geometry_msgs.Point{X: frame.Position.X + turned.X, Y: frame.Position.Y + turned.Y,
			Z: frame.Position.Z + turned.Z},
		Orientation: product(frame.Orientation, pose.Orientation),
	}
}

func conjugate(q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{X: -q.X, Y: -q.Y, Z: -q.Z, W: q.W}
}

func product(p, q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{
		X: p.W*q.X + p.X*q.W + p.Y*q.Z - p.Z*q.Y, Y: p.W*q.Y - p.X*q.Z + p.Y*q.W + p.Z*q.X,
		Z: p.W*q.Z + p.X*q.Y - p.Y*q.X + p.Z*q.W, W: p.W*q.W - p.X*q.X - p.Y*q.Y - p.Z*q.Z,
	}
}
