package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/nodes/internal/rospub"
)

// sent keeps what was published.
type sent struct {
	bridge.Publisher
	data []byte
}

func (s *sent) Publish(data []byte) error {
	s.data = data
	return nil
}

// TestSendMovesStampsBehindAnUnsetOne plays twice as fast as it was recorded.
func TestSendMovesStampsBehindAnUnsetOne(t *testing.T) {
	message := tf2_msgs.TFMessage{Transforms: make([]geometry_msgs.TransformStamped, 2)}
	message.Transforms[1].Header.Stamp = rospub.Time(epoch)
	data, err := cdr.Marshal(&message)
	require.NoError(t, err)
	schema, err := cdr.NewSchema(msgs.Library(), message.TypeName())
	require.NoError(t, err)
	out := &sent{}
	p := publisher{Offer: rospub.Offer{Publisher: out}, stamps: schema.Stamps()}
	err = p.send(&codec.Message{LogTime: epoch, Data: data}, nil,
		func(t int64) int64 { return epoch + 3e9 + (t-epoch)/2 })
	require.NoError(t, err)
	require.NoError(t, cdr.Unmarshal(out.data, &message))
	require.Zero(t, message.Transforms[0].Header.Stamp)
	require.Equal(t, rospub.Time(epoch+3e9), message.Transforms[1].Header.Stamp)
}
