package intake

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
)

// counted is memory that counts how often each payload is freed.
type counted map[uintptr]int

func (c counted) Free(ref uintptr) { c[ref]++ }

// After each call of Sample one message is kept, with a reference of its own. Forget releases it.
func TestSample(t *testing.T) {
	freed := counted{}
	q := queue.New(1 << 20)
	r := NewReceiver(&codec.Channel{Topic: "/n"}, Options{Clock: new(bridge.SimTime), Queue: q, Sample: new(Sample)})
	n := 0
	take := func(count int) {
		for range count {
			n++
			r.Take([]bridge.Sample{{Data: []byte{byte(n)}, Publisher: bridge.GUID{1}, Sequence: uint64(n),
				SourceTime: int64(n), ReceiveTime: int64(n), Received: int64(n), Memory: freed, Ref: uintptr(n)}})
		}
		for _, item := range q.Pop(1<<20, nil) { // as if they were written
			q.Done(item.Size())
			queue.Release(item)
		}
	}
	sampled := func() byte {
		item := r.Sample()
		require.NotNil(t, item)
		defer queue.Release(item)
		return item.Payload.Data[0]
	}
	take(3)
	require.Nil(t, r.Sample(), "no message is kept before the first call")
	require.Equal(t, counted{1: 1, 2: 1, 3: 1}, freed)
	take(3)
	require.Zero(t, freed[4])
	require.EqualValues(t, 4, sampled(), "the first after the call")
	require.Equal(t, 1, freed[4])
	require.Nil(t, r.Sample())
	r.Pause(true)
	take(1)
	require.Nil(t, r.Sample(), "messages during a pause are not kept")
	r.Pause(false)
	take(2)
	require.EqualValues(t, 8, sampled())
	take(1)
	require.Zero(t, freed[10])
	r.Forget()
	require.Nil(t, r.Sample())
	require.Equal(t, counted{1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 8: 1, 9: 1, 10: 1}, freed, "7 was never taken over")
}

// Without Options.Sample, Sample returns nil.
func TestNoSample(t *testing.T) {
	r := NewReceiver(&codec.Channel{Topic: "/n"}, Options{Clock: new(bridge.SimTime), Queue: queue.New(1 << 20)})
	r.Take([]bridge.Sample{{Data: []byte{1}, Publisher: bridge.GUID{1}, ReceiveTime: 1}})
	require.Nil(t, r.Sample())
	r.Forget()
}
