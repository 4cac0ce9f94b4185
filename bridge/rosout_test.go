package bridge

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rcl_interfaces"
)

func TestLogger(t *testing.T) {
	var console bytes.Buffer
	var lines []rcl_interfaces.Log
	logger := NewLogger("/robot/recorder", 0, &console, func(payload []byte) error {
		var line rcl_interfaces.Log
		require.NoError(t, cdr.Unmarshal(payload, &line))
		lines = append(lines, line)
		return errors.New("closed")
	})
	nodeLog := func(level LogLevel, format string, args ...any) { logger.Log(level, format, args...) }
	nodeLog(Debug, "left out")
	nodeLog(Info, "%d files", 3)
	nodeLog(Error, "100%%")
	require.Regexp(t, `^\[INFO\] \[\d+\.\d{9}\] \[robot\.recorder\]: 3 files
\[ERROR\] \[\d+\.\d{9}\] \[robot\.recorder\]: 100%
$`, console.String())
	require.Len(t, lines, 2)
	console.Reset()
	nodeLog(Warn, "%s", "a\nb\x1b[2J\u202e\xff\x9b"+strings.Repeat("\x1b", 64<<10))
	require.Regexp(t, `: a; b\\u001b\[2J\\u202e\\xff\\x9b(\\u001b)+\.\.\. and \d+ more bytes\n$`, console.String())
	require.Contains(t, console.String(), lines[2].Msg)
	require.Equal(t, "3 files", lines[0].Msg)
	require.Equal(t, "robot.recorder", lines[0].Name)
	require.Equal(t, uint8(Info), lines[0].Level)
	require.Contains(t, lines[0].File, "rosout_test.go")
	require.Equal(t, "tapedeck/bridge.TestLogger", lines[0].Function)
	require.NotZero(t, lines[0].Stamp.Sec)
}
