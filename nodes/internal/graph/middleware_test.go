package graph

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestDescribeSecurity(t *testing.T) {
	for _, variable := range []string{"ENABLE", "STRATEGY", "KEYSTORE", "ENCLAVE_OVERRIDE"} {
		t.Setenv("ROS_SECURITY_"+variable, "")
	}
	require.Equal(t, "off", describeSecurity())
	t.Setenv("ROS_SECURITY_ENABLE", "yes")
	require.Equal(t, `off: ROS_SECURITY_ENABLE is "yes", and only true turns it on`, describeSecurity())
	t.Setenv("ROS_SECURITY_ENABLE", "true")
	t.Setenv("ROS_SECURITY_STRATEGY", "Enforce")
	require.Equal(t, "ROS_SECURITY_KEYSTORE is not set", describeSecurity())
}

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

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&Options{}))
}
