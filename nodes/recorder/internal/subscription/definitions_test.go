package subscription

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/selection"
)

// A node that does not become known cannot be asked for a definition.
func TestDefinitionOfAnUnknownNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var undefined []string
		s := New(Options{Library: msgs.Library(), Selection: &selection.Selection{},
			Undefined: func(c *codec.Channel, _ error) { undefined = append(undefined, c.Type) }})
		c := &codec.Channel{Topic: "/a", Type: "robot/msg/Count", Encoding: codec.EncodingCDR}
		topic := &Topic{Receiver: intake.NewReceiver(c, intake.Options{})}
		topic.AwaitDefinition()
		s.define(topic, &bridge.Topic{Name: "/a", Publishers: []bridge.Endpoint{{Type: c.Type, TypeHash: "RIHS01_0"}}})
		time.Sleep(queue.DefinitionWait - 1)
		require.True(t, topic.AwaitsDefinition())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.False(t, topic.AwaitsDefinition())
		require.Equal(t, []string{"robot/msg/Count"}, undefined)
	})
}
