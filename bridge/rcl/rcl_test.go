//go:build rcl

package rcl

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
)

func TestMain(m *testing.M) {
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	bridgetest.Run(t, func(t *testing.T, o bridge.Options) bridge.Node {
		n, err := Open(o)
		require.NoError(t, err)
		return n
	})
}
