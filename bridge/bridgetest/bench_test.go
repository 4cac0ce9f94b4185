//go:build cgo

package bridgetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

// receiver opens a node in /test.
func receiver(t testing.TB) bridge.Node {
	t.Helper()
	n, err := open(bridge.Options{Name: "receiver", Namespace: "/test", Domain: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// flood publishes COUNT payloads of SIZE bytes without a pause.
func flood(n bridge.Node) error {
	p, err := offer(n)
	if err != nil {
		return err
	}
	size, count := amount()
	data := Pattern(size, 0)
	for range count {
		if err := p.Publish(data); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkReceive measures the rate at which a subscription receives messages from another process.
func BenchmarkReceive(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			n := receiver(b)
			done := make(chan struct{})
			got := 0
			_, err := n.Subscribe("bytes", BytesType, KeepAll(), func(batch []bridge.Sample) {
				if got == 0 {
					b.ResetTimer()
				}
				got += len(batch)
				if got == b.N {
					b.StopTimer()
					close(done)
				}
			})
			require.NoError(b, err)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			other := Start(b, "flood", fmt.Sprint("SIZE=", size), fmt.Sprint("COUNT=", b.N))
			<-done
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			require.NoError(b, other.Stop())
		})
	}
}

// BenchmarkPublish measures the rate at which a publisher sends messages to another process.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			n := receiver(b)
			p, err := n.Advertise("bytes", BytesType, KeepAll())
			require.NoError(b, err)
			other := Start(b, "sink")
			for p.Subscribers() == 0 {
				time.Sleep(time.Millisecond)
			}
			data := Pattern(size, 0)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Publish(data); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, p.Flush(context.Background()))
			require.NoError(b, other.Stop())
		})
	}
}

// TestAllocations checks that publishing, handling and retaining messages allocates no Go memory.
func TestAllocations(t *testing.T) {
	n := receiver(t)
	const count = 20_000
	got := 0
	done := make(chan struct{})
	_, err := n.Subscribe("bytes", BytesType, KeepAll(), func(batch []bridge.Sample) {
		for i := range batch {
			if i%2 == 0 {
				p := batch[i].Retain()
				p.Release()
			}
		}
		got += len(batch)
		if got == 2*count {
			close(done)
		}
	})
	require.NoError(t, err)
	p, err := n.Advertise("bytes", BytesType, KeepAll())
	require.NoError(t, err)
	data := Pattern(100, 0)
	perRun := testing.AllocsPerRun(1, func() { // AllocsPerRun runs the function twice
		for range count {
			if err := p.Publish(data); err != nil {
				panic(err)
			}
		}
	})
	<-done
	require.Less(t, perRun/count, 0.2, "allocations per message") // the node's other goroutines may allocate
}
