package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/config/configtest"
	"tapedeck/nodes/internal/hardware"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	o := defaultOptions()
	require.NoError(t, configtest.CheckFile("../../config/camera_publisher.yaml", &o))
	require.NoError(t, configtest.CheckTable("../../docs/reference/options.md", "camera_publisher", &o))
}

func TestCameras(t *testing.T) {
	named := func(set func(*hardware.Camera)) *hardware.Camera {
		c := hardware.DefaultCamera()
		set(&c)
		return &c
	}
	for name, test := range map[string]struct {
		set  func(*options)
		args []string
		want map[string]string // device and serial by name
		err  string
	}{
		"nothing": {err: "name a device, such as /dev/video0, or cameras in a parameter file; --list shows connected " +
			"cameras"},
		"devices": {args: []string{"/dev/video0", "8A2F"},
			want: map[string]string{"camera_0": "/dev/video0", "camera_1": "8A2F"}},
		"beside others": {
			set: func(o *options) {
				o.Cameras = map[string]*hardware.Camera{"camera_0": named(func(c *hardware.Camera) { c.Serial = "1" }),
					"left": named(func(c *hardware.Camera) { c.Device = "a" })}
			},
			args: []string{"b", "c"},
			want: map[string]string{"camera_0": "1", "left": "a", "camera_1": "b", "camera_2": "c"},
		},
		"one by a parameter": {set: func(o *options) { o.Serial = "8A2F" },
			want: map[string]string{"camera_0": "8A2F"}},
		"the command line": {set: func(o *options) { o.Serial = "8A2F" }, args: []string{"d"},
			want: map[string]string{"camera_0": "d"}},
		"of none": {set: func(o *options) {
			o.Device = "a"
			o.Cameras = map[string]*hardware.Camera{"left": named(func(c *hardware.Camera) { c.Device = "b" })}
		},
			err: "a is the device of no camera: give it to one of cameras"},
		"neither": {set: func(o *options) {
			o.Cameras = map[string]*hardware.Camera{"a": named(func(*hardware.Camera) {})}
		},
			err: "camera a: it needs a device or a serial"},
		"device and serial": {set: func(o *options) { o.Device, o.Serial = "a", "b" },
			err: "camera camera_0: give either a device or a serial"},
		"no depth": {set: func(o *options) { o.DepthScale = 0 }, args: []string{"d"},
			err: "camera camera_0: depth_scale must not be 0"},
		"what holds for all": {set: func(o *options) { o.Width = 7 }, args: []string{"d"},
			want: map[string]string{"camera_0": "d"}},
		"an empty device name": {args: []string{""}, err: "camera camera_0: it needs a device"},
	} {
		t.Run(name, func(t *testing.T) {
			o := defaultOptions()
			if test.set != nil {
				test.set(&o)
			}
			all, err := o.cameras(test.args)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.ErrorIs(t, err, config.ErrUsage)
				return
			}
			require.NoError(t, err)
			got := map[string]string{}
			for name, c := range all {
				got[name] = c.Device + c.Serial
				require.Equal(t, o.Width, c.Width)
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestQoS(t *testing.T) {
	o := defaultOptions()
	require.Equal(t, bridge.SensorDataQoS(), o.qos(true))
	require.Equal(t, bridge.SensorDataQoS(), o.qos(false))
	o.Reliable = true
	require.Equal(t, codec.DefaultQoS(), o.qos(false))
	require.Equal(t, codec.KeepAll, o.qos(true).History)
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&options{}))
}

func TestHelp(t *testing.T) { configtest.Help(t, newCommand) }
