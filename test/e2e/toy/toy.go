// Package toy implements a minimal format of recordings: a line of JSON for each message. TestNewFormat of test/e2e
// builds the executables with it.
package toy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

const magic = `{"toy":1}` + "\n"

// Format describes toy files.
var Format = codec.Format{
	Name: "toy", Extension: ".toy",
	Keeps:    codec.Keeps{PublishTime: true, QoS: true},
	Sniff:    func(_ *store.Files, _ string, head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) },
	Named:    func(path string) bool { return filepath.Ext(path) == ".toy" },
	OpenFrom: open,
	Create:   create,
}

type writer struct {
	codec.NoSplits
	file *os.File
}

func create(path string, _ codec.CreateOptions) (codec.Writer, error) {
	f, err := os.Create(path)
	if err == nil {
		_, err = f.WriteString(magic)
	}
	return writer{file: f}, err
}

func (w writer) Declare(c *codec.Channel) error { return w.Write(&codec.Message{Channel: c}) }
func (w writer) Write(m *codec.Message) error   { return json.NewEncoder(w.file).Encode(m) }
func (w writer) Sync() error                    { return w.file.Sync() }
func (w writer) Close() error                   { return w.file.Close() }
func (w writer) Losses() []codec.Loss           { return nil }

type reader struct {
	info     codec.Info
	messages []*codec.Message
	damage   error
}

func open(files *store.Files, path string) (codec.Reader, error) {
	text, err := files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &reader{info: codec.Info{Format: "toy", Path: path, Size: int64(len(text)), Complete: true}}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n"))[1:] {
		m := new(codec.Message)
		if err := json.Unmarshal(line, m); err != nil {
			r.damage, r.info.Complete = fmt.Errorf("read %s: line %d: %w", path, i+2, err), false
			continue
		}
		r.add(m)
	}
	r.info.Files = []codec.FileInfo{{Path: path, Size: r.info.Size, MessageCount: r.info.MessageCount}}
	return r, nil
}

func (r *reader) add(m *codec.Message) {
	info := &r.info
	i := slices.IndexFunc(info.Topics, func(t codec.TopicInfo) bool {
		return t.Channel.Topic == m.Channel.Topic && t.Channel.Type == m.Channel.Type
	})
	if i < 0 {
		i, info.Topics = len(info.Topics), append(info.Topics, codec.TopicInfo{Channel: m.Channel})
	}
	if m.Data == nil {
		return // the line only declares the channel
	}
	m.Channel = info.Topics[i].Channel
	r.messages = append(r.messages, m)
	info.Topics[i].MessageCount++
	info.MessageCount++
	info.StartTime, info.EndTime = r.messages[0].LogTime, m.LogTime
}

func (r *reader) Info() (*codec.Info, error) { return &r.info, nil }
func (r *reader) Close() error               { return nil }

func (r *reader) Read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		return codec.ReadLast(q, r.Read)
	}
	it := &iterator{end: io.EOF}
	for _, m := range r.messages {
		if q.Wants(m.Channel) && q.Covers(m.LogTime) {
			it.messages = append(it.messages, m)
		}
	}
	if r.damage != nil && q.Damage(r.damage) != nil {
		it.end = r.damage
	}
	return it, nil
}

type iterator struct {
	messages []*codec.Message
	end      error
}

func (it *iterator) Close() error { return nil }

func (it *iterator) Next() (*codec.Message, error) {
	if len(it.messages) == 0 {
		return nil, it.end
	}
	m := it.messages[0]
	it.messages = it.messages[1:]
	return m, nil
}
