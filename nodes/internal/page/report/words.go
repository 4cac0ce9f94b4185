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
	mostWords   = 500  // lines
	longestWord = 1000 // bytes
)

// words gathers lines of logs.
type words struct {
	list []Word
	more int // that are left out
}

// word adds a line: the first ones of a recording are kept, of a live one the last ones.
func (b *builder) word(at float64, level, from, text string) {
	w := &b.words
	if len(w.list) == mostWords {
		w.more++
		if !b.live {
			return
		}
		w.list = slices.Delete(w.list, 0, mostWords/4)
		b.whole++
	}
	word := Word{At: at, Level: level, From: from, Text: text, since: b.now}
	for _, text := range []*string{&word.From, &word.Text} {
		if len(*text) > longestWord {
			*text = strings.ToValidUTF8((*text)[:longestWord], "") + " …"
		}
	}
	w.list = append(w.list, word)
}

// log reads messages of a topic that has words.
type log func(payload []byte, at float64) error

func (l log) add(m *codec.Message, at float64) error { return l(m.Data, at) }

func (b *builder) log(c *codec.Channel, _ *cdr.Schema) sink {
	switch c.Type {
	case "rcl_interfaces/msg/Log":
		var m rcl_interfaces.Log
		return log(func(payload []byte, at float64) error {
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
				b.word(at, level, m.Name, m.Msg)
			}
			return nil
		})
	case "diagnostic_msgs/msg/DiagnosticArray":
		var m diagnostic_msgs.DiagnosticArray
		levels := map[string]uint8{}
		names := []string{"info", "warn", "error", "error"}
		return log(func(payload []byte, at float64) error {
			if err := cdr.Unmarshal(payload, &m); err != nil {
				return err
			}
			for i := range m.Status {
				s := &m.Status[i]
				if before, known := levels[s.Name]; s.Level > before || known && s.Level == 0 && before > 0 {
					b.word(at, names[min(s.Level, 3)], s.Name, s.Message)
				}
				levels[s.Name] = s.Level
			}
			return nil
		})
	}
	return nil
}
