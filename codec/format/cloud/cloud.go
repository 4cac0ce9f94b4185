// Package cloud writes point clouds and laser scans as PCD and PLY files: a folder for each topic, with a file for each
// cloud and a table of stamps.
package cloud

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/internal/stamped"
)

const (
	typeCloud = "sensor_msgs/msg/PointCloud2"
	typeScan  = "sensor_msgs/msg/LaserScan"
)

// PCD and PLY are the formats of folders of PCD and PLY files. They can only be written.
var (
	PCD = format("pcd", func(dst []byte, p *points, _ string) ([]byte, int) { return appendPCD(dst, p), 0 })
	PLY = format("ply", appendPLY)
)

// encode appends the file of a cloud in a frame, and returns the number of omitted points.
type encode func(dst []byte, p *points, frame string) (file []byte, omitted int)

func format(name string, encode encode) codec.Format {
	extension := "." + name
	return codec.Format{
		Name:  name,
		Named: func(string) bool { return false }, // folders may have any name
		Create: func(path string, _ codec.CreateOptions) (codec.Writer, error) {
			if err := os.Mkdir(path, 0o777); err != nil {
				return nil, fmt.Errorf("create %s: %w", path, codec.Pathless(err))
			}
			return &writer{path: path, extension: extension, encode: encode, lost: codec.LossCounts{}}, nil
		},
		Check: func(o codec.CreateOptions) error { return o.CheckUncompressed(name) },
		Accepts: func(c *codec.Channel) error {
			if c.Type != typeCloud && c.Type != typeScan {
				return errors.New("the messages are neither point clouds nor laser scans")
			}
			return nil
		},
		Files: []string{extension, ".csv"},
		Keeps: codec.Keeps{Encodings: []string{codec.EncodingCDR}, PublishTime: true},
	}
}

// writer writes the folders of a recording.
type writer struct {
	codec.NoSplits
	stamped.Folders
	path, extension string
	encode          encode
	topics          stamped.Topics[struct{}]
	lost            codec.LossCounts

	reader Reader
	file   []byte
}

// Declare implements codec.Writer.
func (w *writer) Declare(c *codec.Channel) error {
	_, err := w.topics.Channel(c)
	return err
}

// Write implements codec.Writer.
func (w *writer) Write(message *codec.Message) error {
	t, err := w.topics.Channel(message.Channel)
	if err != nil {
		return err
	}
	m, err := t.Read(message)
	if err != nil {
		return err
	}
	c := m.Channel
	w.reader.scans = c.Type == typeScan
	if _, err := w.reader.Read(m.Data); err != nil {
		return err
	}
	if w.reader.scans {
		w.lost.Add(c.Topic, "all of laser scans but points and intensities", 1)
	}
	p := &w.reader.points
	var omitted int
	w.file, omitted = w.encode(w.file[:0], p, m.Frame)
	if omitted > 0 {
		w.lost.Add(c.Topic, "points without finite coordinates", 1)
	}
	if p.rounded {
		w.lost.Add(c.Topic, "digits of integers beyond 2^53, which PLY has only as double", 1)
	}
	f, err := w.Folder(filepath.Join(w.path, t.Name), "width", "height", "fields")
	if err != nil {
		return err
	}
	var names []string
	for i := range p.fields {
		names = append(names, p.fields[i].name)
	}
	return f.Write(&m, w.extension, w.file, strconv.Itoa(p.width), strconv.Itoa(p.height), strings.Join(names, " "))
}

// Losses implements codec.Writer.
func (w *writer) Losses() []codec.Loss { return w.lost.Losses() }
