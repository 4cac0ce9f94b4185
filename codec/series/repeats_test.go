package series_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/series"
)

// Messages that a file repeats from the previous file are read once, and no other message is omitted.
func TestRepeatedMessages(t *testing.T) {
	for name, test := range map[string]struct {
		files    []string // messages as "topic log-time publish-time payload", in seconds and single digits
		want     string   // expected messages, without publish times
		repeated uint64
	}{
		"a map": {[]string{"map 1 1 a, n 2 2 x", "map 3 1 a, n 3 3 y", "map 5 1 a, n 5 5 z"},
			"map1a n2x n3y n5z", 2},
		"several publishers": {[]string{"map 1 1 a, map 1 1 b, n 2 2 x", "map 3 1 a, map 3 1 b, map 3 3 b"},
			"map1a map1b n2x map3b", 2},
		"sent again, before another message": {[]string{"map 1 1 a, n 2 2 x", "map 3 1 a, map 3 3 a, n 3 3 y"},
			"map1a n2x map3a n3y", 1},
		"many messages of a publisher": {[]string{"rosout 1 1 a, rosout 2 2 b, rosout 3 3 a",
			"rosout 4 1 a, rosout 4 2 b, rosout 4 3 a, rosout 4 4 a, rosout 5 5 a"},
			"rosout1a rosout2b rosout3a rosout4a rosout5a", 3},
		"a new map": {[]string{"map 1 1 a, n 2 2 x", "map 3 1 a, map 3 3 a, n 4 4 y"}, "map1a n2x map3a n4y", 1},
		"no time of sending": {[]string{"map 1 0 a, n 2 0 x", "map 3 0 a, n 3 0 y, map 4 0 a"},
			"map1a n2x n3y map4a", 1},
		"no time of sending, only a new one": {[]string{"map 1 0 a, n 2 0 x", "map 3 0 a, n 4 0 y"},
			"map1a n2x map3a n4y", 0},
		"not latched, by the recorder": {[]string{"n 1 1 a, n 2 2 x", "n 3 1 a, n 3 3 y, split 3 0 -, n 4 4 y",
			"n 5 4 y, n 5 5 y, n 5 5 z, split 5 0 -"}, "n1a n2x n3y n4y n5y n5z", 2},
		"not latched":          {[]string{"n 1 1 a, n 2 2 x", "n 3 1 a, n 3 3 y"}, "n1a n2x n3a n3y", 0},
		"another payload":      {[]string{"map 1 1 a, n 2 2 x", "map 3 1 b, n 3 3 y"}, "map1a n2x map3b n3y", 0},
		"sent at another time": {[]string{"map 1 1 a, n 2 2 x", "map 3 2 a, n 3 3 y"}, "map1a n2x map3a n3y", 0},
		"later in the file": {[]string{"map 1 1 a, n 2 2 x", "n 3 3 y, map 4 1 a, n 5 5 z"},
			"map1a n2x n3y map4a n5z", 0},
		"first file deleted": {[]string{"map 3 1 a, n 3 3 y", "map 5 1 a, n 5 5 z"}, "map3a n3y n5z", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, file := range test.files {
				writeMessages(t, filepath.Join(dir, fmt.Sprintf("d.record.%05d", i)), strings.Split(file, ", "))
			}
			r, err := series.Open(nil, filepath.Join(dir, "d.record.00000"), formats.Open)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			var repeated uint64
			for _, topic := range info.Topics {
				repeated += topic.Repeated
			}
			require.Equal(t, test.repeated, repeated)
			for range 2 {
				got := readMessages(t, r, codec.Query{})
				require.Equal(t, test.want, strings.Join(got, " "))
				require.Len(t, got, int(messages(info)))
			}
		})
	}
}

func writeMessages(t *testing.T, path string, messages []string) {
	t.Helper()
	w, err := formats.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	channels := map[string]*codec.Channel{}
	for _, text := range messages {
		var topic, payload string
		var log, publish int64
		_, err := fmt.Sscan(text, &topic, &log, &publish, &payload)
		require.NoError(t, err)
		if topic == "split" {
			m, err := codec.EventMessage(codec.Event{Kind: codec.EventSplit, Time: log * second, Text: "continues x"})
			require.NoError(t, err)
			require.NoError(t, w.Write(m))
			continue
		}
		c := channels[topic]
		if c == nil {
			c = &codec.Channel{Topic: "/" + topic, Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
				QoS: []codec.QoS{codec.DefaultQoS()}}
			if topic != "n" {
				c.QoS[0].Durability = codec.TransientLocal
			}
			channels[topic] = c
		}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: log * second, PublishTime: publish * second,
			Data: []byte(payload)}))
	}
	require.NoError(t, w.Close())
}

// readMessages returns messages as topic, seconds and payload.
func readMessages(t *testing.T, r codec.Reader, q codec.Query) (all []string) {
	t.Helper()
	it, err := r.Read(q)
	require.NoError(t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if codec.IsEvents(m.Channel) {
			continue
		}
		all = append(all, fmt.Sprintf("%s%d%s", m.Channel.Topic[1:], m.LogTime/second, m.Data))
	}
}
