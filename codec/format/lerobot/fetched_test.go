package lerobot

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store/storetest"
)

// TestVideoFiles fetches videos of a camera. A fetched file must be removed when it has no users and is not the last
// video of the camera.
func TestVideoFiles(t *testing.T) {
	s := storetest.New(t)
	s.Put("a.mp4", []byte("a"))
	s.Put("b.mp4", []byte("b"))
	files := videoFiles{files: s.Files()}
	use := func(key string) (string, func()) {
		local, release, err := files.use("camera", s.URL(key))
		require.NoError(t, err)
		return local, release
	}
	first, releaseFirst := use("a.mp4")
	again, releaseAgain := use("a.mp4")
	require.Equal(t, first, again)
	releaseAgain()
	releaseAgain()
	n, _ := s.Count()
	_, releaseLast := use("a.mp4")
	after, _ := s.Count()
	require.Equal(t, n, after, "a.mp4 is fetched only once")

	second, releaseSecond := use("b.mp4")
	require.FileExists(t, first, "a.mp4 still has users")
	releaseSecond()
	require.FileExists(t, second, "b.mp4 is the last video of the camera")
	text, err := os.ReadFile(second)
	require.NoError(t, err)
	require.Equal(t, "b", string(text))
	_, _, err = files.use("camera", s.URL("c.mp4"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, second)
	releaseFirst()
	require.FileExists(t, first, "a.mp4 still has a user")
	releaseLast()
	require.NoFileExists(t, first)
	third, releaseThird := use("b.mp4")
	releaseThird()
	files.close()
	require.NoFileExists(t, third)
}
