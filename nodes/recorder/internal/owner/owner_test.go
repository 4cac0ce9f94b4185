package owner

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions are called one after the other until the end. Functions posted by one goroutine are called in their order.
func TestOwner(t *testing.T) {
	o, stop := New(), make(chan struct{})
	var early int
	o.Post(func() { early++ })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.Run(stop)
	}()
	count := 0 // owned by the owner
	last := map[int]int{}
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for i := range 500 {
				o.Post(func() {
					count++
					if last[client] != i {
						t.Errorf("call %d of client %d came at %d", i, client, last[client])
					}
					last[client]++
				})
			}
			called := false
			if !o.Do(func() { called = last[client] == 500 }) || !called {
				t.Errorf("client %d was not served in order", client)
			}
		})
	}
	clients.Wait()
	var got int
	require.True(t, o.Do(func() { got = count + early }))
	require.Equal(t, 2001, got)
	late := false
	o.Post(func() { o.Post(func() { late = true }) })
	close(stop)
	<-ended
	require.True(t, late, "functions posted before the end are called")
	require.False(t, o.Do(func() { got = 0 }))
	require.Equal(t, 2001, got)
}
