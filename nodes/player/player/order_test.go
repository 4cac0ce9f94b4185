package player

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// shuffledIterator yields messages that were sent some ms before they were received. The data of a message is its
// index.
type shuffledIterator struct {
	early []byte  // ms from sending to receipt, by message
	at    int     // index of the next message
	err   error   // returned at the end
	data  [1]byte // used for all messages
}

func (s *shuffledIterator) Next() (*codec.Message, error) {
	if s.at == len(s.early) {
		return nil, s.err
	}
	s.data[0] = byte(s.at)
	t := epoch + int64(s.at)*1e6
	s.at++
	return &codec.Message{LogTime: t, PublishTime: t - int64(s.early[s.at-1])*1e6, Data: s.data[:]}, nil
}

func (s *shuffledIterator) Close() error { return nil }

func TestOrdered(t *testing.T) {
	damage := errors.New("damage")
	for name, test := range map[string]struct {
		early      []byte
		start, end int64 // ms after epoch
		want       []byte
	}{
		"in order":             {[]byte{0, 0, 0, 0}, 0, 4, []byte{0, 1, 2, 3}},
		"swapped":              {[]byte{0, 0, 2, 0}, 0, 4, []byte{0, 2, 1, 3}},
		"equal":                {[]byte{0, 0, 1, 2}, 0, 4, []byte{0, 1, 2, 3}},
		"reversed":             {[]byte{0, 2, 4, 6}, 0, 4, []byte{3, 2, 1, 0}},
		"before the start":     {[]byte{9, 0, 0, 0}, 0, 4, []byte{0, 1, 2, 3}},
		"from 1 ms on":         {[]byte{0, 0, 1, 2}, 1, 4, []byte{1, 2, 3}},
		"from, sent too early": {[]byte{0, 0, 2, 0}, 1, 4, []byte{1, 3}},
		"until, sent in time":  {[]byte{0, 0, 0, 3}, 0, 2, []byte{0, 3, 1}},
		"nothing is selected":  {nil, 0, 4, nil},
	} {
		for _, end := range []error{io.EOF, damage} {
			t.Run(name, func(t *testing.T) {
				o := &orderedIterator{
					it: &shuffledIterator{early: test.early, err: end}, time: sendTime,
					start: epoch + test.start*1e6, end: epoch + test.end*1e6, first: epoch, last: epoch + 3e6,
				}
				var got []byte
				last := epoch
				for {
					m, err := o.Next()
					if err != nil {
						require.ErrorIs(t, err, end)
						break
					}
					got = append(got, m.Data...)
					require.GreaterOrEqual(t, m.LogTime, last, "messages must be ordered by LogTime")
					last = m.LogTime
				}
				require.Equal(t, test.want, got)
				require.NoError(t, o.Close())
			})
		}
	}
}
