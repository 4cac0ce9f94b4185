package robot

// Types of messages that have a place without a mapping, and where in them the numbers of a pose are.
const (
	typeJointState      = "sensor_msgs/msg/JointState"
	typeImage           = "sensor_msgs/msg/Image"
	typeCompressedImage = "sensor_msgs/msg/CompressedImage"
)

var posesIn = map[string]string{
	"geometry_msgs/msg/Pose":                      "",
	"geometry_msgs/msg/PoseStamped":               "pose",
	"geometry_msgs/msg/PoseWithCovariance":        "pose",
	"geometry_msgs/msg/PoseWithCovarianceStamped": "pose.pose",
	"geometry_msgs/msg/Transform":                 "",
	"geometry_msgs/msg/TransformStamped":          "transform",
	"nav_msgs/msg/Odometry":                       "pose.pose",
}

// usualFields returns the fields that a stream has in messages of a type if the mapping names none.
func usualFields(r role, typeName string) []string {
	in, isPose := posesIn[typeName]
	switch {
	case r.is() == pose && isPose:
		return []string{in}
	case typeName == typeJointState && (r == effort || r == velocity):
		return []string{roleNames[r]}
	case typeName == typeJointState:
		return []string{"position"}
	}
	return []string{"data"}
}
