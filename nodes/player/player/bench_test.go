package player

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/readahead"
)

// numbered yields messages whose log times count from 1.
type numbered struct {
	count   int64
	message codec.Message
}

func (n *numbered) Next() (*codec.Message, error) {
	if n.message.LogTime == n.count {
		return nil, io.EOF
	}
	n.message.LogTime++
	return &n.message, nil
}

func (n *numbered) Close() error { return nil }

// nowhere is an output, and an input of b.N messages.
type nowhere struct {
	count int64
	size  int
	ready func()
}

func (n *nowhere) publish(*codec.Message) error { return nil }
func (n *nowhere) publishClock(int64) error     { return nil }

func (n *nowhere) from(int64, int64) (feed, error) {
	it := &numbered{count: n.count, message: codec.Message{Channel: &codec.Channel{}, Data: make([]byte, n.size)}}
	return readahead.New(it, 64<<20, n.ready), nil
}

func (n *nowhere) latched(int64, func(*codec.Message) error) error { return nil }

// BenchmarkEngine plays without publishing, as fast as possible: what it costs beside DDS.
func BenchmarkEngine(b *testing.B) {
	for name, size := range map[string]int{"100 B": 100, "1 MB": 1_000_000} {
		b.Run(name, func(b *testing.B) {
			timer, err := newSystemTimer()
			require.NoError(b, err)
			defer timer.close()
			n := &nowhere{count: int64(b.N), size: size, ready: timer.wake}
			e := newEngine(settings{end: time.Hour.Nanoseconds(), rounds: 1, rate: immediate, clockPeriod: 10e6}, n, n,
				timer)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			e.requests <- e.begin
			require.NoError(b, e.run(b.Context()))
			require.EqualValues(b, b.N, e.played)
		})
	}
}
