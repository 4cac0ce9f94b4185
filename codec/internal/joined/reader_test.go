package joined

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// found is a file in which reading finds a channel that its Info does not have.
type found struct{ known, other *codec.Channel }

func (f found) Info() (*codec.Info, error) {
	return &codec.Info{MessageCount: 1, StartTime: 1, EndTime: 9,
		Topics: []codec.TopicInfo{{Channel: f.known, MessageCount: 1}}}, nil
}

func (f found) Read(q codec.Query) (codec.Iterator, error) {
	var list messages
	for i, c := range []*codec.Channel{f.known, f.other} {
		if q.Wants(c) {
			list = append(list, codec.Message{Channel: c, LogTime: int64(1 + i)})
		}
	}
	return &list, nil
}

func (found) Close() error { return nil }

type messages []codec.Message

func (l *messages) Next() (*codec.Message, error) {
	if len(*l) == 0 {
		return nil, io.EOF
	}
	m := &(*l)[0]
	*l = (*l)[1:]
	return m, nil
}

func (*messages) Close() error { return nil }

func TestChannelsFoundByReading(t *testing.T) {
	file := found{&codec.Channel{Topic: "/known"}, &codec.Channel{Topic: "/other"}}
	for topic, want := range map[string]int{"": 2, "/known": 1, "/other": 1} {
		r := &Reader{Files: []File{{Reader: file}}}
		it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return topic == "" || c.Topic == topic }})
		require.NoError(t, err)
		count := 0
		for {
			_, err = it.Next()
			if err != nil {
				break
			}
			count++
		}
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, want, count, topic)
	}
}
