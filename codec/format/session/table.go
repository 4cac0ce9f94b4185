package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// fileNames are the names of the tables of an arm.
var fileNames = [episode.Roles]string{
	"poses.csv", "joints.csv", "grippers.csv", "velocities.csv", "efforts.csv", "command_poses.csv",
	"command_joints.csv", "command_grippers.csv",
}

// endEffector is the name that EasyTeleop gives to the table that it documents as grippers.csv.
const endEffector = "end_effector.csv"

// columnOf describes the i-th of n columns of a table. index is the column's index in the file.
func columnOf(r episode.Role, i, n int, index, jointUnit string) align.Column {
	if _, numbered := wholeIndex(index); !numbered {
		return align.Column{Name: index}
	}
	if jointUnit == episode.UnitUnknown {
		jointUnit = ""
	}
	return r.Column(r.ColumnName(i, n), r.Unit(jointUnit))
}

// indexOf returns the index in the file of c, the i-th column of a stream.
func indexOf(r episode.Role, i int, c *align.Column) string {
	if r.Base() == episode.Gripper {
		return c.Name
	}
	return strconv.Itoa(i)
}

// Limits for tables, against files that are not tables.
const (
	maxRow     = 64 << 10 // bytes
	maxIndex   = 1023     // largest index of a column
	maxColumns = 1024
	sparse     = 64 // greatest ratio of columns times stamps to rows of the file and maxColumns
)

// table reads a file of samples row by row.
type table struct {
	path     string
	r        *bufio.Reader
	line     int
	last     string // first field of the row before
	stamp    int64  // last in ns since the Unix epoch
	complete bool   // the writer closed the table: the last row is whole even without an end of line
	damaged  func(error)
}

// row is one value of a sample.
type row struct {
	stamp int64
	index string
	value float64
}

// next returns the next row, or io.EOF. It reports and skips damaged rows.
func (t *table) next() (row, error) {
	for {
		line, err := t.r.ReadSlice('\n')
		t.line++
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			t.damage(fmt.Errorf("the row has more than %d bytes", maxRow))
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = t.r.ReadSlice('\n')
			}
			if err == nil || errors.Is(err, io.EOF) {
				continue
			}
		case errors.Is(err, io.EOF) && len(line) > 0 && !t.complete:
			t.damage(errors.New("the last row is cut off"))
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			err = nil
		}
		if err != nil {
			return row{}, err
		}
		if t.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || t.line == 1 && bytes.HasPrefix(line, []byte("timestamp")) {
			continue
		}
		r, err := t.parse(string(line))
		if err == nil {
			return r, nil
		}
		t.damage(err)
	}
}

func (t *table) damage(err error) { t.damaged(fmt.Errorf("%s:%d: %w", t.path, t.line, err)) }

// parse reads timestamp,index,value.
func (t *table) parse(line string) (row, error) {
	var fields [3]string
	rest := line
	for i := range fields {
		var err error
		fields[i], rest, err = field(rest)
		if err != nil {
			return row{}, fmt.Errorf("%w in %.40q", err, line)
		}
		if i < 2 && rest == "" {
			return row{}, fmt.Errorf("want timestamp,index,value, not %.40q", line)
		}
		rest = strings.TrimPrefix(rest, ",")
	}
	if rest != "" {
		return row{}, fmt.Errorf("want timestamp,index,value, not %.40q", line)
	}
	if fields[0] != t.last || t.last == "" { // the rows of a sample have one stamp
		stamp, err := parseStamp(fields[0])
		if err != nil {
			return row{}, err
		}
		t.last, t.stamp = fields[0], stamp
	}
	if fields[1] == "" {
		return row{}, errors.New("the index is empty")
	}
	if n, ok := wholeIndex(fields[1]); ok && n > maxIndex {
		return row{}, fmt.Errorf("index %.40q is too large, at most %d is", fields[1], maxIndex)
	}
	value, err := parseNumber(fields[2])
	return row{t.stamp, fields[1], value}, err
}

// field returns the first field of a row, and the rest from the comma on.
func field(s string) (value, rest string, err error) {
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s, ',')
		if end < 0 {
			end = len(s)
		}
		return strings.TrimSpace(s[:end]), s[end:], nil
	}
	var b strings.Builder
	for s = s[1:]; ; {
		end := strings.IndexByte(s, '"')
		if end < 0 {
			return "", "", errors.New("a quotation mark is missing")
		}
		b.WriteString(s[:end])
		s = s[end+1:]
		if !strings.HasPrefix(s, `"`) {
			break
		}
		b.WriteByte('"')
		s = s[1:]
	}
	s = strings.TrimLeft(s, " \t")
	if s != "" && s[0] != ',' {
		return "", "", errors.New("text after a closing quotation mark")
	}
	return b.String(), s, nil
}

// wholeIndex returns an index as a number, and false if it is not a number as Python writes it. maxIndex+1 stands for
// any number above maxIndex.
func wholeIndex(s string) (int, bool) {
	if s == "" || !allDigits(s) || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		n = maxIndex + 1
	}
	return n, true
}

// readVector reads the table at path, nil if it has no rows. It reports damage.
func readVector(files *store.Files, path string, complete bool, name func(i, n int, index string) align.Column,
	damaged func(error)) (*align.Vector, error) {
	file, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t := &table{path: path, r: bufio.NewReaderSize(file, maxRow), complete: complete, damaged: damaged}
	v, err := vectorOf(t, name)
	if err != nil {
		return nil, fmt.Errorf("read %s:%d: %w", path, t.line, err)
	}
	return v, nil
}

// cell keeps a row until all columns are known.
type cell struct {
	sample, index int32
	value         float64
}

// vectorOf reads a table to its end. All rows with one stamp are one sample, wherever they are. The last row with an
// index counts.
func vectorOf(t *table, name func(i, n int, index string) align.Column) (*align.Vector, error) {
	var cells []cell
	var stamps []int64
	var latest int64
	var samples map[int64]int32 // by stamp, the index of its sample; nil while stamps only rise
	indices := map[string]int32{}
	var names []string
	for {
		r, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		index, ok := indices[r.index]
		if !ok {
			if len(names) == maxColumns {
				t.damage(fmt.Errorf("index %.40q is one too many: at most %d columns are read", r.index, maxColumns))
				continue
			}
			index = int32(len(names))
			indices[r.index] = index
			names = append(names, r.index)
		}
		sample := int32(len(stamps))
		switch {
		case len(stamps) == 0 || r.stamp > latest:
			latest = r.stamp
			stamps = append(stamps, r.stamp)
			if samples != nil {
				samples[r.stamp] = sample
			}
		case r.stamp == stamps[len(stamps)-1]:
			sample--
		default:
			if samples == nil {
				samples = map[int64]int32{}
				for i, stamp := range stamps {
					samples[stamp] = int32(i)
				}
			}
			if earlier, ok := samples[r.stamp]; ok {
				sample = earlier
			} else {
				samples[r.stamp] = sample
				stamps = append(stamps, r.stamp)
			}
		}
		cells = append(cells, cell{sample, index, r.value})
	}
	if len(cells) == 0 {
		return nil, nil
	}
	columns := columnsOf(names)
	if len(columns)*len(stamps) > sparse*(len(cells)+maxColumns) {
		return nil, fmt.Errorf("only %s for %s of %s: it is not a table of samples", plural.Count(len(cells), "row"),
			plural.Count(len(stamps), "sample"), plural.Count(len(columns), "column"))
	}
	v := &align.Vector{Stamps: stamps, Values: make([]float64, len(stamps)*len(columns))}
	for i := range v.Values {
		v.Values[i] = align.Missing()
	}
	place := make([]int, len(names))
	for i, column := range columns {
		if n, ok := indices[column]; ok {
			place[n] = i
		}
		v.Columns = append(v.Columns, name(i, len(columns), column))
	}
	for _, c := range cells {
		v.Values[int(c.sample)*len(columns)+place[c.index]] = c.value
	}
	return v, nil
}

// columnsOf returns the columns of a table with the given indices: numbers from 0 to the largest, then words, sorted.
func columnsOf(indices []string) []string {
	last := -1
	var words []string
	for _, index := range indices {
		if n, ok := wholeIndex(index); ok {
			last = max(last, n)
		} else {
			words = append(words, index)
		}
	}
	var columns []string
	for i := range last + 1 {
		columns = append(columns, strconv.Itoa(i))
	}
	slices.Sort(words)
	return append(columns, words...)
}
