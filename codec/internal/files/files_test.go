package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestManyFiles writes more files than may be open at once.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	var s Set
	const count = 3 * maxOpen
	var all []*File
	for i := range count {
		f, err := s.Create(filepath.Join(dir, fmt.Sprint(i)), false)
		require.NoError(t, err)
		all = append(all, f)
	}
	var writers sync.WaitGroup
	for k := range 2 {
		writers.Go(func() {
			for i := k; i < count; i += 2 {
				for range 3 {
					_, err := fmt.Fprintf(all[i], "%d\n", i)
					require.NoError(t, err)
				}
			}
		})
	}
	writers.Wait()
	for i, f := range all {
		require.LessOrEqual(t, len(s.open), maxOpen)
		if i%2 == 0 {
			require.NoError(t, f.Sync())
		}
		_, err := f.Write([]byte("end"))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, f.Close())
		text, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		require.Equal(t, strings.Repeat(fmt.Sprintln(i), 3)+"end", string(text))
	}
	require.Empty(t, s.open)

	_, err := s.Create(all[0].Name(), false)
	require.ErrorIs(t, err, fs.ErrExist)
	f, err := s.Create(all[0].Name(), true)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	text, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	require.Empty(t, text)
}
