package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/hardware"
)

//go:generate env UPDATE_REFERENCE=1 go test -count=1 -run ^TestEveryOption .

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// options are the node's parameters. Each is a flag, a ROS parameter and a line of config/camera_publisher.yaml.
type options struct {
	hardware.Camera
	Cameras map[string]*hardware.Camera `param:"cameras" group:"Camera"`

	Reliable bool `param:"reliable" group:"Publishing"`

	Loop          bool          `param:"loop" short:"l" group:"Files"`
	MatchPatience time.Duration `param:"match_patience" group:"Files" min:"0"`
	AckTimeout    time.Duration `param:"wait_for_all_acked" unit:"ms" group:"Files"`

	List bool `param:"list" group:"Status"`

	graph.Options
}

func (*options) OptionTexts() string { return optionTexts }

func defaultOptions() options {
	return options{Camera: hardware.DefaultCamera(), MatchPatience: 5 * time.Second, AckTimeout: 5 * time.Second}
}

// cameras returns the cameras to publish by name: the entries of Cameras, and the devices on the command line. Errors
// wrap config.ErrUsage.
func (o *options) cameras(devices []string) (map[string]*hardware.Camera, error) {
	cameras := maps.Clone(o.Cameras)
	if cameras == nil {
		cameras = map[string]*hardware.Camera{}
	}
	for i := 0; len(devices) > 0; i++ {
		name := fmt.Sprint("camera_", i)
		if cameras[name] != nil {
			continue
		}
		c := o.Camera
		c.Device, c.Serial = devices[0], ""
		cameras[name], devices = &c, devices[1:]
	}
	if len(cameras) == 0 && o.Device+o.Serial != "" {
		cameras["camera_0"] = &o.Camera
	}
	if len(o.Cameras) > 0 && o.Device+o.Serial != "" {
		return nil, config.Usagef("%s is the device of no camera: give it to one of cameras", o.Device+o.Serial)
	}
	if len(cameras) == 0 {
		return nil, config.Usagef("name a device, such as /dev/video0, or cameras in a parameter file; --list shows " +
			"connected cameras")
	}
	for _, name := range slices.Sorted(maps.Keys(cameras)) {
		switch c := cameras[name]; {
		case c.Device+c.Serial == "":
			return nil, config.Usagef("camera %s: it needs a device or a serial", name)
		case c.DepthScale == 0:
			return nil, config.Usagef("camera %s: depth_scale must not be 0", name)
		case c.Device != "" && c.Serial != "":
			return nil, config.Usagef("camera %s: give either a device or a serial, not both", name)
		}
	}
	return cameras, nil
}

// qos returns the QoS of a camera's topics. Reliable topics keep all images of files.
func (o *options) qos(fromFile bool) codec.QoS {
	if !o.Reliable {
		return bridge.SensorDataQoS()
	}
	qos := codec.DefaultQoS()
	if fromFile {
		qos.History, qos.Depth = codec.KeepAll, 0
	}
	return qos
}
