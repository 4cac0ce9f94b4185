package rosidl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesOfOtherLanguages(t *testing.T) {
	for name, want := range map[string][2]string{
		"D": {"d", "D"}, "frame_id": {"frame_id", "FrameId"}, "aBool": {"a_bool", "ABool"},
		"HTTPServer": {"http_server", "HTTPServer"}, "a__b_": {"a_b", "AB"}, "_HTTPCode_": {"http_code", "HTTPCode"},
		"x2Y": {"x2_y", "X2Y"}, "MaxRPM": {"max_rpm", "MaxRPM"}, "odd.pkg-é1": {"odd_pkg_1", "OddPkg1"},
		"3d": {"x3d", "x3d"}, "": {"x", "x"}, "_": {"x", "x"},
	} {
		require.Equal(t, want, [2]string{SnakeCase(name, "x"), CamelCase(name, "x")}, name)
	}
}
