package v4l2

// Frame is one picture. It and its Data are valid only during the call that hands it over.
type Frame struct {
	// Data is the picture, in the driver's memory: rows of Format.BytesPerLine bytes, or a compressed picture. Bytes that some
	// cameras send after a JPEG's end are not in it.
	Data []byte

	Format Format

	// Sequence is the driver's count of frames. It starts at 0 each time the device is opened.
	Sequence uint32

	// Dropped is how many frames the driver counted, but had no buffer for, since the frame before; Damaged is how many came, but broken.
	Dropped, Damaged uint32

	// Stamp is when the driver says that the frame was taken, in ns since the Unix epoch, and Received when it was dequeued. The
	// driver's is on the monotonic clock, and converted. A driver which does not say gets the time of reception.
	Stamp, Received int64

	// Clock is where Stamp is from.
	Clock StampClock
}

// StampClock is where the stamp of a frame is from.
type StampClock int

// Sources of stamps.
const (
	NoClock             StampClock = iota // the driver says nothing: the time of reception
	EndOfFrame                            // the driver's monotonic clock, at the end of the frame's exposure or transmission
	StartOfExposure                       // the driver's monotonic clock, at the start of exposure
	CopiedFromElsewhere                   // copied by the driver from a buffer of its input, which means nothing here: the time of reception
)

// String returns "receive", "end of frame", "start of exposure" or "copied".
func (c StampClock) String() string { panic("not yet written") }
