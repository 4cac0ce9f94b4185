package bridge

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs"
)

// tape is a recording in memory.
type tape struct {
	info     codec.Info
	messages []codec.Message
	closed   bool
}

func (t *tape) Info() (*codec.Info, error) { return &t.info, nil }
func (t *tape) Close() error               { t.closed = true; return nil }

func (t *tape) Read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		return codec.ReadLast(q, t.Read)
	}
	it := &tapeIterator{}
	for _, m := range t.messages {
		if q.Wants(m.Channel) && q.Covers(m.LogTime) {
			it.rest = append(it.rest, m)
		}
	}
	return it, nil
}

type tapeIterator struct{ rest []codec.Message }

func (t *tapeIterator) Close() error { return nil }

func (t *tapeIterator) Next() (*codec.Message, error) {
	if len(t.rest) == 0 {
		return nil, io.EOF
	}
	m := t.rest[0]
	t.rest = t.rest[1:]
	return &m, nil
}

// counter translates each message to two messages with the number of messages so far in the reading. It fails on empty
// messages.
type counter struct {
	EveryMessage
	one, two *codec.Channel
}

func (counter) Losses() []codec.Loss { return nil }

func (c counter) Topics(t codec.TopicInfo) ([]codec.TopicInfo, error) {
	if t.Channel.Type == "odd" {
		return nil, errors.New("odd is not known")
	}
	return []codec.TopicInfo{{Channel: c.one, MessageCount: t.MessageCount}, {Channel: c.two}}, nil
}

func (c counter) Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	n := byte(0)
	return func(m *codec.Message) ([]codec.Message, error) {
		if len(m.Data) == 0 {
			return nil, errors.New("it is empty")
		}
		n++
		if !wanted(c.one) && !wanted(c.two) {
			return nil, errors.New("nobody wants it")
		}
		return []codec.Message{{Channel: c.one, LogTime: m.LogTime, Data: []byte{n}},
			{Channel: c.two, LogTime: m.LogTime + 1, Data: []byte{n}}}, nil
	}
}

func TestTranslate(t *testing.T) {
	plain := &codec.Channel{Topic: "/plain", Type: "std_msgs/msg/Empty", Encoding: codec.EncodingCDR}
	foreign := &codec.Channel{Topic: "/foreign", Type: "any", Encoding: carla.Encoding}
	odd := &codec.Channel{Topic: "/odd", Type: "odd", Encoding: carla.Encoding}
	raw := &codec.Channel{Topic: "/raw", Type: "raw", Encoding: "json"}
	one, two := &codec.Channel{Topic: "/one", Encoding: codec.EncodingCDR},
		&codec.Channel{Topic: "/two", Encoding: codec.EncodingCDR}
	source := &tape{
		info: codec.Info{Path: "a", Complete: true, MessageCount: 5, Topics: []codec.TopicInfo{
			{Channel: plain, MessageCount: 1}, {Channel: foreign, MessageCount: 3}, {Channel: odd, MessageCount: 1},
			{Channel: raw},
		}},
		messages: []codec.Message{
			{Channel: foreign, LogTime: 10, Data: []byte{1}}, {Channel: plain, LogTime: 15, Data: []byte{2}},
			{Channel: foreign, LogTime: 20}, {Channel: odd, LogTime: 25},
			{Channel: foreign, LogTime: 30, Data: []byte{3}},
		},
	}
	r, untranslated, err := Translate(source, codec.EncodingCDR, nil, map[string]func(codec.Reader) (Translator, error){
		carla.Encoding: func(codec.Reader) (Translator, error) { return counter{one: one, two: two}, nil },
	})
	require.NoError(t, err)
	require.Len(t, untranslated, 2)
	require.EqualError(t, untranslated[0], "/odd [odd]: odd is not known")
	require.EqualError(t, untranslated[1], "/raw [raw]: its messages are json, and there is no translation to cdr")
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, []codec.TopicInfo{
		{Channel: plain, MessageCount: 1}, {Channel: one, MessageCount: 3}, {Channel: two},
		{Channel: odd, MessageCount: 1},
		{Channel: raw},
	}, info.Topics)

	type got struct {
		topic string
		time  int64
		data  string
	}
	for _, test := range []struct {
		name  string
		query codec.Query
		want  []got
	}{
		{"all", codec.Query{}, []got{{"/one", 10, "\x01"}, {"/two", 11, "\x01"}, {"/plain", 15, "\x02"},
			{"/odd", 25, ""},
			{"/one", 30, "\x02"}, {"/two", 31, "\x02"}}},
		{"a topic", codec.Query{Topics: func(c *codec.Channel) bool { return c == two }},
			[]got{{"/two", 11, "\x01"}, {"/two", 31, "\x02"}}},
		{"a time range", codec.Query{Start: 12, End: 31},
			[]got{{"/plain", 15, "\x02"}, {"/odd", 25, ""}, {"/one", 30, "\x01"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var damage []error
			test.query.Damaged = func(err error) { damage = append(damage, err) }
			it, err := r.Read(test.query)
			require.NoError(t, err)
			var all []got
			for {
				m, err := it.Next()
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
				all = append(all, got{m.Channel.Topic, m.LogTime, string(m.Data)})
			}
			require.Equal(t, test.want, all)
			require.Len(t, damage, 1)
			require.EqualError(t, damage[0], "translate a message of /foreign [any] at 20 ns: it is empty")
			require.NoError(t, it.Close())
		})
	}

	last, err := r.Read(codec.Query{End: 31, Damaged: func(error) {}, Last: func(c *codec.Channel) int {
		return map[*codec.Channel]int{one: 2, plain: 1}[c]
	}})
	require.NoError(t, err)
	for _, want := range []got{{"/plain", 15, "\x02"}, {"/one", 30, "\x01"}} {
		m, err := last.Next()
		require.NoError(t, err)
		require.Equal(t, want, got{m.Channel.Topic, m.LogTime, string(m.Data)})
	}
	_, err = last.Next()
	require.ErrorIs(t, err, io.EOF)

	it, err := r.Read(codec.Query{Start: 16})
	require.NoError(t, err)
	_, err = it.Next()
	require.ErrorContains(t, err, "it is empty")
	require.NoError(t, r.Close())
	require.True(t, source.closed)
}

// echo repeats each message in the memory of the one before it.
type echo struct {
	EveryMessage
	channel *codec.Channel
}

func (echo) Losses() []codec.Loss { return nil }

func (e echo) Topics(t codec.TopicInfo) ([]codec.TopicInfo, error) {
	return []codec.TopicInfo{{Channel: e.channel, MessageCount: t.MessageCount}}, nil
}

func (e echo) Begin(func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	var out [1]codec.Message
	var pool codec.Pool
	return func(m *codec.Message) ([]codec.Message, error) {
		data := append(pool.Take(), m.Data...)
		out[0] = codec.Message{Channel: e.channel, LogTime: m.LogTime, Data: data, Buffer: pool.Lend(data)}
		return out[:], nil
	}
}

// Kept translations do not change, and their memory is used again once they are released.
func TestKeepTranslation(t *testing.T) {
	foreign := &codec.Channel{Topic: "/foreign", Type: "any", Encoding: carla.Encoding}
	own := &codec.Channel{Topic: "/own", Encoding: codec.EncodingCDR}
	source := &tape{info: codec.Info{Topics: []codec.TopicInfo{{Channel: foreign}}}}
	const count = 20
	for i := range count {
		data := []byte{byte(i), 1, 2, 3, 4, 5, 6, 7}
		source.messages = append(source.messages, codec.Message{Channel: foreign, Data: data})
	}
	r, _, err := Translate(source, codec.EncodingCDR, nil, map[string]func(codec.Reader) (Translator, error){
		carla.Encoding: func(codec.Reader) (Translator, error) { return echo{channel: own}, nil },
	})
	require.NoError(t, err)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	memory := map[*byte]bool{}
	var kept [][]byte
	var buffers []*codec.Buffer
	for i := range count {
		m, err := it.Next()
		require.NoError(t, err)
		require.Equal(t, byte(i), m.Data[0])
		data := m.Data
		if i%2 == 0 { // the others are overwritten
			require.NotNil(t, m.Buffer)
			buffer := m.Buffer.Retain()
			m.Buffer.Retain().Release()
			require.Equal(t, byte(i), m.Data[0])
			kept, buffers = append(kept, data), append(buffers, buffer)
			memory[&data[0]] = true
		}
		if len(buffers) == 3 {
			for j, b := range buffers {
				require.Equal(t, byte(i-4+2*j), kept[j][0])
				b.Release()
			}
			kept, buffers = nil, nil
		}
	}
	require.LessOrEqual(t, len(memory), 7, "those that are retained and those of the pool")
	require.NoError(t, it.Close())
	require.NoError(t, r.Close())
}

func TestTranslateNothing(t *testing.T) {
	source := &tape{info: codec.Info{Topics: []codec.TopicInfo{{Channel: &codec.Channel{Encoding: codec.EncodingCDR}}}}}
	r, untranslated, err := Translate(source, codec.EncodingCDR, nil, nil)
	require.NoError(t, err)
	require.Empty(t, untranslated)
	require.Same(t, source, r.Reader)
}

func TestNewChannel(t *testing.T) {
	c, err := codec.NewChannel(msgs.Library(), "/imu", "sensor_msgs/msg/Imu", codec.DefaultQoS())
	require.NoError(t, err)
	require.Equal(t, codec.EncodingCDR, c.Encoding)
	require.Contains(t, string(c.Schema.Data), "MSG: std_msgs/Header")
	require.Regexp(t, "^RIHS01_[0-9a-f]{64}$", c.TypeHash)
	_, err = codec.NewChannel(msgs.Library(), "/imu", "sensor_msgs/msg/None", codec.DefaultQoS())
	require.ErrorContains(t, err, "channel /imu [sensor_msgs/msg/None]: ")
}
