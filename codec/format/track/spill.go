package track

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// point is a place at a time. Its fields are exported for package binary.
type point struct {
	Time   int64      // ns since the Unix epoch
	At     [3]float64 // latitude, longitude and altitude, or x, y and z in metres
	Turn   [4]float64 // x, y, z and w of a quaternion
	Broken bool       // positions before it are missing
}

var noTurn = [4]float64{0, 0, 0, 1}

const (
	pointSize = 8 + 3*8 + 4*8 + 1 // bytes of a point in the spill
	inBlock   = 64                // points of a block
)

// spill is an unnamed file that holds the points of all tracks in blocks, until each track is written as a whole.
type spill struct {
	file *os.File
	size int64
}

func (s *spill) create(folder string) (err error) {
	s.file, err = store.Unnamed(folder)
	return err
}

func (s *spill) close() { s.file.Close() }

// track is the track of a topic or a frame.
type track struct {
	name   string
	spill  *spill
	count  int
	last   int64   // time of the last point
	broken bool    // positions after the last point are missing
	blocks []int64 // offsets in the spill
	buffer []byte  // points that are not in a block yet
}

// add adds a point.
func (t *track) add(p point) error {
	p.Broken = t.broken && t.count > 0
	t.broken = false
	t.count++
	t.last = p.Time
	var err error
	t.buffer, err = binary.Append(t.buffer, binary.LittleEndian, &p)
	if err != nil {
		return err
	}
	if len(t.buffer) < inBlock*pointSize {
		return nil
	}
	if _, err := t.spill.file.WriteAt(t.buffer, t.spill.size); err != nil {
		return &codec.MissingError{Path: t.spill.file.Name(), Err: codec.Pathless(err)}
	}
	t.blocks = append(t.blocks, t.spill.size)
	t.spill.size += int64(len(t.buffer))
	t.buffer = t.buffer[:0]
	return nil
}

// each calls visit with all points.
func (t *track) each(visit func(p *point)) error {
	block := make([]byte, inBlock*pointSize)
	var p point
	all := func(b []byte) error {
		for r := bytes.NewReader(b); r.Len() > 0; visit(&p) {
			if err := binary.Read(r, binary.LittleEndian, &p); err != nil {
				return err
			}
		}
		return nil
	}
	for _, at := range t.blocks {
		if _, err := t.spill.file.ReadAt(block, at); err != nil {
			return err
		}
		if err := all(block); err != nil {
			return err
		}
	}
	return all(t.buffer)
}

// lines calls visit with all points of a track of latitudes and longitudes. It cuts the track into lines where it
// crosses the meridian of ±180°, and adds a point on the meridian to the end of one line and to the beginning of the
// next. first reports whether a line begins.
func (t *track) lines(visit func(p *point, first bool)) error {
	var last point
	first := true
	return t.each(func(p *point) {
		turn := 0.0 // ±360
		if way := p.At[1] - last.At[1]; !first && math.Abs(way) > 180 {
			turn = math.Copysign(360, -way)
		}
		if turn != 0 {
			ratio := 0.0 // if both points are on the meridian
			if way := p.At[1] + turn - last.At[1]; way != 0 {
				ratio = (turn/2 - last.At[1]) / way
			}
			cut := *p
			cut.Time = last.Time + int64(ratio*float64(p.Time-last.Time))
			cut.At[0] += (ratio - 1) * (p.At[0] - last.At[0])
			cut.At[2] += (ratio - 1) * (p.At[2] - last.At[2])
			cut.At[1] = turn / 2
			visit(&cut, false)
			cut.At[1] = -turn / 2
			visit(&cut, true)
		}
		visit(p, first)
		first, last = false, *p
	})
}
