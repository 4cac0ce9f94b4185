package bridge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseLogLevel(t *testing.T) {
	for name, want := range map[string]LogLevel{"debug": Debug, "INFO": Info, "Warn": Warn, "error": Error,
		"fatal": Fatal} {
		level, err := ParseLogLevel(name)
		require.NoError(t, err)
		require.Equal(t, want, level)
	}
	_, err := ParseLogLevel("loud")
	require.EqualError(t, err, `log level "loud": want debug, info, warn, error or fatal`)
	require.Equal(t, "LEVEL7", LogLevel(7).String())
}
