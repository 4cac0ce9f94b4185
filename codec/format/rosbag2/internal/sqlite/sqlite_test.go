package sqlite

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/rosbag2/internal/sqlitetest"
)

func TestVarint(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 16383, 16384, 1 << 28, 1<<49 - 1, 1 << 49, 1<<56 - 1, 1 << 56,
		math.MaxInt64, math.MaxUint64} {
		b := appendVarint(nil, v)
		got, n := varint(append(b, 0xff))
		require.Equal(t, v, got)
		require.Len(t, b, n)
		for i := range b {
			_, n = varint(b[:i])
			require.Zero(t, n)
		}
	}
}

// content returns the payload of row i.
func content(i, size int) []byte {
	b := make([]byte, size)
	for j := range b {
		b[j] = byte(i + j)
	}
	return b
}

// writeDatabase writes a database with a table of numbers and payloads.
func writeDatabase(t testing.TB, path string, n int, size func(int) int, value func(int) int64) {
	p := &Pages{First: 2}
	var table Table
	for i := range n {
		payload := content(i, size(i))
		head := Record(nil, value(i))
		types := append([]byte{0, typeNull, typeInt64}, appendVarint(nil, uint64(12+2*len(payload)))...)
		types[0] = byte(len(types))
		table.Add(p, int64(i+1), append(types, head[3:]...), payload)
	}
	spill := func() error { return nil }
	root, err := table.Finish(p, spill)
	require.NoError(t, err)
	next := -1
	index, err := Index(p, int64(n), func() Entry { next++; return Entry{value(next), int64(next + 1)} }, spill)
	require.NoError(t, err)
	require.Equal(t, n-1, next)
	header := Header(p.Next()-1, []Object{
		{"table", "m", "m", root, "CREATE TABLE m(id INTEGER PRIMARY KEY,v INTEGER NOT NULL,data BLOB NOT NULL)"},
		{"index", "i", "m", index, "CREATE INDEX i ON m (v ASC)"},
	})
	require.NoError(t, os.WriteFile(path, append(header, p.Bytes...), 0o666))
}

// SQLite finds no fault in our databases, whatever the number and size of rows.
func TestDatabase(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100, 185, 186, 187, 371, 372, 373, 5000, 70_000} {
		for _, size := range []int{0, 10, 480, 3000, 4035, 4045, 4055, 4060, 5000, 9000, 100_000} {
			if n*size > 5<<20 || testing.Short() && (n > 5000 || n*size > 1<<20) {
				continue
			}
			t.Run(fmt.Sprint(n, " rows of ", size), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a.db3")
				writeDatabase(t, path, n, func(i int) int { return size + i%37 },
					func(i int) int64 { return int64(i/3) - 40 })
				sqlitetest.Check(t, path)
				lines := sqlitetest.Run(t, path, "SELECT id, v, hex(data) FROM m ORDER BY v, id")
				require.Len(t, lines, n)
				for i, line := range lines {
					want := fmt.Sprintf("%d|%d|%X", i+1, i/3-40, content(i, size+i%37))
					if line != want {
						require.Equal(t, want, line)
					}
				}
			})
		}
	}
}

// Ranges of an index and rows of a table are found, even if a range is cut.
func TestSearch(t *testing.T) {
	const n = 30_000
	path := filepath.Join(t.TempDir(), "a.db3")
	value := func(i int) int64 { return int64(i/3) - 40 }
	writeDatabase(t, path, n, func(i int) int { return i % 50 * 20 }, value)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	d, err := NewDatabase(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	objects, err := d.Objects()
	require.NoError(t, err)
	table, index := int64(objects[0].Root), int64(objects[1].Root)
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 100
	if testing.Short() {
		rounds = 25
	}
	for range rounds {
		asked := Range{From: FirstEntry, To: LastEntry, MaxPages: random.IntN(4), Back: random.IntN(2) == 0}
		if random.IntN(3) > 0 {
			asked.From = Entry{value(random.IntN(n)), random.Int64N(n)}
		}
		if random.IntN(3) > 0 {
			asked.To = Entry{value(random.IntN(n)), random.Int64N(n)}
		}
		got, r, err := d.Entries(index, asked)
		require.NoError(t, err)
		var want []Entry
		var ids []int64
		for i := range n {
			if e := (Entry{value(i), int64(i + 1)}); e.Compare(r.From) >= 0 && e.Compare(r.To) < 0 {
				want, ids = append(want, e), append(ids, e.ID)
			}
		}
		require.True(t, slices.Equal(want, got), "%d of %d entries in %+v of %+v", len(got), len(want), r, asked)
		if asked.MaxPages == 0 || asked.Back {
			require.Equal(t, asked.To, r.To)
		}
		if asked.MaxPages == 0 || !asked.Back {
			require.Equal(t, asked.From, r.From)
		}
		require.True(t, r == asked || r.From.Compare(r.To) < 0, "%+v of %+v", r, asked) // the rest is smaller
		if len(ids) > 1000 {
			ids = ids[:1000]
		}
		ids = slices.DeleteFunc(ids, func(int64) bool { return random.IntN(2) == 0 })
		found := map[int64]bool{}
		require.NoError(t, d.Rows(table, ids, func(r *Row) { found[r.ID] = true }))
		for _, id := range ids {
			require.True(t, found[id])
		}
		require.LessOrEqual(t, len(found), 40*len(ids))
	}
	clear(content[(index-1)*PageSize:][:8])
	_, _, err = d.Entries(index, Range{From: FirstEntry, To: LastEntry})
	require.ErrorIs(t, err, errTree)
}

func TestLockByte(t *testing.T) {
	p := Pages{First: 262_143}
	for _, want := range []uint32{262_143, 262_144, 262_146} {
		number, off := p.add()
		require.Equal(t, want, number)
		require.Equal(t, int(want-p.First)*PageSize, off)
	}
}
