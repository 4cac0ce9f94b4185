package dds

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// TestHistoryOfPeers has peers that announce their history and others, of Fast DDS, that mostly don't: it then reads as
// if one sample were kept.
func TestHistoryOfPeers(t *testing.T) {
	for _, test := range []struct {
		announced codec.QoS
		fastDDS   bool
		history   codec.History
		depth     int
	}{
		{codec.QoS{History: codec.KeepLast, Depth: 1}, false, codec.KeepLast, 1},
		{codec.QoS{History: codec.KeepAll}, false, codec.KeepAll, 0},
		{codec.QoS{History: codec.KeepLast, Depth: 1}, true, codec.UnknownHistory, 0},
		{codec.QoS{History: codec.KeepLast, Depth: 7}, true, codec.KeepLast, 7},
		{codec.QoS{History: codec.KeepAll}, true, codec.KeepAll, 0},
	} {
		got := fromC(toC(test.announced), test.fastDDS)
		require.Equal(t, test.history, got.History, "%+v", test)
		require.Equal(t, test.depth, got.Depth, "%+v", test)
	}
}
