package pixel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"math"
	"strings"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl"
)

// Locator finds the image in messages of a type with the fields of sensor_msgs/msg/Image or CompressedImage.
type Locator struct {
	data                                     *cdr.Path
	format                                   *cdr.Path // for CompressedImage, otherwise nil
	encoding, width, height, step, bigEndian *cdr.Path // for Image, otherwise nil
}

// NewLocator returns an error if the type has no images.
func NewLocator(s *cdr.Schema) (*Locator, error) {
	p := &Locator{}
	find := func(to **cdr.Path, name string, kinds ...rosidl.Kind) bool {
		path, err := s.Path(name)
		if err != nil {
			return false
		}
		for _, kind := range kinds {
			if path.Type().Kind == kind {
				*to = path
				return true
			}
		}
		return false
	}
	bytesOf := []rosidl.Kind{rosidl.Uint8, rosidl.Byte, rosidl.Char}
	if find(&p.data, "data", bytesOf...) && p.data.Type().Shape == rosidl.Sequence {
		if find(&p.format, "format", rosidl.String) {
			return p, nil
		}
		find(&p.bigEndian, "is_bigendian", rosidl.Uint8, rosidl.Bool)
		if find(&p.encoding, "encoding", rosidl.String) && find(&p.width, "width", rosidl.Uint32) &&
			find(&p.height, "height", rosidl.Uint32) &&
			find(&p.step, "step", rosidl.Uint32) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s is not an image: it has neither the fields of sensor_msgs/msg/Image nor those of "+
		"CompressedImage", s.Name())
}

// Image returns the image in a payload. The image shares the payload's memory, unless its depths were converted.
func (p *Locator) Image(payload []byte) (f Image, err error) {
	at, err := p.data.Offset(payload)
	if err != nil {
		return f, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if payload[1]&1 == 0 {
		order = binary.BigEndian
	}
	f.Data = payload[at+4 : at+4+int(order.Uint32(payload[at:]))]
	if p.format != nil {
		return f, p.compressed(&f, payload)
	}
	text := func(path *cdr.Path) (s string) {
		if v, getErr := path.Get(payload); getErr != nil {
			err = errors.Join(err, getErr)
		} else {
			s = fmt.Sprint(v)
		}
		return s
	}
	number := func(path *cdr.Path) (n int) {
		if v, getErr := path.Get(payload); getErr != nil {
			err = errors.Join(err, getErr)
		} else if v, ok := v.(uint32); ok {
			n = int(v)
		}
		return n
	}
	f.Encoding, f.Width, f.Height, f.Step = text(p.encoding), number(p.width), number(p.height), number(p.step)
	if err != nil {
		return f, err
	}
	if f.Width == 0 || f.Height == 0 || f.Step == 0 {
		return f, fmt.Errorf("the image of %d × %d pixels is empty", f.Width, f.Height)
	}
	if int64(f.Step)*int64(f.Height) > int64(len(f.Data)) {
		return f, fmt.Errorf("%s of data cannot hold %s of %d", plural.Count(len(f.Data), "byte"),
			plural.Count(f.Height, "row"), f.Step)
	}
	if p.bigEndian != nil && (strings.Contains(f.Encoding, "16") || strings.Contains(f.Encoding, "32")) {
		if big := text(p.bigEndian); err == nil && big != "0" && big != "false" {
			return f, fmt.Errorf("pixels of %s are big-endian, which is not supported", f.Encoding)
		}
	}
	return f, err
}

// Whole returns the image in a payload, like Image. It also fails if a JPEG or PNG is incomplete.
func (p *Locator) Whole(payload []byte) (Image, error) {
	f, err := p.Image(payload)
	if err == nil && f.Compressed() {
		err = f.CheckWhole()
	}
	return f, err
}

// depthHeader is the length of the header that compressed_depth_image_transport puts before a PNG of depths: a number
// of 4 bytes and the two parameters that inverseDepths reads.
const depthHeader = 12

// compressed sets the encoding by the first bytes of the data.
func (p *Locator) compressed(f *Image, payload []byte) error {
	f.Encoding = Detect(f.Data)
	if f.Encoding != "" {
		return nil
	}
	format, err := p.format.Get(payload)
	if err != nil {
		return err
	}
	if len(f.Data) > depthHeader && Detect(f.Data[depthHeader:]) == "png" {
		header := f.Data[:depthHeader]
		f.Encoding, f.Data = "png", f.Data[depthHeader:]
		if strings.HasPrefix(fmt.Sprint(format), "32FC1") {
			return inverseDepths(f, header)
		}
		return nil
	}
	return fmt.Errorf("the image, of format %.40q, is neither a JPEG nor a PNG", format)
}

// inverseDepths replaces a PNG of quantised inverse distances by pixels of distances in m. 0 in the PNG is an unknown
// distance.
func inverseDepths(f *Image, header []byte) error {
	m, err := f.Decode()
	if err != nil {
		return err
	}
	deep, ok := m.(*image.Gray16)
	if !ok {
		return errors.New("the PNG of depths does not have 16 bits")
	}
	a := math.Float32frombits(binary.LittleEndian.Uint32(header[4:]))
	b := math.Float32frombits(binary.LittleEndian.Uint32(header[8:]))
	size := deep.Rect.Size()
	*f = Image{Encoding: "32FC1", Width: size.X, Height: size.Y, Step: 4 * size.X,
		Data: make([]byte, 0, 4*size.X*size.Y)}
	for i := 0; i+1 < len(deep.Pix); i += 2 {
		depth := float32(math.NaN())
		if q := binary.BigEndian.Uint16(deep.Pix[i:]); q != 0 {
			depth = a / (float32(q) - b)
		}
		f.Data = binary.LittleEndian.AppendUint32(f.Data, math.Float32bits(depth))
	}
	return nil
}
