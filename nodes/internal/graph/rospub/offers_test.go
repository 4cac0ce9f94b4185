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
	require.NoError(t, AwaitSubscribers(ctx, nil, []Offer{{Publisher: met{count: 1}}, {Publisher: met{count: 2}}}))
	cancel()
	require.ErrorIs(t, AwaitSubscribers(ctx, nil, []Offer{{Publisher: met{count: 1}}, {Publisher: met{}}}),
		context.Canceled)
}

// deaf is a publisher whose subscribers never acknowledge.
type deaf struct{ bridge.Publisher }

func (deaf) Flush(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("no answer")
}

// lines counts what a node logs.
type lines struct {
	bridge.Node
	count int
}

func (l *lines) Log(bridge.LogLevel, string, ...any) { l.count++ }

func TestFlush(t *testing.T) {
	var network bridgetest.Network
	node, err := network.Open(bridge.Options{Name: "player"})
	require.NoError(t, err)
	defer node.Close()
	said := &lines{Node: node}
	list := []Offer{{Publisher: deaf{}}}
	Flush(t.Context(), said, list, -1)
	require.Zero(t, said.count, "nobody waits")
	Flush(t.Context(), said, list, time.Millisecond)
	require.Equal(t, 1, said.count)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	Flush(ctx, said, list, time.Hour)
	require.Equal(t, 1, said.count, "it was ended")
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	Flush(ctx, said, list, 0)
	require.Error(t, ctx.Err(), "0 is for ever")
	require.Equal(t, 1, said.count)
}

// lingering is a publisher that closes once others do, too.
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

// secured is a node with keys.
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
