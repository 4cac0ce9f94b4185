package align

import (
	"fmt"
	"math"
	"testing"
)

// BenchmarkAlign aligns an hour of three cameras at 30 Hz and two arms with poses, seven joints and grippers at 100 Hz.
func BenchmarkAlign(b *testing.B) {
	const seconds = 3600
	var s Streams
	for c := range 3 {
		t := &Track{Name: fmt.Sprintf("camera_%d", c)}
		for i := range int64(seconds * 30) {
			t.Stamps = append(t.Stamps, i*33_333_333+int64(c)*5_000_000+i*7919%2_000_000)
		}
		s.Cameras = append(s.Cameras, t)
	}
	numbers := 0
	for a := range 2 {
		for _, columns := range [][]string{{"x", "y", "z", "rx", "ry", "rz"},
			{"j0", "j1", "j2", "j3", "j4", "j5", "j6"},
			{"force", "position", "status"}} {
			v := &Vector{Name: fmt.Sprintf("arm_%d/%s", a, columns[0])}
			for _, name := range columns {
				v.Columns = append(v.Columns, Column{Name: name})
			}
			for i := range int64(seconds * 100) {
				v.Stamps = append(v.Stamps, i*10_000_000)
				for c := range columns {
					v.Values = append(v.Values, math.Sin(float64(i)/100+float64(c)))
				}
			}
			numbers += len(v.Values)
			s.Vectors = append(s.Vectors, v)
		}
	}
	for _, timeline := range []string{"camera", "union", "fixed:30"} {
		b.Run(timeline, func(b *testing.B) {
			b.ReportAllocs()
			rows := 0
			for b.Loop() {
				table, err := Align(s, Options{Timeline: timeline})
				if err != nil {
					b.Fatal(err)
				}
				rows = len(table.Stamps)
			}
			b.ReportMetric(float64(rows), "rows")
			b.ReportMetric(float64(numbers)*8/1e6, "MB_in")
		})
	}
}
