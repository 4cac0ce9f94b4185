// Package stamped writes folders with a file for each message of a topic, named by its stamp, and a table of the files.
package stamped

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/internal/files"
	"tapedeck/msgs"
)

// Table is the name of the table in a folder.
const Table = "index.csv"

// Message is a message with the fields of its header.
type Message struct {
	*codec.Message
	Stamp int64  // stamp of the header, in ns since the Unix epoch; 0 if there is no header
	Frame string // frame_id of the header, or ""

	// Unstamped reports that the stamp of the channel's first message was not set, or came from a simulation that began
	// at 0. Then a mixture of stamps and times of receipt would not be in order.
	Unstamped bool
}

// Time returns the stamp of the message or, if it is not set or the channel is Unstamped, the time of receipt.
func (m *Message) Time(stamp int64) int64 {
	if m.Unstamped || stamp <= 0 {
		return m.LogTime
	}
	return stamp
}

// Topics are the topics of a recording. Each topic has a T and the name of its file or folder, which all channels of
// the topic share. The zero value has no topics.
type Topics[T any] struct {
	List     []*Target[T]
	names    files.Names
	channels map[*codec.Channel]*Channel[T]
}

// Target is a topic with the name of its file or folder, and with the state that the format keeps for the topic.
type Target[T any] struct {
	Topic, Name string
	State       T
}

// Channel reads the messages of a channel.
type Channel[T any] struct {
	*Target[T]
	Images *pixel.Locator // nil if the channel has no images
	stamps *cdr.Stamps    // nil if the type has no stamps
	frame  *cdr.Path      // header.frame_id; nil if the type has none

	known     bool // unstamped is known
	unstamped bool // Message.Unstamped
}

// Add returns the topic with the given name. It adds the topic if it is new.
func (t *Topics[T]) Add(topic string) *Target[T] {
	for _, known := range t.List {
		if known.Topic == topic {
			return known
		}
	}
	t.List = append(t.List, &Target[T]{Topic: topic, Name: t.names.Of(topic)})
	return t.List[len(t.List)-1]
}

// Channel returns the reader of a channel's messages.
func (t *Topics[T]) Channel(c *codec.Channel) (*Channel[T], error) {
	if known := t.channels[c]; known != nil {
		return known, nil
	}
	s, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return nil, fmt.Errorf("%s [%s]: %w", c.Topic, c.Type, err)
	}
	if t.channels == nil {
		t.channels = map[*codec.Channel]*Channel[T]{}
	}
	known := &Channel[T]{Target: t.Add(c.Topic), stamps: s.Stamps()}
	known.frame, _ = s.Path("header.frame_id") // some types have no frame_id
	known.Images, _ = pixel.NewLocator(s)
	t.channels[c] = known
	return known, nil
}

// Read reads the header of a message.
func (c *Channel[T]) Read(m *codec.Message) (Message, error) {
	out := Message{Message: m}
	var err, frameErr error
	if c.stamps != nil {
		out.Stamp, _, err = c.stamps.First(m.Data)
	}
	if c.frame != nil {
		var v any
		v, frameErr = c.frame.Get(m.Data)
		out.Frame, _ = v.(string)
	}
	err = errors.Join(err, frameErr)
	if err == nil && !c.known {
		c.known, c.unstamped = true, out.Stamp <= 0
	}
	out.Unstamped = c.unstamped
	return out, err
}

// Folder is the folder of a topic.
type Folder struct {
	path    string
	file    *files.File
	table   *csv.Writer
	repeats int // number of files with a repeated stamp
}

// Folders are the folders of a recording. They implement Sync and Close of codec.Writer.
type Folders struct {
	all    map[string]*Folder
	tables files.Set
}

// Folder returns the folder at path. The first call creates it, with a table that has the given columns and the columns
// that all tables have.
func (f *Folders) Folder(path string, columns ...string) (*Folder, error) {
	if known := f.all[path]; known != nil {
		return known, nil
	}
	folder := &Folder{path: path}
	err := os.MkdirAll(path, 0o777)
	if err == nil {
		folder.file, err = f.tables.Create(filepath.Join(path, Table), true)
	}
	if err != nil {
		return nil, missing(path, err)
	}
	if f.all == nil {
		f.all = map[string]*Folder{}
	}
	f.all[path], folder.table = folder, csv.NewWriter(folder.file)
	return folder, folder.row(append([]string{"file", "header_stamp", "log_time", "publish_time", "frame_id"},
		columns...))
}

// Write writes the file of a message and its row of the table.
func (f *Folder) Write(m *Message, extension string, content []byte, values ...string) error {
	stamp := Seconds(m.Time(m.Stamp))
	name := stamp + extension
	file, err := f.open(name)
	if errors.Is(err, fs.ErrExist) {
		f.repeats++
		name = fmt.Sprintf("%s_%d%s", stamp, f.repeats, extension)
		file, err = f.open(name)
	}
	if err == nil {
		_, err = file.Write(content)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return missing(filepath.Join(f.path, name), err)
	}
	return f.row(append([]string{name, number(m.Stamp), number(m.LogTime), number(m.PublishTime), m.Frame}, values...))
}

func (f *Folder) open(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(f.path, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
}

func (f *Folder) row(values []string) error {
	if err := f.table.Write(values); err != nil {
		return missing(f.file.Name(), err)
	}
	return nil
}

// Sync implements codec.Writer.
func (f *Folders) Sync() (err error) {
	for _, folder := range f.all {
		folder.table.Flush()
		if failed := folder.table.Error(); failed != nil {
			err = errors.Join(err, missing(folder.file.Name(), failed))
		}
	}
	return err
}

// Close implements codec.Writer.
func (f *Folders) Close() error {
	err := f.Sync()
	for _, folder := range f.all {
		err = errors.Join(err, folder.file.Close())
	}
	return err
}

// missing returns the MissingError about an error of the disk.
func missing(path string, err error) error {
	return &codec.MissingError{Path: path, Err: codec.Pathless(err)}
}

// number returns ns as text, or "" for 0.
func number(ns int64) string {
	if ns == 0 {
		return ""
	}
	return strconv.FormatInt(ns, 10)
}

// Seconds returns ns, which must not be negative, as decimal seconds.
func Seconds(ns int64) string { return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) }
