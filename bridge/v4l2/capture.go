package v4l2

// Capture is an opened device that captures video. It is for one goroutine.
type Capture struct{}

// Open opens the capture device at path on a system. Errors are those of the system, such as unix.ENOENT or unix.EBUSY, with words that
// say what to do; a device that cannot capture by streaming is one.
func Open(system System, path string) (*Capture, error) { panic("not yet written") }

// Card returns the name of the device, Driver and Bus who drives it and where it is plugged in.
func (c *Capture) Card() string { panic("not yet written") }

// Formats lists the pixel formats that the device offers.
func (c *Capture) Formats() ([]PixelFormat, error) { panic("not yet written") }

// Sizes lists the sizes that the device offers in a pixel format; none if it does not say.
func (c *Capture) Sizes(f FourCC) ([]Sizes, error) { panic("not yet written") }

// Rates lists the frames per second that the device offers in a pixel format and size; none if it does not say.
func (c *Capture) Rates(f FourCC, width, height int) ([]Rates, error) { panic("not yet written") }

// Format returns the format that is set.
func (c *Capture) Format() (Format, error) { panic("not yet written") }

// SetFormat sets pixel format and size, and returns them as the driver then has them, with the padding of its rows. A FourCC, width or
// height of 0 is left as it is. If the driver chose another, SetFormat fails with a *FormatError.
func (c *Capture) SetFormat(f FourCC, width, height int) (Format, error) { panic("not yet written") }

// SetRate sets the frames per second, and returns those that the driver then has, which are the nearest that the device can do; 0 if
// the device does not tell.
func (c *Capture) SetRate(rate float64) (float64, error) { panic("not yet written") }

// Controls lists what can be set on the device.
func (c *Capture) Controls() ([]Control, error) { panic("not yet written") }

// Set sets controls: first menus and booleans, in their order, as they switch modes that others depend on, then the rest. What the device
// does not have, or a value that is out of range, is an error which says what it has.
func (c *Capture) Set(settings []Setting) error { panic("not yet written") }

// Stream starts capturing into a number of buffers, at least 2.
func (c *Capture) Stream(buffers int) (*Stream, error) { panic("not yet written") }

// Close closes the device, and its stream.
func (c *Capture) Close() error { panic("not yet written") }

// FormatError says that a device does not have the wanted format.
type FormatError struct {
	Path   string
	Wanted Format
	Given  Format   // what the driver chose instead
	Offers []string // what the device has: "MJPG 1280x720 at 30, 15"
}

// Error names the wanted format and what the device has.
func (e *FormatError) Error() string { panic("not yet written") }
