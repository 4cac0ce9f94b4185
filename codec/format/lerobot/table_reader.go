package lerobot

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
)

// tableReader reads a Parquet file.
type tableReader struct {
	path    string
	file    store.File
	in      *parquet.File
	checked *sync.Map // keys are pages that were checked, values nil; a nil map: always check
}

// openTable opens a Parquet file and checks its footer.
func openTable(files *store.Files, path string) (t *tableReader, err error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	stat, err := file.Stat()
	if err != nil {
		return nil, err
	}
	t = &tableReader{path: path, file: file}
	if err := codec.CheckContents(files, path); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	err = guard(path, func() error {
		if err := checkFooter(file, stat.Size()); err != nil {
			return err
		}
		// A page index could name pages that checkPages does not check.
		t.in, err = parquet.OpenFile(file, stat.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		return err
	})
	return t, err
}

func (t *tableReader) close() error { return t.file.Close() }

// guard calls read and turns a panic into an error: the Parquet library panics on damaged files.
func guard(path string, read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read %s: the table is damaged: %v", path, p)
		}
	}()
	if err := read(); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// leaf returns the index of the first leaf of a column, or -1.
func (t *tableReader) leaf(name string) int {
	for i, path := range t.in.Schema().Columns() {
		if path[0] == name {
			return i
		}
	}
	return -1
}

// scan calls do with each value of a leaf. begins reports whether the value is the first of its row.
func (t *tableReader) scan(leaf int, do func(v parquet.Value, begins bool) error) error {
	return guard(t.path, func() error {
		buffer := make([]parquet.Value, 256)
		size := 0
		bounded := func(v parquet.Value, begins bool) error {
			size += 8
			if v.Kind() == parquet.ByteArray {
				size += len(v.ByteArray())
			}
			if size > maxColumn {
				return fmt.Errorf("column %s takes more than %d MiB of memory: divide the table",
					strings.Join(t.in.Schema().Columns()[leaf], "."), maxColumn>>20)
			}
			return do(v, begins)
		}
		for g, rows := range t.in.RowGroups() {
			if err := t.checkPages(g, leaf); err != nil {
				return err
			}
			values := parquet.NewColumnChunkValueReader(rows.ColumnChunks()[leaf])
			if err := scanValues(values, buffer, bounded); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkPages returns an error if the pages of a leaf in a row group take too much memory.
func (t *tableReader) checkPages(group, leaf int) error {
	type pages struct { // the pages of a leaf in a row group
		path        string
		group, leaf int
	}
	key := pages{t.path, group, leaf}
	if t.checked != nil {
		if _, known := t.checked.Load(key); known {
			return nil
		}
	}
	column := &t.in.Metadata().RowGroups[group].Columns[leaf].MetaData
	if err := checkPages(t.file, column); err != nil {
		return fmt.Errorf("column %s: %w", strings.Join(column.PathInSchema, "."), err)
	}
	if t.checked != nil {
		t.checked.Store(key, nil)
	}
	return nil
}

// scanValues calls do with each value of a leaf in a row group. buffer is overwritten.
func scanValues(values parquet.ColumnChunkValueReader, buffer []parquet.Value,
	do func(v parquet.Value, begins bool) error) error {
	defer values.Close()
	for {
		n, err := values.ReadValues(buffer)
		for _, v := range buffer[:n] {
			if err := do(v, v.RepetitionLevel() == 0); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// numbers returns the rows of a column. Each row has width numbers; null is NaN.
func (t *tableReader) numbers(name string, width int) ([]float64, error) {
	leaf := t.leaf(name)
	if leaf < 0 {
		return nil, fmt.Errorf("read %s: no column %s", t.path, name)
	}
	var all []float64
	rows := 0
	err := t.scan(leaf, func(v parquet.Value, begins bool) error {
		if complete := len(all) == rows*width; begins != complete {
			return fmt.Errorf("column %s: row %d does not have %s", name, rows-1, plural.Count(width, "number"))
		}
		if begins {
			rows++
		}
		x, err := number(v)
		all = append(all, x)
		return err
	})
	if err == nil && len(all) != int(t.in.NumRows())*width {
		err = fmt.Errorf("read %s: column %s has %s for %s", t.path, name, plural.Count(len(all), "number"),
			plural.Count(t.in.NumRows(), "row"))
	}
	return all, err
}

// number returns a value as a number: null is NaN, true is 1 and false is 0.
func number(v parquet.Value) (float64, error) {
	if v.IsNull() {
		return math.NaN(), nil
	}
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1, nil
		}
		return 0, nil
	case parquet.Int32:
		return float64(v.Int32()), nil
	case parquet.Int64:
		return float64(v.Int64()), nil
	case parquet.Float:
		return float64(v.Float()), nil
	case parquet.Double:
		return v.Double(), nil
	}
	return 0, fmt.Errorf("%v is not a number", v.Kind())
}

// texts returns the rows of a column of texts or lists of texts.
func (t *tableReader) texts(name string) ([][]string, error) {
	leaf := t.leaf(name)
	if leaf < 0 {
		return nil, fmt.Errorf("read %s: no column %s", t.path, name)
	}
	var rows [][]string
	err := t.scan(leaf, func(v parquet.Value, begins bool) error {
		if begins {
			rows = append(rows, nil)
		}
		if !v.IsNull() && v.Kind() == parquet.ByteArray && len(rows) > 0 {
			last := &rows[len(rows)-1]
			*last = append(*last, string(v.ByteArray()))
		}
		return nil
	})
	return rows, err
}
