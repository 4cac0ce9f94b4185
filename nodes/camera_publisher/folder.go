package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/nodes/internal/hardware"
)

// folder reads the JPEG and PNG files of a folder. It implements pictures.
type folder struct {
	path    string
	files   []pictureFile
	timed   bool  // all files have times
	at      int   // index of the next file
	last    int64 // time of the previous file; 0: none
	buffer  bytes.Buffer
	pixels  []byte
	canvas  *image.RGBA
	damaged func(error)
}

// pictureFile is a file of a folder.
type pictureFile struct {
	name string
	time int64 // time in the name, in ns since the Unix epoch
}

// openFolder opens a folder of pictures. Reading calls damaged for each unusable one.
func openFolder(path string, damaged func(error)) (pictures, error) {
	names, err := hardware.Pictures(path)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("folder %s has no images: want .jpg, .jpeg or .png files", path)
	}
	f := &folder{path: path, timed: true, damaged: damaged}
	for _, name := range names {
		t, ok := nameTime(name)
		f.timed = f.timed && ok
		f.files = append(f.files, pictureFile{name, t})
	}
	slices.SortFunc(f.files, func(a, b pictureFile) int {
		if f.timed && a.time != b.time {
			return cmp.Compare(a.time, b.time)
		}
		return naturally(a.name, b.name)
	})
	return f, nil
}

// lastNumber matches the last number of a name, before the extension.
var lastNumber = regexp.MustCompile(`(?:^|[^0-9.])([1-9][0-9]{9,18})(\.[0-9]{1,9})?\.[^.]*$`)

// nameTime returns the time in a file name, in ns since the Unix epoch. The name has seconds, as in
// "frame_1764000000.033.png", or a number of ms, µs or ns. Numbers with fewer digits count frames.
func nameTime(name string) (int64, bool) {
	m := lastNumber.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	const second = 10 // number of digits of seconds, from 2001 to 2286
	digits := len(m[1]) - second
	if digits%3 != 0 {
		return 0, false
	}
	text := (m[1] + strings.TrimPrefix(m[2], ".") + strings.Repeat("0", 9))[:second+9]
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false
	}
	return ns, true
}

// naturally compares names, and numbers in them by value: frame_2 is before frame_10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m == 0 || n == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of leading digits of s.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

func (f *folder) rewind() error {
	f.at, f.last = 0, 0
	return nil
}

func (f *folder) next(to *v4l2.Frame) (time.Duration, error) {
	for f.at < len(f.files) {
		i := f.at
		f.at++
		path := filepath.Join(f.path, f.files[i].name)
		if err := f.read(path, to); err != nil {
			f.damaged(fmt.Errorf("%s: %w", path, err))
			continue
		}
		before := f.last
		f.last = f.files[i].time
		if f.timed && before != 0 {
			return time.Duration(f.last - before), nil
		}
		return 0, nil
	}
	return 0, io.EOF
}

func (f *folder) carries() (jpegs, pixels bool) {
	for _, file := range f.files {
		if hardware.IsJPEG(file.name) {
			jpegs = true
		} else {
			pixels = true
		}
	}
	return jpegs, pixels
}

func (f *folder) close() {}

// read stores the image of a file in to. The first bytes of the file decide its format.
func (f *folder) read(path string, to *v4l2.Frame) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	f.buffer.Reset()
	if _, err := f.buffer.ReadFrom(io.LimitReader(file, maxPicture+1)); err != nil {
		return err
	}
	to.Data = f.buffer.Bytes()
	switch {
	case len(to.Data) > maxPicture:
		return fmt.Errorf("larger than %d bytes", maxPicture)
	case len(to.Data) == 0:
		return errors.New("the file is empty")
	case pixel.Detect(to.Data) == "png":
		return f.decode(to)
	}
	to.Format, err = jpegFormat(to.Data)
	return err
}

// decode replaces the PNG in to by its pixels: GREY, RGB3, or Z16 if they have 16 bits, as in depth images.
func (f *folder) decode(to *v4l2.Frame) error {
	m := pixel.Image{Encoding: "png", Data: to.Data}
	picture, err := m.Decode()
	if err != nil {
		return err
	}
	size := picture.Bounds().Size()
	to.Format = v4l2.Format{Width: size.X, Height: size.Y}
	switch p := picture.(type) {
	case *image.Gray:
		to.Format.FourCC, to.Format.BytesPerLine, to.Data = v4l2.GREY, p.Stride, p.Pix
	case *image.Gray16:
		for i := 0; i+1 < len(p.Pix); i += 2 {
			binary.LittleEndian.PutUint16(p.Pix[i:], binary.BigEndian.Uint16(p.Pix[i:]))
		}
		to.Format.FourCC, to.Format.BytesPerLine, to.Data = v4l2.Z16, p.Stride, p.Pix
	default:
		f.canvas = pixel.RGBA(picture, f.canvas)
		opaque, err := pixel.FindConversion("rgba8", "rgb8")
		if err != nil {
			return err
		}
		f.pixels = slices.Grow(f.pixels[:0], 3*size.X*size.Y)[:3*size.X*size.Y]
		opaque.Convert(f.pixels, &pixel.Image{Data: f.canvas.Pix, Width: size.X, Height: size.Y, Step: f.canvas.Stride})
		to.Format.FourCC, to.Format.BytesPerLine, to.Data = v4l2.RGB3, 3*size.X, f.pixels
	}
	return nil
}
