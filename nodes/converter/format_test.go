package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// linesFormat is a format for these tests: a file of JSON objects, one a line. The last line is {"End":true}.
var linesFormat = codec.Format{
	Name:     "lines",
	Sniff:    func(_ *store.Files, _ string, head []byte) bool { return bytes.HasPrefix(head, []byte(`{"Lines":1`)) },
	Named:    func(path string) bool { return strings.HasSuffix(path, ".lines") },
	OpenFrom: openLines,
	Create:   createLines,
	Keeps:    codec.Keeps{PublishTime: true, QoS: true, Metadata: true},
}

// line is a line of linesFormat: a channel, a message or the end.
type line struct {
	Lines    int               `json:",omitempty"`
	Channel  *codec.Channel    `json:",omitempty"`
	Message  *codec.Message    `json:",omitempty"`
	Of       int               `json:",omitempty"` // number of the message's channel
	Metadata map[string]string `json:",omitempty"`
	End      bool              `json:",omitempty"`
}

type linesReader struct {
	info     codec.Info
	messages []codec.Message
	damage   map[int]error // errors, by index of the message after the damage
}

func openLines(_ *store.Files, path string) (codec.Reader, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &linesReader{damage: map[int]error{}}
	r.info = codec.Info{Format: "lines", Path: path, Size: int64(len(data))}
	var channels []*codec.Channel
	for i, text := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			r.damage[len(r.messages)] = fmt.Errorf("%s: line %d: %w", path, i+1, err)
			r.info.Events = append(r.info.Events, codec.Event{Kind: "damage", Text: fmt.Sprintf("line %d", i+1)})
			continue
		}
		switch {
		case l.Channel != nil:
			channels = append(channels, l.Channel)
			r.info.Topics = append(r.info.Topics, codec.TopicInfo{Channel: l.Channel})
		case l.Message != nil:
			l.Message.Channel = channels[l.Of]
			r.messages = append(r.messages, *l.Message)
			r.info.Topics[l.Of].MessageCount++
			r.info.MessageCount++
			if r.info.StartTime == 0 || l.Message.LogTime < r.info.StartTime {
				r.info.StartTime = l.Message.LogTime
			}
			r.info.EndTime = max(r.info.EndTime, l.Message.LogTime)
		}
		r.info.Complete = l.End
		if l.Metadata != nil {
			r.info.Metadata = l.Metadata
		}
	}
	r.info.Complete = r.info.Complete && len(r.damage) == 0
	r.info.Files = []codec.FileInfo{{Path: path, Size: r.info.Size, MessageCount: r.info.MessageCount,
		StartTime: r.info.StartTime, EndTime: r.info.EndTime}}
	return r, nil
}

func (r *linesReader) Info() (*codec.Info, error) { return &r.info, nil }
func (r *linesReader) Close() error               { return nil }

func (r *linesReader) Read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		return codec.ReadLast(q, r.Read)
	}
	it := &linesIterator{}
	for i, m := range r.messages {
		if err := r.damage[i]; err != nil {
			if q.Damaged == nil {
				it.fail = err
				break
			}
			q.Damaged(err)
		}
		if q.Wants(m.Channel) && q.Covers(m.LogTime) {
			it.messages = append(it.messages, m)
		}
	}
	if err := r.damage[len(r.messages)]; err != nil {
		if q.Damaged == nil {
			it.fail = err
		} else {
			q.Damaged(err)
		}
	}
	slices.SortStableFunc(it.messages, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
	return it, nil
}

type linesIterator struct {
	messages []codec.Message
	fail     error
	msg      codec.Message
}

func (it *linesIterator) Next() (*codec.Message, error) {
	if len(it.messages) == 0 {
		if it.fail != nil {
			return nil, it.fail
		}
		return nil, io.EOF
	}
	it.msg, it.messages = it.messages[0], it.messages[1:]
	return &it.msg, nil
}

func (it *linesIterator) Close() error { return nil }

type linesWriter struct {
	codec.NoSplits
	file     *os.File
	w        *bufio.Writer
	channels []*codec.Channel
	fail     string
}

// createLines accepts "fail" as a compression: writing the first message fails then. With "fail late" Close fails.
func createLines(path string, o codec.CreateOptions) (codec.Writer, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w := &linesWriter{file: file, w: bufio.NewWriter(file), fail: o.Compression}
	return w, w.put(line{Lines: 1, Metadata: o.Metadata})
}

func (w *linesWriter) put(l line) error {
	data, err := json.Marshal(l)
	w.w.Write(append(data, '\n'))
	return err
}

func (w *linesWriter) Declare(c *codec.Channel) error {
	if slices.Contains(w.channels, c) {
		return nil
	}
	w.channels = append(w.channels, c)
	return w.put(line{Channel: c})
}

func (w *linesWriter) Write(m *codec.Message) error {
	if w.fail == "fail" {
		return &codec.MissingError{Path: w.file.Name(), Err: errors.New("no space left on device")}
	}
	if err := w.Declare(m.Channel); err != nil {
		return err
	}
	copied := *m
	copied.Channel = nil
	return w.put(line{Message: &copied, Of: slices.Index(w.channels, m.Channel)})
}

func (w *linesWriter) Sync() error { return w.w.Flush() }

func (w *linesWriter) Losses() []codec.Loss { return nil }

func (w *linesWriter) Close() error {
	err := w.put(line{End: true})
	if w.fail == "fail late" {
		err = errors.New("no space left on device")
	}
	return errors.Join(err, w.w.Flush(), w.file.Close())
}

// writeLines writes a recording of the messages and channels to a new file and returns its path.
func writeLines(t *testing.T, name string, messages []codec.Message, declare ...*codec.Channel) string {
	path := t.TempDir() + "/" + name
	w, err := known.Codecs().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	for _, c := range declare {
		require.NoError(t, w.Declare(c))
	}
	for _, m := range messages {
		require.NoError(t, w.Write(&m))
	}
	require.NoError(t, w.Close())
	return path
}

// readAll returns the channels and messages of the recording at path.
func readAll(t *testing.T, path string) ([]*codec.Channel, []codec.Message) {
	in, err := new(readOptions).openInput(path)
	require.NoError(t, err)
	defer in.Close()
	var channels []*codec.Channel
	for _, topic := range in.info.Topics {
		channels = append(channels, topic.Channel)
	}
	it, err := in.reader.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	var messages []codec.Message
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return channels, messages
		}
		require.NoError(t, err)
		copied := *m
		copied.Data = slices.Clone(m.Data)
		messages = append(messages, copied)
	}
}
