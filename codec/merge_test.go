package codec

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// times is an iterator over messages with these LogTimes on one channel.
type times struct {
	channel *Channel
	times   []int64
	fail    error
	msg     Message
	closed  bool
}

func (t *times) Next() (*Message, error) {
	if len(t.times) == 0 {
		if t.fail != nil {
			return nil, t.fail
		}
		return nil, io.EOF
	}
	t.msg = Message{Channel: t.channel, LogTime: t.times[0]}
	t.times = t.times[1:]
	return &t.msg, nil
}

func (t *times) Close() error {
	t.closed = true
	return nil
}

func TestMergeIsOrderedAndStable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var its []Iterator
	total := 0
	for range 7 {
		it := &times{channel: &Channel{}}
		now := int64(0)
		for range random.IntN(200) {
			now += random.Int64N(3)
			it.times = append(it.times, now)
		}
		total += len(it.times)
		its = append(its, it)
	}
	rank := map[*Channel]int{}
	for i, it := range its {
		rank[it.(*times).channel] = i
	}
	m := Merge(its...)
	lastTime, lastRank, got := int64(-1), -1, 0
	for {
		msg, err := m.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.GreaterOrEqual(t, msg.LogTime, lastTime)
		if msg.LogTime == lastTime {
			require.GreaterOrEqual(t, rank[msg.Channel], lastRank)
		}
		lastTime, lastRank = msg.LogTime, rank[msg.Channel]
		got++
	}
	require.Equal(t, total, got)
	_, err := m.Next()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, m.Close())
	for _, it := range its {
		require.True(t, it.(*times).closed)
	}
}

func TestMergeStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	m := Merge(&times{times: []int64{1, 2, 3}}, &times{times: []int64{1}, fail: broken})
	for range 2 {
		_, err := m.Next()
		require.NoError(t, err)
	}
	for range 2 {
		_, err := m.Next()
		require.ErrorIs(t, err, broken)
	}
}
