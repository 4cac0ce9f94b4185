package bridgetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

func TestNetwork(t *testing.T) {
	var network Network
	Run(t, func(t *testing.T, o bridge.Options) bridge.Node {
		n, err := network.Open(o)
		require.NoError(t, err)
		return n
	})
}
