package files

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	var n Names
	for _, c := range []struct{ topic, want string }{
		{"/imu", "imu"},
		{"/camera/front", "camera_front"},
		{"/camera_front", "camera_front_2"},
		{"/Camera/Front/", "Camera_Front_3"},
		{"", "topic"},
		{"/", "topic_2"},
		{"..", "_."},
		{"/../x", "_._x"},
		{"/../../etc/passwd", "_._.._etc_passwd"},
		{".hidden", "_hidden"},
		{`C:\a b*?"<>|` + "\x00\n\x1b", "C__a_b_________"},
		{"/größe/日本", "größe_日本"},
		{"\xff", "_"},
		{"/" + strings.Repeat("ä", 300), strings.Repeat("ä", 100)},
		{"/" + strings.Repeat("ä", 301), strings.Repeat("ä", 100) + "_2"},
	} {
		name := n.Of(c.topic)
		require.Equal(t, c.want, name, "%q", c.topic)
		require.True(t, filepath.IsLocal(name), name)
	}
}
