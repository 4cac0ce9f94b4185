package rosbag2

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/rosbag2/internal/sqlite"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/store"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// database reads one file of the storage sqlite3, of any schema that rosbag2_storage_sqlite3 has written: with the
// tables topics and messages and, since Iron, message_definitions.
type database struct {
	files       *store.Files
	path        string
	file        codec.File // database, with the write-ahead log if there is one
	size        int64      // bytes of the database
	sqlite      *sqlite.Database
	objects     []sqlite.Object
	messages    *messageTable            // nil if broken
	channels    map[int64]*codec.Channel // by topic id
	info        *codec.Info
	counts      map[int64]uint64 // messages by topic id; set with info
	rare        map[int64][]row  // all messages of searched topics with few messages, by topic id
	whole       *metadata        // of a bag that consists of this file alone; nil if unknown
	salvage     *salvage         // reads damaged tables; nil until it is needed
	broken      bool             // salvage reads everything
	events      []codec.Event    // about the write-ahead log, QoS profiles and invalid rows
	labels      []codec.Event    // about definitions
	invalidRows []string         // texts about rows that are not messages; set with info
}

// errNoBag is the error for a database that rosbag2 did not create.
var errNoBag = errors.New("not a bag: there is no table of topics")

// openDatabase opens the database at path, a file of size bytes, and owns the file. It salvages damaged and incomplete
// databases. Unlike SQLite it writes no file beside a database with a write-ahead log. whole is the metadata of a bag
// that consists of this file alone, or nil.
func openDatabase(files *store.Files, path string, file codec.File, size int64, whole *metadata) (codec.Reader, error) {
	d := &database{files: files, path: path, file: file, size: size, whole: whole, channels: map[int64]*codec.Channel{},
		rare: map[int64][]row{}}
	if err := d.open(); err != nil {
		return nil, errors.Join(d.wrap(err), d.Close())
	}
	return d, nil
}

func (d *database) open() error {
	if sqlite.UsesLog(d.file) {
		if err := d.openLog(); err != nil {
			return err
		}
	}
	var err error
	d.sqlite, err = sqlite.NewDatabase(d.file, d.size)
	if err != nil {
		return err
	}
	if strings.HasSuffix(d.path, codec.ActiveSuffix) {
		return d.salvageAll(nil)
	}
	err = d.readTables()
	if err == nil || errors.Is(err, errNoBag) {
		return err
	}
	clear(d.channels)
	return d.salvageAll(err)
}

// loggedFile is a database with its write-ahead log.
type loggedFile struct {
	*sqlite.Logged
	file, log codec.File
}

func (l *loggedFile) Close() error { return errors.Join(l.file.Close(), l.log.Close()) }

// openLog adds the transactions of the write-ahead log to the file, if there is one.
func (d *database) openLog() error {
	path := d.beside("-wal")
	log, err := d.files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	stat, err := log.Stat()
	if err != nil {
		return errors.Join(err, log.Close())
	}
	logged, err := sqlite.NewLogged(d.file, d.size, log, stat.Size())
	if err != nil {
		d.events = []codec.Event{{Kind: codec.EventDamage, Text: fmt.Sprintf("the write-ahead log %s: %v",
			filepath.Base(path), err)}}
	}
	d.file, d.size = &loggedFile{logged, d.file, log}, logged.Size()
	return nil
}

// beside returns the path of a file that SQLite keeps beside the database.
func (d *database) beside(suffix string) string {
	if target, err := filepath.EvalSymlinks(d.path); err == nil && !store.IsURL(d.path) {
		return target + suffix
	}
	return d.path + suffix
}

// checkJournal returns an error if a journal has pages of a transaction that was not completed.
func (d *database) checkJournal() error {
	if store.IsURL(d.path) || sqlite.UsesLog(d.file) {
		return nil
	}
	path := d.beside("-journal")
	head := make([]byte, 1)
	f, err := d.files.Open(path)
	if err == nil {
		_, err = f.ReadAt(head, 0)
		_ = f.Close()
	}
	if err != nil || head[0] == 0 {
		return nil // no journal, or not in use
	}
	return fmt.Errorf("the writer of the database did not complete a transaction: there is %s", filepath.Base(path))
}

// salvageAll reads everything with a salvage. cause is the reason, or nil if the writer did not complete the file.
func (d *database) salvageAll(cause error) error {
	var err error
	d.salvage, err = newSalvage(d, cause)
	if err != nil {
		return err
	}
	d.broken, d.info = true, d.salvage.info
	d.info.Events = slices.Concat(d.events, d.info.Events)
	return nil
}

func (d *database) wrap(err error) error { return fmt.Errorf("read %s: %w", d.path, err) }

// readTables finds the tables and reads the channels.
func (d *database) readTables() error {
	err := d.sqlite.Cut()
	if err == nil {
		err = d.checkJournal()
	}
	if err == nil {
		d.objects, err = d.sqlite.Objects()
	}
	if err == nil {
		err = d.readTopics()
	}
	if err != nil {
		return err
	}
	d.messages, err = openMessages(d)
	if err != nil {
		return err
	}
	guessed := map[int64]bool{}
	for id, c := range d.channels {
		if len(c.Schema.Data) > 0 && c.TypeHash == "" && c.Encoding == codec.EncodingCDR {
			guessed[id] = true
		}
	}
	if err := d.readDefinitions(guessed); err != nil {
		return err
	}
	d.labels = codec.DefineAll(slices.Collect(maps.Values(d.channels)))
	if len(guessed) > 0 {
		_ = d.checkDefinitions(guessed) // reading reports damage
	}
	return nil
}

// table returns the table with this name, or nil.
func (d *database) table(name string) *sqlite.Object {
	for i := range d.objects {
		if o := &d.objects[i]; o.Type == "table" && strings.EqualFold(o.Name, name) {
			return o
		}
	}
	return nil
}

// readTopics reads the channels. If the file lacks the definition of a type, a known definition is used;
// checkDefinitions tests later whether messages match it.
func (d *database) readTopics() error {
	topics := d.table("topics")
	names := []string{"id", "name", "type", "serialization_format", "offered_qos_profiles", "type_description_hash"}
	if topics == nil {
		return errNoBag
	}
	for _, name := range names[:4] {
		if !slices.Contains(topics.Columns(), name) {
			return errNoBag
		}
	}
	library := msgs.Library()
	return d.sqlite.Select(topics, names, func(v []sqlite.Value) {
		c := &codec.Channel{Topic: v[1].Text, Type: v[2].Text, Encoding: cmp.Or(v[3].Text, codec.EncodingCDR),
			TypeHash: v[5].Text}
		var err error
		c.QoS, err = codec.ParseQoSProfiles(v[4].Text)
		if err != nil {
			d.events = append(d.events, codec.UnreadQoSEvent(c.Topic, err))
		}
		c.Define(library)
		d.channels[v[0].Int] = c
	})
}

// readDefinitions reads the definitions, if the schema has them, and removes their channels from guessed.
func (d *database) readDefinitions(guessed map[int64]bool) error {
	definitions := d.table("message_definitions")
	if definitions == nil {
		return nil
	}
	names := []string{"topic_type", "encoding", "encoded_message_definition"}
	return d.sqlite.Select(definitions, names, func(v []sqlite.Value) {
		for id, c := range d.channels {
			if c.Type == v[0].Text && v[2].Text != "" {
				c.Schema = codec.Schema{Encoding: v[1].Text, Data: []byte(v[2].Text)}
				delete(guessed, id)
			}
		}
	})
}

// ownMetadata returns the metadata embedded in the file, which exists since schema version 3, or nil.
func (d *database) ownMetadata() (*metadata, error) {
	table := d.table("metadata")
	if table == nil {
		return nil, nil
	}
	var text string
	err := d.sqlite.Select(table, []string{"metadata"}, func(v []sqlite.Value) { text = v[0].Text })
	if err != nil {
		return nil, err
	}
	m, _ := parseEmbedded([]byte(text)) // unreadable metadata is ignored
	return m, nil
}

// firstRows is the number of messages in which the first of each topic is searched. There is no index by topic.
const firstRows = 1000

// checkDefinitions replaces a guessed definition if the first message of its topic shows that another release's
// definition was used. It keeps the definitions of topics without a CDR message among the first messages.
func (d *database) checkDefinitions(guessed map[int64]bool) error {
	libraries := []*rosidl.Library{msgs.Library(), msgs.Release(""), msgs.Release("humble")}
	n := firstRows
	if d.messages.remote {
		n /= 10
	}
	rows, err := d.messages.first(n)
	if err != nil {
		return err
	}
	first := d.iterator(codec.Query{Start: math.MinInt64}, iterate(rows))
	for m, err := first.Next(); err == nil; m, err = first.Next() {
		r := first.row
		if guessed[r.topic] && len(m.Data) > 4 && m.Data[0] == 0 && m.Data[1] <= 1 { // otherwise it is compressed
			m.Channel.Schema = matchingSchema(libraries, m.Channel.Type, m.Data)
		}
	}
	return nil
}

// matchingSchema returns the first definition that matches a payload, or an empty schema.
func matchingSchema(libraries []*rosidl.Library, name string, payload []byte) codec.Schema {
	for _, l := range libraries {
		schema, err := cdr.NewSchema(l, name)
		if err == nil {
			_, err = schema.Decode(payload)
		}
		if err != nil {
			continue
		}
		if text, err := l.Concatenated(name); err == nil {
			return codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}
		}
	}
	return codec.Schema{}
}

func (d *database) Info() (*codec.Info, error) {
	if d.info != nil {
		return d.info, nil
	}
	err := d.countFromMetadata()
	if err == nil && d.info == nil {
		err = d.count()
	}
	if err == nil {
		err = d.readEvents()
	}
	if err != nil {
		err = d.salvageAll(err)
		return d.info, err
	}
	d.info.Events = slices.Concat(d.labels, d.events, d.info.Events)
	d.info.Complete = d.info.Complete && len(d.events) == 0
	return d.info, nil
}

// readEvents adds the events that a recorder stored among the messages.
func (d *database) readEvents() error {
	kept := func(t codec.TopicInfo) bool { return t.MessageCount > 0 && codec.IsEvents(t.Channel) }
	if !slices.ContainsFunc(d.info.Topics, kept) {
		return nil
	}
	all := func(*codec.Channel) int { return codec.All }
	it, err := d.Read(codec.Query{Start: math.MinInt64, Topics: codec.IsEvents, Last: all})
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	events, err := chunked.Events(it)
	d.info.Events = append(d.info.Events, events...)
	return err
}

// ids returns the topic ids in ascending order.
func (d *database) ids() []int64 { return slices.Sorted(maps.Keys(d.channels)) }

func (d *database) Close() error { return d.file.Close() }
