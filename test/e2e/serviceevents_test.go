package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/service_msgs"
	"tapedeck/msgs/std_srvs"
)

// serviceEvent returns an event of a std_srvs/srv/SetBool, as ROS 2 Iron and later publish it: of a request, or of a
// response unless that is nil.
func serviceEvent(request bool, response *std_srvs.SetBool_Response) []byte {
	info := service_msgs.ServiceEventInfo{Stamp: builtin_interfaces.Time{Sec: 1}, ClientGid: [16]uint8{1, 15},
		SequenceNumber: 3}
	e := wire.NewEncoder(nil)
	if response == nil {
		info.MarshalCDR(e)
		e.Length(1, 1)
		e.Bool(request)
		e.Length(0, 1)
		return e.Bytes()
	}
	info.EventType = service_msgs.ServiceEventInfo_RESPONSE_SENT
	info.MarshalCDR(e)
	e.Length(0, 1)
	e.Length(1, 1)
	response.MarshalCDR(e)
	return e.Bytes()
}

// TestServiceEvents records the events of a service and plays them. It checks that both are equal.
func TestServiceEvents(t *testing.T) {
	t.Parallel()
	const topic, kind = "/light/_service_event", "std_srvs/srv/SetBool_Event"
	// The QoS that ROS 2 Jazzy announces.
	const hash = "RIHS01_3c4c20015afb4303eafd347b1d6a786f171a89c814726961a9593ef10df878cf"
	qos := latched()
	qos.Depth = 10
	payloads := [][]byte{serviceEvent(true, nil),
		serviceEvent(false, &std_srvs.SetBool_Response{Success: true, Message: "lit"})}
	for _, format := range []string{"record", "mcap"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			source := g.open("publisher")
			events, err := source.Advertise(topic, kind, qos)
			require.NoError(t, err)
			require.NoError(t, events.Publish(payloads[0]))
			_, err = source.Advertise("/visible", "std_msgs/msg/UInt32", latched())
			require.NoError(t, err)

			hidden := g.start("recorder", "--all", "-s", format, "-o", "visible")
			recorder := g.start("recorder", "--all", "--include-hidden-topics", "-s", format, "-o", "drive")
			hidden.Prints("recording /visible ")
			recorder.Prints("recording " + topic + " [" + kind + "]")
			require.Eventually(t, func() bool { return events.Subscribers() == 1 }, patient, time.Millisecond)
			require.NoError(t, events.Publish(payloads[1]))
			require.NoError(t, events.Flush(t.Context()))
			hidden.Interrupt()
			recorder.Interrupt()

			visiblePath, path := g.path("visible"), g.path("drive")
			if format == "record" {
				visiblePath, path = visiblePath+".record.00000", path+".record.00000"
			}
			require.NotContains(t, messages(t, visiblePath), topic)
			require.Equal(t, payloads, messages(t, path)[topic])
			recorded := channel(t, path, topic)
			require.Equal(t, kind, recorded.Type)
			require.Equal(t, hash, recorded.TypeHash)
			require.Contains(t, string(recorded.Schema.Data), "SRV: std_srvs/srv/SetBool\n")
			require.Contains(t, string(recorded.Schema.Data), "bool data")

			g = isolate(t)
			listener := g.open("listener")
			got := make(chan []byte, len(payloads))
			_, err = listener.Subscribe(topic, kind, qos, func(samples []bridge.Sample) {
				for _, s := range samples {
					select {
					case got <- slices.Clone(s.Data):
					default: // the player has started over
					}
				}
			})
			require.NoError(t, err)
			player := g.start("player", path, "--loop")
			for _, want := range payloads {
				select {
				case data := <-got:
					require.Equal(t, want, data)
				case <-time.After(patient):
					require.FailNow(t, "events are missing", player.Output())
				}
			}
			found := slices.IndexFunc(listener.Topics(), func(found bridge.Topic) bool {
				return found.Name == topic && len(found.Publishers) == 1 && found.Publishers[0].TypeHash == hash
			})
			require.NotEqual(t, -1, found)
			player.Interrupt()
		})
	}
}
