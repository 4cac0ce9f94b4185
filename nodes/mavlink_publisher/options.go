package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/bridge/device/mavlink"
	"tapedeck/bridge/translate/mavros"
	"tapedeck/codec/format/tlog"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

//go:generate env UPDATE_REFERENCE=1 go test -count=1 -run ^TestEveryOption .

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// options are the publisher's parameters. Each is a flag, a ROS parameter and a line of config/mavlink_publisher.yaml.
type options struct {
	Vehicles map[string]*vehicleOptions `param:"vehicles" group:"Vehicles"`
	vehicleOptions

	AwaitSubs     bool          `param:"wait_for_subscribers" group:"Subscribers"`
	MatchPatience time.Duration `param:"match_patience" group:"Subscribers" min:"0"`
	AckTimeout    time.Duration `param:"wait_for_all_acked" unit:"ms" group:"Subscribers"`

	Clock       float64 `param:"clock" alias:"hz" group:"Status" min:"0" max:"10000" bare:"40"`
	Diagnostics bool    `param:"diagnostics" group:"Status"`

	graph.Options
}

func (*options) OptionTexts() string { return optionTexts }

func defaultOptions() options {
	return options{vehicleOptions: defaultVehicle(), MatchPatience: 5 * time.Second, AckTimeout: 5 * time.Second,
		Diagnostics: true}
}

// entry is a vehicle to publish, with its name.
type entry struct {
	name string
	*vehicleOptions
}

// entries returns the vehicles in the options and in the arguments. Errors wrap config.ErrUsage.
func (o *options) entries(args []string) ([]entry, error) {
	var list []entry
	for _, name := range slices.Sorted(maps.Keys(o.Vehicles)) {
		list = append(list, entry{name, o.Vehicles[name]})
	}
	sources := args
	if len(args) == 0 && len(list) == 0 {
		sources = []string{o.Source}
	}
	for i, source := range sources {
		one := o.vehicleOptions
		one.Source = source
		name := mavros.TheVehicle
		if len(sources) > 1 {
			name = fmt.Sprintf("vehicle_%d", i)
		}
		if o.Vehicles[name] != nil {
			return nil, config.Usagef("vehicles.%s: a source on the command line has this name, too", name)
		}
		list = append(list, entry{name, &one})
	}
	for _, e := range list {
		if e.Source == "" {
			if e.name == mavros.TheVehicle {
				return nil, config.Usagef("name a source: serial:/dev/ttyACM0:57600, udp://:14550, tcp://host:5760 " +
					"or a .tlog file")
			}
			return nil, config.Usagef("vehicles.%s.source is missing", e.name)
		}
	}
	return list, nil
}

// linkOptions returns the options of a vehicle's link. Errors wrap config.ErrUsage.
func linkOptions(v *vehicleOptions) (mavlink.Options, error) {
	o := mavlink.Options{
		Rate: v.Rate, System: uint8(v.OwnSystem), Component: uint8(v.OwnComponent), Heartbeat: v.Heartbeat,
		TimeSync:       v.TimeSync,
		AnswerTimeSync: v.TimeSync > 0, Streams: map[uint8]uint16{}, Intervals: map[uint32]float64{},
	}
	switch v.Stamps {
	case "receive":
		o.Stamps = mavlink.StampReceive
	case "vehicle":
		o.Stamps = mavlink.StampVehicle
	}
	for _, text := range v.Streams {
		name, hz, _ := strings.Cut(text, "=")
		id, err := strconv.ParseUint(name, 10, 8)
		rate, err2 := strconv.ParseUint(hz, 10, 16)
		if err != nil || err2 != nil {
			return o, config.Usagef("streams: %q is invalid, want ID=HZ in whole numbers, such as 0=4", text)
		}
		o.Streams[uint8(id)] = uint16(rate)
	}
	for _, text := range v.Intervals {
		name, hz, _ := strings.Cut(text, "=")
		id, err := strconv.ParseUint(name, 10, 24)
		if err != nil {
			var known uint32
			known, err = tlog.MessageID(name)
			id = uint64(known)
		}
		rate, err2 := strconv.ParseFloat(hz, 64)
		err = errors.Join(err, err2)
		if err != nil {
			return o, config.Usagef("intervals: %q is invalid, want MESSAGE=HZ such as ATTITUDE_QUATERNION=100: %w",
				text, err)
		}
		o.Intervals[uint32(id)] = rate
	}
	return o, nil
}
