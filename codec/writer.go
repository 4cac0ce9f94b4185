package codec

import (
	"errors"
	"fmt"
	"time"
)

// ActiveSuffix ends the name of a file while it is written, in formats for recording. It is removed when the file is
// complete; the file of a killed writer keeps it. Open finds a recording with or without it.
const ActiveSuffix = ".active"

// CreateOptions are options for writing a recording. The zero value means the defaults of the format.
type CreateOptions struct {
	Format    string // name of a format; "": derived from the path
	Overwrite bool   // replace an existing recording; without it Create refuses, with fs.ErrExist

	// Disk is the disk on which formats for recording write; nil means OS. Other formats always write on OS.
	Disk Disk

	ChunkSize     int           // payload bytes after which a chunk is closed and written out; 0: the format's default
	ChunkDuration time.Duration // time after which a chunk is closed and written out; 0: the format's default

	// ChunkGroups, unless nil, returns the name of the group of topics to which a channel with a first message of the
	// given size belongs. A chunk of an MCAP file then has the messages of one group. Other formats ignore it.
	ChunkGroups func(c *Channel, size int) string

	Compression string // "none", "lz4", "zstd", "bz2", if the format supports it; "": the format's default

	// Dated, unless nil, returns the time for the name of a new file, as in 1_NAME_2026_01_31-08_15_00.mcap instead of
	// NAME_1.mcap. Then Create's path only gives NAME.
	Dated func() time.Time

	Metadata map[string]string // of the whole recording, if the format can hold it

	// Formats with Keeps.Attachments write Records to each file, and Attachments to the first file when it is created.
	Records     []MetadataRecord
	Attachments []Attachment

	// Salvaged reports that the messages come from a recording that was damaged or not closed. A format whose messages
	// refer to each other corrects these references.
	Salvaged bool

	// Completed, unless nil, is called for each file of the recording, in order, after it was completed or could not be
	// completed. The error may be a *MissingError that no method has returned. The call is made in a goroutine of the
	// writer before Close returns, and must not call the writer.
	Completed func(FileInfo, error)

	// Ending, unless nil, returns the events at the end of a file, such as its totals. Formats that hold events call it
	// before Completed, when it is known which messages are in the file. missing is nil, or the error that ended the
	// file. An event without a Time gets the times of the file. On a full disk there is room for totals of each topic;
	// further events are omitted.
	Ending func(path string, missing *MissingError) []Event
}

// OnDisk returns Disk, or OS if that is nil.
func (o *CreateOptions) OnDisk() Disk {
	if o.Disk == nil {
		return OS{}
	}
	return o.Disk
}

// CheckUncompressed returns an error if o requests compression, which the named format does not have.
func (o *CreateOptions) CheckUncompressed(format string) error {
	if o.Compression == "" || o.Compression == "none" {
		return nil
	}
	return fmt.Errorf("format %s has no compression %q", format, o.Compression)
}

// Writer writes one recording. It is not for concurrent use, except that Sync may be called beside Write, and Remove
// beside all other methods.
type Writer interface {
	// Declare adds a channel before its first message, so that it is in the recording even if no message follows.
	// Declaring a channel again has no effect.
	Declare(*Channel) error
	// Write appends a message, and declares its channel if needed. Messages should be in the order of LogTime; each
	// format documents what it does with others. Data is copied or written before Write returns.
	//
	// If Write returns an error, this message is not in the recording. After a *MissingError nothing more is written to
	// the file; its counts do not include this message. Any other error concerns only this message.
	Write(*Message) error
	// Sync closes the open chunk and flushes everything to the disk. Write may be called at the same time.
	Sync() error
	// Close completes the recording. If Close is not called or returns an error, the recording can be opened but is
	// incomplete. If Sync was called before, everything is on the disk when Close returns.
	Close() error
	// Losses returns the losses of all messages written so far. It must not be called during Write.
	Losses() []Loss

	// File returns the path that the present or last file has when it is complete. It returns "" if the format has no
	// splits.
	File() string
	// Split starts a new file for all later writes. The channels declared so far are declared in it again. It fails
	// with errors.ErrUnsupported if the format has no splits.
	//
	// The new file is open before the previous one is completed and synced, which happens while writing continues.
	// Close waits for that, and Split itself waits if too many files are incomplete. If the new file cannot be created,
	// the recording continues in the previous one. A recording can also continue with Split after a *MissingError: the
	// previous file then keeps its whole chunks.
	Split() error
	// Remove removes a completed file from the recording and deletes it. path is the path passed to Completed.
	Remove(path string) error
}

// NoSplits is embedded in the writers of formats that have no splits.
type NoSplits struct{}

// File implements Writer.
func (NoSplits) File() string { return "" }

// Split implements Writer.
func (NoSplits) Split() error {
	return fmt.Errorf("recordings of this format cannot be split: %w", errors.ErrUnsupported)
}

// Remove implements Writer.
func (NoSplits) Remove(path string) error {
	return fmt.Errorf("remove %s: %w", path, errors.ErrUnsupported)
}
