package record

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
	"tapedeck/test/samples"
)

// Any file is read to an end, with equal results each time, and payloads that are in the file.
func FuzzRead(f *testing.F) {
	f.Add(smallFile(f, true))
	f.Add(smallFile(f, false))
	f.Add(latchedFile(f)[:50_000])
	for _, name := range []string{"seg_emptytail.record.00001", "seg_emptytail.record.00000",
		"incomplete_killed.record"} {
		for _, b := range samples.Seeds(f, "apollo/"+name) {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		sniff(nil, "", b[:min(len(b), 4096)])
		r, err := newReader("fuzz.record", codectest.NewFile(b), int64(len(b)), b[:min(len(b), firstSection)])
		require.NoError(t, err)
		read := func(q codec.Query) (count int, end error) {
			it, err := r.Read(q)
			require.NoError(t, err)
			for {
				m, err := it.Next()
				if err != nil {
					return count, err
				}
				require.NotNil(t, m.Channel)
				require.True(t, q.Covers(m.LogTime))
				require.True(t, bytes.Contains(b, m.Data))
				count++
			}
		}
		plain, end := read(codec.Query{})
		require.True(t, end == io.EOF || errors.Is(end, ErrDamaged), end)
		reports := 0
		saved, end := read(codec.Query{Damaged: func(err error) {
			require.ErrorIs(t, err, ErrDamaged)
			reports++
		}})
		require.Equal(t, io.EOF, end)
		info, err := r.Info()
		require.NoError(t, err)
		if reports == 0 {
			require.Equal(t, plain, saved)
			require.EqualValues(t, saved, info.MessageCount)
		}
		half, _ := read(codec.Query{Start: info.StartTime + (info.EndTime-info.StartTime)/2})
		require.True(t, half <= plain || reports > 0)
		if reports == 0 { // headers and index may still give wrong times and counts
			q := codec.Query{End: info.StartTime + (info.EndTime-info.StartTime)/2}
			all, _ := readLatest(t, r, q, func(*codec.Channel) int { return codec.All })
			some, _ := readLatest(t, r, q, func(*codec.Channel) int { return 2 })
			require.Subset(t, all, some)
		}
	})
}

// Writing and reading any channel yields an equal channel. Writing the result yields equal bytes.
func FuzzChannel(f *testing.F) {
	for _, c := range channels() {
		wire := wireChannel(c, c.Topic)
		f.Add(wire.GetName(), wire.GetMessageType(), wire.ProtoDesc)
	}
	f.Fuzz(func(t *testing.T, name, messageType string, protoDesc []byte) {
		c := newChannel(name, messageType, protoDesc)
		wire := wireChannel(c, name)
		again := newChannel(name, wire.GetMessageType(), wire.ProtoDesc)
		require.True(t, equal(c, again), "%+v\n%+v", c, again)
		require.True(t, proto.Equal(wire, wireChannel(again, name)))
	})
}
