package pixel

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLosses checks what images lose as PNGs and as opaque colours of 8 bits.
func TestLosses(t *testing.T) {
	bounds := image.Rect(0, 0, 2, 2)
	encoded := func(m image.Image) Image {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, m))
		return Image{Encoding: "png", Data: b.Bytes()}
	}
	pixels := func(encoding string, data ...byte) Image {
		e := Lookup(encoding)
		return Image{Encoding: encoding, Data: bytes.Repeat(data, 4*e.Bytes/len(data)), Width: 2, Height: 2}
	}
	distances := func(values ...float32) Image {
		m := Image{Encoding: "32FC1", Width: 2, Height: 2}
		for i := range 4 {
			m.Data = binary.LittleEndian.AppendUint32(m.Data, math.Float32bits(values[i%len(values)]))
		}
		return m
	}
	nrgba := func(alpha uint8) image.Image {
		m := image.NewNRGBA(bounds)
		for i := range m.Pix {
			m.Pix[i] = alpha
		}
		return m
	}
	deep := func(c color.RGBA64) image.Image {
		m := image.NewRGBA64(bounds)
		for i := range 4 {
			m.SetRGBA64(i%2, i/2, c)
		}
		return m
	}
	gray16 := image.NewGray16(bounds)
	gray16.Pix[0] = 1
	var tenth float32 = 0.001
	for name, c := range map[string]struct {
		image    Image
		png, rgb Losses
	}{
		"mono8":            {pixels("mono8", 7), 0, 0},
		"bgr8":             {pixels("bgr8", 1, 2, 3), 0, 0},
		"rgba8, opaque":    {pixels("rgba8", 1, 2, 3, 255), 0, 0},
		"bgra8":            {pixels("bgra8", 1, 2, 3, 254), 0, LostTransparency},
		"mono16":           {pixels("mono16", 1, 2), 0, 0},
		"yuv422":           {pixels("yuv422", 1, 2), LostChroma, LostChroma},
		"yuyv":             {pixels("yuyv", 1, 2), LostChroma, LostChroma},
		"millimetres":      {distances(0, float32(math.NaN()), 1.234, 65.535), 0, 0},
		"millimetres × k":  {distances(1234*tenth, 4321*tenth, 65534*tenth), 0, 0},
		"parts":            {distances(1.2341), LostDepths, LostDepths},
		"far":              {distances(65.536), LostDepths, LostDepths},
		"infinite":         {distances(float32(math.Inf(1))), LostDepths, LostDepths},
		"below 0":          {distances(-0.0004), LostDepths, LostDepths},
		"PNG":              {encoded(image.NewGray(bounds)), 0, 0},
		"PNG, opaque":      {encoded(nrgba(255)), 0, 0},
		"PNG, clear":       {encoded(nrgba(100)), 0, LostTransparency},
		"PNG, 16 bits":     {encoded(deep(color.RGBA64{0x1234, 0, 0, 0xffff})), 0, LostShades},
		"PNG, 8 of 16":     {encoded(deep(color.RGBA64{0x1212, 0, 0, 0xffff})), 0, 0},
		"PNG, clear of 16": {encoded(deep(color.RGBA64{0, 0, 0, 0x1212})), 0, LostTransparency},
		"PNG of depths":    {encoded(gray16), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := c.image.Decode()
			require.NoError(t, err)
			require.Equal(t, c.png, c.image.PNGLosses())
			require.Equal(t, c.rgb, c.image.RGBLosses(m))
		})
	}
	m := Image{Encoding: "nv12", Data: make([]byte, 6), Width: 2, Height: 2}
	require.Equal(t, LostChroma, m.PNGLosses())

	var counter LossCounter
	counter.Add(LostShades)
	counter.Add(LostShades | LostTransparency)
	counts := map[string]uint64{}
	counter.Each(func(what string, images uint64) { counts[what] = images })
	require.Equal(t, map[string]uint64{"transparency": 1, "shades of colours of 16 bits, which become 8 bits": 2},
		counts)
}
