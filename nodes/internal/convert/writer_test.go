package convert

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

// TestTopicsAreNames counts a topic with two types once.
func TestTopicsAreNames(t *testing.T) {
	a, b := channel(t, "/n", "std_msgs/msg/UInt32"), channel(t, "/n", "std_msgs/msg/Int32")
	in := write(t, "in.mcap", slices.Concat(numbers(t, a, 2),
		[]codec.Message{{Channel: b, LogTime: 1000 * second, Data: []byte{0, 1, 0, 0, 1, 0, 0, 0}}})...)
	result, err := run(t, DefaultOptions(), filepath.Join(t.TempDir(), "out.record"), in)
	require.NoError(t, err)
	require.Equal(t, 1, result.Topics)
	require.Equal(t, uint64(3), result.Messages)
}

// TestStartBehindTheEnd says why nothing is written.
func TestStartBehindTheEnd(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 3)...)
	for start, warned := range map[string]bool{"2": false, "3": true} {
		o := DefaultOptions()
		o.Start = start
		var warnings []string
		j := Job{Formats: formats.All(), Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out.mcap"), Options: o,
			Warn: func(text string) { warnings = append(warnings, text) }}
		_, err := j.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, warned, slices.Contains(warnings,
			"the recording ends before --start"), warnings)
	}
}

// sequence is an iterator over messages of these sizes. The payload of each is of one byte that counts them, in memory
// that is used again.
type sequence struct {
	sizes  []int
	next   int
	err    error
	buf    []byte
	m      codec.Message
	closed bool
}

func (s *sequence) Next() (*codec.Message, error) {
	if s.next == len(s.sizes) {
		return nil, s.err
	}
	s.buf = slices.Grow(s.buf[:0], s.sizes[s.next])[:s.sizes[s.next]]
	for i := range s.buf {
		s.buf[i] = byte(s.next)
	}
	s.m = codec.Message{LogTime: int64(s.next), Data: s.buf}
	s.next++
	return &s.m, nil
}

func (s *sequence) Close() error {
	s.closed = true
	return nil
}

func TestCopyMessages(t *testing.T) {
	for name, sizes := range map[string][]int{
		"none":  nil,
		"small": slices.Repeat([]int{7, 100, 0}, 50_000),
		"large": slices.Repeat([]int{10, readAheadSize / 2, 2 * readAheadSize, 1}, 5),
	} {
		t.Run(name, func(t *testing.T) {
			damage := errors.New("damage")
			s := &sequence{sizes: sizes, err: damage}
			n := 0
			err := copyMessages(t.Context(), s, func(m *codec.Message) error {
				if int64(n) != m.LogTime || len(m.Data) != sizes[n] || len(m.Data) != bytes.Count(m.Data, []byte{byte(n)}) {
					t.Fatalf("message %d is not what it was", n)
				}
				n++
				return nil
			})
			require.ErrorIs(t, err, damage)
			require.ErrorContains(t, err, "'converter recover' saves what follows")
			require.Equal(t, len(sizes), n)
			require.True(t, s.closed)
		})
	}
}

func TestCopyMessagesEndsEarly(t *testing.T) {
	endless := func() *sequence { return &sequence{sizes: make([]int, 1_000_000), err: io.EOF} }
	full := errors.New("full")
	s, n := endless(), 0
	require.ErrorIs(t, copyMessages(t.Context(), s, func(*codec.Message) error {
		if n++; n == 1000 {
			return full
		}
		return nil
	}), full)
	require.Equal(t, 1000, n)
	require.True(t, s.closed)

	ctx, cancel := context.WithCancel(t.Context())
	s = endless()
	require.ErrorIs(t, copyMessages(ctx, s, func(*codec.Message) error {
		cancel()
		return nil
	}), context.Canceled)
	require.Less(t, s.next, len(s.sizes))
}
