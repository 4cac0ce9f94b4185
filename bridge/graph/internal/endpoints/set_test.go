package endpoints

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// together is an endpoint whose Close returns only when all endpoints are being closed.
type together struct {
	set  *Set
	all  *sync.WaitGroup
	fail error
}

func (e *together) Close() error {
	return e.set.End(e, func() error {
		e.all.Done()
		e.all.Wait()
		return e.fail
	})
}

// Close closes all endpoints in parallel, then the rest of the node, and does both only once.
func TestCloseAtOnce(t *testing.T) {
	s := NewSet()
	var all sync.WaitGroup
	all.Add(3)
	failed := errors.New("failed")
	for i := range 3 {
		e := &together{set: s, all: &all}
		if i == 1 {
			e.fail = failed
		}
		_, err := Create(s, func() (*together, error) { return e, nil })
		require.NoError(t, err)
	}
	rest := 0
	for i := range 2 {
		err := s.Close(func() error {
			all.Wait()
			rest++
			return nil
		})
		require.Equal(t, i == 0, errors.Is(err, failed))
	}
	require.Equal(t, 1, rest)
	_, err := Create(s, func() (*together, error) { return nil, nil })
	require.ErrorIs(t, err, ErrClosed)
}
