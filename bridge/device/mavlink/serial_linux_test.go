package mavlink

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestSerialPort(t *testing.T) {
	p := openPTY(t)
	c, err := openSerial(p.path, 123456, true)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	var settings *unix.Termios
	raw, err := c.(serialConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { settings, err = unix.IoctlGetTermios(int(fd), unix.TCGETS2) }))
	require.NoError(t, err)
	require.EqualValues(t, 123456, settings.Ispeed)
	require.EqualValues(t, 123456, settings.Ospeed)
	require.NotZero(t, settings.Cflag&unix.CRTSCTS)

	// Every byte passes unchanged.
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	_, err = p.Write(all[:])
	require.NoError(t, err)
	var got [256]byte
	_, err = io.ReadFull(c, got[:])
	require.NoError(t, err)
	require.Equal(t, all, got)
	_, err = c.Write(all[:])
	require.NoError(t, err)
	clear(got[:])
	_, err = io.ReadFull(p, got[:])
	require.NoError(t, err)
	require.Equal(t, all, got)

	// Writing does not fail when no program reads.
	for range 100 {
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Millisecond)))
		n, err := c.Write(make([]byte, 1024))
		require.NoError(t, err)
		require.Equal(t, 1024, n)
	}
	_, err = p.Write([]byte{7})
	require.NoError(t, err)
	n, err := c.Read(got[:])
	require.NoError(t, err)
	require.Equal(t, []byte{7}, got[:n])
}

func TestMissingSerialPort(t *testing.T) {
	_, err := openSerial("/nowhere/ttyS0", 57600, false)
	require.ErrorIs(t, err, os.ErrNotExist)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = openSerial(file, 57600, false)
	require.ErrorIs(t, err, unix.ENOTTY)
	require.ErrorContains(t, err, "set up "+file+" at 57600 baud")
}
