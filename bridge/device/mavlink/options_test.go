package mavlink

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog"
)

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"": {Rate: 0.5, Heartbeat: 1, TimeSync: 10,
			Intervals: map[uint32]float64{30: -1, 31: 0, 32: 50}},
		"speed of a log is -1":             {Rate: -1},
		"speed of a log is NaN":            {Rate: math.NaN()},
		"speed of a log is 1e-09":          {Rate: 1e-9},
		"rate of heartbeats is +Inf":       {Heartbeat: math.Inf(1)},
		"rate of TIMESYNC requests is -10": {TimeSync: -10},
		"rate of message 30 is NaN":        {Intervals: map[uint32]float64{30: math.NaN()}},
		"rate of message 30 is 1e-06":      {Intervals: map[uint32]float64{30: 1e-6}},
	} {
		_, err := Open("udp://:14550", o)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}

	l, err := Open("udp://:14550", Options{})
	require.NoError(t, err)
	require.Equal(t, address{255, 191}, address{l.options.System, l.options.Component})
}

func TestMessageNames(t *testing.T) {
	for name, id := range map[string]uint32{"HEARTBEAT": 0, "HIGHRES_IMU": 105, "GPS2_RAW": 124, "SCALED_IMU2": 116,
		"ATTITUDE_QUATERNION": 31, "GLOBAL_POSITION_INT": 33, "LOCAL_POSITION_NED_COV": 64, "EKF_STATUS_REPORT": 193} {
		got, err := tlog.MessageID(name)
		require.NoError(t, err)
		require.Equal(t, id, got)
	}
	got, err := tlog.MessageID("highres_imu")
	require.NoError(t, err)
	require.EqualValues(t, 105, got)
	_, err = tlog.MessageID("IMU")
	require.ErrorContains(t, err, `unknown MAVLink message "IMU"`)
	known := knownFormats(t)
	for id, f := range known {
		got, err := tlog.MessageID(tlog.MessageName(f.Codec.Message))
		require.NoError(t, err)
		require.Equal(t, id, got)
	}
}
