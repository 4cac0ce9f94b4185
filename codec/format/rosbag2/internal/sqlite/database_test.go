package sqlite

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScan(t *testing.T) {
	for _, size := range []int{10, 4055, 4060, 5000, 100_000} {
		path := filepath.Join(t.TempDir(), "a.db3")
		writeDatabase(t, path, 100, func(i int) int { return size + i }, func(i int) int64 { return -int64(i) })
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		d, err := NewDatabase(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		require.NoError(t, d.Cut())
		next, root := 0, int64(0)
		require.NoError(t, d.Scan(func(r *Row) {
			if len(r.Columns) != 3 { // a row of sqlite_schema
				if root == 0 {
					root = r.Columns[3].Int
				}
				return
			}
			require.Equal(t, int64(next+1), r.ID)
			require.Equal(t, Null, r.Columns[0].Kind)
			require.Equal(t, -int64(next), r.Columns[1].Int)
			record, err := d.Record(r.Place, nil)
			require.NoError(t, err)
			value := r.Columns[2].Value(record)
			require.Len(t, value, size+next)
			for j, b := range value {
				if b != byte(next+j) {
					require.Equal(t, byte(next+j), b)
				}
			}
			next++
		}))
		require.Equal(t, 100, next)
		rows := int64(0)
		require.NoError(t, d.Table(root, func(r *Row) {
			require.Equal(t, []int64{rows + 1, -rows}, []int64{r.ID, r.Columns[1].Int})
			rows++
		}))
		require.Equal(t, int64(100), rows)
		require.ErrorIs(t, d.Table(root+1e6, nil), io.EOF)

		cut, err := NewDatabase(bytes.NewReader(data), int64(len(data)-1))
		require.NoError(t, err)
		require.ErrorContains(t, cut.Cut(), "cut off: ")
	}
}

func FuzzScan(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a.db3")
	writeDatabase(f, path, 9, func(i int) int { return 1000 * i }, func(i int) int64 { return int64(i) })
	data, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(data, 0, []byte{})
	f.Add(data, 16, []byte{2, 0})
	f.Add(data, 4096, []byte{13, 0, 0, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte, at int, patch []byte) {
		if at >= 0 && at < len(data) {
			data = bytes.Clone(data)
			copy(data[at:], patch)
		}
		d, err := NewDatabase(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		_ = d.Cut()
		_ = d.Table(2, func(*Row) {})
		_ = d.Scan(func(r *Row) {
			record, err := d.Record(r.Place, nil)
			if err != nil {
				return
			}
			require.LessOrEqual(t, len(record), len(data))
			for _, c := range r.Columns {
				require.Len(t, c.Value(record), int(c.size))
			}
			for i := range r.Columns {
				_ = d.Text(&r.Columns[i], record)
			}
		})
	})
}
