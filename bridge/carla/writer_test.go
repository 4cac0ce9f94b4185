package carla

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/carla"
)

// recorder is a log in memory, that is written.
type recorder struct {
	frames []codec.Message
	err    error // of the next Write
	closed bool
}

func (r *recorder) Declare(*codec.Channel) error { return nil }

func (r *recorder) Write(m *codec.Message) error {
	if err := r.err; err != nil {
		r.err = nil
		return err
	}
	k := *m
	k.Data = append([]byte(nil), m.Data...)
	r.frames = append(r.frames, k)
	return nil
}

func (r *recorder) Sync() error { return nil }

func (r *recorder) Close() error {
	r.closed = true
	return nil
}

// packets returns the packets of one type, of each frame that has one.
func packets[T any, P interface {
	*T
	carla.Body
}](t testing.TB, r *recorder) []T {
	var all []T
	for _, m := range r.frames {
		_, p, err := carla.ParseChannel(m.Channel)
		require.NoError(t, err)
		for rest := m.Data; len(rest) > 0; {
			var k carla.Packet
			k, rest, err = carla.NextPacket(rest)
			require.NoError(t, err)
			b, err := carla.Decode(p, k)
			require.NoError(t, err)
			if b, ok := b.(P); ok {
				all = append(all, *b)
			}
		}
	}
	return all
}

// elapsed returns the times of the frames.
func (r *recorder) elapsed(t testing.TB) []float64 {
	var all []float64
	for _, s := range packets[carla.FrameStart](t, r) {
		all = append(all, s.Elapsed)
	}
	return all
}
