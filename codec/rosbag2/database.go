package rosbag2

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
	"modernc.org/sqlite/vfs"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/codec/rosbag2/internal/sqlite"
	"tapedeck/codec/store"
	"tapedeck/msgs"
	"tapedeck/msgs/plural"
	"tapedeck/msgs/rosidl"
)

// database reads one file of the storage sqlite3, of any schema that rosbag2_storage_sqlite3 has written: a table of
// topics, one of messages and, since Iron, one of definitions.
type database struct {
	files    *store.Files
	path     string
	file     codec.File // what SQLite reads by way of vfs; nil if it reads the system's file
	vfs      *vfs.FS
	size     int64 // bytes of the file
	db       *sql.DB
	channels map[int64]*codec.Channel // by topic id
	info     *codec.Info
	counts   map[int64]uint64 // messages by topic id; known with info
	rare     map[int64][]row  // all messages of topics with few, once a Query with Last has looked for them
	whole    *metadata        // of a bag that consists of this file alone; nil: not known
	pages    *pages           // of a file in a store, once they are needed
	salvage  *salvage         // reads what SQLite cannot; nil until that is needed
	broken   bool             // SQLite could not count the messages: salvage reads everything
	events   []codec.Event    // about the write-ahead log, profiles of QoS, and lacks
	labels   []codec.Event    // about definitions
	lacks    []string         // about rows that are no messages, once they are counted
}

// errNoBag is the error of a database that is none of rosbag2's.
var errNoBag = errors.New("it is not a bag: there is no table of topics")

// openDatabase opens the database at path. Damaged and incomplete ones are salvaged. Nothing is written beside it, as
// SQLite does to read a database that has a write-ahead log.
func openDatabase(files *store.Files, path string, whole *metadata) (codec.Reader, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	stat, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d := &database{files: files, path: path, size: stat.Size(), whole: whole}
	var file codec.File
	query := "mode=ro"
	if sqlite.UsesLog(f) {
		query += "&immutable=1"
		if file, err = d.openLog(f); err != nil {
			return nil, errors.Join(d.wrap(err), f.Close())
		}
	}
	if file == nil && store.IsURL(path) {
		file = f
	}
	if file != nil {
		return d.openFile(file)
	}
	defer f.Close()
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return d.open(f, url.URL{Scheme: "file", Path: full, RawQuery: query})
}

// logged is a database with its write-ahead log.
type logged struct {
	*sqlite.Logged
	file, log store.File
}

func (l *logged) Close() error { return errors.Join(l.file.Close(), l.log.Close()) }

// openLog returns the database in f with the messages in its write-ahead log, and owns f then; nil if there are none.
func (d *database) openLog(f store.File) (codec.File, error) {
	path := d.path
	if target, err := filepath.EvalSymlinks(path); err == nil && !store.IsURL(path) {
		path = target
	}
	log, err := d.files.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stat, err := log.Stat()
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	all, err := sqlite.NewLogged(f, d.size, log, stat.Size())
	if err != nil {
		d.events = []codec.Event{{Kind: codec.EventDamage, Text: fmt.Sprintf(
			"the write-ahead log %s-wal: %v", filepath.Base(path), err)}}
	}
	d.size = all.Size()
	return &logged{all, f, log}, nil
}

// openFile opens the database in f, which d owns.
func (d *database) openFile(f codec.File) (codec.Reader, error) {
	name, system, err := vfs.New(sqliteFS{f, d.size})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.file, d.vfs = f, system
	return d.open(f, url.URL{Scheme: "file", Opaque: databaseName, RawQuery: "mode=ro&immutable=1&vfs=" + name})
}

func (d *database) open(file io.ReaderAt, source url.URL) (codec.Reader, error) {
	d.channels, d.rare = map[int64]*codec.Channel{}, map[int64][]row{}
	if strings.HasSuffix(d.path, codec.ActiveSuffix) {
		return d.openSalvage(nil)
	}
	pages, err := sqlite.NewDatabase(file, d.size)
	if err == nil {
		err = pages.Cut()
	}
	if err == nil {
		d.db, err = sql.Open("sqlite", source.String())
	}
	if err == nil {
		d.db.SetMaxIdleConns(1)
		err = d.readTopics()
	}
	if err == nil {
		return d, nil
	}
	if !errors.Is(err, errNoBag) {
		clear(d.channels)
		return d.openSalvage(err)
	}
	return nil, errors.Join(fmt.Errorf("read %s: %w", d.path, err), d.Close())
}

// openSalvage returns a salvage in the place of d, which cannot be used because of cause.
func (d *database) openSalvage(cause error) (codec.Reader, error) {
	s, err := d.salvaged(cause)
	if err == nil && d.file == nil {
		err = d.Close() // without the salvage
		return s, err
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	s.closer = d // it has the file
	return s, nil
}

// salvaged returns a salvage of the file with the channels of d.
func (d *database) salvaged(cause error) (*salvage, error) {
	var f codec.File = keptOpen{d.file}
	if d.file == nil {
		var err error
		if f, err = d.files.Open(d.path); err != nil {
			return nil, err
		}
	}
	s, err := newSalvage(d.path, f, d.size, d.channels, cause)
	if err == nil {
		s.info.Events = append(d.events, s.info.Events...)
	}
	return s, err
}

// keptOpen is a file that somebody else closes.
type keptOpen struct{ io.ReaderAt }

func (keptOpen) Close() error { return nil }

// fallback returns what salvages the messages that SQLite does not read because of cause.
func (d *database) fallback(cause error) (*salvage, error) {
	if d.salvage == nil {
		s, err := d.salvaged(cause)
		if err != nil {
			return nil, err
		}
		d.salvage = s
	}
	return d.salvage, nil
}

func (d *database) wrap(err error) error { return fmt.Errorf("read %s: %w", d.path, err) }

// readTopics reads the channels. The definition of a type that the file does not hold is taken from those at hand, if
// the messages have nothing against it.
func (d *database) readTopics() error {
	columns, err := d.columns("topics")
	if err != nil {
		return err
	}
	for _, name := range []string{"id", "name", "type", "serialization_format"} {
		if !slices.Contains(columns, name) {
			return errNoBag
		}
	}
	optional := func(column string) string {
		if slices.Contains(columns, column) {
			return "coalesce(" + column + ", '') AS " + column
		}
		return "''"
	}
	rows, err := d.db.Query("SELECT id, " + optional("name") + ", " + optional("type") + ", " +
		optional("serialization_format") + ", " + optional("offered_qos_profiles") + ", " +
		optional("type_description_hash") + " FROM topics ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	library := msgs.Library()
	for rows.Next() {
		var id int64
		var profiles string
		c := new(codec.Channel)
		if err := scan(rows, &id, &c.Topic, &c.Type, &c.Encoding, &profiles, &c.TypeHash); err != nil {
			return err
		}
		c.Encoding = cmp.Or(c.Encoding, codec.EncodingCDR)
		if c.QoS, err = codec.ParseQoSProfiles(profiles); err != nil {
			d.events = append(d.events, codec.UnreadQoSEvent(c.Topic, err))
		}
		c.Define(library)
		d.channels[id] = c
	}
	if err := rows.Err(); err != nil {
		return err
	}
	guessed := map[int64]bool{}
	for id, c := range d.channels {
		guessed[id] = len(c.Schema.Data) > 0 && c.TypeHash == "" && c.Encoding == codec.EncodingCDR
	}
	if err := d.readDefinitions(guessed); err != nil {
		return err
	}
	d.labels = codec.DefineAll(slices.Collect(maps.Values(d.channels)))
	maps.DeleteFunc(guessed, func(_ int64, is bool) bool { return !is })
	_ = d.checkDefinitions(guessed) // what cannot be read says so when it is asked for
	return nil
}

// readDefinitions reads the definitions, where the schema has them. Those are not guessed any more.
func (d *database) readDefinitions(guessed map[int64]bool) error {
	if columns, err := d.columns("message_definitions"); err != nil || len(columns) == 0 {
		return err
	}
	rows, err := d.db.Query("SELECT coalesce(topic_type, ''), coalesce(encoding, ''), " +
		"coalesce(encoded_message_definition, '') FROM message_definitions")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var typeName, encoding, text string
		if err := scan(rows, &typeName, &encoding, &text); err != nil {
			return err
		}
		for id, c := range d.channels {
			if c.Type == typeName && text != "" {
				c.Schema = codec.Schema{Encoding: encoding, Data: []byte(text)}
				guessed[id] = false
			}
		}
	}
	return rows.Err()
}

// scan is the Scan of rows or a row, whose errors say what is wrong with a value, not what the library does with it.
func scan(rows interface{ Scan(...any) error }, values ...any) error {
	err := rows.Scan(values...)
	if errors.Is(err, sql.ErrNoRows) {
		return errors.New("it is not there")
	}
	if err != nil {
		if match := scanError.FindStringSubmatch(err.Error()); match != nil {
			return fmt.Errorf("a row has a wrong value in the column %s", match[1])
		}
	}
	return err
}

var scanError = regexp.MustCompile(`^sql: Scan error on column index \d+, name "([^"]*)"`)

// columns returns the names of a table's columns; none when there is no such table.
func (d *database) columns(table string) (names []string, err error) {
	rows, err := d.db.Query("SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := scan(rows, &name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
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
	if err == nil {
		d.info.Events = slices.Concat(d.labels, d.events, d.info.Events)
		d.info.Complete = d.info.Complete && len(d.events) == 0
		return d.info, nil
	}
	s, err := d.fallback(err)
	if err != nil {
		return nil, err
	}
	d.broken, d.info = true, s.info
	return d.info, nil
}

// count counts the messages by going through all of them.
func (d *database) count() error {
	tallies, unset, err := d.tally()
	if err != nil {
		return err
	}
	info := &codec.Info{Format: Name, Path: d.path, Complete: true, Indexed: true}
	counts := map[int64]uint64{}
	for id, t := range tallies {
		if t.odd > 0 {
			return fmt.Errorf("%s that cannot be messages", plural.Count(t.odd, "row"))
		}
		if info.MessageCount == 0 || t.first < info.StartTime {
			info.StartTime = t.first
		}
		if info.MessageCount == 0 || t.last > info.EndTime {
			info.EndTime = t.last
		}
		counts[id] = t.count
		info.MessageCount += t.count
	}
	for _, id := range d.ids() {
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: d.channels[id], MessageCount: counts[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if d.channels[id] != nil {
			continue
		}
		count := counts[id]
		d.lack(count, "%s of topic id %d, which is not among the topics; they are left out",
			plural.Count(count, "message"), id)
		info.MessageCount -= count
	}
	if unset > 0 {
		d.lack(unset, "%s without topic, time or payload; they are left out", plural.Count(unset, "row"))
	}
	d.info, d.counts = info, counts
	return nil
}

// lack adds the event that rows of the file are no messages.
func (d *database) lack(rows uint64, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.events = append(d.events, codec.Event{Kind: codec.EventDamage, Count: rows, Text: text})
	d.lacks = append(d.lacks, text)
}

// lackError is the error about rows of a file that are no messages.
type lackError struct{ text string }

func (e *lackError) Error() string { return e.text }

// ids returns the topic ids in ascending order.
func (d *database) ids() []int64 { return slices.Sorted(maps.Keys(d.channels)) }

func (d *database) Read(q codec.Query) (codec.Iterator, error) {
	if d.broken {
		return d.salvage.Read(q)
	}
	if q.Last != nil {
		return d.readLast(q)
	}
	for _, text := range d.lacks {
		_ = q.Damage(d.wrap(&lackError{text})) // which ends no reading: Info tells, too
	}
	where, args := window(q)
	if d.remote() {
		if p, err := d.openPages(); err == nil {
			p.prefetch(q.From())
		}
	}
	wanted := slices.DeleteFunc(d.ids(), func(id int64) bool { return !q.Wants(d.channels[id]) })
	rows, err := d.db.Query("SELECT id, topic_id, timestamp, data FROM messages WHERE "+where+
		" AND topic_id IN ("+list(wanted)+") AND data IS NOT NULL ORDER BY timestamp, id", args...)
	it := &rowIterator{database: d, rows: rows, query: q}
	if err != nil {
		it.continueWithSalvage(err)
		if it.rest == nil {
			return nil, it.err
		}
	}
	return it, nil
}

// window returns the condition that q makes for the time.
func window(q codec.Query) (where string, args []any) {
	if q.End == 0 {
		return "timestamp >= ?", []any{q.From()}
	}
	return "timestamp >= ? AND timestamp < ?", []any{q.From(), q.End}
}

func (d *database) Close() error {
	var err error
	if d.db != nil {
		err = d.db.Close()
	}
	if d.salvage != nil {
		err = errors.Join(err, d.salvage.Close())
	}
	if d.vfs != nil {
		err = errors.Join(err, d.vfs.Close(), d.file.Close())
	}
	return err
}

// rowIterator yields the messages of a database.
type rowIterator struct {
	database *database
	rows     *sql.Rows
	query    codec.Query
	last     salvaged // the last message
	rest     codec.Iterator
	data     sql.RawBytes
	msg      codec.Message
	err      error
}

func (it *rowIterator) Next() (*codec.Message, error) {
	if it.rest != nil {
		return it.rest.Next()
	}
	if it.err != nil {
		return nil, it.err
	}
	var id, topic, time int64
	for asked := false; !asked; {
		if !it.rows.Next() {
			return it.end(it.rows.Err())
		}
		if err := scan(it.rows, &id, &topic, &time, &it.data); err != nil {
			return it.end(err)
		}
		asked = it.query.Covers(time) // a damaged index has others
	}
	it.last.id, it.last.time = id, time
	it.msg.Channel, it.msg.LogTime, it.msg.Data = it.database.channels[topic], time, it.data
	return &it.msg, nil
}

// end ends what SQLite reads.
func (it *rowIterator) end(err error) (*codec.Message, error) {
	if err == nil {
		it.err = io.EOF
		return nil, it.err
	}
	if it.continueWithSalvage(fmt.Errorf("behind message %d: %w", it.last.id, err)); it.rest == nil {
		return nil, it.err
	}
	return it.rest.Next()
}

// continueWithSalvage has a salvage read the rest if damage may be met: SQLite cannot go on behind a damaged page.
func (it *rowIterator) continueWithSalvage(cause error) {
	it.err = it.database.wrap(cause)
	if it.query.Damage(it.err) != nil {
		return
	}
	s, err := it.database.fallback(cause)
	if err != nil {
		it.err = err
		return
	}
	last := &it.last
	if last.id == 0 {
		last = nil // there was none
	}
	it.rest = s.from(it.query, last)
}

func (it *rowIterator) Close() error {
	it.err = io.EOF
	if it.rest != nil {
		_ = it.rest.Close()
		it.rest = nil
	}
	if it.rows == nil {
		return nil
	}
	return it.rows.Close()
}

// firstRows is how many messages are looked at for the first of each topic. There is no index by topic.
const firstRows = 1000

// checkDefinitions replaces definitions that were taken from those at hand where the first message of a topic shows
// that they are another release's. Of topics without a message among the first ones, and without one that is CDR, they
// stay.
func (d *database) checkDefinitions(guessed map[int64]bool) error {
	if len(guessed) == 0 {
		return nil
	}
	libraries := []*rosidl.Library{msgs.Library(), msgs.Release(""), msgs.Release("humble")}
	check := func(id int64, payload []byte) {
		// else it is compressed
		if c := d.channels[id]; guessed[id] && len(payload) > 4 && payload[0] == 0 && payload[1] <= 1 {
			c.Schema = fitting(libraries, c.Type, payload)
		}
	}
	if d.remote() {
		if p, err := d.openPages(); err == nil && p.first(firstRows/10, check) == nil {
			return nil
		}
	}
	rows, err := d.db.Query("SELECT topic_id, data FROM messages WHERE id IN (SELECT min(id) FROM "+
		"(SELECT id, topic_id FROM messages ORDER BY id LIMIT ?) GROUP BY topic_id)", firstRows)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var payload []byte
		if err := scan(rows, &id, &payload); err != nil {
			return err
		}
		check(id, payload)
	}
	return rows.Err()
}

// fitting returns the first definition that a payload fits, none if it fits none.
func fitting(libraries []*rosidl.Library, name string, payload []byte) codec.Schema {
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

// databaseName is the name of the file in a sqliteFS.
const databaseName = "bag.db3"

// sqliteFS is a file system with one file in it, for SQLite to read a database that is no file of the system's.
type sqliteFS struct {
	file io.ReaderAt
	size int64
}

// Open implements fs.FS. SQLite may ask for journals, which are not there.
func (f sqliteFS) Open(name string) (fs.File, error) {
	if name != databaseName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return sqliteFile{io.NewSectionReader(f.file, 0, f.size)}, nil
}

// sqliteFile implements fs.File and io.Seeker.
type sqliteFile struct{ *io.SectionReader }

func (f sqliteFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f sqliteFile) Close() error               { return nil }
func (f sqliteFile) Name() string               { return databaseName }
func (f sqliteFile) Mode() fs.FileMode          { return 0o444 }
func (f sqliteFile) ModTime() time.Time         { return time.Time{} }
func (f sqliteFile) IsDir() bool                { return false }
func (f sqliteFile) Sys() any                   { return nil }
