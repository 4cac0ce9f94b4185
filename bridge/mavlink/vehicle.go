package mavlink

import "github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"

// Vehicle is the state of one system on a link: a copy.
type Vehicle struct {
	System    uint8
	Autopilot uint8 // component id: the lowest whose HEARTBEAT names an autopilot; 1 before any did
	Type      ardupilotmega.MAV_TYPE
	Firmware  ardupilotmega.MAV_AUTOPILOT

	// Connected is whether its autopilot's HEARTBEAT was heard within ten seconds.
	Connected bool
	// LastHeartbeat is when, in ns since the Unix epoch; 0 if never.
	LastHeartbeat int64

	Clock VehicleClock
}

// VehicleClock is what is known of the clock of a vehicle's autopilot.
type VehicleClock struct {
	// Offset is what makes the autopilot's time since boot this computer's Unix time, in ns; 0 if unknown.
	Offset int64
	// Synchronised is whether the offset is by TIMESYNC that has converged.
	Synchronised bool
	// Drift is how much faster than the autopilot's clock this computer's runs, in parts per million. Only TIMESYNC tells.
	Drift float64
	// RoundTrip of the last TIMESYNC exchange, in ns; 0 if none.
	RoundTrip int64
	// Exchanges is how many TIMESYNC replies the offset rests on.
	Exchanges int
	// Restarts is how often the clock jumped: reboots, and steps of either clock.
	Restarts int
}
