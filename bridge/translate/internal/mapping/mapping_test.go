package mapping

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mapping.yaml")
	load := func() error {
		_, err := Load(path, "CARLA", func([]byte) (int, error) { return 0, errors.New("junk") })
		return err
	}
	require.ErrorContains(t, load(), "open CARLA mapping: open "+path)
	require.NoError(t, os.WriteFile(path, []byte("map: [1]"), 0o644))
	require.EqualError(t, load(), "CARLA mapping "+path+": junk")
	require.NoError(t, os.WriteFile(path, make([]byte, MaxSize+1), 0o644))
	require.EqualError(t, load(), "CARLA mapping "+path+" is larger than 1 MiB: is it a mapping?")
}
