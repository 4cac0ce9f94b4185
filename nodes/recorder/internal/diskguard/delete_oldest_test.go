package diskguard

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesDeleteTheOldest(t *testing.T) {
	var removed, trimmed []string
	failure := errors.New("the file cannot be deleted")
	f := NewSplits(3, func(path string) error {
		removed = append(removed, path)
		return failure
	}, func(path string, err error) {
		require.ErrorIs(t, err, failure)
		trimmed = append(trimmed, path)
	})
	f.Begun()
	f.Begun()
	f.Begun()
	f.Completed("a")
	require.Empty(t, removed, "three are allowed")
	f.Begun()
	f.Begun()
	require.Equal(t, []string{"a"}, removed, "b is not complete yet")
	f.Completed("b")
	require.Equal(t, []string{"a", "b"}, removed)
	f.Completed("c")
	require.Equal(t, []string{"a", "b"}, removed)
	require.Equal(t, removed, trimmed)
	path, soon, err := f.RemoveOldest()
	require.ErrorIs(t, err, failure)
	require.Equal(t, "c", path)
	require.True(t, soon)
	require.Equal(t, []string{"a", "b"}, trimmed, "a file was removed that does not exceed the limit")
}
