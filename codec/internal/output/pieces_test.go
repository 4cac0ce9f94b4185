package output_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/internal/output"
)

// The content of a file with one group of topics does not depend on PieceSize. A caller of Write may reuse the payload
// when Write returns.
func TestPieces(t *testing.T) {
	whole := output.PieceSize
	defer func() { output.PieceSize = whole }()
	channels := manyChannels(30)
	const start, step = int64(1.7e18), int64(1e6)
	steady := func(size int) (list []codec.Message) {
		for i := range int64(200) {
			list = append(list, codec.Message{Channel: channels[i%2], LogTime: start + i*step, PublishTime: i % 3,
				Data: bytes.Repeat([]byte{byte(i)}, size)})
		}
		return list
	}
	changing := slices.Concat(steady(2000)[:50], steady(3)[50:])
	appearing, clock := steady(100), steady(100)
	for i := range appearing {
		appearing[i].Channel = channels[min(i/5, len(channels)-1)]
		clock[i].LogTime = int64(i*i*i) << 20 // takes more bytes now and then
	}
	clock[120].LogTime = -1
	early := steady(1000)
	early[0].LogTime = -1
	for name, c := range map[string]struct {
		messages []codec.Message
		same     bool // the bytes do not depend on PieceSize, as in a .record file
	}{
		"small": {steady(10), true}, "middle": {steady(100), true}, "large": {steady(1000), true},
		"larger than chunks": {steady(9000), true},
		"changing":           {changing, false}, "new channels": {appearing, false}, "clock": {clock, false},
		"before 1970": {early, false},
	} {
		byTopic := func(c *codec.Channel, _ int) string { return c.Topic }
		for _, f := range []struct {
			codec.Format
			name   string
			groups func(*codec.Channel, int) string
		}{{record.Format, "record", nil}, {mcap.Format, "mcap", nil}, {mcap.Format, "mcap with groups", byTopic}} {
			format := f.Format
			t.Run(name+" in "+f.name, func(t *testing.T) {
				var contents [][]byte
				for _, output.PieceSize = range []int{whole, 900} {
					path := filepath.Join(t.TempDir(), "drive."+format.Name)
					w, err := codec.Formats{format}.Create(path,
						codec.CreateOptions{Format: format.Name, ChunkSize: 8000, ChunkGroups: f.groups})
					require.NoError(t, err)
					if c.same {
						require.NoError(t, w.Declare(channels[0]))
						require.NoError(t, w.Declare(channels[1]))
					}
					data := make([]byte, 10_000)
					for _, m := range c.messages {
						data := data[:copy(data, m.Data)]
						m.Data = data
						require.NoError(t, w.Write(&m))
						clear(data)
					}
					require.NoError(t, w.Close())
					content, err := os.ReadFile(path)
					require.NoError(t, err)
					contents = append(contents, content)

					r := codectest.Open(t, path, format)
					info, err := r.Info()
					require.NoError(t, err)
					require.True(t, info.Complete)
					require.Empty(t, info.Events)
					got, err := r.Read(codec.Query{})
					require.NoError(t, err)
					all, err := codectest.Collect(got)
					require.NoError(t, err)
					require.Len(t, all, len(c.messages))
					want := slices.Clone(c.messages)
					slices.SortStableFunc(want, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
					for i, m := range all {
						require.Equal(t, want[i].LogTime, m.LogTime)
						require.Equal(t, want[i].Channel.Topic, m.Channel.Topic)
						require.Equal(t, want[i].Data, m.Data)
					}
				}
				if f.groups == nil && (c.same || format.Name == mcap.Name) {
					require.True(t, bytes.Equal(contents[0], contents[1]))
				}
			})
		}
	}
}
