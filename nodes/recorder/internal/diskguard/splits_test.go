package diskguard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesDeleteTheOldest(t *testing.T) {
	var removed []string
	f := NewSplits(3, func(path string) error {
		removed = append(removed, path)
		return nil
	})
	trim := func() { f.Trim(func(_ string, err error) { require.NoError(t, err) }) }
	require.False(t, f.Several())
	f.Begun()
	f.Begun()
	f.Completed("a")
	trim()
	require.Empty(t, removed, "three are allowed")
	f.Begun()
	f.Begun()
	trim()
	require.Equal(t, []string{"a"}, removed, "b is not complete yet")
	f.Completed("b")
	<-f.Changed
	trim()
	require.Equal(t, []string{"a", "b"}, removed)
	require.True(t, f.Several())

	f.Begun()
	done := make(chan struct{})
	go func() {
		f.Settle(func(string, error) {})
		close(done)
	}()
	f.Completed("c")
	<-done
	require.Equal(t, []string{"a", "b", "c"}, removed)
}
