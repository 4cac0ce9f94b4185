package carla

import (
	"bytes"
	"maps"

	"tapedeck/codec"
)

// continueLog is Info.Continue of the log. Writers begin the second and later logs of a recording with the state at the
// end of the previous log.
func (r *Reader) continueLog(before *codec.Info, extra any) any {
	if d, ok := before.Extra.(Details); ok {
		r.omitRepeatedState(d.Log)
	}
	return r.joinDetails(extra)
}

// omitRepeatedState makes r remove the state at the end of previous from the first message of r.
func (r *Reader) omitRepeatedState(previous *Reader) {
	if previous.profile != r.profile || previous.header.Date != r.header.Date {
		return
	}
	x, err := previous.loadIndex()
	if err != nil || len(x.frames) == 0 {
		return
	}
	state, err := x.state(previous.walker(), previous.profile, len(x.frames))
	if err != nil {
		return
	}
	packets, err := state.AppendPackets(nil)
	f, frameErr := r.walker().next()
	if err != nil || frameErr != nil || len(packets) == 0 || !bytes.HasPrefix(f.data[afterStart(f.data):], packets) {
		return
	}
	r.repeated, r.previousEnd = packets, x.last.time
}

// joinDetails returns the sum of before, the Details of all previous logs, and of the Details of r without the repeated
// state.
func (r *Reader) joinDetails(before any) any {
	all, ok := before.(Details)
	info, err := r.Info()
	if !ok || err != nil {
		return before
	}
	own := info.Extra.(Details)
	var repeated index
	repeated.countPackets(r.profile, r.repeated)
	all.Duration, all.Packets, all.Actors = own.Duration, maps.Clone(all.Packets), maps.Clone(all.Actors)
	for name, n := range own.Packets {
		all.Packets[name] += n
	}
	for name, n := range own.Actors {
		all.Actors[name] += n
	}
	for id, n := range repeated.packets {
		if n > 0 {
			all.Packets[r.profile.PacketName(uint8(id))] -= n
		}
	}
	for t, n := range repeated.actors {
		if n > 0 {
			all.Actors[ActorType(t).Name()] -= n
		}
	}
	return all
}
