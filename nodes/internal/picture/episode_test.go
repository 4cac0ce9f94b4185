package picture

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/align"
	"tapedeck/codec/episode"
)

// red is a camera of pictures that are red.
type red struct {
	broken int // the frame that cannot be read
}

func (r red) Frame(i int) (episode.Frame, error) {
	if i == r.broken {
		return episode.Frame{}, errors.New("torn")
	}
	return episode.Frame{Encoding: "bgr8", Data: bytes.Repeat([]byte{0, 0, 255}, 12), Width: 4, Height: 3, Step: 12},
		nil
}

func (r red) Close() error { return nil }

// camera takes 10 frames a second for 10 s, but those in a gap.
func camera(name string, broken int, from, to float64) *episode.Camera {
	c := &episode.Camera{Track: align.Track{Name: name},
		Open: func() (episode.Frames, error) { return red{broken}, nil }}
	for i := range 101 {
		if s := float64(i) / 10; s <= from || s >= to {
			c.Stamps = append(c.Stamps, at(s))
		}
	}
	return c
}

func joints(values func(i int) []float64) *align.Vector {
	v := &align.Vector{Name: "arm_0/joint", Columns: []align.Column{{Name: "a", Unit: "rad"}, {Name: "b", Unit: "rad"}}}
	for i := range 501 {
		v.Stamps = append(v.Stamps, at(float64(i)/50))
		v.Values = append(v.Values, values(i)...)
	}
	return v
}

func TestEpisode(t *testing.T) {
	e := &episode.Episode{
		Name: "take", Task: "fold a towel",
		Cameras: []*episode.Camera{camera("camera_0", -1, 11, 12), camera("camera_1", -1, 4, 7)},
		Arms: []*episode.Arm{{Name: "arm_0", Joint: joints(func(i int) []float64 {
			return []float64{float64(i),
				-float64(i)}
		})}},
	}
	page, err := Episode(e, Set{Path: "takes", Format: "session", Number: 2, Of: 3}, Size{Width: 800})
	require.NoError(t, err)
	text := page.String()
	require.Contains(t, text, `"take  (2 of 3)  –  fold a towel"`)
	require.Contains(t, text, "to train on  ·  1 gap\"")
	require.Contains(t, text, `"no frame"`)
	golden(t, "episode", page)

	// The gap is where it belongs, in pixels.
	picture := page.Image()
	x := func(s float64) int { return margin + labelWidth + int(s/10*float64(page.Width-2*margin-labelWidth-12)) }
	foot := 132 + stripHeight + 34 + stripHeight + 15 + 3
	for s := 0.25; s < 10; s += 0.5 {
		got := picture.RGBAAt(x(s), foot)
		if is := got == (color.RGBA{orange.R, orange.G, orange.B, 255}); s > 4 && s < 7 {
			require.True(t, is, "%v s: %v", s, got)
		} else {
			require.False(t, is, "%v s", s)
		}
	}
}

func TestOddEpisodes(t *testing.T) {
	nan := joints(func(i int) []float64 { return []float64{math.NaN(), align.Missing()} })
	broken := camera("camera_0", 0, 11, 12)
	closed := camera("camera_0", 0, 11, 12)
	closed.Open = func() (episode.Frames, error) { return nil, errors.New("gone") }
	short := &align.Vector{Columns: nan.Columns, Stamps: []int64{begin}, Values: []float64{1}}
	for name, test := range map[string]struct {
		episode episode.Episode
		says    string
	}{
		"empty":     {episode.Episode{}, "nothing is in this episode"},
		"no frames": {episode.Episode{Cameras: []*episode.Camera{{Track: align.Track{Name: "camera_0"}}}}, "0 frames"},
		"no cameras": {episode.Episode{Arms: []*episode.Arm{{Name: "arm_0",
			Joint: joints(func(int) []float64 { return []float64{1, 2} })}}}, "no rows to train on"},
		"not numbers": {episode.Episode{Arms: []*episode.Arm{{Name: "arm_0", Joint: nan}}}, "501 samples"},
		"too few":     {episode.Episode{Arms: []*episode.Arm{{Name: "arm_0", Gripper: short}}}, "1 sample"},
		"torn frame":  {episode.Episode{Cameras: []*episode.Camera{broken}}, "torn"},
		"gone":        {episode.Episode{Cameras: []*episode.Camera{closed}}, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []Size{{600, 0}, {600, 300}, {1600, 2000}} {
				page, err := Episode(&test.episode, Set{}, size)
				require.NoError(t, err)
				require.Contains(t, page.String(), test.says)
				page.Image()
			}
		})
	}
}

func TestDecode(t *testing.T) {
	var file bytes.Buffer
	deep := image.NewGray16(image.Rect(0, 0, 2, 1))
	deep.SetGray16(0, 0, color.Gray16{Y: 500})
	deep.SetGray16(1, 0, color.Gray16{Y: 900})
	require.NoError(t, png.Encode(&file, deep))
	for name, test := range map[string]struct {
		frame  episode.Frame
		colors [2]color.RGBA
		err    string
	}{
		"rgb8": {frame: episode.Frame{Encoding: "rgb8", Data: []byte{1, 2, 3, 4, 5, 6}, Width: 2, Height: 1, Step: 6},
			colors: [2]color.RGBA{{1, 2, 3, 255}, {4, 5, 6, 255}}},
		"bgra8": {frame: episode.Frame{Encoding: "bgra8", Data: []byte{1, 2, 3, 0, 4, 5, 6, 0}, Width: 2, Height: 1,
			Step: 8}, colors: [2]color.RGBA{{3, 2, 1, 255}, {6, 5, 4, 255}}},
		"16UC1": {frame: episode.Frame{Encoding: "16UC1", Data: []byte{1, 0, 0, 2}, Width: 2, Height: 1, Step: 4},
			colors: [2]color.RGBA{{0, 0, 0, 255}, {255, 255, 255, 255}}},
		"deep png": {frame: episode.Frame{Encoding: "png", Data: file.Bytes()},
			colors: [2]color.RGBA{{0, 0, 0, 255}, {255, 255, 255, 255}}},
		"too short": {frame: episode.Frame{Encoding: "rgb8", Data: []byte{1, 2, 3}, Width: 2, Height: 1, Step: 6},
			err: "3 bytes of data, want 6"},
		"unknown": {frame: episode.Frame{Encoding: "bayer", Data: []byte{1}, Width: 1, Height: 1, Step: 1},
			err: "unsupported image encoding"},
		"torn": {frame: episode.Frame{Encoding: "jpeg", Data: []byte{1}}, err: "not a JPEG"},
	} {
		t.Run(name, func(t *testing.T) {
			picture, err := decode(test.frame)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			for x, want := range test.colors {
				require.Equal(t, want, color.RGBAModel.Convert(picture.At(x, 0)))
			}
		})
	}
}
