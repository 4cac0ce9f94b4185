package codec

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A file is locked although BeingWritten looks at it when it is created, and a writer's file is not overwritten.
func TestCreateLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which the probe ends in time
		path := filepath.Join(t.TempDir(), "a")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
		probe, err := os.Open(path)
		require.NoError(t, err)
		require.NoError(t, LockShared(probe))
		time.AfterFunc(10*time.Millisecond, func() { probe.Close() })
		file, err := OS{}.Create(path, true)
		require.NoError(t, err)
		require.True(t, BeingWritten(path))
		_, err = file.WriteAt([]byte("new"), 0)
		require.NoError(t, err)

		_, err = OS{}.Create(path, true)
		require.ErrorIs(t, err, ErrLocked)
		require.NoError(t, file.Close())
		require.False(t, BeingWritten(path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "new", string(text))
	})
}
