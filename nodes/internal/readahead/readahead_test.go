package readahead

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// numbered yields messages whose log times count from 0, and then err. Their payloads share memory.
type numbered struct {
	count int64
	size  func(i int64) int
	err   error

	next    int64
	yielded atomic.Int64 // bytes of payloads so far
	message codec.Message
	channel codec.Channel
	data    []byte
}

func (n *numbered) Next() (*codec.Message, error) {
	if n.next == n.count {
		return nil, n.err
	}
	size := n.size(n.next)
	if size > len(n.data) {
		n.data = make([]byte, size)
	}
	n.message = codec.Message{Channel: &n.channel, LogTime: n.next, Data: n.data[:size]}
	for done := copy(n.message.Data, []byte{byte(n.next)}); done < size; {
		done += copy(n.message.Data[done:], n.message.Data[:done])
	}
	n.next++
	n.yielded.Add(int64(size))
	return &n.message, nil
}

func (n *numbered) Close() error { return nil }

// reading is a Reader whose Next waits for messages.
type reading struct {
	*Reader
	more chan struct{}
}

func read(it codec.Iterator, size int64) reading {
	more := make(chan struct{}, 1)
	return reading{New(it, size, func() {
		select {
		case more <- struct{}{}:
		default:
		}
	}), more}
}

func (r reading) Next() (*codec.Message, error) {
	for {
		if m, err := r.Reader.Next(); m != nil || err != nil {
			return m, err
		}
		<-r.more
	}
}

func TestReadAheadYieldsEverythingInOrder(t *testing.T) {
	for _, size := range []int64{1, 3 * blockSize, 64 * blockSize} {
		it := &numbered{count: 2500, err: io.EOF, size: func(i int64) int {
			if i%1000 == 999 {
				return 2*blockSize + 1
			}
			return int(i % 700)
		}}
		r := read(it, size)
		for i := range it.count {
			m, err := r.Next()
			require.NoError(t, err)
			if i != m.LogTime || len(m.Data) != it.size(i) {
				require.FailNow(t, "another message", "%d is %d, of %d bytes", i, m.LogTime, len(m.Data))
			}
			require.Equal(t, len(m.Data), bytes.Count(m.Data, []byte{byte(i)}), "message %d", i)
		}
		for range 2 {
			_, err := r.Next()
			require.ErrorIs(t, err, io.EOF)
		}
		require.NoError(t, r.Close())
	}
}

func TestReadAheadIsBoundedInBytes(t *testing.T) {
	for name, size := range map[string]int{"empty": 0, "small": 100, "large": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			const bound = 8 << 20
			it := &numbered{count: 1 << 40, err: io.EOF, size: func(int64) int { return size }}
			r := read(it, bound)
			require.Eventually(t, func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return r.ahead > bound-blockSize-int64(size)-2*messageCost
			}, time.Minute, time.Millisecond, "the reader does not fill its read-ahead")
			time.Sleep(20 * time.Millisecond)
			r.mu.Lock()
			require.LessOrEqual(t, r.ahead, int64(bound))
			r.mu.Unlock()
			require.NoError(t, r.Close(), "closing does not wait for room")
			require.Less(t, it.yielded.Load(), int64(bound+2*(blockSize+size)))
		})
	}
}

// chunks yields the messages of numbered in reused buffers of chunkMessages messages.
type chunks struct {
	numbered
	buffer *codec.Buffer
	rest   []byte
	spare  chan []byte
	made   int
}

const (
	chunkMessages = 4
	chunkMessage  = 400_000
)

func (c *chunks) Next() (*codec.Message, error) {
	m, err := c.numbered.Next()
	if err != nil {
		return nil, err
	}
	if m.LogTime%chunkMessages == 0 {
		if c.buffer != nil {
			c.buffer.Release()
		}
		select {
		case c.rest = <-c.spare:
		default:
			c.made++
			c.rest = make([]byte, chunkMessages*chunkMessage)
		}
		c.buffer = codec.NewBuffer(c.rest, func(b []byte) { c.spare <- b })
	}
	n := copy(c.rest, m.Data)
	m.Data, m.Buffer, c.rest = c.rest[:n], c.buffer, c.rest[n:]
	return m, nil
}

func TestReadAheadKeepsLargePayloads(t *testing.T) {
	const count, bound = 160, 8 << 20
	it := &chunks{spare: make(chan []byte, count)}
	it.numbered = numbered{count: count, err: io.EOF, size: func(i int64) int {
		if i%2 == 0 {
			return 100
		}
		return chunkMessage
	}}
	r := read(it, bound)
	for i := range int64(count) {
		m, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, i, m.LogTime)
		require.Len(t, m.Data, it.size(i))
		require.Equal(t, byte(i), m.Data[0])
		require.Equal(t, byte(i), m.Data[len(m.Data)-1])
	}
	_, err := r.Next()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, r.Close())
	// Buffers that are read ahead, and buffers of the blocks that reader and caller use.
	require.LessOrEqual(t, it.made, bound/(chunkMessages*chunkMessage)+6)
	require.Len(t, it.spare, it.made-1, "all but the last buffer of the iterator were released")
}

// slow yields the messages of numbered, each after a value from may.
type slow struct {
	numbered
	may chan struct{}
}

func (s *slow) Next() (*codec.Message, error) {
	<-s.may
	return s.numbered.Next()
}

// Messages do not wait for later messages that take long to be read.
func TestReadAheadDoesNotHoldBack(t *testing.T) {
	it := &slow{numbered{count: 1 << 40, err: io.EOF, size: func(int64) int { return 10 }}, make(chan struct{})}
	r := read(it, 1<<20)
	next := int64(0)
	for _, found := range []int{1, 2, 1, 3, 500, 1} {
		for range found {
			it.may <- struct{}{}
		}
		for range found {
			m, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, next, m.LogTime)
			require.Equal(t, byte(next), m.Data[9])
			next++
		}
		m, err := r.Reader.Next()
		require.Nil(t, m)
		require.NoError(t, err)
	}
	close(it.may)
	for range 100_000 {
		m, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, next, m.LogTime)
		next++
	}
	require.NoError(t, r.Close())
}

// After Close, reading ends with the next message, even if the block has room for more.
func TestReadAheadEndsAtOnce(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, it codec.Iterator) error{
		"Close": func(ctx context.Context, it codec.Iterator) error {
			r := New(it, 1<<20, func() {})
			<-ctx.Done()
			return r.Close()
		},
		"Each": func(ctx context.Context, it codec.Iterator) error {
			return Each(ctx, it, 1<<20, func(*codec.Message) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				it := &slow{numbered{count: 1 << 40, err: io.EOF, size: func(int64) int { return 10 }},
					make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				ended := false
				go func() {
					if err := end(ctx, it); err != nil {
						require.ErrorIs(t, err, context.Canceled)
					}
					ended = true
				}()
				it.may <- struct{}{}
				synctest.Wait() // until the reader waits for the next message
				cancel()
				synctest.Wait()
				require.False(t, ended)
				it.may <- struct{}{}
				synctest.Wait()
				require.True(t, ended)
			})
		})
	}
}

func TestReadAheadPassesErrorsOn(t *testing.T) {
	damage := errors.New("damage")
	r := read(&numbered{count: 3, err: damage, size: func(int64) int { return 10 }}, 1<<20)
	for range 3 {
		_, err := r.Next()
		require.NoError(t, err)
	}
	for range 2 {
		_, err := r.Next()
		require.ErrorIs(t, err, damage)
	}
	require.NoError(t, r.Close())
}

func TestReadAheadUsesMemoryAgain(t *testing.T) {
	r := read(&numbered{count: 1 << 40, err: io.EOF, size: func(int64) int { return 1000 }}, 4<<20)
	defer r.Close()
	for range 20_000 { // until all blocks have been in use
		_, err := r.Next()
		require.NoError(t, err)
	}
	require.Zero(t, testing.AllocsPerRun(10_000, func() { _, _ = r.Next() }))
}

// Each visit gets all messages in their order, and an error of one visit ends the reading.
func TestEach(t *testing.T) {
	messages := func() *numbered {
		return &numbered{count: 5000, err: io.EOF, size: func(i int64) int { return int(i % 700) }}
	}
	var seen [3]int64
	var visits []func(*codec.Message) error
	for i := range seen {
		visits = append(visits, func(m *codec.Message) error {
			require.Equal(t, seen[i], m.LogTime)
			seen[i]++
			return nil
		})
	}
	require.NoError(t, Each(t.Context(), messages(), 1<<20, visits...))
	require.Equal(t, [3]int64{5000, 5000, 5000}, seen)
	failure := errors.New("enough")
	for i := range seen {
		seen = [3]int64{}
		all := slices.Clone(visits)
		all[i] = func(m *codec.Message) error {
			seen[i]++
			if m.LogTime == 2500 {
				return failure
			}
			return nil
		}
		require.ErrorIs(t, Each(t.Context(), messages(), 1<<20, all...), failure)
		require.EqualValues(t, 2501, seen[i])
	}
}
