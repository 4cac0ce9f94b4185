package rosbag

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/samples/generate"
)

func samplePath(t testing.TB, name string) string { return generate.Path(t, "bag/"+name) }

func TestSamples(t *testing.T) {
	for _, c := range []struct {
		name        string
		messages    uint64
		connections int
		chunks      int
		compression string
		start, end  int64
		complete    bool
	}{
		{"cruise_example.bag", 8647, 12, 1, "none", 1396293887844783943, 1396293909544870199, true},
		{"cruise_example-bz2.bag", 8647, 9, 1, "bz2", 1396293887844783943, 1396293909544870199, true},
		{"cruise_example-lz4.bag", 8647, 9, 1, "lz4", 1396293887844783943, 1396293909544870199, true},
		{"cruise_example-unsorted-chunks.bag", 3, 1, 3, "none", 1e9, 3e9, true},
		{"cruise_no-messages.bag", 0, 0, 0, "", 0, 0, true},
		{"py_none.bag", 480, 2, 17, "none", 1700000000e9, 1700000039900000000, true},
		{"py_lz4.bag", 480, 2, 17, "lz4", 1700000000e9, 1700000039900000000, true},
		{"py_unindexed_active.bag", 400, 1, 15, "none", 1700000000e9, 1700000039900000000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := samplePath(t, c.name)
			r, err := codec.Formats{Format}.Open(path)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, Name, info.Format)
			require.Equal(t, c.complete, info.Complete)
			require.Equal(t, c.messages, info.MessageCount)
			require.Len(t, info.Topics, c.connections)
			require.Equal(t, Extra{Version: "2.0", Indexed: c.complete, Chunks: c.chunks, Compression: c.compression},
				info.Extra)
			require.Equal(t, []int64{c.start, c.end}, []int64{info.StartTime, info.EndTime})
			all := readAll(t, r, codec.Query{})
			require.Len(t, all, int(c.messages))
			if c.compression != "bz2" { // bzip2 is slow, and the bag has the messages of the LZ4 bag
				testTails(t, r, all)
				testLatest(t, r, all)
			}
			if !c.complete {
				return
			}
			// Reading without the index gives equal messages.
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			head := content[len(version2):]
			rec, _, next := cutRecord(head, 0)
			require.Positive(t, next)
			copy(rec.get("index_pos"), make([]byte, 8))
			scanned := openMemory(t, content)
			again := readAll(t, scanned, codec.Query{})
			requireEqualMessages(t, all, again)
		})
	}
}

func requireEqualMessages(t *testing.T, want, got []codec.Message) {
	require.Len(t, got, len(want))
	for i, w := range want {
		g := &got[i]
		if w.LogTime != g.LogTime || !bytes.Equal(w.Data, g.Data) || w.Channel != g.Channel {
			require.Equal(t, w, *g)
		}
	}
}

// testTails reads r from several times on. all are the messages of r, with which it compares the results.
func testTails(t *testing.T, r codec.Reader, all []codec.Message) {
	for i := 0; i < len(all); i += 1 + len(all)/4 {
		first := i
		for first > 0 && all[first-1].LogTime == all[i].LogTime {
			first--
		}
		tail := readAll(t, r, codec.Query{Start: all[i].LogTime})
		requireEqualMessages(t, all[first:], tail)
	}
}

// testLatest reads the last messages before several times, and compares them with the result of codec.ReadLast, which
// reads all earlier messages.
func testLatest(t *testing.T, r codec.Reader, all []codec.Message) {
	keep := func(c *codec.Channel) int { return max(codec.LatchedDepth(c), len(c.Topic)%4) }
	for i := 0; i < len(all); i += 1 + len(all)/3 {
		q := codec.Query{End: all[i].LogTime, Last: keep}
		it, err := r.Read(q)
		require.NoError(t, err)
		got, err := collect(it)
		require.NoError(t, err)
		it, err = codec.ReadLast(q, r.Read)
		require.NoError(t, err)
		want, err := collect(it)
		require.NoError(t, err)
		requireEqualMessages(t, want, got)
	}
}

func TestEmptyFile(t *testing.T) {
	_, err := codec.Formats{Format}.Open(samplePath(t, "cruise_empty-file.bag"))
	require.ErrorIs(t, err, codec.ErrUnknownFormat)
	require.ErrorContains(t, err, "the file is empty")
}
