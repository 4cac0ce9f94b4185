package convert

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/tf2_msgs"
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

// Times outside of the recording are an error, and so is a time range without messages. No file is left behind.
func TestNothingSelected(t *testing.T) {
	n, late := channel(t, "/n", "std_msgs/msg/UInt32"), channel(t, "/late", "std_msgs/msg/UInt32")
	in := write(t, "in.mcap", append(numbers(t, n, 3), codec.Message{Channel: late, LogTime: 1002 * second,
		Data: numbers(t, late, 1)[0].Data})...)
	empty := write(t, "empty.mcap")
	for name, c := range map[string]struct {
		change func(*Options)
		in     string
		error  string // "": no error
	}{
		"last message": {func(o *Options) { o.Begin = "2" }, in, ""},
		"behind the end": {func(o *Options) { o.Begin = "3" }, in,
			"--begin 3 is after the end of the recording, which lasts 2"},
		"before the start": {func(o *Options) { o.End = "999000000000" }, in,
			"--end 999000000000 is before the start"},
		"nothing of topics": {func(o *Options) { o.End, o.Topics = "1", []string{"/late"} }, in,
			"no messages in the selected time"},
		"only the state": {func(o *Options) { o.Begin, o.Topics = "5", []string{"/tf_static"} },
			write(t, "latched.mcap", latchedDrive(t)...), "no messages in the selected time"},
		"empty input": {func(*Options) {}, empty, "there are no messages, or none on"},
		"part of it":  {func(o *Options) { o.Begin = "3" }, empty, "there are no messages, or none on"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			c.change(&o)
			folder := t.TempDir()
			_, err := run(t, o, filepath.Join(folder, "out.mcap"), c.in)
			if c.error == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.error)
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// A CARLA log is not written if its frames would hold no message of the recording.
func TestEmptyFrames(t *testing.T) {
	c := channel(t, "/tf", "tf2_msgs/msg/TFMessage")
	var all []codec.Message
	for i := range int64(10) {
		m := &tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{ChildFrameId: "turtle"}}}
		all = append(all, codec.Message{Channel: c, LogTime: (1000 + i) * second, Data: payload(t, m)})
	}
	folder := t.TempDir()
	_, err := run(t, DefaultOptions(), filepath.Join(folder, "out.log"), write(t, "in.mcap", all...))
	require.ErrorContains(t, err, "out.log is not written, because it would hold no message: ")
	require.ErrorContains(t, err, "transforms of frames without an actor (10 messages on /tf)")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// sequence yields messages of the given sizes. Each payload repeats one byte, which counts the messages. All payloads
// use the same memory.
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
	s.buf = append(s.buf[:0], bytes.Repeat([]byte{byte(s.next)}, s.sizes[s.next])...)
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
		"small": slices.Repeat([]int{70, 1000, 0}, 5000),
		"large": slices.Repeat([]int{10, readAheadSize / 2, 2 * readAheadSize, 1}, 3),
	} {
		t.Run(name, func(t *testing.T) {
			damage := errors.New("damage")
			s := &sequence{sizes: sizes, err: damage}
			n := 0
			err := copyMessages(t.Context(), s, func(m *codec.Message) error {
				if int64(n) != m.LogTime || len(m.Data) != sizes[n] ||
					len(m.Data) != bytes.Count(m.Data, []byte{byte(n)}) {
					t.Fatalf("message %d is not what it was", n)
				}
				n++
				return nil
			})
			require.ErrorIs(t, err, damage)
			require.Equal(t, len(sizes), n)
			require.True(t, s.closed)
		})
	}
}

func TestCopyMessagesEndsEarly(t *testing.T) {
	endless := func() *sequence { return &sequence{sizes: make([]int, 100_000), err: io.EOF} }
	full := errors.New("full")
	s, n := endless(), 0
	require.ErrorIs(t, copyMessages(t.Context(), s, func(*codec.Message) error {
		n++
		if n == 1000 {
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
