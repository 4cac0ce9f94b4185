package apollo

import (
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/sensor_msgs"
)

// Full names of Apollo types that other files of the package use, too.
const (
	imuType          = "apollo.drivers.gnss.Imu"
	correctedIMUType = "apollo.localization.CorrectedImu"
	pointCloudType   = "apollo.drivers.PointCloud"
)

// pairs lists all pairs. For a ROS 2 channel, the first pair that fits applies. If messages are also translated to
// Apollo, the folder proto must contain the Apollo type with all fields that the translation writes.
var pairs = []*pair{
	newPair(correctedIMU, pair{apollo: correctedIMUType, fits: isCorrectedIMU, lossy: true}),
	newPair(imu, pair{apollo: imuType, lossy: true}),
	newPair(gps, pair{apollo: "apollo.localization.Gps", fits: isGPS}),
	newPair(localization, pair{
		apollo:       "apollo.localization.LocalizationEstimate",
		extraTargets: []target{{"/tf", "tf2_msgs/msg/TFMessage"}},
	}),
	newPair(bestPose, pair{apollo: "apollo.drivers.gnss.GnssBestPose"}),
	newPair(gnss, pair{
		apollo:       "apollo.drivers.gnss.Gnss",
		extraTargets: []target{{"_velocity", "geometry_msgs/msg/TwistWithCovarianceStamped"}},
		oneWay:       true, // GnssBestPose has more fields
	}),
	{
		apollo: pointCloudType, ros: "sensor_msgs/msg/PointCloud2", lossy: true,
		targets: []target{{"", "sensor_msgs/msg/PointCloud2"}}, toROS2: pointCloud, fromROS2: pointCloudOf,
	},
	newPair(image, pair{apollo: "apollo.drivers.Image", lossy: true}),
	newPair(compressedImage, pair{apollo: "apollo.drivers.CompressedImage", lossy: true}),
	newPair(transforms, pair{apollo: "apollo.transform.TransformStampeds", lossy: true}),
	newPair(chassis, pair{apollo: "apollo.canbus.Chassis", suffix: "_twist", fits: isChassis}),
	newPair(trajectory, pair{apollo: "apollo.planning.ADCTrajectory"}),
	newPair(obstacles, pair{
		apollo:       "apollo.perception.PerceptionObstacles",
		extraTargets: []target{{"_markers", "visualization_msgs/msg/MarkerArray"}},
	}),
	newPair(radar, pair{apollo: "apollo.drivers.ContiRadar"}),
	newPair(control, pair{apollo: "apollo.control.ControlCommand"}),
}

// isCorrectedIMU reports whether a channel has orientations, by its topic or its first message.
func isCorrectedIMU(t *fromROS2, c *codec.Channel) bool {
	if strings.Contains(c.Topic, "corrected") {
		return true
	}
	var m sensor_msgs.Imu
	return cdr.Unmarshal(t.firstPayload(c), &m) == nil && hasOrientation(&m)
}

// isGPS reports whether the topic of a channel names a satellite receiver.
func isGPS(_ *fromROS2, c *codec.Channel) bool {
	return strings.Contains(c.Topic, "gnss") || strings.Contains(c.Topic, "gps")
}

// isChassis reports whether ToROS2 may have made a channel from a Chassis, by the suffix of its topic.
func isChassis(_ *fromROS2, c *codec.Channel) bool {
	return strings.HasSuffix(c.Topic, "_twist") && len(c.Topic) > len("/_twist")
}
