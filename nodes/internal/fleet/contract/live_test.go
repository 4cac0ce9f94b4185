package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

func TestLive(t *testing.T) {
	c, err := Parse([]byte(`
duration: {max: 100}
topics:
  /imu: {type: sensor_msgs/msg/Imu, rate: {min: 80, max: 120}, gap: 0.5, qos: reliable volatile}
  /slow: {rate: {min: 0.4}}
  /map: {messages: 2}
  /joy: {optional: true}
`))
	require.NoError(t, err)
	now := time.Unix(1000, 0)
	l := NewLive(c, now)
	imu := Count{Topic: "/imu", Type: "sensor_msgs/msg/Imu", QoS: []codec.QoS{codec.DefaultQoS()}}
	slow, chart := Count{Topic: "/slow"}, Count{Topic: "/map"}
	paused := false
	// run lets some seconds pass with rates of /imu and /slow, and returns the findings that began and ended.
	run := func(seconds int, imuRate, slowRate float64) (begun, ended []string) {
		var ofIMU, ofSlow float64
		for range 2 * seconds {
			now = now.Add(500 * time.Millisecond)
			ofIMU, ofSlow = ofIMU+imuRate/2, ofSlow+slowRate/2
			imu.Received += uint64(ofIMU)
			slow.Received += uint64(ofSlow)
			ofIMU, ofSlow = ofIMU-float64(uint64(ofIMU)), ofSlow-float64(uint64(ofSlow))
			b, e := l.Update(now, now.UnixNano(), []Count{imu, slow, chart}, paused)
			begun, ended = append(begun, texts(b)...), append(ended, texts(e)...)
		}
		return begun, ended
	}
	begun, ended := run(6, 100, 0.5)
	require.Equal(t, []string{"/map: missing: expected messages, seen none"}, begun)
	require.Empty(t, ended)
	chart.Received = 1
	begun, ended = run(60, 100, 0.5)
	require.Empty(t, begun)
	require.Equal(t, []string{"/map: missing: expected messages, seen none"}, ended)
	begun, ended = run(30, 50, 0.5)
	require.Equal(t, []string{"/imu: rate: expected 80 to 120 messages/s, seen 50"}, begun)
	require.Empty(t, ended)
	require.Equal(t, begun, texts(l.Open()))
	begun, ended = run(30, 100, 0.5)
	require.Empty(t, begun)
	require.Len(t, ended, 1)
	begun, _ = run(3, 0, 0.5)
	require.Equal(t, []string{"/imu: gap: expected at most 0.5 s, seen nothing for 2s"}, begun)
	_, ended = run(10, 100, 0.5)
	require.Len(t, ended, 1)
	paused = true
	begun, ended = run(60, 0, 0)
	require.Empty(t, append(begun, ended...))
	paused = false
	begun, ended = run(5, 100, 0.5)
	require.Empty(t, append(begun, ended...))
	imu.QoS[0].Reliability = codec.BestEffort
	begun, _ = run(1, 100, 0.5)
	require.Equal(t, []string{"/imu: qos: expected reliable volatile, seen best_effort volatile"}, begun)

	open, all := l.Finish(1000e9, now.UnixNano())
	require.Equal(t, []string{
		"/imu: qos: expected reliable volatile, seen best_effort volatile",
		"/map: missing: expected at least 2 messages, seen 1",
		"duration: expected at most 100 s, seen 205 s",
	}, texts(open))
	require.Len(t, all, 6)

	// Another recording has no messages and findings of the one before.
	imu.QoS[0].Reliability = codec.Reliable
	l.Restart(now, 1000e9, now.UnixNano())
	require.Len(t, l.Before(), 6)
	begun, _ = run(5, 100, 0.5)
	require.Equal(t, []string{"/map: missing: expected messages, seen none"}, begun)
	chart.Received += 2
	_, ended = run(5, 100, 0.5)
	require.Equal(t, begun, ended)
	_, all = l.Finish(now.UnixNano()-10e9, now.UnixNano())
	require.Empty(t, all)
}
