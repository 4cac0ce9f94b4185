package cloud

import (
	"bytes"
	"fmt"
)

// appendPCD appends a PCD file of version 0.7. Points are packed, because not all readers know fields of padding.
// Points without coordinates are kept, because an organised cloud needs them.
func appendPCD(dst []byte, p *points) []byte {
	out := bytes.NewBuffer(dst)
	out.WriteString("# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\n")
	line := func(name string, value func(f *field) any) {
		out.WriteString(name)
		for i := range p.fields {
			fmt.Fprintf(out, " %v", value(&p.fields[i]))
		}
		out.WriteByte('\n')
	}
	line("FIELDS", func(f *field) any { return f.name })
	line("SIZE", func(f *field) any { return f.size })
	line("TYPE", func(f *field) any { return string(f.pcd) })
	line("COUNT", func(f *field) any { return f.count })
	fmt.Fprintf(out, "WIDTH %d\nHEIGHT %d\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS %d\nDATA binary\n", p.width, p.height,
		p.width*p.height)
	dst = out.Bytes()
	p.each(func(point []byte) {
		for i := range p.fields {
			dst = p.appendField(dst, point, &p.fields[i])
		}
	})
	return dst
}
