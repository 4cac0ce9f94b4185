package rospub

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	diag "tapedeck/msgs/diagnostic_msgs"
)

func TestAwaitSubscribers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	subscribed := []Offer{{Publisher: matched{count: 1}}, {Publisher: matched{count: 2}}}
	require.NoError(t, AwaitSubscribers(ctx, nil, subscribed))
	cancel()
	require.ErrorIs(t, AwaitSubscribers(ctx, nil, []Offer{{Publisher: matched{count: 1}}, {Publisher: matched{}}}),
		context.Canceled)
}

// unacknowledged is a publisher whose subscribers never acknowledge.
type unacknowledged struct{ bridge.Publisher }

func (unacknowledged) Flush(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("no answer")
}

// lineCounter is a node that counts its log lines.
type lineCounter struct {
	bridge.Node
	count int
}

func (l *lineCounter) Log(bridge.LogLevel, string, ...any) { l.count++ }

func TestFlush(t *testing.T) {
	var network bridgetest.Network
	node, err := network.Open(bridge.Options{Name: "player"})
	require.NoError(t, err)
	defer node.Close()
	counter := &lineCounter{Node: node}
	list := []Offer{{Publisher: unacknowledged{}}}
	Flush(t.Context(), counter, list, -1)
	require.Zero(t, counter.count, "a negative patience does not wait")
	Flush(t.Context(), counter, list, time.Millisecond)
	require.Equal(t, 1, counter.count)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	Flush(ctx, counter, list, time.Hour)
	require.Equal(t, 1, counter.count, "ctx has ended")
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	Flush(ctx, counter, list, 0)
	require.Error(t, ctx.Err(), "a patience of 0 is no limit")
	require.Equal(t, 1, counter.count)
}

// lingering is a publisher whose Close waits for Close of the others.
type lingering struct {
	bridge.Publisher
	all *sync.WaitGroup
}

func (l *lingering) Close() error {
	l.all.Done()
	l.all.Wait()
	return nil
}

func TestPublishersCloseTogether(*testing.T) {
	var all sync.WaitGroup
	var list []Offer
	for range 3 {
		all.Add(1)
		list = append(list, Offer{Publisher: &lingering{all: &all}})
	}
	Close(list)
}

// secured is a node with SROS 2 keys.
type secured struct{ bridge.Node }

func (secured) Security() bridge.Security {
	return bridge.Security{Enclave: "/e", Keys: "/k", Enforce: true}
}

func TestDiagnosticsTellOfSecurity(t *testing.T) {
	node, err := (&bridgetest.Network{}).Open(bridge.Options{Name: "node"})
	require.NoError(t, err)
	defer node.Close()
	d, err := NewDiagnostics(secured{node})
	require.NoError(t, err)
	received := make(chan diag.DiagnosticArray, 1)
	_, err = node.Subscribe(DiagnosticsTopic, "diagnostic_msgs/msg/DiagnosticArray", codec.DefaultQoS(),
		func(samples []bridge.Sample) {
			var a diag.DiagnosticArray
			if cdr.Unmarshal(samples[0].Data, &a) == nil {
				received <- a
			}
		})
	require.NoError(t, err)
	require.NoError(t, d.Send(1, d.Status("one", "well", "a", 1), d.Status("two", "well", "b", 2)))
	list := (<-received).Status
	require.Equal(t, Values("a", 1, "security", "on, enclave /e, keys in /k, Enforce"), list[0].Values)
	require.Equal(t, Values("b", 2), list[1].Values)
}
