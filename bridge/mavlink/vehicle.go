package mavlink

import "github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"

// Vehicle is the state of one system on a link that has an autopilot: a copy.
type Vehicle struct {
	System    uint8
	Autopilot uint8 // component id: the lowest of those whose HEARTBEAT names an autopilot
	Type      ardupilotmega.MAV_TYPE
	Firmware  ardupilotmega.MAV_AUTOPILOT

	// Connected is whether the autopilot's HEARTBEAT was heard within the last ten seconds.
	Connected bool
	// LastHeartbeat is when, in ns since the Unix epoch.
	LastHeartbeat int64

	Clock VehicleClock
}

// VehicleClock is what is known of the clock of a vehicle's autopilot.
type VehicleClock struct {
	// Offset is what makes the autopilot's time since boot this computer's Unix time, in ns; 0 if unknown.
	Offset int64
	// Jumps is how often the clocks jumped against each other: reboots, and steps of either clock.
	Jumps int

	// Synchronised is whether the offset is by TIMESYNC, which has converged.
	Synchronised bool
	// Exchanges is on how many TIMESYNC exchanges the estimate rests.
	Exchanges int
	// Drift is how much faster this computer's clock runs than the autopilot's, in parts per million. Only TIMESYNC tells.
	Drift float64
	// RoundTrip, Remote (the autopilot's clock) and Observed (the offset) are of the last TIMESYNC exchange, in ns.
	RoundTrip, Remote, Observed int64
}
