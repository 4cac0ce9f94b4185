package align

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
)

// FuzzAlign aligns any streams with any options, and checks the result.
func FuzzAlign(f *testing.F) {
	f.Add([]byte{}, "")
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"),
		"union")
	f.Add([]byte("\xffabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"), "fixed:100")
	f.Fuzz(func(t *testing.T, data []byte, timeline string) {
		take := func() (b byte) {
			if len(data) > 0 {
				b, data = data[0], data[1:]
			}
			return b
		}
		far := false // whether some stamps are arbitrary 64-bit numbers
		stamps := func() (list []int64) {
			for range take() % 32 {
				switch stamp := int64(take()) * 10 * ms; take() % 16 {
				case 0:
					var b [8]byte
					data = data[copy(b[:], data):]
					list = append(list, int64(binary.LittleEndian.Uint64(b[:])))
					far = true
				case 1:
					list = append(list, stamp+1)
				default:
					list = append(list, stamp)
				}
			}
			return list
		}
		vector := func(name string) *Vector {
			v := &Vector{Name: name, Stamps: stamps()}
			for range take() % 4 {
				switch kind := Interp(take() % 7); kind {
				case Euler:
					v.Columns = append(v.Columns, Column{Name: "rx", Interp: Euler}, Column{Name: "ry", Interp: Euler},
						Column{Name: "rz", Interp: Euler})
				case Quaternion:
					v.Columns = append(v.Columns, Column{Interp: kind}, Column{Interp: kind}, Column{Interp: kind},
						Column{Interp: kind})
				default:
					v.Columns = append(v.Columns, Column{Name: "a", Interp: kind})
				}
			}
			for range len(v.Columns) * len(v.Stamps) {
				x := float64(int8(take())) / 8
				switch {
				case x == 15:
					x = Missing()
				case x == 15.5:
					x = math.NaN()
				case x == 15.75:
					x = math.MaxFloat64
				case x == 15.25:
					x = math.SmallestNonzeroFloat64
				}
				v.Values = append(v.Values, x)
			}
			return v
		}
		choose := func(list ...string) string { return list[int(take())%len(list)] }
		limit := func() time.Duration { return time.Duration(int8(take())) * 5 * time.Millisecond }
		o := Options{
			Timeline: timeline, Ends: choose("", EndsClamp), Gaps: choose("", GapsNaN), Image: choose("", ImageAsOf),
			MissingImage: choose("", MissingHold, MissingBlack), MaxExtrapolation: limit(), MaxGap: limit(),
			MaxImageSkew: limit(),
			Causal:       take()%2 == 1, Partial: take()%2 == 1, UnionWindow: limit(),
		}
		var s Streams
		for range take() % 4 {
			s.Cameras = append(s.Cameras, &Track{Name: "c", Stamps: stamps()})
		}
		for range take() % 3 {
			s.Vectors = append(s.Vectors, vector("v"))
		}
		for range take() % 2 {
			s.Commands = append(s.Commands, vector("w"))
		}
		if rate := o.Rate(); rate > 1000 || rate > 0 && far {
			return // too many rows for a test
		}
		table, err := Align(s, o)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("the text of the error is empty")
			}
			return
		}
		check(t, s, o, table)
	})
}

// check fails the test unless table is a valid result of aligning s with o.
func check(t *testing.T, s Streams, o Options, table *Table) {
	n := len(table.Stamps)
	if n < 2 || n != table.Report.Rows || table.Report.Rows+table.Report.Dropped != table.Report.Points {
		t.Fatalf("%d rows, report: %+v", n, table.Report)
	}
	for i := 1; i < n; i++ {
		if table.Stamps[i] <= table.Stamps[i-1] {
			t.Fatalf("row %d is not later than the one before", i)
		}
	}
	for c, camera := range s.Cameras {
		if len(table.Frames[c]) != n {
			t.Fatalf("%d frames for %d rows", len(table.Frames[c]), n)
		}
		skew := table.Report.Cameras[c].MaxSkew
		for i, frame := range table.Frames[c] {
			if frame < -1 || frame >= len(camera.Stamps) || frame < 0 && o.MissingImage != MissingBlack {
				t.Fatalf("row %d has frame %d of %d", i, frame, len(camera.Stamps))
			}
			if frame < 0 {
				continue
			}
			late := camera.Stamps[frame] - table.Stamps[i]
			if max(late, -late) > skew && o.MissingImage != MissingHold || late > 0 &&
				(o.Causal || o.Image == ImageAsOf) {
				t.Fatalf("row %d has a frame %d ns from it, %d are allowed", i, late, skew)
			}
		}
	}
	for k, rows := range append(append([]*Vector{}, table.Vectors...), table.Commands...) {
		if len(rows.Values) != n*len(rows.Columns) {
			t.Fatalf("%d numbers for %d rows of %d columns", len(rows.Values), n, len(rows.Columns))
		}
		for _, c := range rows.Columns {
			if c.Interp == Auto {
				t.Fatalf("column %s has no interpolation", c.Name)
			}
		}
		if k < len(table.Vectors) && len(s.Vectors[k].Stamps) > 0 && o.Gaps == "" &&
			table.Report.Vectors[k].Invalid == 0 {
			for i, x := range rows.Values {
				if math.IsInf(x, 0) {
					t.Fatalf("number %d of stream %d is %v", i, k, x)
				}
			}
		}
	}
}
