package lerobot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"sync"

	"golang.org/x/image/tiff"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/episode"
)

// isDepth reports whether the feature has depth images, by any of LeRobot's markers.
func (f *feature) isDepth() bool {
	return f.Info["is_depth_map"] == true || f.Info["video.is_depth_map"] == true ||
		f.VideoInfo["video.is_depth_map"] == true
}

// mmEncoding is the encoding of written depths: mm in 16 bits, little-endian; 0 is unknown.
const mmEncoding = "16UC1"

// millimeters returns a decoded image of 16 bits as a frame in mm without padding. The frame's data is appended to dst.
func millimeters(dst []byte, m image.Image) (episode.Frame, error) {
	deep, ok := m.(*image.Gray16)
	if !ok {
		return episode.Frame{}, errors.New("the depth image does not have 16 bits")
	}
	size := m.Bounds().Size()
	return episode.Frame{Encoding: mmEncoding, Data: pixel.AppendDeep(dst, deep), Width: size.X, Height: size.Y,
		Step: 2 * size.X}, nil
}

// decodeTIFF returns the depths of a TIFF file as a frame in mm. The frame's data is appended to dst.
func decodeTIFF(dst, data []byte) (episode.Frame, error) {
	c, err := tiff.DecodeConfig(bytes.NewReader(data))
	if err == nil {
		err = pixel.CheckSize(c.Width, c.Height)
	}
	if err != nil {
		return episode.Frame{}, err
	}
	m, err := tiff.Decode(bytes.NewReader(data))
	if err != nil {
		return episode.Frame{}, err
	}
	return millimeters(dst, m)
}

// quantizer maps depths to the 12-bit codes of LeRobot's videos.
type quantizer struct {
	min, max, shift float64 // m
	log             bool    // codes are on a logarithmic scale
}

// defaultQuantizer has LeRobot's defaults.
var defaultQuantizer = quantizer{0.01, 10, 3.5, true}

const maxCode = 1<<12 - 1

// quantizer returns the quantizer of a feature. Missing parameters have LeRobot's defaults.
func (f *feature) quantizer() (quantizer, error) {
	q := defaultQuantizer
	for name, to := range map[string]*float64{"depth_min": &q.min, "depth_max": &q.max, "shift": &q.shift} {
		if x, ok := f.Info["video."+name].(float64); ok {
			*to = x
		}
	}
	if log, ok := f.Info["video.use_log"].(bool); ok {
		q.log = log
	}
	if !(q.min < q.max) || q.log && !(q.min+q.shift > 0) {
		return q, fmt.Errorf("%s: depths from %v to %v m with a shift of %v cannot be decoded", f.key, q.min, q.max,
			q.shift)
	}
	return q, nil
}

// scale returns the values of the first and the last code: depths in m, or their logarithms.
func (q *quantizer) scale() (low, high float64) {
	if q.log {
		return math.Log(q.min + q.shift), math.Log(q.max + q.shift)
	}
	return q.min, q.max
}

// codes returns a table of the codes of depths in mm.
func (q *quantizer) codes() *[1 << 16]uint16 {
	low, high := q.scale()
	var table [1 << 16]uint16
	for mm := range table {
		x := float64(mm) / 1000
		if q.log {
			x = math.Log(x + q.shift)
		}
		table[mm] = uint16(min(max(math.RoundToEven(maxCode*(x-low)/(high-low)), 0), maxCode))
	}
	return &table
}

// depths returns a table of the depths in mm of codes. Code 0 has the depth 0 (unknown), because LeRobot writes code 0
// for unknown depths.
func (q *quantizer) depths() *[maxCode + 1]uint16 {
	low, high := q.scale()
	var table [maxCode + 1]uint16
	for code := 1; code <= maxCode; code++ {
		x := low + (high-low)*float64(code)/maxCode
		if q.log {
			x = math.Exp(x) - q.shift
		}
		table[code] = uint16(min(max(math.RoundToEven(1000*min(max(x, q.min), q.max)), 0), math.MaxUint16))
	}
	return &table
}

// translate replaces each 16-bit pixel by the table's entry for it.
func translate(pixels []byte, table []uint16) {
	for ; len(pixels) >= 2; pixels = pixels[2:] {
		i := min(int(binary.LittleEndian.Uint16(pixels)), len(table)-1)
		binary.LittleEndian.PutUint16(pixels, table[i])
	}
}

// defaultCodes returns the codes of defaultQuantizer.
var defaultCodes = sync.OnceValue(defaultQuantizer.codes)

// defaultDepths returns the depths of defaultQuantizer.
var defaultDepths = sync.OnceValue(defaultQuantizer.depths)

// depthCoder converts frames of depths for a video, and counts frames with losses.
type depthCoder struct {
	topic  string
	lost   codec.LossCounts
	pixels []byte // buffer of the converted frame
}

// write writes a frame to ffmpeg's input, as codes in 16 bits.
func (d *depthCoder) write(to io.Writer, f *episode.Frame) error {
	m, err := f.Decode()
	if err != nil {
		return err
	}
	f.RGBLosses(m).Each(d.lost.Of(d.topic))
	mm, err := millimeters(d.pixels[:0], m)
	if err != nil {
		return err
	}
	d.pixels = mm.Data
	unknown, near, far, rounded := false, false, false, false
	codes, depths := defaultCodes(), defaultDepths()
	for p := d.pixels; len(p) >= 2; p = p[2:] {
		i := binary.LittleEndian.Uint16(p)
		switch mm := float64(i) / 1000; {
		case mm == 0:
			unknown = true
		case mm <= defaultQuantizer.min:
			near = true
		case mm > defaultQuantizer.max:
			far = true
		case depths[codes[i]] != i:
			rounded = true
		}
	}
	if unknown {
		d.lost.Add(d.topic, "unknown depths, which are 10 mm in videos of LeRobot and are kept without --video", 1)
	}
	if near {
		d.lost.Add(d.topic, "depths of 10 mm or less, which read as unknown and are kept without --video", 1)
	}
	if far {
		d.lost.Add(d.topic, "depths beyond 10 m, which are 10 m in videos of LeRobot and are kept without --video", 1)
	}
	if rounded {
		d.lost.Add(d.topic, "millimetres of depths, as videos of LeRobot have 12 bits, which are kept without "+
			"--video", 1)
	}
	translate(d.pixels, codes[:])
	_, err = to.Write(d.pixels)
	return err
}
