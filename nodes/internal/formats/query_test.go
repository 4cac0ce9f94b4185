package formats_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/nodes/internal/formats"
)

// TestZeroQuery reads messages with times of clocks that were not set, and with times that do not fit. The zero query
// excludes none of them.
func TestZeroQuery(t *testing.T) {
	c := &codec.Channel{
		Topic: "/a", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")},
	}
	times := []int64{-1 << 63, -5, 0, 5}
	for name, f := range map[string]codec.Format{
		"a.mcap": mcap.Format, "a.record": record.Format, "bag": rosbag2.Format,
		"sqlite": rosbag2.Options{Storage: "sqlite3"}.Format(),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			w, err := codec.Formats{f}.Create(path, codec.CreateOptions{})
			require.NoError(t, err)
			for _, at := range times {
				require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: at,
					Data: []byte{0, 1, 0, 0, 1, 0, 0, 0, 0}}))
			}
			require.NoError(t, w.Close())
			r, err := formats.All().Open(nil, path)
			require.NoError(t, err)
			defer r.Close()
			for _, q := range []struct {
				codec.Query
				want []int64
			}{{codec.Query{}, times}, {codec.Query{End: 1}, times[:3]}, {codec.Query{Start: -5},
				times[1:]}, {codec.Query{Start: 1}, times[3:]}} {
				it, err := r.Read(q.Query)
				require.NoError(t, err)
				var got []int64
				for {
					m, err := it.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					require.NoError(t, err)
					got = append(got, m.LogTime)
				}
				require.NoError(t, it.Close())
				require.Equal(t, q.want, got)
			}
		})
	}
}
