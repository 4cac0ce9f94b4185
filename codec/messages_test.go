package codec

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is a Reader and an Iterator of messages that end with an error.
type listed struct {
	times  []int64
	end    error
	opens  error
	closed int
}

func (*listed) Info() (*Info, error) { return &Info{}, nil }

func (l *listed) Read(Query) (Iterator, error) { return l, l.opens }

func (l *listed) Next() (*Message, error) {
	if len(l.times) == 0 {
		return nil, l.end
	}
	m := &Message{LogTime: l.times[0]}
	l.times = l.times[1:]
	return m, nil
}

func (l *listed) Close() error {
	l.closed++
	return nil
}

func TestMessagesEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader := &listed{times: []int64{1, 2, 3}, end: io.EOF}
	var last error
	n := 0
	for _, err := range Messages(reader, Query{Context: ctx}) {
		n++
		last = err
		cancel()
	}
	require.Equal(t, 2, n)
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, 1, reader.closed)
}

func TestMessages(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		reader listed
		most   int // messages that are taken
		want   []int64
		err    error
		closed int
	}{
		"all":             {listed{times: []int64{1, 2}, end: io.EOF}, 9, []int64{1, 2}, nil, 1},
		"some":            {listed{times: []int64{1, 2}, end: io.EOF}, 1, []int64{1}, nil, 1},
		"an error":        {listed{times: []int64{1, 2}, end: broken}, 9, []int64{1, 2}, broken, 1},
		"it cannot begin": {listed{opens: broken}, 9, nil, broken, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int64
			var failed error
			for m, err := range Messages(&test.reader, Query{}) {
				if err != nil {
					require.NoError(t, failed, "an error ends the messages")
					failed = err
					continue
				}
				got = append(got, m.LogTime)
				if len(got) == test.most {
					break
				}
			}
			require.Equal(t, test.want, got)
			require.Equal(t, test.err, failed)
			require.Equal(t, test.closed, test.reader.closed)
		})
	}
}
