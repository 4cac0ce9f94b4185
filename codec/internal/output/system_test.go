package output

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// A file is locked although codec.BeingWritten looks at it when it is created, and a writer's file is not overwritten.
func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which the probe ends in time
		path := filepath.Join(t.TempDir(), "a")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
		probe, err := os.Open(path)
		require.NoError(t, err)
		require.NoError(t, codec.LockShared(probe))
		time.AfterFunc(10*time.Millisecond, func() { probe.Close() })
		file, err := OS{}.Create(path, true)
		require.NoError(t, err)
		require.True(t, codec.BeingWritten(path))
		_, err = file.WriteAt([]byte("new"), 0)
		require.NoError(t, err)

		_, err = OS{}.Create(path, true)
		require.ErrorIs(t, err, codec.ErrLocked)
		require.NoError(t, file.Close())
		require.False(t, codec.BeingWritten(path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "new", string(text))
	})
}
