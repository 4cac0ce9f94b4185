package carla

import "tapedeck/msgs/geometry_msgs"

// frames are the transforms that were heard of, by the frames that they are of.
type frames map[string]*frame

// frame is where a frame is in another one.
type frame struct {
	parent string
	at     geometry_msgs.Pose
	heard  uint64 // when, counted
	topic  string
	count  uint64 // of transforms
	used   bool   // it is on the way to an actor
}

// here is the pose of a frame in itself.
var here = geometry_msgs.Pose{Orientation: geometry_msgs.Quaternion{W: 1}}

// maxDepth is far above the depth of any tree of frames, and ends the way around a circle.
const maxDepth = 64

// hear takes a transform, the time of which is counted, and reports whether it is one.
func (f frames) hear(topic string, t *geometry_msgs.TransformStamped, now uint64) bool {
	at, ok := unit(geometry_msgs.Pose{Position: geometry_msgs.Point(t.Transform.Translation),
		Orientation: t.Transform.Rotation})
	if !ok {
		return false
	}
	known := f[t.ChildFrameId]
	if known == nil {
		known = new(frame)
		f[t.ChildFrameId] = known
	}
	*known = frame{t.Header.FrameId, at, now, topic, known.count + 1, known.used}
	return true
}

// resolve returns where a pose in a frame is in the map or, if that is not known, in the frame that all others are in:
// or in the first frame before that stop, unless it is nil, says yes of. last is that frame, heard when the last of the
// transforms on the way to it was heard; 0 is never.
func (f frames) resolve(name string, at geometry_msgs.Pose, stop func(string) bool) (_ geometry_msgs.Pose, last string,
	heard uint64) {
	for range maxDepth {
		next := f[name]
		if next == nil || name == mapFrame || stop != nil && stop(name) {
			return at, name, heard
		}
		next.used = true
		at = compose(next.at, at)
		heard = max(heard, next.heard)
		name = next.parent
	}
	return at, name, 0
}

// compose returns where a pose in a frame is in the one that the frame is in.
func compose(frame, at geometry_msgs.Pose) geometry_msgs.Pose {
	p := rotate(frame.Orientation, geometry_msgs.Vector3(at.Position))
	return geometry_msgs.Pose{
		Position:    geometry_msgs.Point{X: frame.Position.X + p.X, Y: frame.Position.Y + p.Y, Z: frame.Position.Z + p.Z},
		Orientation: multiply(frame.Orientation, at.Orientation),
	}
}
