package report

import (
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/rcl_interfaces"
)

const (
	mostLogLines   = 500  // lines
	longestLogLine = 1000 // bytes of a text
)

// logLines collects log lines.
type logLines struct {
	list []LogLine
	more int // number of omitted lines
}

// logLine adds a line. The first mostLogLines lines of a recording are kept, of a live one the last.
func (b *builder) logLine(at float64, level, from, text string) {
	w := &b.logLines
	if len(w.list) == mostLogLines {
		w.more++
		if !b.live {
			return
		}
		w.list = slices.Delete(w.list, 0, mostLogLines/4)
		b.whole++
	}
	word := LogLine{At: at, Level: level, From: from, Text: text, since: b.now}
	for _, text := range []*string{&word.From, &word.Text} {
		if len(*text) > longestLogLine {
			*text = strings.ToValidUTF8((*text)[:longestLogLine], "") + " …"
		}
	}
	w.list = append(w.list, word)
}

// logSink reads the messages of a topic that become log lines.
type logSink func(payload []byte, at float64) error

func (l logSink) add(m *codec.Message, at float64) error { return l(m.Data, at) }

// log returns a sink for logs and diagnostics, nil for other types.
func (b *builder) log(c *codec.Channel, _ *cdr.Schema) sink {
	switch c.Type {
	case "rcl_interfaces/msg/Log":
		var m rcl_interfaces.Log
		return logSink(func(payload []byte, at float64) error {
			if err := cdr.Unmarshal(payload, &m); err != nil {
				return err
			}
			if m.Level >= rcl_interfaces.Log_WARN {
				level := "warn"
				if m.Level >= rcl_interfaces.Log_FATAL {
					level = "fatal"
				} else if m.Level >= rcl_interfaces.Log_ERROR {
					level = "error"
				}
				b.logLine(at, level, m.Name, m.Msg)
			}
			return nil
		})
	case "diagnostic_msgs/msg/DiagnosticArray":
		var m diagnostic_msgs.DiagnosticArray
		levels := map[string]uint8{}
		names := []string{"info", "warn", "error", "error"}
		return logSink(func(payload []byte, at float64) error {
			if err := cdr.Unmarshal(payload, &m); err != nil {
				return err
			}
			for i := range m.Status {
				s := &m.Status[i]
				if before, known := levels[s.Name]; s.Level > before || known && s.Level == 0 && before > 0 {
					b.logLine(at, names[min(s.Level, 3)], s.Name, s.Message)
				}
				levels[s.Name] = s.Level
			}
			return nil
		})
	}
	return nil
}
