package graph

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestChoose(t *testing.T) {
	require.NoError(t, choose(""))
	require.NoError(t, choose(built))
	require.Contains(t, describe(), built+" (")
	err := choose("zenoh")
	require.ErrorIs(t, err, config.ErrUsage)
	require.EqualError(t, err, `middleware: "zenoh" is none, want rcl or dds`)
	other := map[string]string{"dds": "rcl", "rcl": "dds"}[built]
	require.ErrorContains(t, choose(other), "build tapedeck", "the test has no other executable beside it")
}
