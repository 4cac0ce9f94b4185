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
