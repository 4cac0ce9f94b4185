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

// columnOf returns column i of the n columns of a table. index is the text that names the column in the file.
func columnOf(r episode.Role, i, n int, index, jointUnit string) align.Column {
	if _, numbered := wholeIndex(index); !numbered {
		return align.Column{Name: index}
	}
	if jointUnit == episode.UnitUnknown {
		jointUnit = ""
	}
	return r.Column(r.ColumnName(i, n), r.Unit(jointUnit))
}

// indexOf returns the text that names c, column i of a stream, in the file.
func indexOf(r episode.Role, i int, c *align.Column) string {
	if r.Base() == episode.Gripper {
		return c.Name
	}
	return strconv.Itoa(i)
}

// Limits of tables. Files that are not tables may exceed them.
const (
	maxRow     = 64 << 10 // bytes of a row
	maxIndex   = 1023     // greatest number of a column
	maxColumns = 1024     // number of columns
	maxSparse  = 64       // columns*stamps / (rows of the file + maxColumns)
)

// table reads a file of samples row by row.
type table struct {
	path      string
	r         *bufio.Reader
	line      int         // number of the last line that was read, from 1
	stampText string      // stamp of the last row, as text
	stamp     int64       // stamp of the last row, in ns since the Unix epoch
	complete  bool        // the writer closed the table, so the last row is complete even without an end of line
	damaged   func(error) // called for each damaged row
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

// damage reports an error in the current line.
func (t *table) damage(err error) { t.damaged(fmt.Errorf("%s:%d: %w", t.path, t.line, err)) }

// parse parses a row: timestamp,index,value.
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
	if fields[0] != t.stampText || t.stampText == "" { // the rows of a sample have equal stamps
		stamp, err := parseStamp(fields[0])
		if err != nil {
			return row{}, err
		}
		t.stampText, t.stamp = fields[0], stamp
	}
	if fields[1] == "" {
		return row{}, errors.New("the index is empty")
	}
	if n, ok := wholeIndex(fields[1]); ok && n > maxIndex {
		return row{}, fmt.Errorf("index %.40q is greater than %d", fields[1], maxIndex)
	}
	value, err := parseNumber(fields[2])
	return row{t.stamp, fields[1], value}, err
}

// field returns the first field of a row without quotation marks, and the rest of the row from the comma on.
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

// wholeIndex returns an index as a number. It returns false if the index is a word, or a number with leading zeros. For
// numbers that do not fit into an int, it returns maxIndex+1.
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

// readVector reads the table at path. It returns nil if the table has no rows or does not exist. It calls damaged for
// damaged rows.
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

// cell is a row of the file in memory.
type cell struct {
	sample, index int32 // indices in stamps and names
	value         float64
}

// vectorOf reads a table to its end. All rows with equal stamps are one sample, even if other rows are between them. Of
// several rows with equal stamp and index, the last one counts.
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
	if len(columns)*len(stamps) > maxSparse*(len(cells)+maxColumns) {
		return nil, fmt.Errorf("only %s for %s of %s: the file is not a table of samples",
			plural.Count(len(cells), "row"), plural.Count(len(stamps), "sample"), plural.Count(len(columns), "column"))
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
