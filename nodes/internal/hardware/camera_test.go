package hardware

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTopicOfCamera(t *testing.T) {
	folder := func(names ...string) string {
		path := t.TempDir()
		for _, name := range names {
			require.NoError(t, os.WriteFile(filepath.Join(path, name), nil, 0o666))
		}
		return path
	}
	const jpegs, pixels = "front/image_raw/compressed", "front/image_raw"
	for _, test := range []struct{ device, format, want string }{
		{"/dev/video0", "MJPG", jpegs},
		{"/dev/video0", "JPEG", jpegs},
		{"/dev/video0", "YUYV", pixels},
		{"/dev/video0", "", pixels},
		{folder("1.png", "notes.jpg.txt"), "MJPG", pixels},
		{folder("1.JPG", "1.png"), "YUYV", jpegs},
		{folder("1.jpeg"), "YUYV", jpegs},
		{folder(), "MJPG", jpegs},
	} {
		c := DefaultCamera()
		c.Device, c.Format = test.device, test.format
		require.Equal(t, test.want, c.Topic("front"), test)
	}
}
