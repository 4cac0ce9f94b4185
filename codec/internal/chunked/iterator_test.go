package chunked

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// recordSize is the size of a record of the tests: a channel, 0xffff for none, and a time.
const recordSize = 2 + 8

// memory loads segments of a file of consecutive records.
type memory struct {
	Plain
	file  []byte
	loads map[int64]int // by offset
	err   error
}

func (l *memory) Load(s *Segment, buf []byte) ([]byte, []error) {
	if l.loads == nil {
		l.loads = map[int64]int{}
	}
	l.loads[s.Offset]++
	records := append(buf[:0], l.file[s.Offset:s.Offset+s.Size]...)
	last := int64(math.MinInt64)
	for _, m := range Messages(l, records) {
		s.Unsorted = s.Unsorted || m.Time < last
		last = m.Time
	}
	if l.err != nil {
		return records, []error{l.err}
	}
	return records, nil
}

func (l *memory) Cut(records []byte, off int, m *Message) int {
	channel := binary.LittleEndian.Uint16(records[off:])
	t := int64(binary.LittleEndian.Uint64(records[off+2:]))
	*m = Message{Channel: int(channel), Time: t, Data: records[off : off+recordSize]}
	if channel == math.MaxUint16 {
		m.Channel = None
	}
	return off + recordSize
}

// newContents returns a file with a segment for each list of times. Channels are 0 and 1 in turn.
func newContents(segments ...[]int64) (*Contents, *memory) {
	c := &Contents{Path: "file", Channels: []*codec.Channel{{Topic: "/a"}, {Topic: "/b"}}}
	l := &memory{}
	for _, times := range segments {
		s := Segment{
			Offset: int64(len(l.file)), Size: int64(len(times) * recordSize),
			Start: slices.Min(times), End: slices.Max(times), Channels: []int{0, 1}, Chunk: true,
		}
		for i, t := range times {
			l.file = binary.LittleEndian.AppendUint16(l.file, uint16(i%2))
			l.file = binary.LittleEndian.AppendUint64(l.file, uint64(t))
			c.Count(i%2, 1)
		}
		c.Segments = append(c.Segments, s)
	}
	c.Sort()
	return c, l
}

// readTimes returns the times of an iterator's messages, and the error that ended it, nil for io.EOF.
func readTimes(it codec.Iterator) ([]int64, error) {
	defer it.Close()
	list := []int64{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		if got := int64(binary.LittleEndian.Uint64(m.Data[2:])); got != m.LogTime {
			return list, fmt.Errorf("the data is that of %d, not %d", got, m.LogTime)
		}
		list = append(list, m.LogTime)
	}
}

// Segments that all cover one time are merged even if only few of them may be held.
func TestOverlapsInLittleMemory(t *testing.T) {
	var segments [][]int64
	var want []int64
	for n := range int64(20) {
		var list []int64
		for i := range int64(30) {
			at := i*100 + n
			if n%2 == 1 {
				at = (29-i)*100 + n // out of order within the segment, too
			}
			list = append(list, at)
		}
		segments = append(segments, list)
		want = append(want, list...)
	}
	slices.Sort(want)
	c, l := newContents(segments...)
	const limit = 7 * 30 * recordSize
	it := c.Read(l, codec.Query{}).(*iterator)
	it.limit = limit
	var got []int64
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.LessOrEqual(t, it.heldBytes, limit)
		got = append(got, m.LogTime)
	}
	require.Equal(t, want, got)
	require.Greater(t, l.loads[c.Segments[19].Offset], 1, "the iterator released the segment and loaded it again")
	require.Len(t, it.open, 0)
}

// Only segments that may have wanted messages are loaded.
func TestQuery(t *testing.T) {
	c, l := newContents([]int64{10, 20}, []int64{15, 25, 12}, []int64{30, 40}, []int64{50})
	for _, test := range []struct {
		query codec.Query
		want  []int64
		loads int
	}{
		{codec.Query{}, []int64{10, 12, 15, 20, 25, 30, 40, 50}, 4},
		{codec.Query{Start: 21}, []int64{25, 30, 40, 50}, 3},
		{codec.Query{Start: 16, End: 30}, []int64{20, 25}, 2},
		{codec.Query{End: 11}, []int64{10}, 1},
		{codec.Query{Start: 60}, []int64{}, 0},
		{codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == "/b" }}, []int64{20, 25, 40}, 4},
		{codec.Query{Topics: func(*codec.Channel) bool { return false }}, []int64{}, 0},
	} {
		l.loads = nil
		got, err := readTimes(c.Read(l, test.query))
		require.NoError(t, err)
		require.Equal(t, test.want, got)
		require.Len(t, l.loads, test.loads)
	}
}

// The last messages are searched backwards, in as few segments as possible.
func TestLatest(t *testing.T) {
	c, l := newContents([]int64{10, 20}, []int64{15, 25, 12}, []int64{30, 40}, []int64{50})
	for _, test := range []struct {
		keep  int
		query codec.Query
		want  []int64
		loads int
	}{
		{1, codec.Query{}, []int64{40, 50}, 2},
		{2, codec.Query{}, []int64{25, 30, 40, 50}, 3},
		{1, codec.Query{End: 30}, []int64{15, 25}, 2},
		{codec.All, codec.Query{End: 20}, []int64{10, 12, 15}, 2},
		{0, codec.Query{}, []int64{}, 0},
	} {
		l.loads = nil
		test.query.Last = func(*codec.Channel) int { return test.keep }
		got, err := readTimes(c.Read(l, test.query))
		require.NoError(t, err)
		require.Equal(t, test.want, got)
		require.Len(t, l.loads, test.loads)
	}
}

// Damage ends the reading before it, unless Query.Damaged is set.
func TestDamage(t *testing.T) {
	c, l := newContents([]int64{10, 20}, []int64{30, 40})
	c.Damaged(c.Segments[1].Offset, errors.New("broken"))
	got, err := readTimes(c.Read(l, codec.Query{}))
	require.EqualError(t, err, "read file: broken")
	require.Equal(t, []int64{10, 20}, got)
	reports := 0
	got, err = readTimes(c.Read(l, codec.Query{Damaged: func(error) { reports++ }}))
	require.NoError(t, err)
	require.Equal(t, []int64{10, 20, 30, 40}, got)
	require.Equal(t, 1, reports)

	// Damage found in loading is reported unless Contents.Damage has it. An unknown channel is reported, too.
	for _, known := range []bool{false, true} {
		c, l := newContents([]int64{10, 20}, []int64{30, 40})
		l.err = errors.New("broken")
		c.Channels = c.Channels[:1]
		c.Scanned, c.Segments[0].Reported, c.Segments[1].Reported = known, known, known
		var damage []error
		got, err := readTimes(c.Read(l, codec.Query{Damaged: func(err error) { damage = append(damage, err) }}))
		require.NoError(t, err)
		require.Equal(t, []int64{10, 30}, got)
		if known {
			require.Empty(t, damage)
			continue
		}
		require.Len(t, damage, 3)
		require.EqualError(t, damage[0], "read file: broken")
		require.EqualError(t, damage[1], "read file: left out messages of channel 1, which the file does not describe")
		_, err = readTimes(c.Read(l, codec.Query{}))
		require.EqualError(t, err, "read file: broken")
	}
}

// heads is a Loader whose records are heads.
type heads struct {
	*memory
	payloads int
	fails    error
}

func (h *heads) Payload(head []byte) ([]byte, error) {
	h.payloads++
	return append([]byte("payload"), head...), h.fails
}

// If records are heads, each payload is read when its message is returned. A StopError is not treated as damage.
func TestHeads(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		query       codec.Query
		load, fails error
		want        []int64
		err         error
	}{
		"all":                     {want: []int64{10, 12, 15, 20}},
		"a part":                  {query: codec.Query{Start: 12, End: 15}, want: []int64{12}},
		"a payload cannot be got": {fails: broken, err: broken},
		"loading stops":           {load: &StopError{broken}, err: broken},
		"damage":                  {load: broken, want: []int64{10, 12, 15, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			c, l := newContents([]int64{10, 20}, []int64{15, 12})
			c.Heads, l.err = true, test.load
			h := &heads{memory: l, fails: test.fails}
			test.query.Damaged = func(err error) { require.ErrorIs(t, err, broken) }
			it := c.Read(h, test.query)
			var got []int64
			m, err := it.Next()
			for ; err == nil; m, err = it.Next() {
				got = append(got, m.LogTime)
				require.Nil(t, m.Buffer)
				require.Equal(t, "payload", string(m.Data[:7]))
				require.EqualValues(t, m.LogTime, binary.LittleEndian.Uint64(m.Data[7+2:]))
				require.Equal(t, len(got), h.payloads)
			}
			require.Equal(t, test.want, got)
			if test.err == nil {
				test.err = io.EOF
			}
			require.ErrorIs(t, err, test.err)
			require.NoError(t, it.Close())
			_, err = it.Next()
			require.ErrorIs(t, err, fs.ErrClosed)
		})
	}
}
