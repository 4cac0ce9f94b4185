package mavlink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog"
	"tapedeck/codec/format/tlog/tlogtest"
	"tapedeck/test/samples/generate"
)

const (
	patient  = 90 * time.Second
	someTime = int64(1_764_000_000e9) // ns since the Unix epoch
)

// sample returns the path of a sample.
func sample(t testing.TB, name string) string { return generate.Path(t, "mavlink/"+name) }

func knownFormats(t testing.TB) map[uint32]tlog.MessageFormat {
	known, err := tlog.Formats()
	require.NoError(t, err)
	return known
}

var attitude, heartbeat = tlogtest.Attitude, tlogtest.Heartbeat
