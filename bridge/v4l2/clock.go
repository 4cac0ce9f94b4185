package v4l2

import (
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/v4l2/internal/kernel"
)

// A stamp of the driver is believed if it is no older than this when the driver was given the buffer, and no further
// ahead at reception: drivers that convert a camera's own clock, or reckon when a frame ends, err.
const (
	oldest   = 10 * time.Second
	furthest = time.Second
)

// moment is one instant on both clocks, in ns.
type moment struct{ monotonic, realtime int64 }

// now reads both clocks at once: the realtime clock between two readings of the monotonic one. The pair is as good as
// those two are close, so that it is taken again if the thread was interrupted in between. As each frame has its own
// pair, its stamp follows every correction of the realtime clock.
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

// stamp returns the time at which a buffer that was received now was filled, in ns since the Unix epoch, and what it is
// from. The driver had the buffer since given, on the monotonic clock.
func stamp(buffer *kernel.Buffer, given int64, received moment) (int64, StampClock) {
	if buffer.Flags&kernel.V4L2_BUF_FLAG_TIMESTAMP_MASK != kernel.V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC {
		// unknown, or copied from a buffer of the driver's input, which a camera does not have
		return received.realtime, Receive
	}
	source := EndOfFrame
	if buffer.Flags&kernel.V4L2_BUF_FLAG_TSTAMP_SRC_MASK == kernel.V4L2_BUF_FLAG_TSTAMP_SRC_SOE {
		source = StartOfExposure
	}
	taken := buffer.Timestamp.Nano()
	// uvcvideo with its parameter clock=CLOCK_REALTIME marks its stamps as monotonic all the same.
	for _, clock := range []int64{received.monotonic, received.realtime} {
		if age := clock - taken; age <= received.monotonic-given+int64(oldest) && age >= -int64(furthest) {
			return received.realtime - max(age, 0), source // nothing is received before it was taken
		}
	}
	return received.realtime, Receive
}
