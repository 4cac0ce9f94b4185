package session

import (
	"bufio"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/samples"
)

// parse reads the text of a table of a role. complete is table.complete. It also returns the errors about damaged rows.
func parse(text string, complete bool, role episode.Role) (*align.Vector, []string, error) {
	var damage []string
	t := &table{path: "t.csv", r: bufio.NewReaderSize(strings.NewReader(text), maxRow), complete: complete,
		damaged: func(err error) { damage = append(damage, err.Error()) }}
	v, err := vectorOf(t, func(i, n int, index string) align.Column { return columnOf(role, i, n, index, "deg") })
	return v, damage, err
}

// format returns a vector as text: columns, and the stamp and values of each sample. "-" is a missing value.
func format(v *align.Vector) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range v.Columns {
		b.WriteString(c.Name + " ")
	}
	for i, stamp := range v.Stamps {
		fmt.Fprintf(&b, "| %s:", align.FormatStamp(stamp))
		for _, x := range v.Values[i*len(v.Columns):][:len(v.Columns)] {
			if align.IsMissing(x) {
				b.WriteString(" -")
			} else {
				fmt.Fprintf(&b, " %v", x)
			}
		}
	}
	return b.String()
}

// TestTable reads texts of tables. It compares the samples and the errors about damaged rows.
func TestTable(t *testing.T) {
	const header = "timestamp,index,value\r\n"
	for _, c := range []struct {
		name, text string
		role       episode.Role
		want       string   // as of format
		damage     []string // expected errors about damaged rows
	}{
		{"empty file", "", episode.Joint, "", nil},
		{"header only", header, episode.Joint, "", nil},
		{"header with a byte order mark", "\ufeff" + header + "1.5,0,2\r\n", episode.Joint, "joint_0 | 1.500: 2", nil},
		{"LF, empty lines, no last LF", "timestamp,index,value\n\n1.5,0,2\n1.5,1,3", episode.Joint,
			"joint_0 joint_1 | 1.500: 2 3", nil},
		{"no header", "1.5,0,2\n", episode.Joint, "joint_0 | 1.500: 2", nil},
		{"spaces and quotation marks of a spreadsheet", header + " 1.5 , \"0\" ,\"2\"\n", episode.Joint,
			"joint_0 | 1.500: 2", nil},
		{"words as indices", header + "1.0,status,1\n1.0,force,2.5\n1.0,\"a,\"\"b\",3\n1.0,1,4\n", episode.Gripper,
			`0 1 a,"b force status | 1.000: - 4 3 2.5 1`, nil},
		{"Python's bools and None", header + "1.0,a,True\n1.0,b,False\n1.0,c,\n", episode.Gripper,
			"a b c | 1.000: 1 0 -",
			nil},
		{"rows of two samples mixed", header + "1.0,0,1\n1.1,0,2\n1.0,1,3\n1.1,1,4\n", episode.Joint,
			"joint_0 joint_1 | 1.000: 1 3| 1.100: 2 4", nil},
		{"samples out of order", header + "2.0,0,1\n1.0,0,2\n3.0,0,3\n1.0,1,4\n", episode.Joint,
			"joint_0 joint_1 | 2.000: 1 -| 1.000: 2 4| 3.000: 3 -", nil},
		{"the last of two equal indices counts", header + "1.0,0,1\n1.0,0,2\n", episode.Joint,
			"joint_0 | 1.000: 2", nil},
		{"missing indices 0 and 1", header + "1.0,2,1\n", episode.Joint, "joint_0 joint_1 joint_2 | 1.000: - - 1",
			nil},
		{"stamps in ns", header + "1764000000.123456789,0,1\n1764000000.1234567895,0,2\n", episode.Joint,
			"joint_0 | 1764000000.123456789: 1| 1764000000.12345679: 2", nil},
		{"a pose", header + "1,0,1\n1,5,6\n", episode.Pose, "x y z rx ry rz | 1.000: 1 - - - - 6", nil},
		{"a pose with a quaternion", header + "1,6,1\n", episode.Pose, "x y z qx qy qz qw | 1.000: - - - - - - 1", nil},
		{"NaN and infinity", header + "1,0,nan\n1,1,-inf\n", episode.Joint,
			"joint_0 joint_1 | 1.000: NaN -Inf",
			nil},
		{"damaged rows", header + "1,0\n1,0,2,3\nx,0,1\n1,,1\n1,5000,1\n1,0,y\n1,0,1e999\n1,\"0,1\n1,\"0\"1,1\n2,0,7\n",
			episode.Joint,
			"joint_0 | 2.000: 7", []string{
				`t.csv:2: want timestamp,index,value, not "1,0"`,
				`t.csv:3: want timestamp,index,value, not "1,0,2,3"`,
				`t.csv:4: time "x" is not a number of seconds since 1970, such as 1764000000.033`,
				`t.csv:5: the index is empty`,
				`t.csv:6: index "5000" is greater than 1023`,
				`t.csv:7: value "y" is not a number`,
				`t.csv:8: value "1e999" is too large`,
				`t.csv:9: a quotation mark is missing in "1,\"0,1"`,
				`t.csv:10: text after a closing quotation mark in "1,\"0\"1,1"`,
			}},
		{"zeros after a power failure", header + "1,0,7\n" + strings.Repeat("\x00", 3*maxRow) + "\n2,0,8\n",
			episode.Joint,
			"joint_0 | 1.000: 7| 2.000: 8", []string{
				"t.csv:3: the row has more than 65536 bytes",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, damage, err := parse(c.text, true, c.role)
			require.NoError(t, err)
			require.Equal(t, c.want, format(v))
			require.Equal(t, c.damage, damage)
		})
	}
}

// TestCutTable reads a table whose writer was killed. The last row without an end of line must be damage, because the
// number may be cut off.
func TestCutTable(t *testing.T) {
	v, damage, err := parse("timestamp,index,value\r\n1.0,0,1\r\n1.0,1,0.12", false, episode.Joint)
	require.NoError(t, err)
	require.Equal(t, "joint_0 | 1.000: 1", format(v))
	require.Equal(t, []string{"t.csv:3: the last row is cut off"}, damage)
}

// TestSparseTable reads tables with many columns and samples but few rows. They must be refused or limited, so that
// they take no more memory than an ordinary table of equal size.
func TestSparseTable(t *testing.T) {
	var b strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&b, "%d,0,1\n", i)
	}
	for i := range maxIndex + 1 {
		fmt.Fprintf(&b, "1,%d,1\n", i)
	}
	_, _, err := parse(b.String(), true, episode.Joint)
	require.EqualError(t, err, "only 11024 rows for 10000 samples of 1024 columns: the file is not a table of samples")
	b.Reset()
	for i := range maxColumns + 2 {
		fmt.Fprintf(&b, "1,w%d,1\n", i)
	}
	v, damage, err := parse(b.String(), true, episode.Gripper)
	require.NoError(t, err)
	require.Len(t, v.Columns, maxColumns)
	require.Equal(t, []string{`t.csv:1025: index "w1024" is one too many: at most 1024 columns are read`,
		`t.csv:1026: index "w1025" is one too many: at most 1024 columns are read`}, damage)
}

// TestNumbers compares the texts of numbers with Python's, and reads them.
func TestNumbers(t *testing.T) {
	for text, v := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "400.0": 400, "0.1": 0.1, "8.414709848078965": 8.414709848078965,
		"1e-05": 1e-5, "0.0001": 1e-4,
		"1e+16": 1e16, "1000000000000000.0": 1e15, "5e-324": 5e-324, "1.7976931348623157e+308": math.MaxFloat64,
		"inf": math.Inf(1), "-inf": math.Inf(-1),
	} {
		require.Equal(t, text, string(appendNumber(nil, v, false)))
		back, err := parseNumber(text)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(v), math.Float64bits(back), text)
	}
	require.Equal(t, "nan", string(appendNumber(nil, math.NaN(), false)))
	require.Equal(t, "400", string(appendNumber(nil, 400, true)))
	require.Equal(t, "0.75", string(appendNumber(nil, 0.75, true)))
}

// TestStamps reads stamps and writes them. Invalid stamps must be errors.
func TestStamps(t *testing.T) {
	for _, c := range []struct {
		text string
		ns   int64
		back string
	}{
		{"1764000000.033", 1764000000033000000, "1764000000.033"},
		{"1764000000", 1764000000000000000, "1764000000.000"},
		{"1795249335.139884", 1795249335139884000, "1795249335.139884"},
		{"0.000000001", 1, "0.000000001"},
		{".5", 500000000, "0.500"},
		{"5.", 5000000000, "5.000"},
		{"-1.25", -1250000000, "-1.250"},
		{"0.0000000004999", 0, "0.000"},
	} {
		ns, err := parseStamp(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.ns, ns, c.text)
		require.Equal(t, c.back, align.FormatStamp(ns))
	}
	for _, text := range []string{"", ".", "-", "+1", "1e9", "1 2", "1.2.3", "0x1", "９", "99999999999999", "1_0",
		"9223372036.854775807", // the greatest int64 is reserved, so that a later stamp exists
		strings.Repeat("1", 50)} {
		_, err := parseStamp(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "-9223372036.854775808", align.FormatStamp(math.MinInt64))
}

// FuzzTable reads any text as a table, and writes the samples as a table. Reading this table must return equal samples.
func FuzzTable(f *testing.F) {
	f.Add([]byte("timestamp,index,value\r\n1764000000.020,0,0.0\r\n1764000000.020,1,8.414709848078965\r\n"+
		"1764000000.040,0,-1e-05\r\n"), false)
	f.Add([]byte("timestamp,index,value\r\n1764000000.000,force,10.5\r\n1764000000.000,position,0.75\r\n"+
		"1764000000.000,status,1\r\n"), true)
	f.Add([]byte("\ufeff1.5,\"a\",nan\n1.0,2,inf\n\n1.5,0,True\n1.5,3,"), true)
	for _, name := range []string{"arm_0/joints.csv", "arm_0/poses.csv", "arm_0/end_effector.csv",
		"arm_1/end_effector.csv"} {
		for _, data := range samples.Seeds(f, "session/easyteleop_reference/temp/20261121_082214/"+name) {
			f.Add(data, true)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, complete bool) {
		if _, _, err := parse(string(data), complete, episode.Pose); err != nil {
			return
		}
		v, damage, err := parse(string(data), complete, episode.Gripper)
		require.NoError(t, err)
		if v == nil {
			return
		}
		require.Len(t, v.Values, len(v.Stamps)*len(v.Columns))
		require.LessOrEqual(t, len(v.Stamps)+len(damage), strings.Count(string(data), "\n")+1)
		var out []byte
		for i, stamp := range v.Stamps {
			for j, x := range v.Values[i*len(v.Columns):][:len(v.Columns)] {
				key := v.Columns[j].Name
				if strings.ContainsAny(key, "\",\ufeff") || strings.TrimSpace(key) != key || !utf8.ValidString(key) {
					return
				}
				number := string(appendNumber(nil, x, false))
				if align.IsMissing(x) {
					number = "" // keeps the column
				}
				out = fmt.Appendf(out, "%s,%s,%s\n", align.FormatStamp(stamp), key, number)
			}
		}
		again, damage, err := parse(string(out), true, episode.Gripper)
		require.NoError(t, err)
		require.Empty(t, damage)
		require.Equal(t, format(v), format(again))
	})
}
