package bridge

import (
	"fmt"
	"strings"
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

// String returns the level's name as ROS 2's console writes it: "INFO".
func (l LogLevel) String() string {
	switch l {
	case Debug:
		return "DEBUG"
	case Info:
		return "INFO"
	case Warn:
		return "WARN"
	case Error:
		return "ERROR"
	case Fatal:
		return "FATAL"
	}
	return fmt.Sprintf("LEVEL%d", uint8(l))
}

// ParseLogLevel returns the level of that name, in lower or upper case, as --log-level takes it.
func ParseLogLevel(name string) (LogLevel, error) {
	for _, l := range []LogLevel{Debug, Info, Warn, Error, Fatal} {
		if strings.EqualFold(name, l.String()) {
			return l, nil
		}
	}
	return 0, fmt.Errorf("log level %q: want debug, info, warn, error or fatal", name)
}
