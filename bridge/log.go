package bridge

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/printable"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rcl_interfaces"
)

// LogLevel is the severity of a log line, numbered as rcl_interfaces/msg/Log does.
type LogLevel uint8

// The levels.
const (
	Debug LogLevel = 10
	Info  LogLevel = 20
	Warn  LogLevel = 30
	Error LogLevel = 40
	Fatal LogLevel = 50
)

var levelNames = map[LogLevel]string{Debug: "DEBUG", Info: "INFO", Warn: "WARN", Error: "ERROR", Fatal: "FATAL"}

// String returns the level's name as ROS 2's console writes it: "INFO".
func (l LogLevel) String() string {
	if name, ok := levelNames[l]; ok {
		return name
	}
	return fmt.Sprintf("LEVEL%d", uint8(l))
}

// ParseLogLevel returns the level of that name, in lower or upper case, as --log-level takes it.
func ParseLogLevel(name string) (LogLevel, error) {
	for l, known := range levelNames {
		if strings.EqualFold(name, known) {
			return l, nil
		}
	}
	return 0, fmt.Errorf("log level %q: want debug, info, warn, error or fatal", name)
}

// Logger writes log lines as the nodes of ROS 2 do: to a console, in the form of rcutils, and as rcl_interfaces/msg/Log
// to /rosout. Its method may be called from several goroutines at once.
type Logger struct {
	name    string
	level   LogLevel
	publish func(payload []byte) error

	mu      sync.Mutex
	console io.Writer
}

// NewLogger returns the logger of a node; node is its full name. The logger leaves out lines below level; 0 is Info.
// publish sends a payload to /rosout.
func NewLogger(node string, level LogLevel, console io.Writer, publish func(payload []byte) error) *Logger {
	if level == 0 {
		level = Info
	}
	name := strings.ReplaceAll(strings.TrimPrefix(node, "/"), "/", ".")
	return &Logger{name: name, level: level, publish: publish, console: console}
}

// Log writes one line. In /rosout, the line names the place of the caller's caller, because Node.Log calls Log.
func (l *Logger) Log(level LogLevel, format string, args ...any) {
	if level < l.level {
		return
	}
	text := printable.Line(fmt.Sprintf(format, args...)) // it may contain texts of other programs
	now := time.Now()
	l.mu.Lock()
	fmt.Fprintf(l.console, "[%s] [%d.%09d] [%s]: %s\n", level, now.Unix(), now.Nanosecond(), l.name, text)
	l.mu.Unlock()

	line := rcl_interfaces.Log{
		Stamp: builtin_interfaces.TimeAt(now.UnixNano()),
		Level: uint8(level), Name: l.name, Msg: text,
	}
	if pc, file, number, ok := runtime.Caller(2); ok {
		line.File, line.Line = file, uint32(number)
		line.Function = runtime.FuncForPC(pc).Name()
	}
	// While the node closes, a line may not reach /rosout; the console has it.
	if data, err := cdr.Marshal(&line); err == nil {
		_ = l.publish(data)
	}
}
