package progress

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal returns both ends of a pseudo terminal.
func terminal(t *testing.T) (screen, tty *os.File) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here:", err)
	}
	t.Cleanup(func() { screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

func TestPipeShowsNothing(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	b := Bytes(w, "copying", 100)
	require.Nil(t, b)
	b.Set(50)
	b.Hide()
	b.Close()
	require.NoError(t, w.Close())
	n, _ := r.Read(make([]byte, 1))
	require.Zero(t, n)
}

func TestTerminal(t *testing.T) {
	tests := map[string]struct {
		bar  func(tty *os.File) *Bar
		done int64
		want string
	}{
		"bytes": {func(tty *os.File) *Bar { return Bytes(tty, "copying", 4<<20) }, 1 << 20, "copying  25%"},
		"seconds": {func(tty *os.File) *Bar { return Seconds(tty, "playing", 10*time.Second) }, int64(5 * time.Second),
			"playing 5.0/10.0 s  50%"},
		"all of it":    {func(tty *os.File) *Bar { return Bytes(tty, "copying", 1000) }, 1000, "copying  99%"},
		"more than it": {func(tty *os.File) *Bar { return Bytes(tty, "copying", 1000) }, 5000, "copying  99%"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			screen, tty := terminal(t)
			b := test.bar(tty)
			require.NotNil(t, b)
			b.Set(test.done)
			b.Close()
			require.NoError(t, tty.Close())
			shown, _ := io.ReadAll(screen) // ends with EIO
			require.Contains(t, string(shown), test.want)
			require.Regexp(t, `\r {40,}\r\x1b\[K$`, string(shown), "the line is not cleared")
		})
	}
}

func TestUnknownTotalAndGoingBack(t *testing.T) {
	_, tty := terminal(t)
	b := Seconds(tty, "playing", 0)
	for _, done := range []int64{0, 1e9, 5e9, 2e9} {
		b.Set(done)
		require.Equal(t, done, b.last)
	}
	b.Close()
	require.Equal(t, (*Bar)(nil), Bytes(os.NewFile(^uintptr(0), "closed"), "x", 1))
}
