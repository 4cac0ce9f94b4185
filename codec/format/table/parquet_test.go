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
	// Unsigned values have 31 or 63 bits, because the library reads them as signed ones.
	{"uint32", func(r *rand.Rand) any { return r.Uint32() >> 1 }},
	{"int64", func(r *rand.Rand) any { return int64(r.Uint64()) }},
	{"uint64", func(r *rand.Rand) any { return r.Uint64() >> 1 }},
	{"float32", func(r *rand.Rand) any { return float32(randomNumber(r)) }},
	{"float64", func(r *rand.Rand) any { return randomNumber(r) }},
	{"string", func(r *rand.Rand) any { return strings.Repeat("ä", r.IntN(4)) }},
	{"wstring", func(r *rand.Rand) any { return strings.Repeat("w", r.IntN(20)/10) }},
}

// randomNumber returns a number that is rarely NaN or infinite.
func randomNumber(r *rand.Rand) float64 {
	switch r.IntN(500) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(-1)
	}
	return r.NormFloat64()
}

// generator makes random definitions and values of the types M0, M1 and so on.
type generator struct {
	*rand.Rand
	definitions []string             // definition of each type
	values      []func() *cdr.Struct // for each type, a function that returns a random value
}

// addType defines a type with some fields and returns its number. Fields have types of at most depth levels.
func (r *generator) addType(depth int) int {
	var text strings.Builder
	var fields []func() cdr.Field
	for i := range 1 + r.IntN(6) {
		name := fmt.Sprint("f", i)
		k := kinds[r.IntN(len(kinds))]
		typeName, value := k.name, func() any { return k.value(r.Rand) }
		inner := -1
		if depth > 0 && r.IntN(3) == 0 {
			inner = r.addType(depth - 1)
			typeName, value = fmt.Sprint("p/M", inner), func() any { return r.values[inner]() }
		}
		shape := []string{"", "", "[3]", "[]", "[<=2]"}[r.IntN(5)]
		if (k.name == "byte" || k.name == "int8") && shape == "[]" {
			shape = "" // byte arrays are omitted
		}
		if shape != "" {
			value = newList(r.Rand, shape, k.value, inner, r)
		}
		fmt.Fprintf(&text, "%s%s %s\n", typeName, shape, name)
		fields = append(fields, func() cdr.Field { return cdr.Field{Name: name, Value: value()} })
	}
	r.definitions = append(r.definitions, text.String())
	r.values = append(r.values, func() *cdr.Struct {
		s := &cdr.Struct{}
		for _, f := range fields {
			s.Fields = append(s.Fields, f())
		}
		return s
	})
	return len(r.values) - 1
}

// newList returns a function that makes lists of values, or of messages if inner is not negative.
func newList(r *rand.Rand, shape string, value func(*rand.Rand) any, inner int, g *generator) func() any {
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
				list[i] = g.values[inner]()
			}
			return list
		}
	}
	switch value(r).(type) {
	case bool:
		return newListOf[bool](r, count, value)
	case uint8:
		return newListOf[uint8](r, count, value)
	case int8:
		return newListOf[int8](r, count, value)
	case int16:
		return newListOf[int16](r, count, value)
	case uint16:
		return newListOf[uint16](r, count, value)
	case int32:
		return newListOf[int32](r, count, value)
	case uint32:
		return newListOf[uint32](r, count, value)
	case int64:
		return newListOf[int64](r, count, value)
	case uint64:
		return newListOf[uint64](r, count, value)
	case float32:
		return newListOf[float32](r, count, value)
	case float64:
		return newListOf[float64](r, count, value)
	}
	return newListOf[string](r, count, value)
}

// newListOf returns a function that makes lists of count values.
func newListOf[T any](r *rand.Rand, count func() int, value func(*rand.Rand) any) func() any {
	return func() any {
		list := make([]T, count())
		for i := range list {
			list[i] = value(r).(T)
		}
		return list
	}
}

// addColumns adds the columns of a message to row, or the message's fields if the message is in a list.
func addColumns(row map[string]any, prefix string, s *cdr.Struct, inList bool) map[string]any {
	for _, f := range s.Fields {
		switch v := f.Value.(type) {
		case *cdr.Struct:
			if inList {
				row[f.Name] = addColumns(map[string]any{}, "", v, true)
			} else {
				addColumns(row, prefix+f.Name+".", v, false)
			}
		case []*cdr.Struct:
			list := []any{}
			for _, element := range v {
				list = append(list, addColumns(map[string]any{}, "", element, true))
			}
			row[prefix+f.Name] = list
		default:
			row[prefix+f.Name] = v
		}
	}
	return row
}

// TestParquet writes random messages of random types, in pages and row groups of random sizes. It compares rows and
// statistics that the library reads.
func TestParquet(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds := uint64(15)
	if testing.Short() {
		rounds = 5 // enough, because each run has another seed
	}
	for round := range rounds {
		r := &generator{Rand: rand.New(rand.NewPCG(seed, round))}
		root := r.addType(3)
		definition := r.definitions[root]
		for i, text := range r.definitions[:root] {
			definition += fmt.Sprintf("================\nMSG: p/M%d\n%s", i, text)
		}
		c := newChannel("/t", fmt.Sprint("p/msg/M", root), definition)
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
			row := map[string]any{"log_time": i, "publish_time": nil}
			want = append(want, fmt.Sprint(addColumns(row, "", s, false)))
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
func requireStatistics(t *testing.T, gotMin, gotMax []byte, chunk parquet.ColumnChunk) {
	var wantMin, wantMax parquet.Value
	pages := chunk.Pages()
	defer pages.Close()
	bounded := chunk.Type().Kind() != parquet.ByteArray
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
			bounded = bounded && !isNaN(v)
			if wantMin.IsNull() || chunk.Type().Compare(v, wantMin) < 0 {
				wantMin = v
			}
			if wantMax.IsNull() || chunk.Type().Compare(v, wantMax) > 0 {
				wantMax = v
			}
		}
	}
	if !bounded || wantMin.IsNull() {
		require.Nil(t, gotMin)
		require.Nil(t, gotMax)
		return
	}
	require.Equal(t, wantMin.Bytes(), gotMin)
	require.Equal(t, wantMax.Bytes(), gotMax)
}
