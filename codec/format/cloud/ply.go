package cloud

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"
)

// plyNormals maps PCL's field names of normals to PLY's.
var plyNormals = map[string]string{"normal_x": "nx", "normal_y": "ny", "normal_z": "nz"}

// appendPLY appends a binary PLY file. PLY has no integers of 64 bits: they become double, and p.rounded is set if a
// double is not exact. A colour that PCL packs into one number becomes several bytes. Points whose coordinates are not
// finite are omitted, because many viewers fail at them.
func appendPLY(dst []byte, p *points, frame string) (file []byte, omitted int) {
	var body []byte
	vertices := 0
	properties := p.properties()
	p.each(func(point []byte) {
		if !p.finite(point) {
			omitted++
			return
		}
		vertices++
		for i := range p.fields {
			body = p.appendProperty(body, point, &p.fields[i])
		}
	})
	out := bytes.NewBuffer(dst)
	out.WriteString("ply\nformat binary_little_endian 1.0\n")
	if frame != "" {
		frame = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '_'
			}
			return r
		}, frame)
		fmt.Fprintf(out, "comment frame_id %s\n", frame)
	}
	fmt.Fprintf(out, "element vertex %d\n", vertices)
	for _, line := range properties {
		fmt.Fprintf(out, "property %s\n", line)
	}
	out.WriteString("end_header\n")
	return append(out.Bytes(), body...), omitted
}

// packed reports whether a field is a colour of 4 bytes: blue, green, red, and alpha or an unused byte.
func (f *field) packed() bool {
	return (f.name == "rgb" || f.name == "rgba") && f.count == 1 && f.size == 4
}

// properties returns type and name of each property of a vertex.
func (p *points) properties() (lines []string) {
	var names []string
	add := func(kind, name string) {
		for slices.Contains(names, name) {
			name += "_2"
		}
		names = append(names, name)
		lines = append(lines, kind+" "+name)
	}
	for i := range p.fields {
		f := &p.fields[i]
		name, kind := f.name, f.ply
		if n := plyNormals[name]; n != "" {
			name = n
		}
		if kind == "" {
			kind = "double"
		}
		switch {
		case f.packed():
			for _, color := range []string{"red", "green", "blue", "alpha"}[:len(f.name)] {
				add("uchar", color)
			}
		case f.count == 1:
			add(kind, name)
		default:
			for k := range f.count {
				add(kind, fmt.Sprintf("%s_%d", name, k))
			}
		}
	}
	return lines
}

// appendProperty appends the properties for one field of a point.
func (p *points) appendProperty(dst, point []byte, f *field) []byte {
	from := len(dst)
	dst = p.appendField(dst, point, f)
	switch {
	case f.packed():
		dst[from], dst[from+2] = dst[from+2], dst[from]
		return dst[:from+len(f.name)]
	case f.ply == "":
		for at := from; at < len(dst); at += 8 {
			n := binary.LittleEndian.Uint64(dst[at:])
			v := float64(n)
			if f.pcd == 'I' {
				v = float64(int64(n))
				n = min(n, -n) // its magnitude
			}
			p.rounded = p.rounded || bits.Len64(n)-bits.TrailingZeros64(n) > 53
			binary.LittleEndian.PutUint64(dst[at:], math.Float64bits(v))
		}
	}
	return dst
}

// finite reports whether the coordinates x, y and z of a point are finite.
func (p *points) finite(point []byte) bool {
	for i := range p.fields {
		f := &p.fields[i]
		if f.pcd == 'F' && f.count == 1 && len(f.name) == 1 && f.name >= "x" && f.name <= "z" {
			if v := p.number(point, f); math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
		}
	}
	return true
}
