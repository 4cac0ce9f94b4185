package pixel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/zlib"
)

// PNGEncoder encodes PNGs (https://www.w3.org/TR/png/) several times as fast as image/png. It stores the differences of
// each row from the row above, compressed at the fastest level. The zero value is ready to use. A PNGEncoder is not for
// concurrent use.
type PNGEncoder struct {
	out   bytes.Buffer
	zlib  *zlib.Writer
	lines [2][]byte // pixels of the present row and of the row above
	line  []byte    // the number of the filter, and the differences
}

// filterUp is the number of PNG's filter of differences from the row above.
const filterUp = 2

// pngTarget describes the pixels of a PNG and the conversion to them.
type pngTarget struct {
	conversion Conversion
	color      byte // PNG's colour type
	depth      byte // bits of a channel
}

// newPNGTarget returns the target for an encoding, which must be decodable.
func newPNGTarget(e *Encoding) pngTarget {
	t := pngTarget{Conversion{From: e, To: e, row: copyRow}, 0, 8}
	switch {
	case e.Deep():
		t.depth, t.conversion.To, t.conversion.row = 16, Lookup("mono16"), e.deepRow()
	case e.Gray():
	default:
		t.color, t.conversion.To = 2, Lookup("rgb8")
		if e.Bytes == 4 {
			t.color, t.conversion.To = 6, Lookup("rgba8")
		}
		t.conversion.row = t.conversion.find()
	}
	return t
}

// deepRow returns the function that converts a row of a deep encoding to big-endian numbers of 16 bits.
func (e *Encoding) deepRow() func(dst, src, uv []byte) {
	if e.family == gray16 {
		return swapBytes
	}
	return func(dst, src, _ []byte) {
		millimetersRow(dst, src, nil)
		swapBytes(dst, dst, nil)
	}
}

// checkPNG returns an error if a chunk is missing or does not match its checksum.
func checkPNG(data []byte) error {
	for at := len(pngMagic); len(data)-at >= 12; {
		n := binary.BigEndian.Uint32(data[at:])
		if n > uint32(math.MaxInt32) || int(n) > len(data)-at-12 {
			break
		}
		end := at + 8 + int(n)
		if crc32.ChecksumIEEE(data[at+4:end]) != binary.BigEndian.Uint32(data[end:]) {
			return fmt.Errorf("the PNG is damaged: the checksum of its chunk %q at byte %d is wrong",
				data[at+4:at+8], at)
		}
		if string(data[at+4:at+8]) == "IEND" {
			return nil
		}
		at = end + 4
	}
	return errors.New("the PNG is cut off: its end is missing")
}

// Encode returns an image of pixels as a PNG, which is valid until the next call. It fails if Image.Config does.
func (p *PNGEncoder) Encode(m *Image) ([]byte, error) {
	e, err := decodable(m.Encoding)
	if err == nil {
		err = m.check(e)
	}
	if err != nil {
		return nil, err
	}
	target := newPNGTarget(e)
	p.out.Reset()
	p.out.WriteString(pngMagic)
	var header [13]byte
	binary.BigEndian.PutUint32(header[:], uint32(m.Width))
	binary.BigEndian.PutUint32(header[4:], uint32(m.Height))
	header[8], header[9] = target.depth, target.color
	p.begin("IHDR")
	p.out.Write(header[:])
	p.end(len(pngMagic))

	start := p.out.Len()
	p.begin("IDAT")
	if err := p.compress(m, &target.conversion); err != nil {
		return nil, err
	}
	p.end(start)
	start = p.out.Len()
	p.begin("IEND")
	p.end(start)
	return p.out.Bytes(), nil
}

// begin begins a chunk.
func (p *PNGEncoder) begin(kind string) {
	p.out.Write(make([]byte, 4))
	p.out.WriteString(kind)
}

// end ends the chunk that begins at start.
func (p *PNGEncoder) end(start int) {
	chunk := p.out.Bytes()[start:]
	binary.BigEndian.PutUint32(chunk, uint32(len(chunk)-8))
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(chunk[4:]))
	p.out.Write(sum[:])
}

// compress appends the compressed rows.
func (p *PNGEncoder) compress(m *Image, c *Conversion) error {
	if p.zlib == nil {
		var err error
		p.zlib, err = zlib.NewWriterLevel(&p.out, zlib.BestSpeed)
		if err != nil {
			return err
		}
	} else {
		p.zlib.Reset(&p.out)
	}
	width := m.Width * c.To.Bytes
	if len(p.line) != width+1 {
		p.line = make([]byte, width+1)
		p.lines = [2][]byte{make([]byte, width), make([]byte, width)}
	}
	above := p.lines[1]
	clear(above)
	p.line[0] = filterUp
	for y := range m.Height {
		row := p.lines[y%2]
		c.row(row, m.Row(c.From, y), nil)
		subtract(p.line[1:], row, above)
		if _, err := p.zlib.Write(p.line); err != nil {
			return err
		}
		above = row
	}
	return p.zlib.Close()
}

// subtract sets d[i] to a[i]-b[i], eight bytes at a time.
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
