package wire

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unhex decodes hexadecimal digits with spaces.
func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

type point struct{ X, Y, Z float32 }

type pose struct {
	Position [3]float64
	Rest     struct{ A, B float64 }
}

// layouts pairs values with their bytes behind the little-endian header, written by hand from the specification.
var layouts = []struct {
	name   string
	body   string
	encode func(*Encoder)
	decode func(*Decoder) any
	want   any
}{
	{
		"primitives align to their size", "01 ff feff 00000000" + "f6ff 0000 03000000" + "fdffffff 00000000" +
			"0000000000000080 ffffffffffffff7f",
		func(e *Encoder) {
			e.Bool(true)
			e.Int8(-1)
			e.Uint16(0xfffe)
			e.Float32(0)
			e.Int16(-10)
			e.Uint32(3)
			e.Int32(-3)
			e.Int64(math.MinInt64)
			e.Uint64(math.MaxInt64)
		},
		func(d *Decoder) any {
			return []any{d.Bool(), d.Int8(), d.Uint16(), d.Float32(), d.Int16(), d.Uint32(), d.Int32(), d.Int64(),
				d.Uint64()}
		},
		[]any{true, int8(-1), uint16(0xfffe), float32(0), int16(-10), uint32(3), int32(-3), int64(math.MinInt64),
			uint64(math.MaxInt64)},
	},
	{
		"a double behind a byte", "07 00000000000000 000000000000f03f",
		func(e *Encoder) { e.Uint8(7); e.Float64(1) },
		func(d *Decoder) any { return []any{d.Uint8(), d.Float64()} },
		[]any{uint8(7), 1.0},
	},
	{
		"strings", "04000000 6d617000" + "01000000 00 000000 02000000 7a00",
		func(e *Encoder) { e.String("map", 3); e.String("", 0); e.String("z", 0) },
		func(d *Decoder) any { return []string{d.String(3), d.String(0), d.String(0)} },
		[]string{"map", "", "z"},
	},
	{
		"wstrings take 4 bytes a unit", "04000000 61000000 e4000000 3dd80000 00de0000 00000000",
		func(e *Encoder) { e.WString("aä😀", 4); e.WString("", 0) },
		func(d *Decoder) any { return []string{d.WString(4), d.WString(0)} },
		[]string{"aä😀", ""},
	},
	{
		"a sequence of doubles", "02000000 00000000 000000000000f03f 0000000000000040",
		func(e *Encoder) { EncodeSequence(e, []float64{1, 2}, 2) },
		func(d *Decoder) any { return DecodeSequence[float64](d, nil, 2) },
		[]float64{1, 2},
	},
	{
		"nothing is aligned for an empty sequence", "00000000 05",
		func(e *Encoder) { EncodeSequence[float64](e, nil, 0); e.Uint8(5) },
		func(d *Decoder) any { return []any{DecodeSequence[float64](d, nil, 0), d.Uint8()} },
		[]any{[]float64{}, uint8(5)},
	},
	{
		"an array of int16", "09 00 0100 feff",
		func(e *Encoder) { e.Uint8(9); EncodeArray(e, []int16{1, -2}) },
		func(d *Decoder) any {
			var v [2]int16
			b := d.Uint8()
			DecodeArray(d, v[:])
			return []any{b, v}
		},
		[]any{uint8(9), [2]int16{1, -2}},
	},
	{
		"bools", "01 00 01",
		func(e *Encoder) { e.Bools([]bool{true, false, true}) },
		func(d *Decoder) any { v := make([]bool, 3); d.Bools(v); return v },
		[]bool{true, false, true},
	},
	{
		"flat structs", "02000000 0000803f 00000040 00004040 00008040 0000a040 0000c040",
		func(e *Encoder) { EncodeFlats[float32](e, []point{{1, 2, 3}, {4, 5, 6}}, 0) },
		func(d *Decoder) any { return DecodeFlats[float32](d, []point(nil), 0) },
		[]point{{1, 2, 3}, {4, 5, 6}},
	},
	{
		"a flat struct with an array and a struct",
		"01 00000000000000 000000000000f03f 0000000000000040 0000000000000840 0000000000001040 0000000000001440",
		func(e *Encoder) {
			e.Bool(true)
			EncodeFlat[float64](e, &pose{[3]float64{1, 2, 3}, struct{ A, B float64 }{4, 5}})
		},
		func(d *Decoder) any { var p pose; d.Bool(); DecodeFlat[float64](d, &p); return p },
		pose{[3]float64{1, 2, 3}, struct{ A, B float64 }{4, 5}},
	},
}

// TestLayout encodes and decodes the values in layouts.
func TestLayout(t *testing.T) {
	for _, c := range layouts {
		t.Run(c.name, func(t *testing.T) {
			want := unhex(t, "00010000"+c.body)
			e := NewEncoder([]byte("xyz")) // alignment must not depend on bytes in front
			c.encode(e)
			require.NoError(t, e.Err())
			require.Equal(t, want, e.Bytes()[3:])

			d := NewDecoder(want)
			require.Equal(t, c.want, c.decode(d))
			require.NoError(t, d.Err())
			require.Zero(t, d.Remaining())
		})
	}
}

// TestTruncated checks that a payload without the last bytes is an error.
func TestTruncated(t *testing.T) {
	for _, c := range layouts {
		payload := unhex(t, "00010000"+c.body)
		for n := range payload {
			d := NewDecoder(payload[:n])
			c.decode(d)
			require.Error(t, d.Err(), "%s, %d of %d bytes", c.name, n, len(payload))
		}
	}
}

// TestBigEndian decodes a big-endian payload.
func TestBigEndian(t *testing.T) {
	d := NewDecoder(unhex(t, "00000000 01 00 0002 00000003 0000000000000004 3ff0000000000000"+
		"00000003 616200 00 00000002 3f800000 40000000 00000001 0000000000000009"))
	require.True(t, d.BigEndian())
	require.True(t, d.Bool())
	require.Equal(t, int16(2), d.Int16())
	require.Equal(t, uint32(3), d.Uint32())
	require.Equal(t, uint64(4), d.Uint64())
	require.Equal(t, 1.0, d.Float64())
	require.Equal(t, "ab", d.String(0))
	require.Equal(t, []float32{1, 2}, DecodeSequence[float32](d, nil, 0))
	require.Equal(t, []uint64{9}, DecodeSequence[uint64](d, nil, 0))
	require.NoError(t, d.Err())
}

func TestSwap(t *testing.T) {
	for size, want := range map[int]string{1: "0102030405060708", 2: "0201040306050807", 4: "0403020108070605",
		8: "0807060504030201"} {
		b := unhex(t, "0102030405060708")
		swap(b, size)
		require.Equal(t, unhex(t, want), b, "size %d", size)
	}
}

// TestForeignStrings decodes and skips strings and wstrings of other programs, which have no NUL, or units of 2 bytes.
func TestForeignStrings(t *testing.T) {
	for name, c := range map[string]struct {
		payload, want string
		rest          int
	}{
		"string without NUL":            {"00010000 03000000 616263", "abc", 0},
		"string of length 0":            {"00010000 00000000", "", 0},
		"string with NUL within":        {"00010000 04000000 61006200", "a\x00b", 0},
		"string, then one byte":         {"00010000 02000000 6100 ff", "a", 1},
		"4 bytes, then one byte":        {"00010000 02000000 68000000 69000000 09", "hi", 1},
		"2 bytes at the end":            {"00010000 02000000 6800 6900", "hi", 0},
		"2 bytes, then many bytes":      {"00010000 02000000 6800 6900 0000000000000000", "hi", 8},
		"2 bytes, one unit at the end":  {"00010000 01000000 6800", "h", 0},
		"2 bytes, surrogates":           {"00010000 02000000 3dd8 00de ffffffff", "😀", 4},
		"4 bytes, big-endian":           {"00000000 00000002 00000068 00000069", "hi", 0},
		"2 bytes, big-endian, one unit": {"00000000 00000001 0068 0000", "h", 2},
	} {
		t.Run(name, func(t *testing.T) {
			payload := unhex(t, c.payload)
			read, skip := (*Decoder).WString, (*Decoder).SkipWString
			if strings.HasPrefix(name, "string") {
				read, skip = (*Decoder).String, (*Decoder).SkipString
			}
			d := NewDecoder(payload)
			require.Equal(t, c.want, read(d, 0))
			require.NoError(t, d.Err())
			require.Equal(t, c.rest, d.Remaining())

			d.Reset(payload)
			skip(d)
			require.NoError(t, d.Err())
			require.Equal(t, c.rest, d.Remaining())
		})
	}
}

func TestDecoderErrors(t *testing.T) {
	for name, c := range map[string]struct {
		payload string
		read    func(*Decoder)
		want    string
	}{
		"empty":          {"", func(*Decoder) {}, "payload length 0 is too short"},
		"XCDR2":          {"00070000 00000000", func(*Decoder) {}, "only plain CDR version 1"},
		"parameter list": {"00030000 00000000", func(*Decoder) {}, "only plain CDR version 1"},
		"no CDR":         {"4c460000 00000000", func(*Decoder) {}, "4c 46 00 00 is no CDR header"},
		"huge string": {"00010000 ffffffff 61", func(d *Decoder) { d.String(0) },
			"offset 8: string length 4294967295 does not fit: bytes left: 1"},
		"huge sequence": {"00010000 ffffffff 61", func(d *Decoder) { DecodeSequence[float64](d, nil, 0) },
			"sequence length 4294967295 does not fit: bytes needed: 34359738360"},
		"huge structs": {"00010000 ffffff7f 61", func(d *Decoder) { DecodeFlats[float32](d, []point(nil), 0) },
			"sequence length 2147483647 does not fit: bytes needed: 25769803764, left: 1"},
		"huge wstring": {"00010000 ffffff7f 61", func(d *Decoder) { d.WString(0) }, "sequence length 2147483647"},
		"string bound": {"00010000 04000000 61626300", func(d *Decoder) { d.String(2) },
			"string length 3 exceeds the bound 2"},
		"wstring bound": {"00010000 02000000 6100 6200", func(d *Decoder) { d.WString(1) },
			"wstring length 2 exceeds the bound 1"},
		"sequence bound": {"00010000 02000000 6162", func(d *Decoder) { DecodeSequence[uint8](d, nil, 1) },
			"sequence length 2 exceeds the bound 1"},
		"only the first error": {"00010000 01", func(d *Decoder) { d.Uint32(); d.Uint8(); d.String(0); d.Uint64() },
			"offset 4: bytes needed: 4, left: 1"},
		"skip":           {"00010000 01", func(d *Decoder) { d.Skip(2) }, "bytes needed: 2, left: 1"},
		"skip backwards": {"00010000 01", func(d *Decoder) { d.Skip(-2) }, "bytes needed: -2"},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDecoder(unhex(t, c.payload))
			c.read(d)
			require.ErrorContains(t, d.Err(), c.want)
			require.Zero(t, d.Uint8(), "a read after an error must return zero")
		})
	}
}

func TestEncoderErrors(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*Encoder)
		want  string
	}{
		"string":   {func(e *Encoder) { e.String("abc", 2) }, "string length 3 exceeds the bound 2"},
		"wstring":  {func(e *Encoder) { e.WString("😀", 1) }, "wstring length 2 exceeds the bound 1"},
		"sequence": {func(e *Encoder) { EncodeSequence(e, []uint8{1, 2}, 1) }, "sequence length 2 exceeds the bound 1"},
		"first":    {func(e *Encoder) { e.Length(3, 2); e.String("abc", 2) }, "sequence length 3 exceeds the bound 2"},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEncoder(nil)
			c.write(e)
			require.ErrorContains(t, e.Err(), c.want)
			e.Reset(nil)
			require.NoError(t, e.Err())
		})
	}
}

// TestContinue checks the alignment behind the beginning of a payload.
func TestContinue(t *testing.T) {
	e := NewEncoder(nil)
	e.Uint8(1)
	e.Continue(e.Bytes())
	e.Uint32(2)
	require.Equal(t, unhex(t, "00010000 01 000000 02000000"), e.Bytes())
}

// TestReuse checks that Encoder and Decoder reuse memory.
func TestReuse(t *testing.T) {
	e := NewEncoder(nil)
	e.String("base_link", 0)
	EncodeSequence(e, []float64{1, 2, 3}, 0)
	payload := e.Bytes()

	s, v := "base_link", make([]float64, 3)
	d, dst := new(Decoder), make([]byte, 0, len(payload))
	require.Zero(t, testing.AllocsPerRun(10, func() {
		e.Reset(dst)
		e.String(s, 0)
		EncodeSequence(e, v, 0)
		d.Reset(payload)
		d.SetString(&s, 0)
		v = DecodeSequence(d, v, 0)
	}))
	require.NoError(t, d.Err())
	require.Equal(t, []float64{1, 2, 3}, v)
}

// FuzzDecoder reads arbitrary payloads in an arbitrary order of types.
func FuzzDecoder(f *testing.F) {
	for _, c := range layouts {
		f.Add(unhex(f, "00010000"+c.body), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	}
	f.Fuzz(func(t *testing.T, payload, order []byte) {
		d := NewDecoder(payload)
		for _, o := range order {
			before := d.Remaining()
			size := 0 // smallest number of bytes that the value needs in the payload
			switch o % 12 {
			case 0:
				d.Bool()
			case 1:
				d.Uint16()
			case 2:
				d.Uint32()
			case 3:
				d.Float64()
			case 4:
				size = len(d.String(int(o >> 4)))
			case 5:
				d.WString(int(o >> 4))
			case 6:
				size = 8 * len(DecodeSequence[float64](d, nil, int(o>>4)))
			case 7:
				size = 12 * len(DecodeFlats[float32](d, []point(nil), 0))
			case 8:
				d.Bools(make([]bool, o>>4))
			case 9:
				d.SkipString()
			case 10:
				d.SkipWString()
			case 11:
				d.Align(8)
			}
			require.LessOrEqual(t, size, before)
			require.LessOrEqual(t, d.Remaining(), before)
			require.GreaterOrEqual(t, d.Remaining(), 0)
		}
	})
}
