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

// Listener holds the latest message of a topic. Its methods may be called from several goroutines at once.
type Listener[T any] struct {
	mu    sync.Mutex
	last  T
	count int
}

// Listen subscribes to a topic with messages of the type T. The subscription panics on a payload of another type.
func Listen[T any, P interface {
	*T
	msgs.Message
}](t *testing.T, node bridge.Node, topic string, qos codec.QoS) *Listener[T] {
	l := &Listener[T]{}
	_, err := node.Subscribe(topic, P(&l.last).TypeName(), qos, func(samples []bridge.Sample) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, s := range samples {
			var m T
			if err := cdr.Unmarshal(s.Data, P(&m)); err != nil {
				panic(err)
			}
			l.last = m
			l.count++
		}
	})
	require.NoError(t, err)
	return l
}

// Get returns the latest message, and the number of messages so far.
func (l *Listener[T]) Get() (T, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.count
}

// Await waits for a message that meets a condition, and returns it.
func (l *Listener[T]) Await(t *testing.T, description string, condition func(T) bool) (m T) {
	t.Helper()
	eventually(t, description, func() bool {
		var n int
		m, n = l.Get()
		return n > 0 && condition(m)
	})
	return m
}
