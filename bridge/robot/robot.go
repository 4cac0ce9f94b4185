// Package robot knows which topics of a recording are the cameras and arms of a robot: it makes episodes of recordings, and sessions of
// messages while they are received. A Mapping says what is what; where there is none, names and types of topics do.
package robot
