package lerobot

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// column is a column of a table.
type column struct {
	name string
	node parquet.Node
}

// listColumn returns a column of nested lists. depth is the number of list levels; 0 is a column of values.
func listColumn(name string, element parquet.Node, depth int) column {
	node := parquet.Optional(element)
	for range depth {
		node = parquet.Optional(parquet.List(node))
	}
	return column{name, node}
}

// imageColumn returns a column of images in the layout of Hugging Face's datasets. Parquet does not compress it: images
// are compressed already.
func imageColumn(name string) column {
	bytes := parquet.Compressed(parquet.Leaf(parquet.ByteArrayType), &parquet.Uncompressed)
	return column{name, parquet.Optional(newGroup([]column{
		{"bytes", parquet.Optional(bytes)}, listColumn("path", parquet.String(), 0),
	}))}
}

// group is a parquet.Group whose fields keep their order.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func newGroup(columns []column) *group {
	g := &group{Group: parquet.Group{}}
	for _, c := range columns {
		g.Group[c.name] = c.node
	}
	byName := g.Group.Fields()
	for _, c := range columns {
		g.fields = append(g.fields, byName[slices.IndexFunc(byName,
			func(f parquet.Field) bool { return f.Name() == c.name })])
	}
	return g
}

// Fields implements parquet.Node.
func (g *group) Fields() []parquet.Field { return g.fields }

// table writes a Parquet file column by column. All columns of a row group have the same number of rows.
type table struct {
	path   string
	file   *os.File
	buffer *bufio.Writer
	bytes  int64 // number of bytes written
	out    *parquet.GenericWriter[any]
	leaves map[string]parquet.LeafColumn // by column, its first leaf
	values []parquet.Value               // buffer of lists
}

// createTable begins a file. The pages of a table with images are in temporary files in the file's folder until their
// row group is complete, because they would not fit into memory.
func createTable(path string, columns []column, metadata map[string]string) (*table, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	schema := parquet.NewSchema("schema", newGroup(columns))
	t := &table{path: path, file: file, buffer: bufio.NewWriterSize(file, 1<<16),
		leaves: map[string]parquet.LeafColumn{}}
	options := []parquet.WriterOption{
		schema, parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1), parquet.WriteBufferSize(0),
		parquet.CreatedBy("tapedeck", "1", "0"),
		parquet.DataPageStatistics(false), // statistics would repeat the least and the greatest image of a page
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
	}
	for _, leaf := range schema.Columns() {
		if _, known := t.leaves[leaf[0]]; !known {
			t.leaves[leaf[0]], _ = schema.Lookup(leaf...)
		}
		if leaf[len(leaf)-1] == "bytes" {
			options = append(options, parquet.SkipPageBounds(leaf...),
				parquet.ColumnPageBuffers(parquet.NewFileBufferPool(filepath.Dir(path), ".pages-*")))
		}
	}
	for key, value := range metadata {
		options = append(options, parquet.KeyValueMetadata(key, value))
	}
	t.out = parquet.NewGenericWriter[any](t, options...)
	return t, nil
}

// writeRow writes the values of a row to a leaf.
func (t *table) writeRow(leaf int, values ...parquet.Value) error {
	_, err := t.out.ColumnWriters()[leaf].WriteRowValues(values)
	return err
}

// lists writes n rows of a column. A row is a list of width elements. In a column of values, width is 1. In a column of
// nested lists, inner lists have one element.
func (t *table) lists(name string, n, width int, value func(row, i int) parquet.Value) error {
	leaf := t.leaves[name]
	for i := range n {
		t.values = t.values[:0]
		for k := range width {
			t.values = append(t.values, value(i, k).Level(min(k, 1), leaf.MaxDefinitionLevel, leaf.ColumnIndex))
		}
		if err := t.writeRow(leaf.ColumnIndex, t.values...); err != nil {
			return err
		}
	}
	return nil
}

// image writes a row of a column of images. path is the name of the image in the row.
func (t *table) image(name string, data []byte, path string) error {
	leaf := t.leaves[name].ColumnIndex
	return errors.Join(
		t.writeRow(leaf, parquet.ByteArrayValue(data).Level(0, 2, leaf)),
		t.writeRow(leaf+1, parquet.ByteArrayValue([]byte(path)).Level(0, 2, leaf+1)))
}

// flush ends a row group.
func (t *table) flush() error { return t.out.Flush() }

// Write implements io.Writer, for the writer of Parquet.
func (t *table) Write(p []byte) (int, error) {
	n, err := t.buffer.Write(p)
	t.bytes += int64(n)
	return n, err
}

// close completes and closes the file.
func (t *table) close() error {
	return errors.Join(t.out.Close(), t.buffer.Flush(), t.file.Close())
}

// abort closes the incomplete file.
func (t *table) abort() {
	t.file.Close()
}
