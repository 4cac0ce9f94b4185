package main

import (
	"fmt"

	"tapedeck/bridge/carla"
	format "tapedeck/codec/carla"
)

// carlaOptions say of a CARLA log what topics don't.
type carlaOptions struct {
	CARLAMapping string `param:"carla_mapping" group:"CARLA" value:"FILE" help:"YAML FILE with the actors that topics and frames are about, where their names don't tell, and the name of the map; storage carla only"`
	CARLAProfile string `param:"carla_profile" group:"CARLA" value:"NAME" help:"lay out the log as this CARLA does: ue4-0.9.11, ue4-0.9.15, ue4-0.9.16 or ue5; by default that of carla_mapping, or ue4-0.9.15"`
}

// log returns how a log is written.
func (o *carlaOptions) log() (w carla.WriteOptions, err error) {
	if o.CARLAMapping != "" {
		if w, err = carla.LoadMapping(o.CARLAMapping); err != nil {
			return w, fmt.Errorf("carla_mapping: %w", err)
		}
	}
	if o.CARLAProfile != "" {
		if w.Profile, err = format.ProfileNamed(o.CARLAProfile); err != nil {
			return w, fmt.Errorf("carla_profile: %w", err)
		}
	}
	return w, nil
}
