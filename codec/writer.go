package codec

import "time"

// CreateOptions say how a recording is written. The zero value asks for the defaults of the format.
type CreateOptions struct {
	Format    string // a format's name; "" takes it from the path's
	Overwrite bool   // replace an existing recording; without it Create refuses, with fs.ErrExist

	ChunkSize     int           // payload bytes after which a chunk is closed and written out; 0: the format's default
	ChunkDuration time.Duration // time after which a chunk is closed and written out; 0: the format's default
	Compression   string        // "none", "lz4", "zstd", "bz2", as far as the format has it; "" is the format's default

	Metadata map[string]string // kept with the recording where the format can

	// Completed, when it is set, hears of each file of the recording once it is complete, or could not be completed, in a
	// goroutine of the writer's. It must not call the writer.
	Completed func(FileInfo, error)
}

// Writer writes one recording. It is not for concurrent use, except that Sync may be called beside Write.
type Writer interface {
	// Declare adds a channel ahead of its first message, so that it is in the recording even if none follows.
	// Declaring a channel again does nothing.
	Declare(*Channel) error
	// Write appends a message and declares its channel if need be. Messages should come in the order of LogTime, as far
	// as they have one; each format says what it does with one that does not. Data is copied or written before Write
	// returns.
	Write(*Message) error
	// Sync closes the open chunk and asks the system to put everything on the disk.
	Sync() error
	// Close completes the recording. It is not complete when Close was not called or returned an error, but opens. If Sync
	// was called before, everything is on the disk when Close returns.
	Close() error
}

// Splitter is a Writer whose recording can go on in another file.
type Splitter interface {
	Writer
	// File returns the path of the file that is being written now.
	File() string
	// Split has what is written from now on go to a new file, in which the channels declared so far are declared again. The
	// new file is open before the one before it is completed, which happens beside further writing; Close waits for
	// it. After an error of Write or Sync the recording can go on with Split, too: the file before then keeps what was whole.
	Split() error
	// Remove takes a completed file out of the recording and deletes it.
	Remove(path string) error
}
