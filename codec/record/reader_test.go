package record

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// got is a message that was read, with a copy of its data.
type got struct {
	topic         string
	time, publish int64
	data          string
}

// readAll returns what q selects and the error that ended it, nil for io.EOF.
func readAll(t testing.TB, r codec.Reader, q codec.Query) ([]got, error) {
	it, err := r.Read(q)
	require.NoError(t, err)
	defer it.Close()
	var all []got
	for {
		m, err := it.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			_, again := it.Next()
			require.Equal(t, err, again)
			return all, err
		}
		all = append(all, got{m.Channel.Topic, m.LogTime, m.PublishTime, string(m.Data)})
	}
}

func requireOrdered(t testing.TB, all []got) {
	for i := range all[1:] {
		require.LessOrEqual(t, all[i].time, all[i+1].time)
	}
}

func openAt(t testing.TB, path string) codec.Reader {
	r, err := codec.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func TestSamples(t *testing.T) {
	for _, test := range []struct {
		file       string
		messages   int
		channels   int
		chunks     int
		start, end int64
		complete   bool
		counts     map[string]uint64
	}{
		{"example.record.00000", 34, 8, 1, 1627031535114943571, 1627031535253911410, true, map[string]uint64{
			"/apollo/planning": 1, "/apollo/routing_response_history": 1, "/apollo/localization/pose": 15,
			"/apollo/canbus/chassis": 15, "/apollo/prediction": 2, "/apollo/routing_request": 0,
		}},
		{"synthetic_genB_endpos.record", 34, 8, 1, 1627031535114943571, 1627031535253911410, true, map[string]uint64{"/apollo/planning": 1}},
		{"apollo_cpp_sensors.record", 881, 10, 1, 1700000000000000000, 1700000001990001934, true, map[string]uint64{"/tf_static": 1}},
		{"multichunk.record", 600, 2, 12, 1700000000000000000, 1700000000599000000, true, map[string]uint64{"/a": 300, "/b": 300}},
		{"seg_emptytail.record.00000", 202, 2, 1, 1700000000000000000, 0, true, map[string]uint64{"/a": 101, "/b": 101}},
		{"seg_emptytail.record.00001", 0, 2, 0, 0, 0, true, map[string]uint64{"/a": 0, "/b": 0}},
		{"incomplete_killed.record", 459, 2, 9, 1700000000000000000, 1700000000458000000, false, map[string]uint64{"/a": 229, "/b": 230}},
		{"ooo_chunks.record", 3000, 2, 2, 1700000000000000000, 0, true, map[string]uint64{"/a": 1500, "/b": 1500}},
	} {
		t.Run(test.file, func(t *testing.T) {
			r := openAt(t, sample(t, test.file))
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, "record", info.Format)
			require.EqualValues(t, test.messages, info.MessageCount)
			require.Len(t, info.Topics, test.channels)
			require.Equal(t, test.chunks, info.Extra.(Details).Chunks)
			require.Equal(t, test.complete, info.Complete)
			require.Equal(t, test.complete, len(info.Events) == 0)
			require.Equal(t, test.start, info.StartTime)
			if test.end != 0 {
				require.Equal(t, test.end, info.EndTime)
			}
			counts := map[string]uint64{}
			for _, topic := range info.Topics {
				counts[topic.Channel.Topic] = topic.MessageCount
			}
			require.Subset(t, counts, test.counts)

			all, err := readAll(t, r, codec.Query{})
			require.NoError(t, err)
			require.Len(t, all, test.messages)
			if test.messages > 0 {
				requireOrdered(t, all)
				require.Equal(t, info.StartTime, all[0].time)
				require.Equal(t, info.EndTime, all[len(all)-1].time)
			}
			for _, m := range all {
				counts[m.topic]--
			}
			for topic, count := range counts {
				require.Zero(t, count, topic)
			}

			again, err := readAll(t, r, codec.Query{Damaged: func(err error) { t.Error(err) }})
			require.NoError(t, err)
			require.Equal(t, all, again)
		})
	}
}

func TestMultichunkContents(t *testing.T) {
	r := openAt(t, sample(t, "multichunk.record"))
	all, err := readAll(t, r, codec.Query{})
	require.NoError(t, err)
	for i, m := range all {
		require.Equal(t, []string{"/b", "/a"}[i%2], m.topic)
		require.EqualValues(t, 1700000000000000000+i*1e6, m.time)
		require.Len(t, m.data, 200)
		require.EqualValues(t, 'a'+i%26, m.data[199])
	}
}

var _ = errors.Is
var _ = os.Open
var _ = filepath.Join
