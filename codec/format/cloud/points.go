package cloud

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"tapedeck/msgs/sensor_msgs"
)

// kind is a type of number.
type kind struct {
	size int
	pcd  byte   // TYPE in PCD
	ply  string // type of a property in PLY; "" if PLY lacks it
}

// kinds lists the types of numbers by the datatype of sensor_msgs/msg/PointField. Only PCL and later releases of ROS 2
// have the datatypes from 9 on.
var kinds = []kind{
	1: {1, 'I', "char"}, 2: {1, 'U', "uchar"}, 3: {2, 'I', "short"}, 4: {2, 'U', "ushort"}, 5: {4, 'I', "int"},
	6: {4, 'U', "uint"}, 7: {4, 'F', "float"}, 8: {8, 'F', "double"}, 9: {8, 'I', ""}, 10: {8, 'U', ""},
	11: {1, 'U', "uchar"},
}

// field is a field of each point.
type field struct {
	name   string
	offset int
	count  int
	kind
}

// points are the points of a cloud, in rows.
type points struct {
	fields        []field // by offset
	width, height int
	step          int // bytes from a point to the next
	rowStep       int // bytes from a row to the next
	big           bool
	data          []byte
	rounded       bool // an integer lost digits in the file
}

// maxElements is the most numbers of a point, because a header names each.
const maxElements = 1 << 12

// maxOverlap limits the size of all fields of a point, as a multiple of the point's size. Fields may overlap, and each
// is written.
const maxOverlap = 4

// setCloud sets p to a cloud, whose data it shares, after checking that all of its points are there.
func (p *points) setCloud(c *sensor_msgs.PointCloud2) error {
	*p = points{fields: p.fields[:0], width: int(c.Width), height: int(c.Height), step: int(c.PointStep),
		rowStep: int(c.RowStep), big: c.IsBigendian, data: c.Data}
	elements, size := 0, 0
	for _, f := range c.Fields {
		if f.Datatype == 0 || int(f.Datatype) >= len(kinds) {
			return fmt.Errorf("field %.40q has the unknown datatype %d", f.Name, f.Datatype)
		}
		k := kinds[f.Datatype]
		count := max(int(f.Count), 1) // 0 in old messages
		if int(f.Offset) > p.step || count > (p.step-int(f.Offset))/k.size {
			return fmt.Errorf("field %.40q, %d × %d bytes at %d, exceeds the point of %d bytes", f.Name, count, k.size,
				f.Offset, p.step)
		}
		elements, size = elements+count, size+count*k.size
		if elements > maxElements || size > maxOverlap*p.step {
			return fmt.Errorf("points with %d numbers of %d bytes in %d bytes are not supported", elements, size,
				p.step)
		}
		p.fields = append(p.fields, field{p.unique(f.Name), int(f.Offset), count, k})
	}
	if len(p.fields) == 0 {
		return errors.New("the cloud has no fields")
	}
	slices.SortStableFunc(p.fields, func(a, b field) int { return cmp.Compare(a.offset, b.offset) })
	if p.width == 0 || p.height == 0 {
		p.width, p.height = 0, min(p.height, 1)
		return nil
	}
	if p.height == 1 && p.rowStep < p.width*p.step { // some publishers don't set RowStep
		p.rowStep = p.width * p.step
	}
	// Each factor is below 1<<32, and a row that fits into data is a small number.
	if p.width > len(p.data)/p.step || p.rowStep < p.width*p.step ||
		p.height-1 > (len(p.data)-p.width*p.step)/p.rowStep {
		return fmt.Errorf("%d bytes of data cannot hold %d×%d points of %d bytes in rows of %d", len(p.data), p.width,
			p.height, p.step, c.RowStep)
	}
	return nil
}

// unique returns a name for a field that a header can contain: without spaces, and different from the names of other
// fields.
func (p *points) unique(name string) string {
	name = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' {
			return '_'
		}
		return r
	}, name)
	if len(name) > 64 {
		name = name[:64]
	}
	if name == "" || name == "_" { // PCL takes _ for padding
		name = "field"
	}
	has := func(name string) bool {
		return slices.ContainsFunc(p.fields, func(f field) bool { return f.name == name })
	}
	unique := name
	for i := 2; has(unique); i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	return unique
}

// setScan sets p to the points of a scan, without rays that hit nothing in range.
func (p *points) setScan(s *sensor_msgs.LaserScan) {
	float := kinds[sensor_msgs.PointField_FLOAT32]
	fields := append(p.fields[:0], field{"x", 0, 1, float}, field{"y", 4, 1, float}, field{"z", 8, 1, float})
	bright := len(s.Intensities) == len(s.Ranges)
	if bright {
		fields = append(fields, field{"intensity", 12, 1, float})
	}
	data := []byte{}
	put := func(v float32) { data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v)) }
	n := 0
	for i, r := range s.Ranges {
		if !(r >= s.RangeMin && r <= s.RangeMax) || math.IsInf(float64(r), 0) {
			continue
		}
		sin, cos := math.Sincos(float64(s.AngleMin) + float64(i)*float64(s.AngleIncrement))
		put(float32(float64(r) * cos))
		put(float32(float64(r) * sin))
		put(0)
		if bright {
			put(s.Intensities[i])
		}
		n++
	}
	step := 4 * len(fields)
	*p = points{fields: fields, width: n, height: 1, step: step, rowStep: n * step, data: data}
}

// each calls visit with each point.
func (p *points) each(visit func(point []byte)) {
	for y := range p.height {
		row := p.data[y*p.rowStep:][:p.width*p.step]
		for x := range p.width {
			visit(row[x*p.step:][:p.step])
		}
	}
}

// appendField appends the numbers of a field in little-endian order.
func (p *points) appendField(dst []byte, point []byte, f *field) []byte {
	from := len(dst)
	dst = append(dst, point[f.offset:][:f.count*f.size]...)
	if p.big && f.size > 1 {
		for at := from; at < len(dst); at += f.size {
			slices.Reverse(dst[at:][:f.size])
		}
	}
	return dst
}

// number returns the first number of a field.
func (p *points) number(point []byte, f *field) float64 {
	var n uint64
	for i, b := range point[f.offset:][:f.size] {
		if p.big {
			i = f.size - 1 - i
		}
		n |= uint64(b) << (8 * i)
	}
	switch shift := 64 - 8*f.size; {
	case f.pcd == 'F' && f.size == 4:
		return float64(math.Float32frombits(uint32(n)))
	case f.pcd == 'F':
		return math.Float64frombits(n)
	case f.pcd == 'I':
		return float64(int64(n<<shift) >> shift)
	}
	return float64(n)
}
