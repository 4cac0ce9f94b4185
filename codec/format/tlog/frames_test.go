package tlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog/tlogtest"
)

const someTime = int64(1_764_000_000e9) // ns since the Unix epoch

// dialectFormats returns the formats of the dialect's messages.
func dialectFormats(t testing.TB) map[uint32]MessageFormat {
	formats, err := Formats()
	require.NoError(t, err)
	return formats
}

var attitude, heartbeat = tlogtest.Attitude, tlogtest.Heartbeat
