package mcap

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A message that is too large for readers to decompress is stored uncompressed.
func TestLargestChunk(t *testing.T) {
	p, err := newPacker("zstd")
	require.NoError(t, err)
	large, err := syscall.Mmap(-1, 0, maxChunk+1, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(large)) }()
	_, compression, err := p.pack(large) // pack must not read it
	require.NoError(t, err)
	require.Empty(t, compression)
	_, compression, err = p.pack(make([]byte, 1000))
	require.NoError(t, err)
	require.EqualValues(t, "zstd", compression)
}
