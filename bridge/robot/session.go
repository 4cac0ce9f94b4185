package robot

import (
	"tapedeck/codec/align"
	"tapedeck/codec/episode"
)

// Session is a take that is being written, as it happens.
type Session interface {
	// Frame adds what a camera saw at a time, in ns since the Unix epoch. The frame is the caller's again when Frame returns.
	Frame(c *episode.Camera, stamp int64, f episode.Frame) error
	// Sample adds a sample of a vector, which is one of the arm's. values are as many as the vector has columns now; there may be more
	// behind them later. One that align.IsMissing is not told. They are the caller's again when Sample returns.
	Sample(a *episode.Arm, v *align.Vector, stamp int64, values []float64) error
	// Sync puts everything so far on the disk. It may be called beside Frame and Sample.
	Sync() error
	// Close completes the session.
	Close() error
}
