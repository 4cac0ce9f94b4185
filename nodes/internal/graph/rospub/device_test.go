package rospub

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// device returns a device that ends with err after d.
func device(d time.Duration, err error) Device {
	return Device{Run: func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

func TestRun(t *testing.T) {
	lost := errors.New("lost")
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		devices []Device
		ends    time.Duration // time until ctx ends
		err     error
		lasted  time.Duration
		ticks   int
	}{
		"none":             {nil, time.Hour, nil, 0, 0},
		"all end":          {[]Device{device(500*ms, nil), device(2500*ms, nil)}, time.Hour, nil, 2500 * ms, 2},
		"one fails":        {[]Device{device(1500*ms, lost), device(time.Hour, nil)}, time.Hour, lost, 1500 * ms, 1},
		"the context ends": {[]Device{device(time.Hour, nil), device(time.Hour, lost)}, 3500 * ms, nil, 3500 * ms, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				defer time.AfterFunc(test.ends, cancel).Stop()
				began, ticks := time.Now(), 0
				err := Run(ctx, test.devices, func(time.Time) { ticks++ })
				require.ErrorIs(t, err, test.err)
				require.Equal(t, test.lasted, time.Since(began))
				require.Equal(t, test.ticks, ticks)
			})
		})
	}
}

// blocked is a publisher that waits for its subscriber until it is closed.
type blocked struct {
	bridge.Publisher
	closed chan struct{}
}

func (b blocked) Publish([]byte) error {
	<-b.closed
	return errors.New("the publisher is closed")
}

func (b blocked) Close() error {
	close(b.closed)
	return nil
}

// blockedNode is a node whose publishers are blocked.
type blockedNode struct{ bridge.Node }

func (blockedNode) Advertise(string, string, codec.QoS) (bridge.Publisher, error) {
	return blocked{closed: make(chan struct{})}, nil
}

// TestRunEndsBlockedDevices lets a device fail while another one waits for a slow subscriber.
func TestRunEndsBlockedDevices(t *testing.T) {
	topics := NewTopics(blockedNode{}, "arm")
	sending := make(chan struct{})
	lost := errors.New("lost")
	var sent error
	err := Run(t.Context(), []Device{
		{Topics: topics, Run: func(context.Context) error {
			topic, err := topics.Topic("pose", &std_msgs.String{}, codec.DefaultQoS())
			require.NoError(t, err)
			close(sending)
			sent = topic.Send(&std_msgs.String{})
			return sent
		}},
		{Run: func(context.Context) error {
			<-sending
			return lost
		}},
	}, func(time.Time) {})
	require.Equal(t, "lost", err.Error())
	require.ErrorIs(t, sent, context.Canceled)
	_, err = topics.Topic("other", &std_msgs.String{}, codec.DefaultQoS())
	require.ErrorIs(t, err, context.Canceled)
}

func TestTopics(t *testing.T) {
	var network bridgetest.Network
	node, err := network.Open(bridge.Options{Name: "camera_publisher"})
	require.NoError(t, err)
	defer node.Close()
	received := make(chan []byte, 3)
	_, err = node.Subscribe("/front/image", "sensor_msgs/msg/CompressedImage", bridgetest.KeepAll(),
		func(samples []bridge.Sample) {
			for _, s := range samples {
				received <- append([]byte(nil), s.Data...)
			}
		})
	require.NoError(t, err)
	topics := NewTopics(node, "front")
	first, err := topics.Topic("image", &sensor_msgs.CompressedImage{}, bridgetest.KeepAll())
	require.NoError(t, err)
	_, err = topics.Topic("info", &sensor_msgs.CameraInfo{}, bridgetest.KeepAll())
	require.NoError(t, err)
	again, err := topics.Topic("image", &sensor_msgs.CompressedImage{}, bridgetest.KeepAll())
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Len(t, topics.Offers(), 2)
	for _, data := range []string{"long and longer", "", "short"} {
		m := sensor_msgs.CompressedImage{Format: "jpeg"}
		require.NoError(t, first.SendData(&m, len(data), func(to []byte) { copy(to, data) }))
		got := sensor_msgs.CompressedImage{}
		require.NoError(t, cdr.Unmarshal(<-received, &got))
		require.Equal(t, sensor_msgs.CompressedImage{Format: "jpeg", Data: []byte(data)}, got)
	}
	topics.Close()
	require.ErrorIs(t, first.Send(&sensor_msgs.CompressedImage{}), context.Canceled)
}
