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
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/selection"
)

// If the node of a publisher stays unknown, a recorded topic waits for its definition until the first message has
// waited for queue.DefinitionWait, or until the recording ends.
func TestDefinitionOfAnUnknownNode(t *testing.T) {
	for name, c := range map[string]struct{ recorded, written bool }{
		"recorded":                   {true, true},
		"recorded, without messages": {true, false},
		"watched for conditions":     {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				undefined := make(chan *codec.Channel, 2)
				stop := make(chan struct{})
				defer close(stop)
				s := New(Options{Owner: owner.New(), Library: msgs.Library(), Selection: &selection.Selection{},
					Declare:   func(*codec.Channel) {},
					Undefined: func(c *codec.Channel, _ error) { undefined <- c }})
				channel := &codec.Channel{Topic: "/a", Type: "robot/msg/Count", Encoding: codec.EncodingCDR}
				topic := &Topic{Receiver: intake.NewReceiver(channel, intake.Options{})}
				topic.AwaitDefinition()
				s.recording = t.Context()
				if c.recorded {
					s.topics[key{"/a", channel.Type}] = topic
					s.sort()
				}
				s.define(topic, &bridge.Topic{Name: "/a",
					Publishers: []bridge.Endpoint{{Type: channel.Type, TypeHash: "RIHS01_0"}}})
				go s.Owner.Run(stop)
				time.Sleep(queue.DefinitionWait - 1)
				require.True(t, topic.AwaitsDefinition())
				if c.recorded {
					time.Sleep(10 * queue.DefinitionWait)
					require.True(t, topic.AwaitsDefinition(), "a recorded topic stops waiting for its definition")
				}
				require.Empty(t, undefined)
				if c.written {
					topic.StopAwaiting() // as the writer does
				} else if c.recorded {
					require.True(t, s.Owner.Do(s.Stop))
					require.Len(t, undefined, 1)
				}
				time.Sleep(queue.DefinitionWait)
				synctest.Wait()
				require.False(t, topic.AwaitsDefinition())
				require.Len(t, undefined, 1)
			})
		})
	}
}
