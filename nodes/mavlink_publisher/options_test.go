package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/mavlink"
	"tapedeck/config"
	"tapedeck/config/configtest"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	o := defaultOptions()
	require.NoError(t, configtest.CheckFile("../../config/mavlink_publisher.yaml", &o))
	require.NoError(t, configtest.CheckTable("../../docs/reference/options.md", "mavlink_publisher", &o))
}

func TestVehicles(t *testing.T) {
	named := func(sources ...string) map[string]*vehicleOptions {
		m := map[string]*vehicleOptions{}
		for i, s := range sources {
			v := defaultVehicle()
			v.Source, v.System = s, i+1
			m[string(rune('a'+i))] = &v
		}
		return m
	}
	for name, test := range map[string]struct {
		source string
		args   []string
		named  map[string]*vehicleOptions
		want   map[string]string // sources by name
		err    string
	}{
		"option":   {"udp://:1", nil, nil, map[string]string{"mavros": "udp://:1"}, ""},
		"argument": {"udp://:1", []string{"udp://:2"}, nil, map[string]string{"mavros": "udp://:2"}, ""},
		"arguments": {"", []string{"udp://:1", "a.tlog"}, nil,
			map[string]string{"vehicle_0": "udp://:1", "vehicle_1": "a.tlog"}, ""},
		"named": {"", nil, named("udp://:1", "udp://:1"), map[string]string{"a": "udp://:1", "b": "udp://:1"},
			""},
		"named and argument": {"", []string{"udp://:2"}, named("udp://:1"),
			map[string]string{"a": "udp://:1", "mavros": "udp://:2"}, ""},
		"none":              {"", nil, nil, nil, "name a source"},
		"named without one": {"", nil, named(""), nil, "vehicles.a.source is missing"},
		"two with one name": {"", []string{"udp://:2"}, map[string]*vehicleOptions{"mavros": named("udp://:1")["a"]},
			nil,
			"vehicles.mavros: a source"},
	} {
		t.Run(name, func(t *testing.T) {
			o := defaultOptions()
			o.Source, o.Vehicles, o.MapFrame = test.source, test.named, "world"
			list, err := o.entries(test.args)
			if test.err != "" {
				require.ErrorIs(t, err, config.ErrUsage)
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			got := map[string]string{}
			for _, e := range list {
				got[e.name] = e.Source
				if test.named[e.name] == nil {
					require.Equal(t, "world", e.MapFrame)
				}
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestVehiclesOfOneSource(t *testing.T) {
	one, two, other := defaultVehicle(), defaultVehicle(), defaultVehicle()
	one.Source, two.Source, other.Source = "udp://:1", "udp://:1", "udp://:2"
	two.System, two.MapFrame = 2, "world"
	list := []entry{{"one", &one}, {"other", &other}, {"two", &two}}
	groups, err := group(list)
	require.NoError(t, err)
	require.Equal(t, [][]entry{{list[0], list[2]}, {list[1]}}, groups)
	two.Heartbeat = 1
	_, err = group(list)
	require.EqualError(t, err, "two: udp://:1 is also the source of one, with other link options")
	two.Heartbeat, two.System = 0, 0
	_, err = group(list)
	require.EqualError(t, err, "two: udp://:1 is also the source of one: each needs its own system")
}

func TestLinkOptions(t *testing.T) {
	v := defaultVehicle()
	o, err := linkOptions(&v)
	require.NoError(t, err)
	require.Equal(t, mavlink.Options{Rate: 1, System: 255, Component: 191, Streams: map[uint8]uint16{},
		Intervals: map[uint32]float64{}}, o)
	v.Stamps, v.Heartbeat, v.TimeSync, v.Rate, v.OwnSystem, v.OwnComponent = "vehicle", 1, 10, 0, 2, 3
	v.Streams, v.Intervals = []string{"0=4", "10=0"}, []string{"31=100.5", "HIGHRES_IMU=200", "30=-1"}
	o, err = linkOptions(&v)
	require.NoError(t, err)
	require.Equal(t, mavlink.Options{
		Stamps: mavlink.StampVehicle, System: 2, Component: 3, Heartbeat: 1, TimeSync: 10, AnswerTimeSync: true,
		Streams: map[uint8]uint16{0: 4, 10: 0}, Intervals: map[uint32]float64{31: 100.5, 105: 200, 30: -1},
	}, o)
	for text, change := range map[string]func(*vehicleOptions){
		`streams: "4"`:        func(v *vehicleOptions) { v.Streams = []string{"4"} },
		`streams: "256=4"`:    func(v *vehicleOptions) { v.Streams = []string{"256=4"} },
		`streams: "1=-4"`:     func(v *vehicleOptions) { v.Streams = []string{"1=-4"} },
		`intervals: "30"`:     func(v *vehicleOptions) { v.Intervals = []string{"30"} },
		`intervals: "FOO=10"`: func(v *vehicleOptions) { v.Intervals = []string{"FOO=10"} },
	} {
		v := defaultVehicle()
		change(&v)
		_, err := linkOptions(&v)
		require.ErrorIs(t, err, config.ErrUsage)
		require.ErrorContains(t, err, text)
	}
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&options{}))
}

func TestHelp(t *testing.T) { configtest.Help(t, newCommand) }
