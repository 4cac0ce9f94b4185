package v4l2

// Format is how the pictures of a device are laid out.
type Format struct {
	FourCC       FourCC
	Width        int // in pixels
	Height       int // in pixels
	BytesPerLine int // from one row to the next, padding included; of the first plane; 0 if compressed
	Size         int // most bytes that a frame takes
}

// Compressed reports whether frames are a stream of bytes of varying length rather than rows of pixels.
func (f Format) Compressed() bool { panic("not yet written") }

// String returns "YUYV 640x480".
func (f Format) String() string { panic("not yet written") }

// PixelFormat is a pixel format that a device offers.
type PixelFormat struct {
	FourCC      FourCC
	Description string // "Motion-JPEG"
	Compressed  bool
	Emulated    bool // converted by software, such as libv4l
}

// Sizes are sizes of pictures that a device offers: from smallest to largest by steps, or only one.
type Sizes struct {
	MinWidth, MaxWidth, StepWidth    int
	MinHeight, MaxHeight, StepHeight int
}

// Contains reports whether a picture can be so large.
func (s Sizes) Contains(width, height int) bool { panic("not yet written") }

// String returns "640x480", or "32x32 to 1920x1080 in steps of 2x2".
func (s Sizes) String() string { panic("not yet written") }

// Rates are numbers of frames per second that a device offers, from lowest to highest, or only one.
type Rates struct {
	Min, Max float64
}

// String returns "30", or "1 to 60".
func (r Rates) String() string { panic("not yet written") }
