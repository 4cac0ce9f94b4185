package v4l2

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2/internal/kernel"
)

// clocks is a device that reads its clocks from a list, the monotonic and the realtime clock in turns.
type clocks struct {
	Device
	readings []int64
	reads    int
}

func (c *clocks) Now(clock int32) int64 {
	if want := []int32{unix.CLOCK_MONOTONIC, unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC}[c.reads%3]; clock != want {
		panic("the realtime clock is not between readings of the monotonic one")
	}
	c.reads++
	return c.readings[c.reads-1]
}

func TestNow(t *testing.T) {
	for _, test := range []struct {
		name     string
		readings []int64
		want     moment
	}{
		{"at once", []int64{1000, 9000, 1100}, moment{1050, 9000}},
		{"interrupted once", []int64{1000, 9000, 101000, 200000, 208000, 200100}, moment{200050, 208000}},
		{"interrupted always", []int64{
			0, 1e9, 50000,
			100000, 2e9, 140000,
			200000, 3e9, 230000,
			300000, 4e9, 340000,
			400000, 5e9, 440000,
		}, moment{215000, 3e9}},
	} {
		t.Run(test.name, func(t *testing.T) {
			device := &clocks{readings: test.readings}
			require.Equal(t, test.want, now(device))
			require.Equal(t, len(test.readings), device.reads)
		})
	}
}

func TestStamp(t *testing.T) {
	const (
		monotonic = kernel.V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC
		exposure  = kernel.V4L2_BUF_FLAG_TSTAMP_SRC_SOE
	)
	received := moment{monotonic: 100e9, realtime: 2000e9}
	for _, test := range []struct {
		name  string
		flags uint32
		given int64
		taken int64
		want  int64
		clock StampClock
	}{
		{"end of frame", monotonic, 100e9, 99.9e9, 1999.9e9, EndOfFrame},
		{"start of exposure", monotonic | exposure, 100e9, 99.9e9, 1999.9e9, StartOfExposure},
		{"old", monotonic, 100e9, 90e9, 1990e9, EndOfFrame},
		{"too old", monotonic, 100e9, 89e9, 2000e9, Receive},
		{"has waited", monotonic, 80e9, 71e9, 1971e9, EndOfFrame},
		{"has not waited for so long", monotonic, 80e9, 69e9, 2000e9, Receive},
		{"realtime that has waited", monotonic, 80e9, 1971e9, 1971e9, EndOfFrame},
		{"reckoned ahead", monotonic, 100e9, 100.5e9, 2000e9, EndOfFrame},
		{"too far ahead", monotonic, 100e9, 101.5e9, 2000e9, Receive},
		{"realtime in truth", monotonic, 100e9, 1999.8e9, 1999.8e9, EndOfFrame},
		{"never", monotonic, 100e9, 0, 2000e9, Receive},
		{"unknown", exposure, 100e9, 99.9e9, 2000e9, Receive},
		{"copied", kernel.V4L2_BUF_FLAG_TIMESTAMP_COPY, 100e9, 99.9e9, 2000e9, Receive},
	} {
		t.Run(test.name, func(t *testing.T) {
			taken, clock := stamp(&kernel.Buffer{Flags: test.flags, Timestamp: unix.NsecToTimeval(test.taken)},
				test.given,
				received)
			require.Equal(t, test.want, taken)
			require.Equal(t, test.clock, clock)
			require.NotEmpty(t, clock.String())
		})
	}
}

func TestInterval(t *testing.T) {
	for frames, want := range map[float64]string{
		30: "1/30", 1: "1/1", 120: "1/120", 29.97: "1001/30000", 59.94: "1001/60000", 23.976: "1001/24000",
		14.985: "1001/15000",
		0.5:    "2/1", 0.1: "10/1", 7.5: "1000/7500", 12.5: "1000/12500",
	} {
		f := interval(frames)
		require.Equal(t, want, number(float64(f.Numerator))+"/"+number(float64(f.Denominator)), frames)
	}
}
