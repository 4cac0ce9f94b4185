package carla

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
)

const (
	frameStartSize = 24
	// maxFrame is the greatest size of a frame, in bytes. Frames with 65535 actors are smaller.
	maxFrame = 256 << 20
)

// errCut is the error for a log that ends within a frame.
var errCut = errors.New("the recording was not closed: the log ends within a frame")

// frame is a frame of a log.
type frame struct {
	FrameStart
	pos  int64 // offset in the file
	time int64 // LogTime
	data []byte
}

// walker reads the frames of a log in order.
type walker struct {
	chunked.Window
	path     string
	header   Header
	pos      int64 // offset of the next frame
	previous frame // the frame before pos, without data; zero at the first frame
}

// next returns the next frame. The data of the frame is valid until the next call. The error is io.EOF at the end of
// the log, errCut if an incomplete frame ends the log, a *damage, after which next can be called again, or an error of
// reading.
func (w *walker) next() (frame, error) {
	f := frame{pos: w.pos}
	size := 0 // bytes of the complete packets from f.pos on
	started, ended := false, false
	problem := ""
	for problem == "" {
		b, err := w.View(f.pos, size+packetHead)
		if err != nil {
			return f, fmt.Errorf("read %s: frame at %#x: %w", w.path, f.pos, codec.Pathless(err))
		}
		left := w.Size - f.pos - int64(size)
		if left < packetHead {
			problem = "a packet ends within its head"
			break
		}
		id, data := b[size], int64(binary.LittleEndian.Uint32(b[size+1:]))
		switch {
		case id == IDFrameStart && data != frameStartSize:
			problem = fmt.Sprintf("FrameStart has %s instead of %d", plural.Count(data, "byte"), frameStartSize)
		case id == IDFrameStart && started:
			return w.accept(f, size)
		case packetHead+data > left:
			problem = fmt.Sprintf("packet %d has %s, only %d are there", id, plural.Count(data, "byte"),
				left-packetHead)
		case int64(size)+data > maxFrame:
			problem = fmt.Sprintf("a frame has more than %d bytes", maxFrame)
		}
		if problem == "" {
			started = started || id == IDFrameStart
			ended = ended || started && id == IDFrameEnd
			size += packetHead + int(data)
		}
	}
	if ended {
		return w.accept(f, size)
	}
	if f.pos == w.Size {
		return f, io.EOF
	}
	end, err := w.resync(f.pos + 1)
	if err != nil {
		return f, fmt.Errorf("read %s: %w", w.path, codec.Pathless(err))
	}
	if end < 0 {
		return f, errCut
	}
	w.pos = end
	return f, &damage{w.path, f.pos, end, problem}
}

// accept returns f with its size bytes of data, and moves w to the end of f.
func (w *walker) accept(f frame, size int) (frame, error) {
	b, err := w.View(f.pos, size)
	if err != nil {
		return f, fmt.Errorf("read %s: frame at %#x: %w", w.path, f.pos, codec.Pathless(err))
	}
	f.data = b[:size:size]
	f.FrameStart = startOf(f.data)
	f.time = max(w.header.logTime(&f.FrameStart), w.previous.time)
	w.pos += int64(size)
	w.previous = f
	w.previous.data = nil
	return f, nil
}

// startOf returns the FrameStart of a frame.
func startOf(data []byte) (f FrameStart) {
	for len(data) > 0 {
		k, rest, err := NextPacket(data)
		if err != nil {
			break
		}
		if k.ID == IDFrameStart {
			f.code(&coder{data: k.Data})
			break
		}
		data = rest
	}
	return f
}

// frameStartHead is the id and the size of a FrameStart packet.
var frameStartHead = []byte{IDFrameStart, frameStartSize, 0, 0, 0}

// resync returns the offset of the first FrameStart at pos or later that can follow w.previous, or -1 if there is none.
func (w *walker) resync(pos int64) (int64, error) {
	const size = packetHead + frameStartSize
	for {
		b, err := w.View(pos, chunked.WindowSize)
		if err != nil {
			return 0, err
		}
		if len(b) < size {
			return -1, nil
		}
		i := bytes.Index(b, frameStartHead)
		switch {
		case i < 0:
			pos += int64(len(b) - len(frameStartHead) + 1)
		case len(b)-i < size && pos+int64(len(b)) == w.Size:
			return -1, nil
		case len(b)-i < size:
			pos += int64(i)
		default:
			pos += int64(i)
			if f := startOf(b[i : i+size]); f.follows(&w.previous.FrameStart) {
				return pos, nil
			}
			pos++
		}
	}
}
