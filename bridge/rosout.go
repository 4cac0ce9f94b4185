package bridge

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"tapedeck/codec/cdr"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rcl_interfaces"
)

// Logger writes log lines as the nodes of ROS 2 do: to a console, in the form of rcutils, and as rcl_interfaces/msg/Log
// to /rosout. Its method may be called from several goroutines at once.
type Logger struct {
	name    string
	level   LogLevel
	publish func(payload []byte) error

	mu      sync.Mutex
	console io.Writer
}

// NewLogger returns the logger of the node of that full name, which leaves out lines below level (0 is Info). publish
// sends a payload to /rosout.
func NewLogger(node string, level LogLevel, console io.Writer, publish func(payload []byte) error) *Logger {
	if level == 0 {
		level = Info
	}
	name := strings.ReplaceAll(strings.TrimPrefix(node, "/"), "/", ".")
	return &Logger{name: name, level: level, publish: publish, console: console}
}

// Log writes one line. The place that it names in /rosout is where the caller of Log's caller stands, as Log is
// called by Node.Log.
func (l *Logger) Log(level LogLevel, format string, args ...any) {
	if level < l.level {
		return
	}
	text := fmt.Sprintf(format, args...)
	now := time.Now()
	l.mu.Lock()
	fmt.Fprintf(l.console, "[%s] [%d.%09d] [%s]: %s\n", level, now.Unix(), now.Nanosecond(), l.name, text)
	l.mu.Unlock()

	line := rcl_interfaces.Log{
		Stamp: builtin_interfaces.Time{Sec: int32(now.Unix()), Nanosec: uint32(now.Nanosecond())},
		Level: uint8(level), Name: l.name, Msg: text,
	}
	if pc, file, number, ok := runtime.Caller(2); ok {
		line.File, line.Line = file, uint32(number)
		line.Function = runtime.FuncForPC(pc).Name()
	}
	// A line that does not reach /rosout, as while the node closes, has been on the console.
	if data, err := cdr.Marshal(&line); err == nil {
		_ = l.publish(data)
	}
}
