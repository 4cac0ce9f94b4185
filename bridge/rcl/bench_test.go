//go:build rcl

package rcl

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

var benchmarkSizes = []int{100, 10_000, 1_000_000}

// floodRole publishes COUNT payloads of SIZE bytes as fast as it may.
func floodRole() error {
	var size, count int
	fmt.Sscan(os.Getenv("SIZE"), &size)
	fmt.Sscan(os.Getenv("COUNT"), &count)
	n, err := Open(bridge.Options{Name: "flood", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	p, err := n.Advertise("bytes", bytesType, keepAll())
	if err != nil {
		return err
	}
	for p.Subscribers() == 0 {
		time.Sleep(time.Millisecond)
	}
	data := pattern(size, 0)
	for range count {
		if err := p.Publish(data); err != nil {
			return err
		}
	}
	untilEOF()
	return nil
}

// BenchmarkReceive is what one subscription takes from another process.
func BenchmarkReceive(b *testing.B) {
	for _, size := range benchmarkSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			n := newNode(b, "receiver")
			done := make(chan struct{})
			got := 0
			_, err := n.Subscribe("bytes", bytesType, keepAll(), func(batch []bridge.Sample) {
				if got == 0 {
					b.ResetTimer()
				}
				if got += len(batch); got == b.N {
					b.StopTimer()
					close(done)
				}
			})
			require.NoError(b, err)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			other := start(b, "flood", fmt.Sprint("SIZE=", size), fmt.Sprint("COUNT=", b.N))
			<-done
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			require.NoError(b, other.stop())
		})
	}
}

// BenchmarkPublish is what a publisher sends to another process.
func BenchmarkPublish(b *testing.B) {
	for _, size := range benchmarkSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			n := newNode(b, "sender")
			p, err := n.Advertise("bytes", bytesType, keepAll())
			require.NoError(b, err)
			other := start(b, "sink")
			for p.Subscribers() == 0 {
				time.Sleep(time.Millisecond)
			}
			data := pattern(size, 0)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Publish(data); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, p.Flush(context.Background()))
			require.NoError(b, other.stop())
		})
	}
}

// sinkRole receives and forgets.
func sinkRole() error {
	n, err := Open(bridge.Options{Name: "sink", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	if _, err := n.Subscribe("bytes", bytesType, keepAll(), func([]bridge.Sample) {}); err != nil {
		return err
	}
	untilEOF()
	return nil
}

// TestAllocations measures what messages cost on their way to the handler and back: no Go memory.
func TestAllocations(t *testing.T) {
	const count = 20_000
	n := newNode(t, "receiver")
	got := 0
	done := make(chan struct{})
	_, err := n.Subscribe("bytes", bytesType, keepAll(), func(batch []bridge.Sample) {
		for i := range batch {
			if i%2 == 0 {
				p := batch[i].Retain()
				p.Release()
			}
		}
		if got += len(batch); got == 2*count {
			close(done)
		}
	})
	require.NoError(t, err)
	p, err := n.Advertise("bytes", bytesType, keepAll())
	require.NoError(t, err)
	data := pattern(100, 0)
	perRun := testing.AllocsPerRun(1, func() { // and once more to warm up
		for range count {
			if err := p.Publish(data); err != nil {
				panic(err)
			}
		}
	})
	<-done
	require.Less(t, perRun/count, 0.2, "allocations per message") // the node has other things to do too
}
