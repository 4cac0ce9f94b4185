package human

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNear(t *testing.T) {
	names := []string{"/imu", "/imu/data", "/camera/left", "/camera/right", "/odom"}
	for name, want := range map[string][]string{
		"/imuu": {"/imu"}, "/IMU": {"/imu", "/imu/data"}, "odom": {"/odom"}, "/camera/lfet": {"/camera/left"},
		"left": {"/camera/left"}, "/points": nil, "": nil, "/": nil,
	} {
		require.Equal(t, want, Near(name, names), name)
	}
}
