package v4l2

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Format is the memory layout of a device's images.
type Format struct {
	FourCC       FourCC
	Width        int // in pixels
	Height       int // in pixels
	BytesPerLine int // from one row to the next, with padding, in the first plane; 0 if compressed
	Size         int // greatest length of a frame, in bytes
}

// String returns "YUYV 640x480".
func (f Format) String() string {
	return fmt.Sprintf("%v %dx%d", f.FourCC, f.Width, f.Height)
}

// maxSide limits width and height, in pixels.
const maxSide = 1 << 15

// check sets lengths that the driver left out, and returns an error if the format is invalid.
func (f *Format) check() error {
	if f.Width <= 0 || f.Height <= 0 || f.Width > maxSide || f.Height > maxSide || f.BytesPerLine < 0 || f.Size < 0 {
		return fmt.Errorf("the driver reports an invalid format: %v, %d bytes per row, %d bytes in all", f,
			f.BytesPerLine, f.Size)
	}
	if f.FourCC.Compressed() {
		f.BytesPerLine = 0
		return nil
	}
	first, all := f.FourCC.bits()
	if first == 0 {
		return nil
	}
	if f.BytesPerLine == 0 {
		f.BytesPerLine = (f.Width*first + 7) / 8
	}
	size := int64(f.BytesPerLine) * int64(f.Height) * int64(all) / int64(first)
	if f.BytesPerLine > 16*maxSide || f.BytesPerLine*8 < f.Width*first || size > math.MaxInt32 {
		return fmt.Errorf("the driver reports an invalid format: %v with %d bytes per row", f, f.BytesPerLine)
	}
	f.Size = int(size)
	return nil
}

// PixelFormat is a pixel format that a device offers.
type PixelFormat struct {
	FourCC      FourCC
	Description string // "Motion-JPEG"
}

// Sizes is a range of image sizes that a device offers, or a single size.
type Sizes struct {
	MinWidth, MaxWidth, StepWidth    int
	MinHeight, MaxHeight, StepHeight int
}

// String returns "640x480", or "32x32 to 1920x1080 in steps of 2x2".
func (s Sizes) String() string {
	if s.MinWidth == s.MaxWidth && s.MinHeight == s.MaxHeight {
		return fmt.Sprintf("%dx%d", s.MinWidth, s.MinHeight)
	}
	text := fmt.Sprintf("%dx%d to %dx%d", s.MinWidth, s.MinHeight, s.MaxWidth, s.MaxHeight)
	if s.StepWidth > 1 || s.StepHeight > 1 {
		text += fmt.Sprintf(" in steps of %dx%d", s.StepWidth, s.StepHeight)
	}
	return text
}

// Rates is a range of frames per second that a device offers, or a single rate.
type Rates struct {
	Min, Max float64
}

// String returns "30", or "1 to 60".
func (r Rates) String() string {
	if r.Min == r.Max {
		return number(r.Min)
	}
	return number(r.Min) + " to " + number(r.Max)
}

// number formats at most two decimals.
func number(f float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(f, 'f', 2, 64), "0"), ".")
}

// list returns "a, b and c".
func list[T any](items []T) string {
	var b strings.Builder
	for i, item := range items {
		switch {
		case i == 0:
		case i == len(items)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, item)
	}
	return b.String()
}
