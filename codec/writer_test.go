package codec

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	first, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, Lock(first))
	second, err := os.Open(path)
	require.NoError(t, err)
	defer second.Close()
	require.ErrorIs(t, Lock(second), ErrLocked)
	require.NoError(t, first.Close())
	require.NoError(t, Lock(second))

	for _, none := range []error{nil, syscall.ENOTSUP, syscall.ENOLCK, syscall.ENOSYS} {
		require.NoError(t, lockError(none), "the disk has no locks")
	}
	require.ErrorIs(t, lockError(syscall.EIO), syscall.EIO)
}
