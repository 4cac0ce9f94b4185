package recorder

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/hardware"
)

// hardwareMapping returns a mapping of the cameras and arms in a ROS 2 parameter file for camera_publisher and
// arm_publisher in a namespace. The mapping has the topics and the metadata of the devices.
func hardwareMapping(file, namespace string) (*robot.Mapping, error) {
	cameras := struct {
		hardware.Camera
		Cameras map[string]*hardware.Camera `param:"cameras"`
	}{Camera: hardware.DefaultCamera()}
	if err := config.ReadFile(file, path.Join("/", namespace, "camera_publisher"), &cameras); err != nil {
		return nil, err
	}
	arms := struct {
		hardware.Arm
		Arms map[string]*hardware.Arm `param:"arms"`
	}{Arm: hardware.DefaultArm()}
	if err := config.ReadFile(file, path.Join("/", namespace, "arm_publisher"), &arms); err != nil {
		return nil, err
	}
	// A section may have a single device without a name.
	if len(cameras.Cameras) == 0 && cameras.Device+cameras.Serial != "" {
		cameras.Cameras = map[string]*hardware.Camera{"camera_0": &cameras.Camera}
	}
	if len(arms.Arms) == 0 && arms.Host != "" {
		arms.Arms = map[string]*hardware.Arm{"arm_0": &arms.Arm}
	}
	m := &robot.Mapping{}
	for _, name := range slices.Sorted(maps.Keys(cameras.Cameras)) {
		c := cameras.Cameras[name]
		topic, err := c.Topic(name)
		if err != nil {
			return nil, fmt.Errorf("%s: camera %s: %w", file, name, err)
		}
		m.Cameras = append(m.Cameras, robot.Camera{Name: name, Topic: path.Join("/", namespace, topic),
			Device: c.Metadata()})
	}
	for _, name := range slices.Sorted(maps.Keys(arms.Arms)) {
		topic := func(last string) *robot.Stream { return &robot.Stream{Topic: path.Join("/", namespace, name, last)} }
		gripper := topic("gripper")
		gripper.Range = arms.Arms[name].Positions()
		m.Arms = append(m.Arms, robot.Arm{
			Name: name, Device: arms.Arms[name].Metadata(),
			Streams: robot.Streams{episode.Joint: topic("joint_states"), episode.Pose: topic("tool_pose"),
				episode.Gripper: gripper},
		})
	}
	if len(m.Cameras)+len(m.Arms) == 0 {
		return nil, fmt.Errorf("%s: it has neither cameras for camera_publisher nor arms for arm_publisher in the "+
			"namespace %s", file, path.Join("/", namespace))
	}
	return m, nil
}
