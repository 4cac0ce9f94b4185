package e2e

import (
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/format/session"
	"tapedeck/msgs/tapedeck"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag2.Format, session.Format}

// TestConvertService converts recordings by calls of the converter's service, several at once. It checks responses,
// published progress and written files.
func TestConvertService(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	w, err := formats.Create(g.path("in.mcap"), codec.CreateOptions{})
	require.NoError(t, err)
	channel := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i := range 100 {
		require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: 1e18 + int64(i)*1e9,
			Data: g.number(uint32(i))}))
	}
	require.NoError(t, w.Close())

	converter := g.start("converter_node", "--throttle", "/n=1/10", "--ros-args", "-r", "__ns:=/robot", "-p",
		"service:=archive")
	converter.Prints("ready to convert: call the service /robot/archive (tapedeck/srv/Convert)")
	node := g.open("caller")
	var mu sync.Mutex
	ended := map[string]bool{}
	_, err = node.Subscribe("/robot/converter/progress", "tapedeck/msg/ConversionProgress", keepAll(),
		func(samples []bridge.Sample) {
			for i := range samples {
				var p tapedeck.ConversionProgress
				if cdr.Unmarshal(samples[i].Data, &p) == nil && p.Ended && p.Done == 1 {
					mu.Lock()
					ended[p.Output] = true
					mu.Unlock()
				}
			}
		})
	require.NoError(t, err)
	convert := func(request tapedeck.Convert_Request) (answer tapedeck.Convert_Response) {
		reply, err := node.Call(t.Context(), "/robot/archive", "tapedeck/srv/Convert", marshal(t, &request))
		require.NoError(t, err)
		require.NoError(t, cdr.Unmarshal(reply, &answer))
		return answer
	}
	require.Contains(t, convert(tapedeck.Convert_Request{}).Message, "inputs and output must be given")
	answer := convert(tapedeck.Convert_Request{Inputs: []string{"in.mcap"}, Output: "out.bag",
		Options: []string{"encoding=nonsense"}})
	require.False(t, answer.Success)
	require.Contains(t, answer.Message, "encoding")

	// The first conversion has the node's parameters; later conversions have other options.
	answer = convert(tapedeck.Convert_Request{Inputs: []string{"in.mcap"}, Output: "out.bag"})
	require.True(t, answer.Success, answer.Message)
	require.EqualValues(t, 10, answer.MessageCount)
	require.EqualValues(t, 1, answer.TopicCount)
	require.Equal(t, []string{"out.bag"}, answer.Files)
	require.EqualValues(t, 1e9, answer.Start.Sec)
	require.EqualValues(t, 1e9+90, answer.End.Sec)
	answer = convert(tapedeck.Convert_Request{Inputs: []string{"in.mcap"}, Output: "out.bag"})
	require.Contains(t, answer.Message, "exists; name another output")

	var calls sync.WaitGroup
	names := []string{"a.mcap", "b.mcap", "c.mcap", "d.mcap"}
	answers := make([]tapedeck.Convert_Response, len(names))
	for i, name := range names {
		calls.Go(func() {
			answers[i] = convert(tapedeck.Convert_Request{Inputs: []string{"in.mcap"}, Output: name,
				Options: []string{"throttle=*=1/1", "remap=/n:=/m"}})
		})
	}
	calls.Wait()
	for i, name := range names {
		require.True(t, answers[i].Success, answers[i].Message)
		require.Len(t, messages(t, g.path(name))["/m"], 100)
	}
	await(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return !slices.ContainsFunc(append(names, "out.bag"), func(name string) bool { return !ended[name] })
	})
	converter.Interrupt()
	entries, err := os.ReadDir(g.dir)
	require.NoError(t, err)
	require.Len(t, entries, 6)
}
