package bridgetest

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// Recording is a recording in memory. Its topics are the topics of its messages.
type Recording struct{ Messages []codec.Message }

// Add appends a CDR message on a topic. All messages of a topic have one channel.
func (r *Recording) Add(t testing.TB, topic string, logTime int64, m msgs.Message) {
	t.Helper()
	c := &codec.Channel{Topic: topic, Type: m.TypeName(), Encoding: codec.EncodingCDR}
	if i := slices.IndexFunc(r.Messages, func(o codec.Message) bool { return o.Channel.Topic == topic }); i >= 0 {
		c = r.Messages[i].Channel
	}
	data, err := cdr.Marshal(m)
	require.NoError(t, err)
	r.Messages = append(r.Messages, codec.Message{Channel: c, LogTime: logTime, Data: data})
}

// Info implements codec.Reader.
func (r *Recording) Info() (*codec.Info, error) {
	info := &codec.Info{MessageCount: uint64(len(r.Messages))}
	index := map[*codec.Channel]int{}
	for _, m := range r.Messages {
		i, ok := index[m.Channel]
		if !ok {
			i = len(info.Topics)
			index[m.Channel] = i
			info.Topics = append(info.Topics, codec.TopicInfo{Channel: m.Channel})
		}
		info.Topics[i].MessageCount++
	}
	return info, nil
}

// Read implements codec.Reader.
func (r *Recording) Read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		return codec.ReadLast(q, r.Read)
	}
	it := new(recordingIterator)
	for _, m := range r.Messages {
		if q.Wants(m.Channel) && q.Covers(m.LogTime) {
			it.remaining = append(it.remaining, m)
		}
	}
	return it, nil
}

// Close implements codec.Reader.
func (*Recording) Close() error { return nil }

type recordingIterator struct{ remaining []codec.Message }

func (it *recordingIterator) Next() (*codec.Message, error) {
	if len(it.remaining) == 0 {
		return nil, io.EOF
	}
	m := it.remaining[0]
	it.remaining = it.remaining[1:]
	return &m, nil
}

func (*recordingIterator) Close() error { return nil }

// Translate returns a reader that translates the messages of a recording from one encoding to another. Every channel
// must have a translation. The reader is closed at the end of the test.
func Translate(
	t testing.TB, r codec.Reader, from, to string, translator func(codec.Reader) (bridge.Translator, error),
) *bridge.Translated {
	t.Helper()
	translated, skipped, err := bridge.Translate(r, to, nil,
		map[string]func(codec.Reader) (bridge.Translator, error){from: translator})
	require.NoError(t, err)
	require.Empty(t, skipped)
	t.Cleanup(func() { _ = translated.Close() }) // fails if a further translation has closed the reader
	return translated
}

// Each calls f with the messages of a recording.
func Each(t testing.TB, r codec.Reader, q codec.Query, f func(*codec.Message)) {
	t.Helper()
	it, err := r.Read(q)
	require.NoError(t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		f(m)
	}
}

// ByTopic returns the messages of a recording by their topics.
func ByTopic(t testing.TB, r codec.Reader) map[string][]codec.Message {
	t.Helper()
	messages := map[string][]codec.Message{}
	Each(t, r, codec.Query{}, func(m *codec.Message) {
		messages[m.Channel.Topic] = append(messages[m.Channel.Topic], m.Clone())
	})
	return messages
}

// Decode returns the decoded payload of a CDR message.
func Decode[T any, P interface {
	*T
	msgs.Message
}](t testing.TB, m *codec.Message) (v T) {
	t.Helper()
	require.NotNil(t, m)
	require.Equal(t, P(&v).TypeName(), m.Channel.Type)
	require.NoError(t, cdr.Unmarshal(m.Data, P(&v)))
	return v
}

// Announce returns a translator of the recording r, which may be nil, and the topics to which the translator translates
// the channels.
func Announce(
	t testing.TB, r codec.Reader, open func(codec.Reader) (bridge.Translator, error), channels ...*codec.Channel,
) (bridge.Translator, []codec.TopicInfo) {
	t.Helper()
	translator, err := open(r)
	require.NoError(t, err)
	var announced []codec.TopicInfo
	for _, c := range channels {
		topics, err := translator.Topics(codec.TopicInfo{Channel: c, MessageCount: 7})
		require.NoError(t, err)
		for _, topic := range topics {
			require.EqualValues(t, 7, topic.MessageCount)
		}
		announced = append(announced, topics...)
	}
	return translator, announced
}
