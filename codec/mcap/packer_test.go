package mcap

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A message may be larger than what readers decompress. It is stored as it is.
func TestLargestChunk(t *testing.T) {
	p, err := newPacker("zstd")
	require.NoError(t, err)
	_, compression, err := p.pack(make([]byte, maxChunk+1)) // pages that nobody touches take no memory
	require.NoError(t, err)
	require.Empty(t, compression)
	_, compression, err = p.pack(make([]byte, 1000))
	require.NoError(t, err)
	require.EqualValues(t, "zstd", compression)
}
