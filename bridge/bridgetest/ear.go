package bridgetest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// Ear has the latest message of a topic. Its methods may be called from several goroutines at once.
type Ear[T any] struct {
	mu    sync.Mutex
	last  T
	count int
}

// Hear subscribes to a topic with messages of the type T. A payload that is not a T panics.
func Hear[T any, P interface {
	*T
	msgs.Message
}](t *testing.T, node bridge.Node, topic string, qos codec.QoS) *Ear[T] {
	e := &Ear[T]{}
	_, err := node.Subscribe(topic, P(&e.last).TypeName(), qos, func(samples []bridge.Sample) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, s := range samples {
			var m T
			if err := cdr.Unmarshal(s.Data, P(&m)); err != nil {
				panic(err)
			}
			e.last = m
			e.count++
		}
	})
	require.NoError(t, err)
	return e
}

// Get returns the latest message, and the number of messages so far.
func (e *Ear[T]) Get() (T, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last, e.count
}

// Await waits for a message that meets a condition, and returns it.
func (e *Ear[T]) Await(t *testing.T, what string, condition func(T) bool) (m T) {
	t.Helper()
	eventually(t, what, func() bool {
		var n int
		m, n = e.Get()
		return n > 0 && condition(m)
	})
	return m
}
