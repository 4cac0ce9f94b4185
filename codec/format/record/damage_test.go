package record

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// messageEnds returns where the messages of smallFile end, in the order of the file.
func messageEnds(t *testing.T, b []byte) []int64 {
	r := openBytes(t, b)
	var ends []int64
	for _, p := range r.shallow.pieces {
		var m singleMessage
		for pos := p.start; pos < p.end; pos = m.end {
			require.NoError(t, readMessage(&r.probe, pos, &m))
			ends = append(ends, m.end)
		}
	}
	return ends
}

// A file that is cut anywhere yields all its whole messages. The file of a killed writer ends without an error.
func TestTruncated(t *testing.T) {
	for _, closed := range []bool{true, false} {
		whole := smallFile(t, closed)
		ends := messageEnds(t, whole)
		require.Len(t, ends, 12)
		for size := sectionSize; size <= len(whole); size++ {
			if size > 200 && size < firstSection && size%50 > 0 {
				continue // padding
			}
			b := whole[:size]
			require.True(t, sniff(nil, "", b[:min(size, 4096)]), size)
			want := 0
			for _, end := range ends {
				if end <= int64(size) {
					want++
				}
			}
			damaged := closed && size < len(whole) && size >= bytes.Index(whole, isComplete)+2
			r := openBytes(t, b)
			all, err := readAll(t, r, codec.Query{})
			require.Len(t, all, want, "cut at %d", size)
			requireOrdered(t, append(all, messageCopy{time: 1 << 62}))
			if damaged {
				require.ErrorIs(t, err, ErrDamaged, "cut at %d", size)
			} else {
				require.NoError(t, err, "cut at %d", size)
			}
			var reports []error
			saved, err := readAll(t, r, codec.Query{Damaged: func(err error) { reports = append(reports, err) }})
			require.NoError(t, err)
			require.Equal(t, all, saved)
			require.Equal(t, damaged, len(reports) > 0, "cut at %d: %v", size, reports)

			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, closed && size == len(whole), info.Complete)
			require.Equal(t, info.Complete, len(info.Events) == 0)
			require.EqualValues(t, want, info.MessageCount)
		}
	}
}

// After a power failure a file may go on with zeros.
func TestZeroTail(t *testing.T) {
	whole := smallFile(t, false)
	ends := messageEnds(t, whole)
	for _, size := range []int64{int64(len(whole)), ends[9], ends[9] + 1, ends[9] + 7, ends[7]} {
		b := append(bytes.Clone(whole[:size]), make([]byte, 10000)...)
		all, err := readAll(t, openBytes(t, b), codec.Query{})
		require.NoError(t, err)
		want := 0
		for _, end := range ends {
			if end <= size {
				want++
			}
		}
		require.Len(t, all, want)
	}
}

// A flipped bit never loses messages without an error. Recovery loses one message at most.
func TestBitFlips(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 67
	}
	for _, closed := range []bool{true, false} {
		whole := smallFile(t, closed)
		intact := map[messageCopy]bool{}
		for _, m := range smallMessages() {
			intact[m] = true
		}
		for i := range whole {
			if i >= 100 && i < firstSection {
				continue // padding
			}
			for bit := range 8 {
				if (8*i+bit)%step != 0 {
					continue
				}
				b := bytes.Clone(whole)
				b[i] ^= 1 << bit
				at := fmt.Sprintf("byte %#x bit %d, closed %v", i, bit, closed)
				r := openBytes(t, b)
				all, err := readAll(t, r, codec.Query{})
				if err != nil {
					require.ErrorIs(t, err, ErrDamaged, at)
				} else {
					require.Len(t, all, len(intact), at)
				}
				reported := 0
				saved, err := readAll(t, r, codec.Query{Damaged: func(err error) {
					require.ErrorIs(t, err, ErrDamaged)
					reported++
				}})
				require.NoError(t, err, at)
				count := 0
				for _, m := range saved {
					if intact[m] {
						count++
					}
				}
				require.GreaterOrEqual(t, count, len(intact)-1, at)
				_, err = r.Info()
				require.NoError(t, err)
				require.True(t, reported > 0 || len(saved) >= len(intact), at)
			}
		}
	}
}

// A long stretch of a file is overwritten, from within the body of one chunk into the body of another.
func TestOverwrittenStretch(t *testing.T) {
	r := openAt(t, sample(t, "multichunk.record"))
	clean, err := readAll(t, r, codec.Query{})
	require.NoError(t, err)
	b := make([]byte, 135486)
	_, err = r.(*reader).file.ReadAt(b, 0)
	require.NoError(t, err)
	from, to := 0x4000, 0x4000+40000
	for i := from; i < to; i++ {
		b[i] = byte(i * 7)
	}
	broken := openBytes(t, b)
	before, err := readAll(t, broken, codec.Query{})
	require.ErrorIs(t, err, ErrDamaged)
	last := len(before) - 1 // contents have no checksum
	require.True(t, slices.Equal(clean[:last], before[:last]))
	var reports []error
	saved, err := readAll(t, broken, codec.Query{Damaged: func(err error) { reports = append(reports, err) }})
	require.NoError(t, err)
	require.NotEmpty(t, reports)
	requireOrdered(t, saved)
	// A message takes 220 bytes.
	require.GreaterOrEqual(t, len(saved), 600-40000/220-2)
	strange := 0
	for _, m := range saved {
		if !slices.Contains(clean, m) {
			strange++
		}
	}
	require.LessOrEqual(t, strange, 1)
	var damage *damage
	require.True(t, errors.As(reports[0], &damage))
	require.Contains(t, damage.Error(), "memory.record")
	require.Contains(t, damage.Error(), "in chunk 2")

	info, err := broken.Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.EqualValues(t, len(saved), info.MessageCount)
	require.Equal(t, "damage", info.Events[0].Kind)
}
