package mavros

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"tapedeck/codec/text/plural"
)

// Geoid is a grid of heights of mean sea level above the ellipsoid, in a file of GeographicLib such as egm96-5.pgm: a
// PGM of 16 bits per pixel whose comments give offset and scale. Rows run from the north pole to the south pole,
// columns east from Greenwich.
type Geoid struct {
	file          *os.File
	width, height int
	offset, scale float64 // m, and m per unit of a pixel
	start         int64   // position of the pixels in the file

	mu          sync.Mutex // guards the fields below
	column, row int        // the cell of the last position
	corners     [4]float64 // heights at the cell's corners: north-west, north-east, south-west, south-east; in m
}

func openGeoid(path string) (*Geoid, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	g := &Geoid{file: f, row: -1, offset: math.NaN(), scale: math.NaN()}
	if err := g.readHeader(); err != nil {
		return nil, errors.Join(fmt.Errorf("read geoid %s: %w", path, err), f.Close())
	}
	return g, nil
}

func (g *Geoid) readHeader() error {
	r := bufio.NewReader(io.LimitReader(g.file, 1<<16))
	var words []string
	for len(words) < 4 {
		line, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("no header of a 16-bit PGM file: %w", err)
		}
		g.start += int64(len(line))
		fields := strings.Fields(line)
		switch {
		case len(fields) > 2 && fields[0] == "#" && fields[1] == "Offset":
			g.offset, err = strconv.ParseFloat(fields[2], 64)
		case len(fields) > 2 && fields[0] == "#" && fields[1] == "Scale":
			g.scale, err = strconv.ParseFloat(fields[2], 64)
		case !strings.HasPrefix(line, "#"):
			words = append(words, fields...)
		}
		if err != nil {
			return fmt.Errorf("header, line %q: %w", strings.TrimSpace(line), err)
		}
	}
	if words[0] != "P5" || len(words) != 4 || words[3] != "65535" {
		return fmt.Errorf("the header is %q, want the header of a 16-bit PGM file", words)
	}
	if math.IsNaN(g.offset) || math.IsNaN(g.scale) {
		return errors.New("the header has no lines '# Offset' and '# Scale', as GeographicLib writes them")
	}
	var err error
	g.width, err = strconv.Atoi(words[1])
	if err == nil {
		g.height, err = strconv.Atoi(words[2])
	}
	const maxSide = 1 << 20
	if err != nil || g.width < 2 || g.height < 3 || g.width > maxSide || g.height > maxSide {
		return fmt.Errorf("invalid size of %s columns and %s rows", words[1], words[2])
	}
	info, err := g.file.Stat()
	if err != nil {
		return err
	}
	if want := g.start + 2*int64(g.width)*int64(g.height); info.Size() < want {
		return fmt.Errorf("%s, want %d: the file is cut short", plural.Count(info.Size(), "byte"), want)
	}
	return nil
}

// heightAt returns the height of the geoid above the ellipsoid in m, interpolated bilinearly. Arguments are in degrees.
func (g *Geoid) heightAt(latitude, longitude float64) (float64, error) {
	if !(math.Abs(latitude) <= 90) || math.IsNaN(longitude) || math.IsInf(longitude, 0) {
		return 0, fmt.Errorf("%v, %v is not a position on Earth", latitude, longitude)
	}
	longitude = math.Mod(longitude, 360)
	if longitude < 0 {
		longitude += 360
	}
	x := longitude / 360 * float64(g.width)
	y := (90 - latitude) / 180 * float64(g.height-1)
	g.mu.Lock()
	defer g.mu.Unlock()
	column, row := int(x)%g.width, min(int(y), g.height-2)
	if column != g.column || row != g.row {
		if err := g.load(column, row); err != nil {
			return 0, err
		}
	}
	fx, fy := x-math.Floor(x), y-float64(row)
	c := &g.corners
	return (1-fy)*((1-fx)*c[0]+fx*c[1]) + fy*((1-fx)*c[2]+fx*c[3]), nil
}

// load reads the heights at the corners of a cell. The caller holds g.mu.
func (g *Geoid) load(column, row int) error {
	g.row = -1
	var pixel [2]byte
	for i := range g.corners {
		x, y := (column+i%2)%g.width, row+i/2
		if _, err := g.file.ReadAt(pixel[:], g.start+2*(int64(y)*int64(g.width)+int64(x))); err != nil {
			return fmt.Errorf("read geoid %s: %w", g.file.Name(), err)
		}
		g.corners[i] = g.offset + g.scale*float64(binary.BigEndian.Uint16(pixel[:]))
	}
	g.column, g.row = column, row
	return nil
}

// Close closes the file.
func (g *Geoid) Close() error { return g.file.Close() }

// standardGeoid is the path at which Debian's geographiclib-tools install the geoid that mavros uses.
const standardGeoid = "/usr/share/GeographicLib/geoids/egm96-5.pgm"

// FindGeoid opens the geoid at path. For the path "" it opens the geoid that mavros uses, or returns nil if that geoid
// is not installed.
func FindGeoid(path string) (*Geoid, error) {
	if path != "" {
		return openGeoid(path)
	}
	g, err := openGeoid(standardGeoid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return g, err
}
