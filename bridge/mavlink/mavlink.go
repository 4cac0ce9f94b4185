// Package mavlink listens to MAVLink autopilots: over serial lines, UDP, TCP, and in telemetry logs (.tlog). It decodes
// messages with gomavlib's dialect ardupilotmega (which holds common, standard and minimal), tells which component of a
// system is its autopilot, maps the autopilots' clocks on this computer's, and counts what was lost on the way.
//
// Connections are gomavlib's, but frames and records of logs are found by our own scanner, as gomavlib loses good
// frames behind damage and all that a datagram has beyond 512 bytes: TestGomavlibLosesFrames and
// TestGomavlibLosesRecords show it.
//
// Nothing is sent unless Options ask for it.
package mavlink
