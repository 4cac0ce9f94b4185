package lerobot

import (
	"errors"
	"fmt"
	"image"
	"sync"

	"github.com/parquet-go/parquet-go"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
)

// imageFrames reads images from a table.
type imageFrames struct {
	table  *tableReader
	column string
	depth  bool
	leaf   int
	from   int                            // row of the first frame in the table
	count  int                            // number of frames
	values parquet.ColumnChunkValueReader // reads one row group; nil: closed
	next   int                            // row of the next value in values; -1: unknown
	end    int                            // row after the row group of values
	data   []byte                         // the latest image
	mm     []byte                         // pixels of the latest depth image
}

// openImages opens count images of a feature in a table, the first at row from. checked is tableReader.checked.
func openImages(files *store.Files, path string, feature *feature, from, count int,
	checked *sync.Map) (*imageFrames, error) {
	column := feature.key
	t, err := openTable(files, path)
	if err != nil {
		return nil, err
	}
	t.checked = checked
	f := &imageFrames{table: t, column: column, depth: feature.isDepth(), leaf: -1, from: from, count: count, next: -1}
	for i, leaf := range t.in.Schema().Columns() {
		if leaf[0] == column && leaf[len(leaf)-1] == "bytes" {
			f.leaf = i
		}
	}
	if f.leaf < 0 {
		return nil, errors.Join(fmt.Errorf("read %s: no column %s of images", path, column), t.close())
	}
	return f, nil
}

// Frame implements episode.Frames.
func (f *imageFrames) Frame(i int) (frame episode.Frame, err error) {
	if i < 0 || i >= f.count {
		return frame, fmt.Errorf("read %s: no frame %d of %s, there are %d", f.table.path, i, f.column, f.count)
	}
	err = guard(f.table.path, func() error {
		if f.next != f.from+i {
			if err := f.seek(f.from + i); err != nil {
				return err
			}
		}
		return f.read()
	})
	if err != nil {
		f.next = -1
		return frame, &episode.DamagedError{Err: err}
	}
	frame = episode.Frame{Encoding: pixel.Detect(f.data), Data: f.data}
	switch {
	case frame.Encoding == "" && !f.depth:
		err = fmt.Errorf("read %s: frame %d of %s is neither JPEG nor PNG", f.table.path, i, f.column)
		return frame, &episode.DamagedError{Err: err}
	case !f.depth:
		return frame, nil
	case frame.Encoding == "":
		frame, err = decodeTIFF(f.mm[:0], f.data)
	default:
		var m image.Image
		m, err = frame.Decode()
		if err == nil {
			frame, err = millimeters(f.mm[:0], m)
		}
	}
	f.mm = frame.Data
	if err != nil {
		err = &episode.DamagedError{
			Err: fmt.Errorf("read %s: depths of frame %d of %s: %w", f.table.path, i, f.column, err)}
	}
	return frame, err
}

// seek moves to a row of the table.
func (f *imageFrames) seek(row int) error {
	begin := 0
	for g, rows := range f.table.in.RowGroups() {
		end := begin + int(rows.NumRows())
		if row < end {
			if err := f.release(); err != nil {
				return err
			}
			if err := f.table.checkPages(g, f.leaf); err != nil {
				return err
			}
			f.values = parquet.NewColumnChunkValueReader(rows.ColumnChunks()[f.leaf])
			f.next, f.end = row, end
			return f.values.SeekToRow(int64(row - begin))
		}
		begin = end
	}
	return fmt.Errorf("no row %d, there are %d", row, begin)
}

// read reads the next value into data.
func (f *imageFrames) read() error {
	if f.next == f.end {
		if err := f.seek(f.next); err != nil {
			return err
		}
	}
	var value [1]parquet.Value
	if _, err := f.values.ReadValues(value[:]); err != nil {
		return err
	}
	f.data = append(f.data[:0], value[0].ByteArray()...)
	f.next++
	return nil
}

// release closes values.
func (f *imageFrames) release() error {
	if f.values == nil {
		return nil
	}
	err := f.values.Close()
	f.values = nil
	return err
}

// Close implements episode.Frames.
func (f *imageFrames) Close() error { return errors.Join(f.release(), f.table.close()) }
