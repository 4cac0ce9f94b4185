package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesDeleteTheOldest(t *testing.T) {
	var removed []string
	f := newFiles(3, func(path string) error {
		removed = append(removed, path)
		return nil
	})
	trim := func() { f.trim(func(_ string, err error) { require.NoError(t, err) }) }
	require.False(t, f.split())
	f.begun()
	f.begun()
	f.completed("a")
	trim()
	require.Empty(t, removed, "three are allowed")
	f.begun()
	f.begun()
	trim()
	require.Equal(t, []string{"a"}, removed, "b is not complete yet")
	f.completed("b")
	<-f.changed
	trim()
	require.Equal(t, []string{"a", "b"}, removed)
	require.True(t, f.split())

	f.begun()
	done := make(chan struct{})
	go func() {
		f.settle(func(string, error) {})
		close(done)
	}()
	f.completed("c")
	<-done
	require.Equal(t, []string{"a", "b", "c"}, removed)
}
