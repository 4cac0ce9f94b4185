package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"

	"tapedeck/codec/episode"
)

// painter makes of a camera's frames what the file keeps. All have the same size, that of the first one.
type painter struct {
	images  string
	swap    bool
	quality int
	size    size
	depth   bool // pictures are distances, of 16 bits
}

// mostPixels is more than the frames of a camera have.
const mostPixels = 1 << 28

// measure takes the size and the kind of pictures from a frame.
func (p *painter) measure(f *episode.Frame) error {
	var err error
	p.size, p.depth, err = measure(f)
	return err
}

// measure returns the size of a frame, and whether it is of 16 bits.
func measure(f *episode.Frame) (s size, depth bool, err error) {
	switch f.Encoding {
	case "jpeg":
		s, err = jpegSize(f.Data)
	case "png":
		config, err := png.DecodeConfig(bytes.NewReader(f.Data))
		if err != nil {
			return size{}, false, err
		}
		s = size{config.Width, config.Height}
		depth = config.ColorModel == grayDepth
	default:
		pixel, err := pixelSize(f.Encoding)
		if err != nil {
			return size{}, false, err
		}
		if f.Width <= 0 || f.Height <= 0 || f.Width > mostPixels/f.Height {
			return size{}, false, fmt.Errorf("it has %d×%d pixels", f.Width, f.Height)
		}
		if step := stepOf(f, pixel); step < f.Width*pixel || step > len(f.Data)/f.Height {
			return size{}, false, fmt.Errorf("%d bytes in rows of %d are no %d×%d pixels of %s", len(f.Data), step, f.Width, f.Height, f.Encoding)
		}
		s, depth = size{f.Width, f.Height}, pixel == 2
	}
	if err == nil && (s.width <= 0 || s.height <= 0 || s.width > mostPixels/s.height) {
		err = fmt.Errorf("it has %d×%d pixels", s.width, s.height)
	}
	return s, depth, err
}

var grayDepth = (&image.Gray16{}).ColorModel()

// pixelSize returns the bytes of a pixel.
func pixelSize(encoding string) (int, error) {
	switch encoding {
	case "rgb8", "bgr8", "8UC3":
		return 3, nil
	case "rgba8", "bgra8", "8UC4":
		return 4, nil
	case "mono8", "8UC1":
		return 1, nil
	case "16UC1", "mono16":
		return 2, nil
	}
	return 0, fmt.Errorf("pictures of %.40q are not known; jpeg, png, rgb8, bgr8, rgba8, bgra8, mono8 and 16UC1 are", encoding)
}

func stepOf(f *episode.Frame, pixel int) int {
	if f.Step > 0 {
		return f.Step
	}
	return f.Width * pixel
}

// encoding says what the file keeps.
func (p *painter) encoding() string {
	switch {
	case p.depth:
		return "16UC1"
	case p.images == ImagesRaw:
		return p.color() + "8"
	}
	return "jpeg"
}

// color is the order of colours.
func (p *painter) color() string {
	switch {
	case p.depth:
		return "depth"
	case p.swap:
		return "bgr"
	}
	return "rgb"
}

// paint returns what the file keeps of a frame.
func (p *painter) paint(j *job) ([]byte, error) {
	if j.black {
		return p.black(j)
	}
	s, depth, err := measure(&j.frame)
	if err != nil {
		return nil, err
	}
	if s != p.size || depth != p.depth {
		return nil, fmt.Errorf("it is %d×%d, and what was before %d×%d", s.width, s.height, p.size.width, p.size.height)
	}
	if j.frame.Encoding == "jpeg" && p.images != ImagesRaw && !p.swap {
		return j.frame.Data, nil
	}
	picture, err := decode(&j.frame)
	if err != nil {
		return nil, err
	}
	return p.encode(j, picture)
}

func (p *painter) black(j *job) ([]byte, error) {
	if p.depth {
		return make([]byte, 2*p.size.width*p.size.height), nil
	}
	return p.encode(j, image.NewGray(image.Rect(0, 0, p.size.width, p.size.height)))
}

// encode makes a picture to what the file keeps.
func (p *painter) encode(j *job, picture image.Image) ([]byte, error) {
	if g, ok := picture.(*image.Gray16); ok && p.depth {
		j.made = j.made[:0]
		for y := range p.size.height {
			row := g.Pix[y*g.Stride:][:2*p.size.width]
			for x := 0; x < len(row); x += 2 {
				j.made = append(j.made, row[x+1], row[x])
			}
		}
		return j.made, nil
	}
	if gray, ok := picture.(*image.Gray); ok && p.images != ImagesRaw {
		return p.jpeg(j, gray)
	}
	rgba, ok := picture.(*image.RGBA)
	if !ok {
		rgba = image.NewRGBA(image.Rect(0, 0, p.size.width, p.size.height))
		draw.Draw(rgba, rgba.Bounds(), picture, picture.Bounds().Min, draw.Src)
	}
	if p.swap {
		for i := 0; i+3 < len(rgba.Pix); i += 4 {
			rgba.Pix[i], rgba.Pix[i+2] = rgba.Pix[i+2], rgba.Pix[i]
		}
	}
	if p.images != ImagesRaw {
		return p.jpeg(j, rgba)
	}
	j.made = j.made[:0]
	for i := 0; i+3 < len(rgba.Pix); i += 4 {
		j.made = append(j.made, rgba.Pix[i], rgba.Pix[i+1], rgba.Pix[i+2])
	}
	return j.made, nil
}

func (p *painter) jpeg(j *job, picture image.Image) ([]byte, error) {
	out := bytes.NewBuffer(j.made[:0])
	err := jpeg.Encode(out, picture, &jpeg.Options{Quality: p.quality})
	j.made = out.Bytes()
	return j.made, err
}

// decode returns the pixels of a frame that was measured.
func decode(f *episode.Frame) (image.Image, error) {
	switch f.Encoding {
	case "jpeg":
		return jpeg.Decode(bytes.NewReader(f.Data))
	case "png":
		return png.Decode(bytes.NewReader(f.Data))
	}
	pixel, err := pixelSize(f.Encoding)
	if err != nil {
		return nil, err
	}
	bounds, step := image.Rect(0, 0, f.Width, f.Height), stepOf(f, pixel)
	switch pixel {
	case 1:
		return &image.Gray{Pix: f.Data, Stride: step, Rect: bounds}, nil
	case 2:
		out := image.NewGray16(bounds)
		for y := range f.Height {
			row, to := f.Data[y*step:][:2*f.Width], out.Pix[y*out.Stride:]
			for x := 0; x < len(row); x += 2 {
				to[x], to[x+1] = row[x+1], row[x]
			}
		}
		return out, nil
	}
	r, b := 0, 2
	if f.Encoding[0] == 'b' || f.Encoding[0] == '8' {
		r, b = 2, 0
	}
	out := image.NewRGBA(bounds)
	for y := range f.Height {
		row, to := f.Data[y*step:], out.Pix[y*out.Stride:]
		for x := range f.Width {
			to[4*x], to[4*x+1], to[4*x+2], to[4*x+3] = row[pixel*x+r], row[pixel*x+1], row[pixel*x+b], 255
		}
	}
	return out, nil
}

var errJPEG = errors.New("it is no JPEG, or cut short before its first pixel")

// jpegSize returns the size of a JPEG: that of its frame header, SOF of ITU-T T.81.
func jpegSize(data []byte) (size, error) {
	if len(data) < 4 || data[0] != 0xff || data[1] != 0xd8 {
		return size{}, errJPEG
	}
	for data = data[2:]; len(data) >= 4; {
		if data[0] != 0xff {
			return size{}, errJPEG
		}
		marker := data[1]
		if marker == 0xff { // fill
			data = data[1:]
			continue
		}
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd8 {
			data = data[2:]
			continue
		}
		length := int(data[2])<<8 | int(data[3])
		if length < 2 || 2+length > len(data) {
			return size{}, errJPEG
		}
		if marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc {
			if length < 7 {
				return size{}, errJPEG
			}
			return size{int(data[7])<<8 | int(data[8]), int(data[5])<<8 | int(data[6])}, nil
		}
		data = data[2+length:]
	}
	return size{}, errJPEG
}
