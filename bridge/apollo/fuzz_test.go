package apollo

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// FuzzTranslate gives damaged messages to the translation of each type of a real recording.
func FuzzTranslate(f *testing.F) {
	path := samples + "apollo_cpp_sensors.record"
	if _, err := os.Stat(path); err != nil {
		f.Skip("the real recordings are not there: ", err)
	}
	r, err := codec.Open(path)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, r.Close()) })
	info, err := r.Info()
	require.NoError(f, err)
	translator, err := New(r)
	require.NoError(f, err)
	var channels []*codec.Channel
	for _, topic := range info.Topics {
		if _, err := translator.Topics(topic); err == nil {
			channels = append(channels, topic.Channel)
		}
	}
	it, err := r.Read(codec.Query{})
	require.NoError(f, err)
	for range 300 {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(f, err)
		for i, c := range channels {
			if c == m.Channel && len(m.Data) < 4096 {
				f.Add(uint8(i), append([]byte(nil), m.Data...))
			}
		}
	}
	translate := translator.Begin()
	f.Fuzz(func(t *testing.T, channel uint8, data []byte) {
		m := &codec.Message{Channel: channels[int(channel)%len(channels)], LogTime: 1700000000e9, Data: data}
		out, err := translate(m)
		for _, m := range out {
			require.Less(t, len(m.Data), 64*len(data)+4096)
		}
		if err == nil {
			require.NotEmpty(t, out)
		}
	})
}
