package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/cdr"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tapedeck"
)

func TestTakeSnapshot(t *testing.T) {
	g := isolate(t)
	recorder := g.start("recorder", "-o", "drive", "-s", "mcap", "--snapshot", "/n", "--ros-args", "-r", "__ns:=/robot")
	node := g.open("source")
	p := g.advertise(node, "/n", "std_msgs/msg/UInt32", keepAll())
	publish := func(n uint32) {
		require.NoError(t, p.Publish(marshal(t, &std_msgs.UInt32{Data: n})))
		require.NoError(t, p.Flush(t.Context()))
	}
	take := func(request tapedeck.TakeSnapshot_Request) (answer tapedeck.TakeSnapshot_Response) {
		reply, err := node.Call(t.Context(), "/robot/recorder/take_snapshot", "tapedeck/srv/TakeSnapshot", marshal(t, &request))
		require.NoError(t, err)
		require.NoError(t, cdr.Unmarshal(reply, &answer))
		return answer
	}
	answer := take(tapedeck.TakeSnapshot_Request{Before: -1})
	require.False(t, answer.Success)
	require.Contains(t, answer.Message, "before is -1")

	began := time.Now()
	publish(1)
	time.Sleep(5 * time.Second)
	publish(2)
	time.Sleep(300 * time.Millisecond) // what has arrived gets into the ring
	answer = take(tapedeck.TakeSnapshot_Request{Before: 4, Path: "crash", Cause: "emergency stop"})
	require.True(t, answer.Success, answer.Message)
	require.Equal(t, "crash", answer.Path)
	require.Equal(t, uint64(1), answer.MessageCount)
	require.Equal(t, answer.Start, answer.End)
	require.WithinRange(t, time.Unix(int64(answer.Start.Sec), int64(answer.Start.Nanosec)), began, time.Now())
	require.Equal(t, [][]byte{marshal(t, &std_msgs.UInt32{Data: 2})}, messages(t, g.path("crash"))["/n"])
	require.Equal(t, "emergency stop", infoOf(t, g.path("crash")).Metadata["cause"])

	answer = take(tapedeck.TakeSnapshot_Request{Path: "crash"})
	require.False(t, answer.Success)
	require.Contains(t, answer.Message, "create crash: file already exists")
	recorder.signal(os.Interrupt)
}
