package codec

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// memory is a Reader of messages in memory. Its iterators end with fail if it is set.
type memory struct {
	messages []Message
	fail     error
	damage   error // passed to Query.Damaged
}

func (r *memory) Info() (*Info, error) { return &Info{}, nil }
func (r *memory) Close() error         { return nil }

func (r *memory) Read(q Query) (Iterator, error) {
	if q.Last != nil {
		return ReadLast(q, r.Read)
	}
	if r.damage != nil && q.Damaged != nil {
		q.Damaged(r.damage)
	}
	it := &memoryIterator{fail: r.fail}
	for _, m := range r.messages {
		if q.Wants(m.Channel) && q.Covers(m.LogTime) {
			it.messages = append(it.messages, m)
		}
	}
	return it, nil
}

type memoryIterator struct {
	messages []Message
	fail     error
}

func (it *memoryIterator) Close() error { return nil }

func (it *memoryIterator) Next() (*Message, error) {
	if len(it.messages) == 0 {
		if it.fail != nil {
			return nil, it.fail
		}
		return nil, io.EOF
	}
	m := &it.messages[0]
	it.messages = it.messages[1:]
	return m, nil
}

func TestReadLast(t *testing.T) {
	a, b, c, d := &Channel{Topic: "/a"}, &Channel{Topic: "/b"}, &Channel{Topic: "/c"}, &Channel{Topic: "/d"}
	r := &memory{damage: errors.New("damage")}
	for i := range int64(20) {
		for _, channel := range []*Channel{a, b, c, d} {
			r.messages = append(r.messages, Message{Channel: channel, LogTime: i})
		}
	}
	r.messages = append([]Message{{Channel: d, LogTime: -7}}, r.messages...)
	read := func(q Query) (got []Message, end error) {
		asked := map[*Channel]int{}
		q.Last = func(c *Channel) int {
			asked[c]++
			require.Equal(t, 1, asked[c])
			return map[*Channel]int{a: 1, b: 3, d: All}[c]
		}
		it, err := r.Read(q)
		require.NoError(t, err)
		for {
			m, err := it.Next()
			if err != nil {
				require.NoError(t, it.Close())
				return got, err
			}
			got = append(got, *m)
		}
	}
	var damage []error
	got, err := read(Query{End: 10, Topics: func(c *Channel) bool { return c != d },
		Damaged: func(err error) { damage = append(damage, err) }})
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []Message{{Channel: b, LogTime: 7}, {Channel: b, LogTime: 8}, {Channel: a, LogTime: 9},
		{Channel: b, LogTime: 9}}, got)
	require.Equal(t, []error{r.damage}, damage)

	got, err = read(Query{Start: 9, End: 10})
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []Message{{Channel: a, LogTime: 9}, {Channel: b, LogTime: 9}, {Channel: d, LogTime: 9}}, got)

	r.fail = errors.New("broken")
	got, err = read(Query{Start: -10, Topics: func(c *Channel) bool { return c == a || c == d }})
	require.ErrorIs(t, err, r.fail)
	require.Len(t, got, 1+20+1)
	require.EqualValues(t, -7, got[0].LogTime)
	require.Equal(t, Message{Channel: a, LogTime: 19}, got[20])
}

func TestLatchedDepth(t *testing.T) {
	volatile := DefaultQoS()
	one := QoS{Durability: TransientLocal, History: KeepLast, Depth: 1}
	five := QoS{Durability: TransientLocal, History: KeepLast, Depth: 5}
	silent := QoS{Durability: TransientLocal, History: UnknownHistory}
	all := QoS{Durability: TransientLocal, History: KeepAll}
	for _, test := range []struct {
		name  string
		topic string
		qos   []QoS
		want  int
	}{
		{"unknown", "/map", nil, 0},
		{"volatile", "/imu", []QoS{volatile}, 0},
		{"one", "/map", []QoS{one}, 1},
		{"publishers that differ", "/map", []QoS{five, volatile, one}, 6},
		{"depth not told", "/map", []QoS{silent}, 1},
		{"all", "/map", []QoS{one, all}, All},
		{"static transforms", "/robot/tf_static", nil, All},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, LatchedDepth(&Channel{Topic: test.topic, QoS: test.qos}))
		})
	}
}
