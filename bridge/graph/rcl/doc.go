// Package rcl implements bridge.Node on ROS 2's own client library, with the middleware that RMW_IMPLEMENTATION names.
// It is built with the tag rcl where ROS 2 is sourced. environment.sh in this folder sets the paths of ROS 2 for cgo.
//
// Every type whose package is installed can be used by its name, without generated code. Messages of topics are raw
// CDR. Requests and responses are converted by the introspection library of their package. rcl expands and remaps
// names. Log lines go through rcl's logging: to /rosout, to rcl's log file, and to the console.
//
// A received payload is copied once, into memory of this package. It stays there until the handler returns or, if it
// was retained, until it is released. A published payload is not copied on its way to the middleware.
//
// rcl has three limits:
//   - It cannot publish with a given source time: PublishAt is Publish.
//   - It cannot end a Publish that the middleware blocks: Close waits for it.
//   - rmw_cyclonedds_cpp does not report publisher, sequence number and time of a received message. Its receive time is
//     then the time at which it was taken, and losses are not counted.
package rcl
