// Package codectest has helpers for tests of formats.
package codectest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// File is a codec.File in memory.
type File struct{ *bytes.Reader }

// NewFile returns a file with the given content.
func NewFile(content []byte) File { return File{bytes.NewReader(content)} }

// Close does nothing.
func (File) Close() error { return nil }

// Open opens the recording at path in one of the formats. The test closes it.
func Open(t testing.TB, path string, formats ...codec.Format) codec.Reader {
	t.Helper()
	r, err := codec.Formats(formats).Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// Collect returns copies of all messages of an iterator, and the error that ended it, nil for io.EOF. It closes
// the iterator.
func Collect(it codec.Iterator) ([]codec.Message, error) {
	defer it.Close()
	var all []codec.Message
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m.Clone())
	}
}

// Read returns copies of the messages that q selects. It requires the order of time, unless q tolerates damage.
func Read(t testing.TB, r codec.Reader, q codec.Query) []codec.Message {
	t.Helper()
	it, err := r.Read(q)
	require.NoError(t, err)
	all, err := Collect(it)
	require.NoError(t, err)
	if q.Damaged == nil {
		byTime := func(a, b codec.Message) int { return cmp.Compare(a.LogTime, b.LogTime) }
		require.True(t, slices.IsSortedFunc(all, byTime))
	}
	return all
}

// Write returns the content of a file with the given messages.
func Write(t testing.TB, f codec.Format, o codec.CreateOptions, messages ...codec.Message) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a"+f.Extension)
	w, err := f.Create(path, o)
	require.NoError(t, err)
	for i := range messages {
		require.NoError(t, w.Write(&messages[i]))
	}
	require.NoError(t, w.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// Copy declares all channels of r in w and writes all messages of r. It does not close r and w.
func Copy(t testing.TB, w codec.Writer, r codec.Reader) {
	t.Helper()
	info, err := r.Info()
	require.NoError(t, err)
	for _, topic := range info.Topics {
		require.NoError(t, w.Declare(topic.Channel))
	}
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		require.NoError(t, w.Write(m))
	}
}

// SyncBesideWrite calls Sync beside Write and requires that nothing is lost or written twice.
func SyncBesideWrite(t *testing.T, f codec.Format, channels ...*codec.Channel) {
	path := filepath.Join(t.TempDir(), "a"+f.Extension)
	w, err := f.Create(path, codec.CreateOptions{ChunkSize: 500})
	require.NoError(t, err)
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if err := w.Sync(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 2000 {
		m := &codec.Message{Channel: channels[i%len(channels)], LogTime: int64(i + 1), Data: fmt.Append(nil, i)}
		require.NoError(t, w.Write(m))
	}
	require.NoError(t, w.Sync())
	close(done)
	group.Wait()
	require.NoError(t, w.Close())
	all := Read(t, Open(t, path, f), codec.Query{})
	require.Len(t, all, 2000)
	for i, m := range all {
		require.EqualValues(t, i+1, m.LogTime)
		require.Equal(t, fmt.Sprint(i), string(m.Data))
	}
}

// Sizes are sizes of payloads for benchmarks, with the number that makes a file of about 128 MB.
var Sizes = []struct{ Size, N int }{{100, 1_000_000}, {1000, 128_000}, {1_000_000, 128}}

// Bench describes the files that a format's benchmarks write and read.
type Bench struct {
	Format       codec.Format
	Channel      *codec.Channel
	Compressions []string
}

// write writes n messages. Their payload is neither constant nor incompressible.
func (f Bench) write(b *testing.B, path, compression string, size, n int) {
	os.Remove(path) // some systems sync a file when it is replaced
	w, err := f.Format.Create(path, codec.CreateOptions{Compression: compression})
	require.NoError(b, err)
	m := codec.Message{Channel: f.Channel, Data: make([]byte, size)}
	for i := range m.Data {
		m.Data[i] = byte(i*i>>8) & byte(i>>3)
	}
	for i := range n {
		m.LogTime = int64(i+1) * 1000
		if err := w.Write(&m); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, w.Close())
}

// run runs bench with each compression and size.
func (f Bench) run(b *testing.B, bench func(b *testing.B, path, compression string, size, n int)) {
	for _, compression := range f.Compressions {
		for _, s := range Sizes {
			b.Run(fmt.Sprintf("%s/%d", compression, s.Size), func(b *testing.B) {
				b.SetBytes(int64(s.Size * s.N))
				b.ReportAllocs()
				bench(b, filepath.Join(b.TempDir(), "a"+f.Format.Extension), compression, s.Size, s.N)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.N), "ns/msg")
			})
		}
	}
}

// Write measures writing.
func (f Bench) Write(b *testing.B) {
	f.run(b, func(b *testing.B, path, compression string, size, n int) {
		for b.Loop() {
			f.write(b, path, compression, size, n)
		}
	})
}

// Read measures opening and reading.
func (f Bench) Read(b *testing.B) {
	f.run(b, func(b *testing.B, path, compression string, size, n int) {
		f.write(b, path, compression, size, n)
		sum := byte(0)
		for b.Loop() {
			r, err := f.Format.Open(path)
			require.NoError(b, err)
			it, err := r.Read(codec.Query{})
			require.NoError(b, err)
			count := 0
			for {
				var m *codec.Message
				m, err = it.Next()
				if err != nil {
					break
				}
				sum += m.Data[len(m.Data)-1]
				count++
			}
			require.ErrorIs(b, err, io.EOF)
			require.Equal(b, n, count)
			require.NoError(b, errors.Join(it.Close(), r.Close()))
		}
	})
}

// Copy measures plain reading and writing of such a file, for comparison. It avoids copies within the kernel.
func (f Bench) Copy(b *testing.B) {
	from := filepath.Join(b.TempDir(), "a"+f.Format.Extension)
	f.write(b, from, "none", 1000, 128_000)
	b.SetBytes(128_000_000)
	buf := make([]byte, 1<<20)
	for b.Loop() {
		in, err := os.Open(from)
		require.NoError(b, err)
		out, err := os.Create(from + ".copy")
		require.NoError(b, err)
		_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, buf)
		require.NoError(b, errors.Join(err, in.Close(), out.Close()))
	}
}

// Topics makes ROS 2 messages, with one channel for each topic.
type Topics map[string]*codec.Channel

// Message returns a message that was received at the given time.
func (c Topics) Message(t testing.TB, topic string, at int64, m msgs.Message) codec.Message {
	if c[topic] == nil {
		c[topic] = &codec.Channel{Topic: topic, Type: m.TypeName(), Encoding: codec.EncodingCDR}
	}
	data, err := cdr.Marshal(m)
	require.NoError(t, err)
	return codec.Message{Channel: c[topic], LogTime: at, Data: data}
}

// Export writes messages in a format that cannot be read. It returns the losses and the texts of errors about refused
// messages.
func Export(t testing.TB, f codec.Format, path string, messages ...codec.Message) (lost []codec.Loss,
	refused []string) {
	w, err := codec.Formats{f}.Create(path, codec.CreateOptions{Format: f.Name})
	require.NoError(t, err)
	for i := range messages {
		require.NoError(t, f.Accepts(messages[i].Channel))
		require.NoError(t, w.Declare(messages[i].Channel))
	}
	for i := range messages {
		if err := w.Write(&messages[i]); err != nil {
			var missing *codec.MissingError
			require.False(t, errors.As(err, &missing), "%v", err)
			refused = append(refused, err.Error())
		}
	}
	require.NoError(t, w.Sync())
	require.NoError(t, w.Close())
	return w.Losses(), refused
}

// Tree returns the contents of the files in a folder, by their paths in the folder.
func Tree(t testing.TB, folder string) map[string]string {
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, relErr := filepath.Rel(folder, path)
		files[name] = string(content)
		return errors.Join(err, relErr)
	}))
	return files
}
