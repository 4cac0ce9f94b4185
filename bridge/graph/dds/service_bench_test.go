package dds

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
)

// callerRole runs CALLERS clients. Each calls a service COUNT times, one call after the other.
func callerRole() error {
	var callers, count int
	if _, err := fmt.Sscan(os.Getenv("CALLERS")+" "+os.Getenv("COUNT"), &callers, &count); err != nil {
		return err
	}
	n, err := Open(bridge.Options{Name: "other", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	failures := make(chan error, callers)
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for i := range count {
				if _, err := n.Call(context.Background(), "echo", echoType, bridgetest.Pattern(20, i)); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	calling.Wait()
	close(failures)
	return <-failures
}

// BenchmarkServe measures calls from another process.
func BenchmarkServe(b *testing.B) {
	for _, callers := range []int{1, 3} {
		b.Run(fmt.Sprintf("%d callers", callers), func(b *testing.B) {
			n := newNode(b, "callee")
			begun := sync.OnceFunc(b.ResetTimer)
			_, err := n.Serve("echo", echoType, func(ctx context.Context, request []byte) ([]byte, error) {
				begun()
				return request, nil
			})
			require.NoError(b, err)
			count := (b.N + callers - 1) / callers
			other := bridgetest.Start(b, "caller", fmt.Sprint("CALLERS=", callers), fmt.Sprint("COUNT=", count))
			require.NoError(b, other.Stop())
			b.ReportMetric(float64(callers*count)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
