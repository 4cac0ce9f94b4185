package rosbag2

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlite"
	"tapedeck/codec/internal/output"
	"tapedeck/msgs/rosidl"
)

// Defaults of CreateOptions for databases, equal to the defaults of MCAP.
const (
	databaseChunkSize     = 4 << 20
	databaseChunkDuration = time.Second
)

const (
	// maxDatabaseChunk is the maximum number of bytes written at once, unless a single message is larger.
	maxDatabaseChunk = 1 << 30
	// spillSize is the number of bytes behind the messages that are written at once.
	spillSize = 1 << 20
	// databaseReserve is an upper bound of the bytes at the end of a database that do not grow with its content.
	databaseReserve = 128 << 10
)

// databaseEncoder encodes a file of the storage sqlite3 with the tables and the index that rosbag2_storage_sqlite3
// makes, with schema version 3 (Humble) or 4 (Iron and later). Channels with equal topic, type and encoding become one
// topic; PublishTime and Channel.Metadata are not stored.
//
// Pages are written from front to back. Until the file is complete, its first page says that it has no tables; a
// salvage finds the pages with rows nevertheless. A chunk is pages that are written at once, as in MCAP.
type databaseEncoder struct {
	path      string
	describe  func(*codec.Info) *metadata
	schema    int
	chunkSize int
	duration  int64

	channels    []*writerChannel
	topics      []*output.Topic // of channels
	known       map[*codec.Channel]*writerChannel
	last        *writerChannel // channel of the last message
	rows        []*topicRow
	definitions []*codec.Channel // one channel for each type whose definition is stored
	embedSize   int64            // upper bound of the bytes of the topics in the metadata

	chunk, spare *pageChunk // the open chunk, and one that may be used next
	tables       struct{ messages, topics, definitions sqlite.Table }
	added        progress // including the open chunk
	written      progress // what is in the file
	head         []byte   // buffer for the beginning of a message's record
}

// writerChannel is a channel that was declared.
type writerChannel struct {
	output.Topic
	row     *topicRow
	refused error // error of all its messages
}

// topicRow is a row of the table of topics.
type topicRow struct {
	id      int64
	channel codec.Channel // with the QoS of all channels of this row
}

// progress is the state of the writing: messages, pages and rows so far.
type progress struct {
	times                                        timeline
	messageLeaves, topicLeaves, definitionLeaves int
	topics, definitions                          int // rows so far
	nextPage                                     uint32
}

// pageChunk is a chunk: pages that are written at once.
type pageChunk struct {
	pages sqlite.Pages
	first int64 // LogTime of the first message
	span  output.Span

	// Set when the chunk is closed:
	encoder *databaseEncoder
	reserve int64
	reached progress
}

// newDatabaseEncoder returns the encoder of the database at path. describe returns the metadata that is embedded in the
// file.
func newDatabaseEncoder(path string, o codec.CreateOptions, schema int,
	describe func(*codec.Info) *metadata) *databaseEncoder {
	w := &databaseEncoder{
		path: path, describe: describe, schema: schema,
		chunkSize: min(cmp.Or(o.ChunkSize, databaseChunkSize), maxDatabaseChunk),
		duration:  int64(cmp.Or(o.ChunkDuration, databaseChunkDuration)),
		known:     map[*codec.Channel]*writerChannel{},
	}
	w.written.nextPage = 2
	w.added = w.written
	w.chunk = w.newChunk(2)
	return w
}

// Begin returns the first page of a database without tables.
func (w *databaseEncoder) Begin(*codec.Info) ([]byte, error) { return sqlite.Header(1, nil), nil }

func (w *databaseEncoder) newChunk(first uint32) *pageChunk {
	return &pageChunk{encoder: w, pages: sqlite.Pages{First: first, Bytes: make([]byte, 0, w.chunkSize+w.chunkSize/4)}}
}

// reset empties the chunk for pages from first on.
func (c *pageChunk) reset(first uint32) {
	c.pages.First, c.pages.Bytes, c.span = first, c.pages.Bytes[:0], output.Span{}
}

func (w *databaseEncoder) Declare(c *codec.Channel) error {
	w.channel(c)
	return nil
}

// channel returns the writerChannel of c.
func (w *databaseEncoder) channel(c *codec.Channel) *writerChannel {
	if w.last != nil && w.last.Channel == c {
		return w.last
	}
	s, ok := w.known[c]
	if !ok {
		s = &writerChannel{Topic: output.Topic{Channel: c}, refused: w.redefined(c)}
		s.row = w.row(c)
		w.known[c] = s
		w.channels = append(w.channels, s)
		w.topics = append(w.topics, &s.Topic)
	}
	w.last = s
	return s
}

// redefined returns an error if the database has another definition of c.Type: it holds one for each type.
func (w *databaseEncoder) redefined(c *codec.Channel) error {
	for _, d := range w.definitions {
		if d.Type == c.Type && !sameDefinition(d, c) {
			return fmt.Errorf("write %s: a database holds one definition of %s, that of %s; the storage mcap holds all",
				w.path, c.Type, d.Topic)
		}
	}
	return nil
}

// sameDefinition reports whether the definitions of two channels of one type have equal fields. An unknown definition
// equals any other.
func sameDefinition(a, b *codec.Channel) bool {
	if len(a.Schema.Data) == 0 || len(b.Schema.Data) == 0 ||
		a.Schema.Encoding == b.Schema.Encoding && bytes.Equal(a.Schema.Data, b.Schema.Data) {
		return true
	}
	var hashes [2]string
	for i, c := range []*codec.Channel{a, b} {
		library, err := rosidl.ParseConcatenated(c.Type, string(c.Schema.Data))
		if err != nil || c.Schema.Encoding != codec.SchemaROS2Msg {
			return false
		}
		hashes[i], err = library.Hash(c.Type)
		if err != nil {
			return false
		}
	}
	return hashes[0] == hashes[1]
}

// row returns the row of a channel's topic. A new row is written with the next chunk.
func (w *databaseEncoder) row(c *codec.Channel) *topicRow {
	for _, row := range w.rows {
		if o := &row.channel; o.Topic == c.Topic && o.Type == c.Type && o.Encoding == c.Encoding {
			o.QoS = codec.JoinQoS(o.QoS, c.QoS)
			return row
		}
	}
	row := &topicRow{id: int64(len(w.rows) + 1), channel: *c}
	row.channel.QoS = slices.Clone(c.QoS)
	w.rows = append(w.rows, row)
	defined := func(o *codec.Channel) bool {
		return o.Type == c.Type && (len(o.Schema.Data) > 0 || len(c.Schema.Data) == 0)
	}
	if w.schema > 3 && c.Type != "" && !slices.ContainsFunc(w.definitions, defined) {
		w.definitions = append(w.definitions, c)
	}
	const rest = 1024 // bytes of a topic's other metadata, which is stored twice
	w.embedSize += int64(4*len(codec.FormatQoSProfiles(c.QoS)) + 2*len(c.Topic) + 2*len(c.Type) + rest)
	return row
}

// Prepare reports whether the messages of the open chunk would span too much time with m.
func (w *databaseEncoder) Prepare(m *codec.Message) (full bool, err error) {
	if len(m.Data) > sqlite.MaxBlob {
		return false, fmt.Errorf("write %s: a message of %d bytes on %s: SQLite's limit is %d",
			w.path, len(m.Data), m.Channel.Topic, sqlite.MaxBlob)
	}
	if refused := w.channel(m.Channel).refused; refused != nil {
		return false, refused
	}
	return w.chunk.span.Messages > 0 && m.LogTime-w.chunk.first >= w.duration, nil
}

func (w *databaseEncoder) Append(m *codec.Message) (full bool) {
	c, s := w.chunk, w.channel(m.Channel)
	if c.span.Messages == 0 {
		c.first = m.LogTime
	}
	c.span.Add(m.LogTime)
	w.added.times.add(m.LogTime)
	w.head = sqlite.AppendHead(w.head[:0], s.row.id, m.LogTime, len(m.Data))
	w.tables.messages.Add(&c.pages, w.added.times.n, w.head, m.Data)
	s.Messages++
	return len(c.pages.Bytes) >= w.chunkSize
}

func (w *databaseEncoder) Event(e codec.Event) (*codec.Message, error) { return codec.EventMessage(e) }
func (w *databaseEncoder) Topics() []*output.Topic                     { return w.topics }

// addRows adds rows of topics and definitions that are not in a chunk yet.
func (w *databaseEncoder) addRows() {
	for ; w.added.topics < len(w.rows); w.added.topics++ {
		row := w.rows[w.added.topics]
		c := &row.channel
		columns := []any{nil, c.Topic, c.Type, c.Encoding, codec.FormatQoSProfiles(c.QoS)}
		if w.schema > 3 {
			columns = append(columns, c.TypeHash)
		}
		w.tables.topics.Add(&w.chunk.pages, row.id, sqlite.Record(columns...))
	}
	for ; w.added.definitions < len(w.definitions); w.added.definitions++ {
		c := w.definitions[w.added.definitions]
		record := sqlite.Record(nil, c.Type, c.Schema.Encoding, string(c.Schema.Data), c.TypeHash)
		w.tables.definitions.Add(&w.chunk.pages, int64(w.added.definitions+1), record)
	}
}

// Take closes the open chunk, with the rows of new topics.
func (w *databaseEncoder) Take(beside bool) output.Chunk {
	w.addRows()
	c := w.chunk
	if len(c.pages.Bytes) == 0 {
		return nil
	}
	t, added := &w.tables, &w.added
	t.messages.Seal()
	t.topics.Seal()
	t.definitions.Seal()
	added.messageLeaves, added.topicLeaves, added.definitionLeaves = t.messages.Leaves(), t.topics.Leaves(),
		t.definitions.Leaves()
	added.nextPage = c.pages.Next()
	if beside {
		w.chunk, w.spare = w.spare, nil
		if w.chunk == nil {
			w.chunk = w.newChunk(added.nextPage)
		}
		w.chunk.reset(added.nextPage)
	}
	c.reached = *added
	c.reserve = sqlite.IndexSize(added.times.n, added.messageLeaves) + w.embedSize + databaseReserve
	return c
}

// Drop drops all rows that are not in the file.
func (w *databaseEncoder) Drop() output.Span {
	span := w.chunk.span
	w.added = w.written
	w.tables.messages.Truncate(w.added.messageLeaves)
	w.tables.topics.Truncate(w.added.topicLeaves)
	w.tables.definitions.Truncate(w.added.definitionLeaves)
	w.chunk.reset(w.written.nextPage)
	return span
}

func (c *pageChunk) Span() output.Span { return c.span }

// Encode returns the pages, which were numbered when rows were added.
func (c *pageChunk) Encode(int64) (output.Block, error) {
	return output.Block{Data: [][]byte{c.pages.Bytes}, Reserve: c.reserve}, nil
}

func (c *pageChunk) Keep() error {
	c.encoder.written = c.reached
	return nil
}

func (c *pageChunk) Release() {
	if c == c.encoder.chunk {
		c.reset(c.encoder.written.nextPage)
	} else {
		c.encoder.spare = c
	}
}

// Statements with which rosbag2_storage_sqlite3 creates the tables. Schema version 4 added type hashes and definitions.
const (
	createSchema   = "CREATE TABLE schema(schema_version INTEGER PRIMARY KEY,ros_distro TEXT NOT NULL)"
	createMetadata = "CREATE TABLE metadata(id INTEGER PRIMARY KEY,metadata_version INTEGER NOT NULL,metadata TEXT " +
		"NOT NULL)"
	createTopics = "CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT " +
		"NULL,serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL"
	createHash        = ",type_description_hash TEXT NOT NULL"
	createDefinitions = "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY,topic_type TEXT NOT NULL,encoding " +
		"TEXT NOT NULL,encoded_message_definition TEXT NOT NULL,type_description_hash TEXT NOT NULL)"
	createMessages = "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,timestamp INTEGER NOT " +
		"NULL, data BLOB NOT NULL)"
	createIndex = "CREATE INDEX timestamp_idx ON messages (timestamp ASC)"
)

// Finish writes the pages behind the messages, and the first page.
func (w *databaseEncoder) Finish(file *output.File, info *codec.Info, _ bool) error {
	// A lost chunk may have had rows of topics: write them again.
	if c := w.Take(false); c != nil {
		b, err := c.Encode(file.Size())
		if err == nil {
			err = file.Append(b.Data...)
		}
		if err == nil {
			err = c.Keep()
		}
		if err != nil {
			w.Drop()
		}
	}
	w.chunk, w.spare = nil, nil
	w.MergeTopics(info)
	info.Path = w.path
	described := w.describe(info)
	text := described.format(false)
	p := &sqlite.Pages{First: w.written.nextPage}
	flush := func() error {
		err := file.Append(p.Bytes)
		p.First, p.Bytes = p.Next(), p.Bytes[:0]
		return err
	}
	spill := func() error {
		if len(p.Bytes) < spillSize {
			return nil
		}
		return flush()
	}
	var err error
	var objects []sqlite.Object
	table := func(name, create string, t *sqlite.Table) {
		if err == nil {
			var root uint32
			root, err = t.Finish(p, spill)
			objects = append(objects, sqlite.Object{Type: "table", Name: name, Table: name, Root: root, SQL: create})
		}
	}
	var schema, embedded sqlite.Table
	schema.Add(p, int64(w.schema), sqlite.Record(nil, described.Distro))
	table("schema", createSchema, &schema)
	embedded.Add(p, 1, sqlite.Record(nil, int64(described.Version), string(text)))
	table("metadata", createMetadata, &embedded)
	if w.schema > 3 {
		table("topics", createTopics+createHash+")", &w.tables.topics)
		table("message_definitions", createDefinitions, &w.tables.definitions)
	} else {
		table("topics", createTopics+")", &w.tables.topics)
	}
	table("messages", createMessages, &w.tables.messages)
	if err != nil {
		return err
	}
	root, err := sqlite.Index(p, w.written.times.n, w.written.times.sorted(), spill)
	if err == nil {
		objects = append(objects, sqlite.Object{Type: "index", Name: "timestamp_idx", Table: "messages", Root: root,
			SQL: createIndex})
		err = flush()
	}
	if err == nil {
		err = file.WriteAt(sqlite.Header(p.First-1, objects), 0)
	}
	return err
}

// MergeTopics replaces the channels of info by the topics of the database.
func (w *databaseEncoder) MergeTopics(info *codec.Info) {
	info.Topics = nil
	for _, row := range w.rows {
		channel := row.channel
		channel.QoS = slices.Clone(channel.QoS)
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: &channel})
	}
	for _, c := range w.channels {
		info.Topics[c.row.id-1].MessageCount += c.Written()
	}
}

// timeline is the times of messages in the order of writing, as varints of the differences.
type timeline struct {
	deltas   []byte
	n        int64
	last     int64
	unsorted bool
}

func (t *timeline) add(ns int64) {
	t.unsorted = t.unsorted || t.n > 0 && ns < t.last
	t.deltas = binary.AppendVarint(t.deltas, ns-t.last)
	t.last = ns
	t.n++
}

// sorted returns a function that returns the entries of an index over the times, one with each call.
func (t *timeline) sorted() func() sqlite.Entry {
	rest := t.deltas
	var e sqlite.Entry
	next := func() sqlite.Entry {
		delta, n := binary.Varint(rest)
		rest = rest[n:]
		e.Value += delta
		e.ID++
		return e
	}
	if !t.unsorted {
		return next
	}
	entries := make([]sqlite.Entry, t.n)
	for i := range entries {
		entries[i] = next()
	}
	slices.SortFunc(entries, sqlite.Entry.Compare)
	return func() sqlite.Entry {
		e := entries[0]
		entries = entries[1:]
		return e
	}
}
