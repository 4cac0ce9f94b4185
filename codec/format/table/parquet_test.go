package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
)

// kinds lists types of single values in definitions, with functions that return random values.
var kinds = []struct {
	name  string
	value func(r *rand.Rand) any
}{
	{"bool", func(r *rand.Rand) any { return r.IntN(2) == 0 }},
	{"byte", func(r *rand.Rand) any { return uint8(r.Uint32()) }},
	{"int8", func(r *rand.Rand) any { return int8(r.Uint32()) }},
	{"int16", func(r *rand.Rand) any { return int16(r.Uint32()) }},
	{"uint16", func(r *rand.Rand) any { return uint16(r.Uint32()) }},
	{"int32", func(r *rand.Rand) any { return int32(r.Uint32()) }},
	{"uint32", func(r *rand.Rand) any { return r.Uint32() >> 1 }}, // the library reads unsigned numbers as signed ones
	{"int64", func(r *rand.Rand) any { return int64(r.Uint64()) }},
	{"uint64", func(r *rand.Rand) any { return r.Uint64() >> 1 }},
	{"float32", func(r *rand.Rand) any { return float32(number(r)) }},
	{"float64", func(r *rand.Rand) any { return number(r) }},
	{"string", func(r *rand.Rand) any { return strings.Repeat("ä", r.IntN(4)) }},
	{"wstring", func(r *rand.Rand) any { return strings.Repeat("w", r.IntN(20)/10) }},
}

func number(r *rand.Rand) float64 {
	switch r.IntN(500) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(-1)
	}
	return r.NormFloat64()
}

// random makes definitions and values.
type random struct {
	*rand.Rand
	messages []string // definitions of M0, M1 and so on
	values   []func() *cdr.Struct
}

// message defines a message of some fields and returns its name.
func (r *random) message(depth int) int {
	var text strings.Builder
	var fields []func() cdr.Field
	for i := range 1 + r.IntN(6) {
		name := fmt.Sprint("f", i)
		k := kinds[r.IntN(len(kinds))]
		typeName, value := k.name, func() any { return k.value(r.Rand) }
		inner := -1
		if depth > 0 && r.IntN(3) == 0 {
			inner = r.message(depth - 1)
			typeName, value = fmt.Sprint("p/M", inner), func() any { return r.values[inner]() }
		}
		shape := []string{"", "", "[3]", "[]", "[<=2]"}[r.IntN(5)]
		if (k.name == "byte" || k.name == "int8") && shape == "[]" {
			shape = "" // such arrays are omitted
		}
		if shape != "" {
			value = list(r.Rand, shape, k.value, inner, r)
		}
		fmt.Fprintf(&text, "%s%s %s\n", typeName, shape, name)
		fields = append(fields, func() cdr.Field { return cdr.Field{Name: name, Value: value()} })
	}
	r.messages = append(r.messages, text.String())
	r.values = append(r.values, func() *cdr.Struct {
		s := &cdr.Struct{}
		for _, f := range fields {
			s.Fields = append(s.Fields, f())
		}
		return s
	})
	return len(r.values) - 1
}

// list returns a function that makes lists of values, or of messages if inner is not negative.
func list(r *rand.Rand, shape string, value func(*rand.Rand) any, inner int, all *random) func() any {
	count := func() int {
		switch shape {
		case "[3]":
			return 3
		case "[]":
			return max(0, r.IntN(15)-5)
		}
		return r.IntN(3)
	}
	if inner >= 0 {
		return func() any {
			list := make([]*cdr.Struct, count())
			for i := range list {
				list[i] = all.values[inner]()
			}
			return list
		}
	}
	switch value(r).(type) {
	case bool:
		return listOf[bool](r, count, value)
	case uint8:
		return listOf[uint8](r, count, value)
	case int8:
		return listOf[int8](r, count, value)
	case int16:
		return listOf[int16](r, count, value)
	case uint16:
		return listOf[uint16](r, count, value)
	case int32:
		return listOf[int32](r, count, value)
	case uint32:
		return listOf[uint32](r, count, value)
	case int64:
		return listOf[int64](r, count, value)
	case uint64:
		return listOf[uint64](r, count, value)
	case float32:
		return listOf[float32](r, count, value)
	case float64:
		return listOf[float64](r, count, value)
	}
	return listOf[string](r, count, value)
}

func listOf[T any](r *rand.Rand, count func() int, value func(*rand.Rand) any) func() any {
	return func() any {
		list := make([]T, count())
		for i := range list {
			list[i] = value(r).(T)
		}
		return list
	}
}

// row adds the columns of a message to row, or its fields if the message is in a list.
func row(row map[string]any, prefix string, s *cdr.Struct, listed bool) map[string]any {
	for _, f := range s.Fields {
		switch v := f.Value.(type) {
		case *cdr.Struct:
			if listed {
				row[f.Name] = rowOf(v)
			} else {
				_ = rowInto(row, prefix+f.Name+".", v)
			}
		case []*cdr.Struct:
			list := []any{}
			for _, one := range v {
				list = append(list, rowOf(one))
			}
			row[prefix+f.Name] = list
		default:
			row[prefix+f.Name] = v
		}
	}
	return row
}

func rowOf(s *cdr.Struct) map[string]any { return row(map[string]any{}, "", s, true) }

func rowInto(all map[string]any, prefix string, s *cdr.Struct) map[string]any {
	return row(all, prefix, s, false)
}

// TestParquet writes random messages of random types, in pages and row groups of random sizes. It reads rows and
// statistics with the library.
func TestParquet(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds := uint64(15)
	if testing.Short() {
		rounds = 5 // each run has another seed
	}
	for round := range rounds {
		r := &random{Rand: rand.New(rand.NewPCG(seed, round))}
		root := r.message(3)
		definition := r.messages[root]
		for i, text := range r.messages[:root] {
			definition += fmt.Sprintf("================\nMSG: p/M%d\n%s", i, text)
		}
		c := channel("/t", fmt.Sprint("p/msg/M", root), definition)
		path := filepath.Join(t.TempDir(), "out.parquet")
		w, err := Parquet.Create(path, codec.CreateOptions{Compression: []string{"", "none"}[r.IntN(2)]})
		require.NoError(t, err)
		require.NoError(t, w.Declare(c))
		p := w.(*writer).tables[0].rows.(*parquetTable)
		p.pageBytes, p.groupBytes = 1+r.IntN(4000), 1+r.IntN(20_000)
		var want []string
		for i := range 1 + r.IntN(300) {
			s := r.values[root]()
			require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: int64(i), Data: encode(t, c, s.Fields...)}))
			want = append(want, fmt.Sprint(rowInto(map[string]any{"log_time": i, "publish_time": nil}, "", s)))
		}
		require.NoError(t, w.Close())

		file, err := os.Open(path)
		require.NoError(t, err)
		rows, err := parquet.Read[any](file, sizeOf(t, path))
		require.NoError(t, err, definition)
		require.Len(t, rows, len(want))
		for i := range rows {
			if got := fmt.Sprint(rows[i]); want[i] != got {
				require.Equal(t, want[i], got, definition)
			}
		}
		opened, err := parquet.OpenFile(file, sizeOf(t, path))
		require.NoError(t, err)
		for g, group := range opened.RowGroups() {
			for i, chunk := range group.ColumnChunks() {
				requireStatistics(t, opened.Metadata().RowGroups[g].Columns[i].MetaData.Statistics.MinValue,
					opened.Metadata().RowGroups[g].Columns[i].MetaData.Statistics.MaxValue, chunk)
			}
		}
		require.NoError(t, file.Close())
	}
}

func isNaN(v parquet.Value) bool {
	return v.Kind() == parquet.Double && math.IsNaN(v.Double()) ||
		v.Kind() == parquet.Float && math.IsNaN(float64(v.Float()))
}

// requireStatistics compares the bounds of a column with its values. Texts and columns with NaN have no bounds.
func requireStatistics(t *testing.T, least, greatest []byte, chunk parquet.ColumnChunk) {
	var lo, hi parquet.Value
	pages := chunk.Pages()
	defer pages.Close()
	ordered := chunk.Type().Kind() != parquet.ByteArray
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		all := make([]parquet.Value, page.NumValues())
		n, err := page.Values().ReadValues(all)
		require.True(t, err == nil || errors.Is(err, io.EOF))
		for _, v := range all[:n] {
			if v.IsNull() {
				continue
			}
			ordered = ordered && !isNaN(v)
			if lo.IsNull() || chunk.Type().Compare(v, lo) < 0 {
				lo = v
			}
			if hi.IsNull() || chunk.Type().Compare(v, hi) > 0 {
				hi = v
			}
		}
	}
	if !ordered || lo.IsNull() {
		require.Nil(t, least)
		require.Nil(t, greatest)
		return
	}
	require.Equal(t, lo.Bytes(), least)
	require.Equal(t, hi.Bytes(), greatest)
}
