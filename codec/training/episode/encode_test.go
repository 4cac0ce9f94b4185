package episode

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
)

// hookFrames implements Frames. The data of frame i begins with i, and Frame calls read.
type hookFrames struct {
	read func(i int) error
	data []byte
}

func (f *hookFrames) Frame(i int) (Frame, error) {
	f.data = binary.LittleEndian.AppendUint32(f.data[:0], uint32(i))
	return Frame{Encoding: "test", Data: append(f.data, make([]byte, 100)...)}, f.read(i)
}

func (f *hookFrames) Close() error { return nil }

// newHookCamera returns a camera with hookFrames.
func newHookCamera(read func(i int) error) *Camera {
	return &Camera{Track: align.Track{Name: "camera"},
		Open: func() (Frames, error) { return &hookFrames{read: read}, nil }}
}

// TestEncodeBoundsFrames encodes many frames. They must be written in order, and the number of frames in memory must
// not exceed the limit for each worker.
func TestEncodeBoundsFrames(t *testing.T) {
	const n = 2000
	for _, workers := range []int{1, 2, 5} {
		var read, written, most atomic.Int64
		c := newHookCamera(func(int) error {
			read.Add(1)
			most.Store(max(most.Load(), read.Load()-written.Load()))
			return nil
		})
		indices := make([]int, n)
		for i := range indices {
			indices[i] = i
			if i%7 == 3 {
				indices[i] = -1
				read.Add(1)
			}
		}
		read.Store(0)
		at := 0
		err := c.Encode(indices, workers, func(dst []byte, f *Frame, _ bool) ([]byte, error) {
			switch {
			case f == nil:
				return append(dst, "none"...), nil
			case f.Data[0]%2 == 0:
				return f.Data, nil
			}
			return append(dst, f.Data[:4]...), nil
		}, func(from int, items [][]byte) error {
			require.Equal(t, at, from)
			for _, item := range items {
				if indices[at] < 0 {
					require.Equal(t, "none", string(item))
				} else {
					require.EqualValues(t, indices[at], binary.LittleEndian.Uint32(item))
					written.Add(1)
				}
				at++
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, n, at)
		require.LessOrEqual(t, most.Load(), int64(framesPerWorker*workers))
	}
}

// TestEncodeBoundsBytes encodes large frames. At most two more frames than workers may be in memory.
func TestEncodeBoundsBytes(t *testing.T) {
	const workers = 2
	large := make([]byte, framesBytes/2)
	var read, written, most atomic.Int64
	c := newHookCamera(nil)
	c.Open = func() (Frames, error) {
		return frameFunc(func(int) (Frame, error) {
			read.Add(1)
			most.Store(max(most.Load(), read.Load()-written.Load()))
			return Frame{Encoding: "test", Data: large}, nil
		}), nil
	}
	require.NoError(t, c.Encode(make([]int, 20), workers, func(dst []byte, _ *Frame, _ bool) ([]byte, error) {
		return append(dst, 1), nil
	}, func(_ int, items [][]byte) error {
		written.Add(int64(len(items)))
		return nil
	}))
	require.EqualValues(t, 20, written.Load())
	require.LessOrEqual(t, most.Load(), int64(workers+2))
}

// frameFunc implements Frames with a function.
type frameFunc func(i int) (Frame, error)

func (f frameFunc) Frame(i int) (Frame, error) { return f(i) }
func (f frameFunc) Close() error               { return nil }

// TestEncodeUsesAllWorkers checks that all workers encode in parallel while further frames are read.
func TestEncodeUsesAllWorkers(t *testing.T) {
	const workers = 4
	var together sync.WaitGroup // waits until each worker encodes its first frame
	together.Add(workers)
	later := make(chan struct{}) // closed when a frame was read that no worker can have yet
	c := newHookCamera(func(i int) error {
		if i == workers+1 {
			close(later)
		}
		return nil
	})
	indices := make([]int, 3*workers)
	for i := range indices {
		indices[i] = i
	}
	written := 0
	require.NoError(t, c.Encode(indices, workers, func(_ []byte, f *Frame, _ bool) ([]byte, error) {
		if f.Data[0] < workers {
			together.Done()
			together.Wait()
			<-later
		}
		return f.Data, nil
	}, func(_ int, items [][]byte) error {
		written += len(items)
		return nil
	}))
	require.Equal(t, len(indices), written)
}

// TestEncodeFails checks that Encode returns errors of reading, encoding and writing.
func TestEncodeFails(t *testing.T) {
	bad := errors.New("bad")
	at := func(step string, i int) func(string, int) error {
		return func(s string, k int) error {
			if s == step && k == i {
				return bad
			}
			return nil
		}
	}
	indices := make([]int, 200)
	for i := range indices {
		indices[i] = i
	}
	for want, fail := range map[string]func(string, int) error{
		"frame 90: bad": at("read", 90), "frame 91: bad": at("encode", 91), "bad": at("write", 0),
	} {
		c := newHookCamera(func(i int) error { return fail("read", i) })
		err := c.Encode(indices, 3, func(_ []byte, f *Frame, _ bool) ([]byte, error) {
			return f.Data, fail("encode", int(binary.LittleEndian.Uint32(f.Data)))
		}, func(from int, _ [][]byte) error { return fail("write", from) })
		require.EqualError(t, err, want)
	}
	c := &Camera{Open: func() (Frames, error) { return nil, bad }}
	require.ErrorIs(t, c.Encode(indices, 3, nil, nil), bad)
}
