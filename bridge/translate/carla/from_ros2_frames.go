package carla

import (
	"tapedeck/msgs/geometry_msgs"
)

// frames holds the last transform of each child frame, by the name of the child frame.
type frames map[string]*frame

// frame is the place of a frame in its parent frame.
type frame struct {
	parent string
	at     geometry_msgs.Pose
	update uint64 // logState.updates at the transform
	topic  string // topic of the transform
	count  uint64 // number of transforms so far
	used   bool   // the place of an actor depended on the frame
}

// identity is the pose of a frame relative to itself.
var identity = geometry_msgs.Pose{Orientation: geometry_msgs.Quaternion{W: 1}}

// maxDepth is far above the depth of any tree of frames. It ends the search in a cycle.
const maxDepth = 64

// store stores a transform, and reports whether its numbers are finite. update is logState.updates at the message.
func (f frames) store(topic string, t *geometry_msgs.TransformStamped, update uint64) bool {
	at, ok := normalize(geometry_msgs.Pose{Position: geometry_msgs.Point(t.Transform.Translation),
		Orientation: t.Transform.Rotation})
	if !ok {
		return false
	}
	stored := f[t.ChildFrameId]
	if stored == nil {
		stored = new(frame)
		f[t.ChildFrameId] = stored
	}
	*stored = frame{t.Header.FrameId, at, update, topic, stored.count + 1, stored.used}
	return true
}

// resolve transforms a pose from a frame to the map or, if the map cannot be reached, to the root of the frames. If
// stop is not nil, resolve ends at the first frame for which stop returns true. last is the frame of the resulting
// pose. update is the update of the newest transform that was applied, or 0 if none was applied.
func (f frames) resolve(name string, at geometry_msgs.Pose, stop func(string) bool) (_ geometry_msgs.Pose, last string,
	update uint64) {
	for range maxDepth {
		next := f[name]
		if next == nil || name == mapFrame || stop != nil && stop(name) {
			return at, name, update
		}
		next.used = true
		at = compose(next.at, at)
		update = max(update, next.update)
		name = next.parent
	}
	return at, name, 0
}

// compose transforms a pose from a frame to the parent of the frame.
func compose(frame, at geometry_msgs.Pose) geometry_msgs.Pose {
	p := frame.Orientation.Rotate(geometry_msgs.Vector3(at.Position))
	return geometry_msgs.Pose{
		Position: geometry_msgs.Point{X: frame.Position.X + p.X, Y: frame.Position.Y + p.Y,
			Z: frame.Position.Z + p.Z},
		Orientation: frame.Orientation.Times(at.Orientation),
	}
}
