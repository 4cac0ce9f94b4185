package session

import (
	"errors"
	"sync"
	"sync/atomic"

	"tapedeck/codec"
	"tapedeck/codec/training/align"
)

// flushSize is how many bytes of a table wait at most before they are written.
const flushSize = 64 << 10

// tableHeader is the first line of a table.
const tableHeader = "timestamp,index,value\r\n"

// csvFile writes a table. It collects samples and writes them by flush, or when they are many. The methods may be
// called beside each other; a slow disk holds up only flush, and append when samples are many.
type csvFile struct {
	name string // of the stream, "arm_0/joint"
	path string

	mu      sync.Mutex // for what follows
	buffer  []byte
	samples uint64 // in buffer
	start   int64  // earliest stamp of these
	end     int64  // latest

	writing sync.Mutex // for what follows, taken before mu
	file    codec.DiskFile
	spare   []byte
	size    int64         // of what was written whole
	bytes   *atomic.Int64 // of all files
}

// failure is an error of the disk, with the samples or frames of a stream that could not be written.
type failure struct {
	name       string
	path       string
	table      string // path of the table, "" for frames
	count      uint64
	start, end int64
	err        error
}

// createTable begins a table with its header. It adds what is written to bytes.
func createTable(d codec.Disk, path, name string, bytes *atomic.Int64) (*csvFile, error) {
	file, err := d.Create(path, false)
	if err != nil {
		return nil, err
	}
	return &csvFile{name: name, path: path, file: file, bytes: bytes, buffer: []byte(tableHeader)}, nil
}

// key is how the numbers of a column are written.
type key struct {
	text   string
	whole  bool    // whole numbers are written as ints
	factor float64 // from the unit of the numbers to that of the table
}

// append adds a sample.
func (f *csvFile) append(stamp int64, keys []key, values []float64) *failure {
	var room [24]byte
	text := align.AppendStamp(room[:0], stamp)
	f.mu.Lock()
	for i, v := range values {
		if align.IsMissing(v) {
			continue
		}
		f.buffer = append(append(f.buffer, text...), ',')
		f.buffer = append(append(f.buffer, keys[i].text...), ',')
		f.buffer = append(appendNumber(f.buffer, v*keys[i].factor, keys[i].whole), "\r\n"...)
	}
	if f.samples == 0 {
		f.start, f.end = stamp, stamp
	}
	f.start, f.end = min(f.start, stamp), max(f.end, stamp)
	f.samples++
	many := len(f.buffer) >= flushSize
	f.mu.Unlock()
	if many {
		return f.flush()
	}
	return nil
}

// flush writes what is collected. After a failure the file ends with the last sample that was written whole.
func (f *csvFile) flush() *failure {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.mu.Lock()
	data := f.buffer
	lost := &failure{name: f.name, path: f.path, table: f.path, count: f.samples, start: f.start, end: f.end}
	f.buffer, f.spare = f.spare[:0], nil
	f.samples = 0
	f.mu.Unlock()
	if len(data) == 0 {
		return nil
	}
	n, err := f.file.WriteAt(data, f.size)
	if err == nil {
		f.size += int64(n)
		f.bytes.Add(int64(n))
		f.spare = data
		return nil
	}
	if cut := f.file.Truncate(f.size); cut != nil {
		err = errors.Join(err, cut)
	}
	lost.err = codec.Pathless(err)
	return lost
}

// close writes what is collected and closes the file.
func (f *csvFile) close() *failure {
	lost := f.flush()
	if err := f.file.Close(); lost == nil && err != nil {
		lost = &failure{name: f.name, path: f.path, err: codec.Pathless(err)}
	}
	return lost
}
