// Package toy is a format of recordings as small as one can be: a line of JSON for each message. The test of adding a
// format builds the commands with it.
package toy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tapedeck/codec"
)

const magic = `{"toy":1}` + "\n"

// Format is that of these files.
var Format = codec.Format{
	Name: "toy", Extension: ".toy",
	Keeps:  codec.Keeps{PublishTime: true, QoS: true},
	Sniff:  func(_ string, head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) },
	Named:  func(path string) bool { return filepath.Ext(path) == ".toy" },
	Open:   open,
	Create: create,
}

type line struct {
	Channel       *codec.Channel
	Time, Publish int64
	Data          []byte // nil: the channel is declared
}

type writer struct {
	*os.File
	declared map[*codec.Channel]bool
}

func create(path string, _ codec.CreateOptions) (codec.Writer, error) {
	f, err := os.Create(path)
	if err == nil {
		_, err = f.WriteString(magic)
	}
	return &writer{f, map[*codec.Channel]bool{}}, err
}

func (w *writer) Declare(c *codec.Channel) error {
	if w.declared[c] {
		return nil
	}
	w.declared[c] = true
	return json.NewEncoder(w.File).Encode(line{Channel: c})
}

func (w *writer) Write(m *codec.Message) error {
	return json.NewEncoder(w.File).Encode(line{m.Channel, m.LogTime, m.PublishTime, m.Data})
}

type reader struct {
	info     codec.Info
	messages []codec.Message
	damage   error
}

func open(path string) (codec.Reader, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &reader{info: codec.Info{Format: "toy", Path: path, Size: int64(len(text)), Complete: true}}
	counts, channels := map[string]int{}, []*codec.Channel{}
	for i, row := range bytes.Split(bytes.TrimSpace(text), []byte("\n"))[1:] {
		var l line
		if err := json.Unmarshal(row, &l); err != nil {
			r.damage, r.info.Complete = fmt.Errorf("read %s: line %d: %w", path, i+2, err), false
			continue
		}
		key := l.Channel.Topic + " " + l.Channel.Type
		if _, ok := counts[key]; !ok {
			counts[key], channels = len(channels), append(channels, l.Channel)
			r.info.Topics = append(r.info.Topics, codec.TopicInfo{Channel: l.Channel})
		}
		if l.Data == nil {
			continue
		}
		if r.info.MessageCount == 0 {
			r.info.StartTime = l.Time
		}
		r.info.MessageCount, r.info.EndTime = r.info.MessageCount+1, l.Time
		r.info.Topics[counts[key]].MessageCount++
		r.messages = append(r.messages, codec.Message{
			Channel: channels[counts[key]], LogTime: l.Time, PublishTime: l.Publish, Data: l.Data,
		})
	}
	r.info.Files = []codec.FileInfo{{Path: path, Size: r.info.Size, MessageCount: r.info.MessageCount}}
	return r, nil
}

func (r *reader) Info() (*codec.Info, error) { return &r.info, nil }
func (r *reader) Close() error               { return nil }

func (r *reader) Read(q codec.Query) (codec.Iterator, error) {
	if r.damage != nil && q.Damaged != nil {
		q.Damaged(r.damage)
	}
	return &iterator{r, q, 0}, nil
}

type iterator struct {
	*reader
	q    codec.Query
	next int
}

func (it *iterator) Next() (*codec.Message, error) {
	for it.next < len(it.messages) {
		m := &it.messages[it.next]
		it.next++
		if it.q.Wants(m.Channel) && it.q.Covers(m.LogTime) {
			return m, nil
		}
	}
	if it.damage != nil && it.q.Damaged == nil {
		return nil, it.damage
	}
	return nil, io.EOF
}
