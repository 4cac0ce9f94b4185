package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zlib"

	"tapedeck/codec/episode"
)

// pngEncoder makes PNGs (https://www.w3.org/TR/png/) quickly: each row is told by its differences from the one above,
// and what that leaves is compressed as fast as can be.
type pngEncoder struct {
	out   bytes.Buffer
	zlib  *zlib.Writer
	lines [2][]byte // of pixels, this one and the one above
	line  []byte    // what is told of them, behind the number of the filter
}

// filterUp is PNG's filter of differences from the row above.
const filterUp = 2

// checkPixels returns the pixels of a frame if they are all there.
func checkPixels(f *episode.Frame) (*pixels, error) {
	p, err := pixelsOf(f.Encoding)
	if err != nil {
		return nil, err
	}
	const most = 1 << 16
	switch width := f.Width * p.bytes; {
	case f.Width <= 0 || f.Height <= 0 || f.Width > most || f.Height > most:
		return nil, fmt.Errorf("%d×%d pixels are no picture", f.Width, f.Height)
	case p.pairs && f.Width%2 != 0:
		return nil, fmt.Errorf("%d pixels %s cannot be a row, they come in pairs", f.Width, f.Encoding)
	case f.Step < 0 || f.Step > 0 && f.Step < width || f.Step > 1<<30:
		return nil, fmt.Errorf("rows of %d pixels %s have %d bytes, not %d", f.Width, f.Encoding, width, f.Step)
	case len(f.Data) < (f.Height-1)*stepOf(f, p)+width:
		return nil, fmt.Errorf("%d×%d pixels %s have %d bytes, not %d", f.Width, f.Height, f.Encoding, (f.Height-1)*stepOf(f, p)+width, len(f.Data))
	}
	return p, nil
}

// stepOf returns the bytes of a row.
func stepOf(f *episode.Frame, p *pixels) int {
	if f.Step > 0 {
		return f.Step
	}
	return f.Width * p.bytes
}

// encode returns a frame, whose pixels were checked, as a PNG that is valid until the next call.
func (e *pngEncoder) encode(f *episode.Frame, p *pixels) ([]byte, error) {
	e.out.Reset()
	e.out.Write(pngMagic)
	var header [13]byte
	binary.BigEndian.PutUint32(header[:], uint32(f.Width))
	binary.BigEndian.PutUint32(header[4:], uint32(f.Height))
	header[8], header[9] = p.depth, p.color
	e.begin("IHDR")
	e.out.Write(header[:])
	e.end(len(pngMagic))

	start := e.out.Len()
	e.begin("IDAT")
	if err := e.compress(f, p); err != nil {
		return nil, err
	}
	e.end(start)
	start = e.out.Len()
	e.begin("IEND")
	e.end(start)
	return e.out.Bytes(), nil
}

// begin begins a chunk of the file.
func (e *pngEncoder) begin(kind string) {
	e.out.Write(make([]byte, 4))
	e.out.WriteString(kind)
}

// end ends the chunk that begins at start.
func (e *pngEncoder) end(start int) {
	chunk := e.out.Bytes()[start:]
	binary.BigEndian.PutUint32(chunk, uint32(len(chunk)-8))
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(chunk[4:]))
	e.out.Write(sum[:])
}

// compress appends the rows.
func (e *pngEncoder) compress(f *episode.Frame, p *pixels) error {
	if e.zlib == nil {
		var err error
		if e.zlib, err = zlib.NewWriterLevel(&e.out, zlib.BestSpeed); err != nil {
			return err
		}
	} else {
		e.zlib.Reset(&e.out)
	}
	width := f.Width * p.channels * int(p.depth) / 8
	if len(e.line) != width+1 {
		e.line = make([]byte, width+1)
		e.lines = [2][]byte{make([]byte, width), make([]byte, width)}
	}
	above := e.lines[1]
	clear(above)
	e.line[0] = filterUp
	step := stepOf(f, p)
	for y := range f.Height {
		row := e.lines[y%2]
		p.row(row, f.Data[y*step:][:f.Width*p.bytes])
		subtract(e.line[1:], row, above)
		if _, err := e.zlib.Write(e.line); err != nil {
			return err
		}
		above = row
	}
	return e.zlib.Close()
}

// subtract sets each byte of d to that of a without that of b, eight at a time.
func subtract(d, a, b []byte) {
	const high = 0x8080808080808080
	for len(d) >= 8 && len(a) >= 8 && len(b) >= 8 {
		x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(d, ((x|high)-(y&^high))^((x^^y)&high))
		d, a, b = d[8:], a[8:], b[8:]
	}
	for i := range d {
		d[i] = a[i] - b[i]
	}
}
