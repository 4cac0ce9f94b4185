package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

// writeChunks writes a file with the given times in each chunk. Contents have size bytes and begin with the number of
// the message in the file.
func writeChunks(t testing.TB, path string, size int, chunks ...[]int64) {
	file, err := os.Create(path)
	require.NoError(t, err)
	out := bufio.NewWriterSize(file, 1<<20)
	out.Write(oddFile())
	number := uint64(0)
	content := make([]byte, size)
	for _, times := range chunks {
		w := encoder{}
		c := &writerChannel{prefix: append(appendBytes(nil, 1, "/a"), timeTag)}
		var span output.Span
		bodySize := 0
		for _, time := range times {
			w.chunk.body.Buf = w.chunk.body.Buf[:0]
			w.appendHead(c, &codec.Message{LogTime: time, Data: content})
			bodySize += len(w.chunk.body.Buf) + size
			span.Add(time)
		}
		out.Write(sectionOf(chunkHeaderSection, newChunkHeader(span, uint64(len(times)*size))))
		out.Write(section{chunkBodySection, int64(bodySize)}.append(nil))
		for _, time := range times {
			w.chunk.body.Buf = w.chunk.body.Buf[:0]
			w.appendHead(c, &codec.Message{LogTime: time, Data: content})
			out.Write(w.chunk.body.Buf)
			binary.LittleEndian.PutUint64(content, number)
			out.Write(content)
			number++
		}
	}
	require.NoError(t, out.Flush())
	require.NoError(t, file.Close())
}

// requireSorted reads a file of writeChunks and checks that messages come in order of time, and for equal times in
// the order of the file. It returns the peak of the memory in use.
func requireSorted(t testing.TB, path string, q codec.Query, chunks ...[]int64) (memory uint64) {
	var times []int64
	for _, c := range chunks {
		times = append(times, c...)
	}
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	base := stats.HeapInuse
	r := openAt(t, path)
	it, err := r.Read(q)
	require.NoError(t, err)
	seen := make([]bool, len(times))
	base += uint64(len(seen))
	count, lastTime, lastNumber := 0, int64(0), uint64(0)
	for {
		m, err := it.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		number := binary.LittleEndian.Uint64(m.Data)
		if seen[number] || m.LogTime != times[number] || m.LogTime < lastTime || m.LogTime == lastTime && count > 0 &&
			number < lastNumber {
			t.Fatalf("message %d of time %d after message %d of time %d", number, m.LogTime, lastNumber, lastTime)
		}
		seen[number] = true
		lastTime, lastNumber = m.LogTime, number
		count++
		if count%10_000 == 0 {
			runtime.ReadMemStats(&stats)
			memory = max(memory, stats.HeapInuse-min(base, stats.HeapInuse))
		}
	}
	require.Equal(t, len(times), count)
	require.NoError(t, it.Close())
	return memory
}

func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shuffled := func(from, n int64) []int64 {
		var times []int64
		for _, i := range random.Perm(int(n)) {
			times = append(times, from+int64(i))
		}
		return times
	}
	sorted := func(from, n, step int64) []int64 {
		var times []int64
		for i := range n {
			times = append(times, from+i*step)
		}
		return times
	}
	for name, chunks := range map[string][][]int64{
		"in order":              {sorted(1, 100, 1), sorted(101, 100, 1), sorted(201, 100, 1)},
		"chunks swapped":        {sorted(101, 100, 1), sorted(1, 100, 1), sorted(201, 100, 1)},
		"interleaved":           {sorted(1, 1000, 2), sorted(2, 1000, 2), sorted(3, 300, 5)},
		"shuffled":              {shuffled(1, 100), shuffled(101, 100), shuffled(50, 100)},
		"all at once":           {sorted(7, 100, 0), sorted(7, 100, 0), sorted(7, 100, 0)},
		"touching":              {sorted(100, 100, 1), sorted(0, 101, 1), sorted(199, 10, 1)},
		"chain":                 {sorted(1, 100, 3), sorted(200, 100, 3), sorted(400, 100, 3), sorted(600, 100, 3)},
		"one long, many short":  {sorted(1, 1000, 10), sorted(500, 10, 1), sorted(9000, 10, 1), shuffled(5000, 30)},
		"many pieces":           {shuffled(1, 3*maxPieceCount/2), sorted(maxPieceCount, 5*maxPieceCount/4, 1)},
		"pieces in order":       {sorted(1, 3*maxPieceCount/2, 1), sorted(2*maxPieceCount, 5*maxPieceCount/4, 1)},
		"more than fit at once": {shuffled(1, maxHeads+1), sorted(1000, maxHeads/4, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "many pieces" || name == "more than fit at once") {
				t.Skip("it takes long under the race detector")
			}
			path := filepath.Join(t.TempDir(), "a.record")
			writeChunks(t, path, 8, chunks...)
			requireSorted(t, path, codec.Query{}, chunks...)
			requireSorted(t, path, codec.Query{Damaged: func(err error) { t.Error(err) }}, chunks...)
		})
	}
}

// Memory does not grow with the size of chunks.
func TestMemory(t *testing.T) {
	const n, size = 80_000, 1 << 10
	random := rand.New(rand.NewPCG(3, 4))
	times := make([]int64, n)
	for i := range times {
		times[i] = int64(i)
	}
	var shuffled []int64
	for _, i := range random.Perm(n) {
		shuffled = append(shuffled, int64(i))
	}
	nearly := make([]int64, n)
	for i := range nearly {
		nearly[i] = int64(i) + random.Int64N(1000)
	}
	even, odd := make([]int64, n/2), make([]int64, n/2)
	for i := range even {
		even[i], odd[i] = int64(2*i), int64(2*i+1)
	}
	for name, chunks := range map[string][][]int64{
		"in order":        {times},
		"nearly in order": {nearly},
		"shuffled":        {shuffled},
		"overlapping":     {even, odd},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "overlapping" {
				t.Skip("it takes long under the race detector")
			}
			path := filepath.Join(t.TempDir(), "a.record")
			writeChunks(t, path, size, chunks...)
			memory := requireSorted(t, path, codec.Query{}, chunks...)
			require.NotZero(t, memory)
			require.Less(t, memory, uint64(64<<20))
			memory = requireSorted(t, path, codec.Query{Damaged: func(err error) { t.Error(err) }}, chunks...)
			require.Less(t, memory, uint64(64<<20))
		})
	}
}

// Writing and reading messages of various sizes takes at most 64 MiB.
func TestMemoryOfWriting(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow under the race detector and has one goroutine")
	}
	path := filepath.Join(t.TempDir(), "a.record")
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	base := stats.HeapInuse
	data := bytes.Repeat([]byte("x"), 20<<20)
	base += uint64(len(data))
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf}
	sizes := []int{0, 100, 1 << 20, 20 << 20, 5 << 20, 11 << 20}
	for i := range 60 {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: int64(i) * 1e7,
			Data: data[:sizes[i%len(sizes)]]}))
		runtime.ReadMemStats(&stats)
		require.Less(t, stats.HeapInuse-min(base, stats.HeapInuse), uint64(64<<20))
	}
	require.NoError(t, w.Close())
	all := 0
	r := openAt(t, path)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	for ; ; all++ {
		m, err := it.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Len(t, m.Data, sizes[all%len(sizes)])
		runtime.ReadMemStats(&stats)
		require.Less(t, stats.HeapInuse-min(base, stats.HeapInuse), uint64(64<<20))
	}
	require.Equal(t, 60, all)
}

// A chunk whose last message has the time at which reading starts is read.
func TestStartIsInclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record")
	writeChunks(t, path, 100, []int64{10, 20}, []int64{30, 40}, []int64{50, 60})
	r := openAt(t, path)
	for start, want := range map[int64]int{10: 6, 20: 5, 21: 4, 30: 4, 40: 3, 60: 1, 61: 0} {
		all, err := readAll(t, r, codec.Query{Start: start})
		require.NoError(t, err)
		require.Len(t, all, want, start)
	}
}
