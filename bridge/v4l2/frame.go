package v4l2

// Frame is one picture. It and its Data are valid only during the call that hands it over.
type Frame struct {
	// Data is the picture, in the driver's memory: rows of Format.BytesPerLine bytes, all of them with their padding, or a
	// compressed picture. Bytes that some cameras send after a JPEG's end are not in it.
	Data []byte

	Format Format

	// Sequence is the driver's count of frames. It starts anew each time the device is opened.
	Sequence uint32

	// Stamp is when the driver says that the frame was taken, in ns since the Unix epoch, and Received when it was
	// dequeued. The driver's is on the monotonic clock, and converted. Where the driver does not say, Stamp is the time of
	// reception.
	Stamp, Received int64

	// Clock is where Stamp is from.
	Clock StampClock
}

// StampClock is where the stamp of a frame is from.
type StampClock int

// Sources of stamps.
const (
	Receive         StampClock = iota // the time of reception: the driver says nothing, or a time that cannot be
	EndOfFrame                        // the driver, at the end of the frame's transmission
	StartOfExposure                   // the driver, at the start of exposure
)

// String returns "reception", "end of frame" or "start of exposure".
func (c StampClock) String() string {
	switch c {
	case EndOfFrame:
		return "end of frame"
	case StartOfExposure:
		return "start of exposure"
	}
	return "reception"
}
