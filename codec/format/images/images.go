// Package images writes the images of cameras as files: a folder for each topic, with a table of stamps. It writes the
// calibrations of cameras in ROS's YAML format.
package images

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/internal/stamped"
)

const (
	typeInfo       = "sensor_msgs/msg/CameraInfo"
	typeImage      = "sensor_msgs/msg/Image"
	typeCompressed = "sensor_msgs/msg/CompressedImage"
)

// Format is the format of folders of images. They can only be written.
var Format = codec.Format{
	Name:    "images",
	Named:   func(string) bool { return false }, // folders may have any name
	Create:  func(path string, _ codec.CreateOptions) (codec.Writer, error) { return create(path) },
	Check:   func(o codec.CreateOptions) error { return o.CheckUncompressed("images") },
	Accepts: accepts,
	Files:   []string{".csv", ".jpg", ".png", ".yaml"},
	Keeps:   codec.Keeps{Encodings: []string{codec.EncodingCDR}, PublishTime: true},
}

// accepts is codec.Format.Accepts.
func accepts(c *codec.Channel) error {
	if c.Type == typeInfo || c.Type == typeImage || c.Type == typeCompressed {
		return nil
	}
	return errors.New("the messages are neither images nor calibrations")
}

// writer writes the folders of a recording.
type writer struct {
	codec.NoSplits
	stamped.Folders
	path   string
	topics stamped.Topics[camera]
	lost   codec.LossCounts
	png    pixel.PNGEncoder
}

// camera is the folder of a topic with images, or of a topic with calibrations of a camera without images.
type camera struct {
	images bool   // the topic has images
	info   string // the last calibration, as YAML
	infos  int    // number of written calibrations
}

func create(path string) (codec.Writer, error) {
	if err := os.Mkdir(path, 0o777); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, codec.Pathless(err))
	}
	return &writer{path: path, lost: codec.LossCounts{}}, nil
}

// Declare implements codec.Writer.
func (w *writer) Declare(c *codec.Channel) error {
	_, err := w.channel(c)
	return err
}

// channel returns the channel with the folder of its topic.
func (w *writer) channel(c *codec.Channel) (*stamped.Channel[camera], error) {
	t, err := w.topics.Channel(c)
	if err == nil && c.Type != typeInfo {
		t.State.images = true
	}
	return t, err
}

// Write implements codec.Writer.
func (w *writer) Write(message *codec.Message) error {
	t, err := w.channel(message.Channel)
	if err != nil {
		return err
	}
	m, err := t.Read(message)
	if err != nil {
		return err
	}
	if m.Channel.Type == typeInfo {
		return w.calibration(&m)
	}
	if t.Images == nil {
		return fmt.Errorf("%s is defined without the fields of an image", m.Channel.Type)
	}
	image, err := t.Images.Image(m.Data)
	if err != nil {
		return err
	}
	encoding := image.Encoding
	original := image // encode may change image
	extension, content, err := w.encode(&image)
	if err != nil {
		return err
	}
	size, err := image.Config()
	if err != nil {
		return err
	}
	original.PNGLosses().Each(w.lost.Of(t.Topic))
	f, err := w.Folder(filepath.Join(w.path, t.Name), "width", "height", "encoding")
	if err != nil {
		return err
	}
	return f.Write(&m, extension, content, strconv.Itoa(size.Width), strconv.Itoa(size.Height), encoding)
}

// encode returns the content of a file for an image. The mosaic of a Bayer sensor becomes grey pixels.
func (w *writer) encode(m *pixel.Image) (extension string, content []byte, err error) {
	switch {
	case m.Encoding == "jpeg":
		return ".jpg", m.Data, nil
	case m.Encoding == "png":
		return ".png", m.Data, nil
	case strings.HasPrefix(m.Encoding, "bayer_") && pixel.Lookup(m.Encoding) != nil:
		m.Encoding = "mono8"
	case m.Encoding == "nv12":
		*m, err = m.To("rgb8", nil)
		if err != nil {
			return "", nil, err
		}
	}
	content, err = w.png.Encode(m)
	return ".png", content, err
}

// Losses implements codec.Writer.
func (w *writer) Losses() []codec.Loss { return w.lost.Losses() }
