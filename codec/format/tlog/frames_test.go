package tlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog/tlogtest"
)

const someTime = int64(1_764_000_000e9) // ns since the Unix epoch

func knownFormats(t testing.TB) map[uint32]MessageFormat {
	known, err := Formats()
	require.NoError(t, err)
	return known
}

var attitude, heartbeat = tlogtest.Attitude, tlogtest.Heartbeat
