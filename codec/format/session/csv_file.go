package session

import (
	"errors"
	"sync"
	"sync/atomic"

	"tapedeck/codec"
	"tapedeck/codec/training/align"
)

// flushSize is the number of bytes at which append writes the samples of a table.
const flushSize = 64 << 10

// tableHeader is the first line of a table.
const tableHeader = "timestamp,index,value\r\n"

// csvFile writes a table. It collects samples, and writes them in flush or when flushSize is reached. The methods may
// be called concurrently. A slow disk blocks only flush, and append after flushSize bytes.
type csvFile struct {
	name string // name of the stream, "arm_0/joint"
	path string

	mu      sync.Mutex // guards the fields up to end
	buffer  []byte
	samples uint64 // number of samples in buffer
	start   int64  // earliest stamp in buffer
	end     int64  // latest stamp in buffer

	writing sync.Mutex // guards the fields below; locked before mu
	file    codec.DiskFile
	spare   []byte        // memory for the next buffer
	size    int64         // bytes of the file that were written without an error
	bytes   *atomic.Int64 // bytes written to all files of the session
}

// failure is an error of the disk, with the samples or frames that could not be written.
type failure struct {
	name       string // topic of the camera, or name of the stream
	path       string // file in which the error occurred
	table      string // path of the table; "" for frames
	count      uint64 // samples or frames
	start, end int64  // earliest and latest stamp of the samples or frames
	err        error
}

// createTable begins a table with its header. The table adds the number of written bytes to bytes.
func createTable(d codec.Disk, path, name string, bytes *atomic.Int64) (*csvFile, error) {
	file, err := d.Create(path, false)
	if err != nil {
		return nil, err
	}
	return &csvFile{name: name, path: path, file: file, bytes: bytes, buffer: []byte(tableHeader)}, nil
}

// key describes how the numbers of a column are written.
type key struct {
	text   string  // index of the column in the table
	whole  bool    // whole numbers are written as ints
	factor float64 // factor from the unit of the numbers to the unit of the table
}

// append adds a sample. It leaves out missing values.
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

// flush writes the collected samples. After an error it truncates the file to its previous size, so that the file ends
// with a complete sample.
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

// close writes the collected samples and closes the file.
func (f *csvFile) close() *failure {
	lost := f.flush()
	if err := f.file.Close(); lost == nil && err != nil {
		lost = &failure{name: f.name, path: f.path, err: codec.Pathless(err)}
	}
	return lost
}
