package v4l2

import (
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2/internal/kernel"
)

// A driver's stamp is used if it is at most this much older than the moment at which the driver got the buffer, and at
// most this much ahead of reception. Stamps are inexact if the driver converts them from a camera's own clock, or
// estimates the end of a frame.
const (
	oldest   = 10 * time.Second
	furthest = time.Second
)

// moment is one instant on both clocks, in ns since their zero.
type moment struct{ monotonic, realtime int64 }

// now reads both clocks: the realtime clock between two readings of the monotonic clock. It repeats if these are far
// apart because the thread was interrupted. Each frame has its own pair, so stamps follow corrections of the realtime
// clock.
func now(device Device) moment {
	const close = int64(20 * time.Microsecond)
	var best moment
	width := int64(-1)
	for range 5 {
		before := device.Now(unix.CLOCK_MONOTONIC)
		realtime := device.Now(unix.CLOCK_REALTIME)
		after := device.Now(unix.CLOCK_MONOTONIC)
		if width < 0 || after-before < width {
			width = after - before
			best = moment{before + width/2, realtime}
		}
		if width <= close {
			break
		}
	}
	return best
}

// stamp returns when a buffer received now was filled, in ns since the Unix epoch, and the clock of this time. The
// driver had the buffer since queued, in ns of the monotonic clock.
func stamp(buffer *kernel.Buffer, queued int64, received moment) (int64, StampClock) {
	if buffer.Flags&kernel.V4L2_BUF_FLAG_TIMESTAMP_MASK != kernel.V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC {
		// unknown, or copied from an input buffer, which a camera does not have
		return received.realtime, Receive
	}
	clock := EndOfFrame
	if buffer.Flags&kernel.V4L2_BUF_FLAG_TSTAMP_SRC_MASK == kernel.V4L2_BUF_FLAG_TSTAMP_SRC_SOE {
		clock = StartOfExposure
	}
	taken := buffer.Timestamp.Nano()
	// uvcvideo with the parameter clock=CLOCK_REALTIME still marks its stamps as monotonic.
	for _, now := range []int64{received.monotonic, received.realtime} {
		if age := now - taken; age <= received.monotonic-queued+int64(oldest) && age >= -int64(furthest) {
			return received.realtime - max(age, 0), clock // a frame cannot be received before it was taken
		}
	}
	return received.realtime, Receive
}
