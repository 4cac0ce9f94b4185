package recordings

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

func TestAligned(t *testing.T) {
	const day = int64(24 * time.Hour)
	var infos []*codec.Info
	for i, start := range []int64{800 * day, 10, 20, 0} {
		info := &codec.Info{Path: string(rune('a' + i)), StartTime: start, EndTime: start + 5}
		if start != 0 {
			info.MessageCount = 1
		}
		infos = append(infos, info)
	}
	infos[1].EndTime = 2 * day
	require.Equal(t, []string{"a begins 798.0 days after the end of b; --align-starts lets all recordings begin " +
		"at the same time"}, FarApart(infos))
	require.Equal(t, []int64{10 - 800*day, 0, -10, 0}, alignShifts(infos))
	require.Empty(t, FarApart(infos[1:]))
	require.Equal(t, []int64{0}, alignShifts(infos[3:]))
}

func TestShift(t *testing.T) {
	c := &codec.Channel{Topic: "/n"}
	r := &list{info: codec.Info{StartTime: 100, EndTime: 102, Files: []codec.FileInfo{{StartTime: 100, EndTime: 102}}}}
	for i := range int64(3) {
		r.messages = append(r.messages, codec.Message{Channel: c, LogTime: 100 + i, PublishTime: i}) // one without
	}
	same, err := shift(r, 0)
	require.NoError(t, err)
	require.Same(t, r, same)
	shifted, err := shift(r, -90)
	require.NoError(t, err)
	info, err := shifted.Info()
	require.NoError(t, err)
	files := []codec.FileInfo{{StartTime: 10, EndTime: 12}}
	require.Equal(t, &codec.Info{StartTime: 10, EndTime: 12, Files: files}, info)
	require.EqualValues(t, 100, r.info.Files[0].StartTime)
	for name, test := range map[string]struct {
		codec.Query
		want [][2]int64
	}{
		"all":        {codec.Query{}, [][2]int64{{10, 0}, {11, -89}, {12, -88}}},
		"part":       {codec.Query{Start: 11, End: 12}, [][2]int64{{11, -89}}},
		"end beyond": {codec.Query{End: 12}, [][2]int64{{10, 0}, {11, -89}}},
	} {
		it, err := shifted.Read(test.Query)
		require.NoError(t, err, name)
		require.Equal(t, test.want, times(t, it), name)
	}
	it, err := shifted.Read(codec.Query{End: 12, Last: func(*codec.Channel) int { return 1 }})
	require.NoError(t, err)
	require.Equal(t, [][2]int64{{11, -89}}, times(t, it))
	later, err := shift(r, 200)
	require.NoError(t, err)
	it, err = later.Read(codec.Query{End: 200})
	require.NoError(t, err)
	require.Empty(t, times(t, it))
}

// times returns log and publish times.
func times(t *testing.T, it codec.Iterator) (all [][2]int64) {
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			require.NoError(t, it.Close())
			return all
		}
		require.NoError(t, err)
		all = append(all, [2]int64{m.LogTime, m.PublishTime})
	}
}

// list is a recording in memory.
type list struct {
	info     codec.Info
	messages []codec.Message
}

func (l *list) Info() (*codec.Info, error) { return &l.info, nil }
func (l *list) Close() error               { return nil }
func (l *list) Read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		return codec.ReadLast(q, l.Read)
	}
	it := &listIterator{}
	for i := range l.messages {
		if q.Covers(l.messages[i].LogTime) && q.Wants(l.messages[i].Channel) {
			it.rest = append(it.rest, &l.messages[i])
		}
	}
	return it, nil
}

type listIterator struct{ rest []*codec.Message }

func (l *listIterator) Close() error { return nil }
func (l *listIterator) Next() (*codec.Message, error) {
	if len(l.rest) == 0 {
		return nil, io.EOF
	}
	m := l.rest[0]
	l.rest = l.rest[1:]
	return m, nil
}
