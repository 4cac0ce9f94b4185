package hardware

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
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
	for _, test := range []struct{ device, format, encoding, want string }{
		{"/dev/video0", "MJPG", "", jpegs},
		{"/dev/video0", "MJPG", "rgb8", jpegs},
		{"/dev/video0", "JPEG", "", jpegs},
		{"/dev/video0", "YUYV", "", pixels},
		{"/dev/video0", "", "rgb8", pixels},
		{folder("1.png", "notes.jpg.txt"), "MJPG", "", pixels},
		{folder("1.JPG", "1.png"), "YUYV", "", jpegs},
		{folder("1.jpeg"), "YUYV", "", jpegs},
		{folder(), "MJPG", "", jpegs},
		{filepath.Join(folder("film.mjpeg"), "film.mjpeg"), "YUYV", "", jpegs},
		{filepath.Join(folder("film.mjpeg"), "film.mjpeg"), "", "rgb8", jpegs},
	} {
		c := DefaultCamera()
		c.Device, c.Format, c.Encoding = test.device, test.format, test.encoding
		topic, err := c.Topic("front")
		require.NoError(t, err)
		require.Equal(t, test.want, topic, test)
	}
	_, err := (&Camera{Device: "/dev/video0"}).Topic("front")
	require.EqualError(t, err, "the topic depends on the format that the camera chooses; set its format")
	_, err = (&Camera{Device: "/dev/video0", Format: "MJPEG"}).Topic("front")
	require.ErrorContains(t, err, `pixel format "MJPEG": want up to four characters`)
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&Camera{}, &Arm{}))
}
