package rosbag2

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/rosbag2/internal/sqlite"
)

// Defaults of CreateOptions for databases, those of MCAP.
const (
	databaseChunkSize     = 4 << 20
	databaseChunkDuration = time.Second
)

const (
	// maxDatabaseChunk bounds what is written at once, but for a single message.
	maxDatabaseChunk = 1 << 30
	// spillSize is how many bytes of what follows the messages are written at once.
	spillSize = 1 << 20
	// databaseReserve is more than what a database takes at its end beside what grows with it.
	databaseReserve = 128 << 10
)

// databaseWriter writes a file of the storage sqlite3 with the tables and the index that rosbag2_storage_sqlite3 makes, of schema
// version 3 (Humble) or 4 (Iron and later). Channels with the same topic, type and encoding become one topic; PublishTime and
// Channel.Metadata have no place there.
//
// Pages are written from front to back. Until the file is complete its first page says that it has no tables; the pages with rows
// are there nevertheless, and a salvage finds them. A chunk is pages that are written at once, as in MCAP.
//
// It is a part of a recording, output.Part, and the output.Layout of its file.
type databaseWriter struct {
	part      output.Chunked
	describe  func(*codec.Info) *metadata
	schema    int
	chunkSize int
	duration  int64

	sources     []*source // by number, as part.Topics
	known       map[*codec.Channel]*source
	last        *source // of the last message
	rows        []*topicRow
	definitions []*codec.Channel // of which the type's definition is kept
	embedSize   int64            // more than what metadata says of the topics

	chunk, spare *pageChunk // the open one, and one that may be used next
	tables       struct{ messages, topics, definitions sqlite.Table }
	added        progress
	written      progress // what is in the file of added
	head         []byte   // of a message's record
}

// source is a channel of which there are messages.
type source struct {
	output.Topic
	row *topicRow
}

// topicRow is a row of the table of topics.
type topicRow struct {
	id      int64
	channel codec.Channel // with the QoS of all sources
}

// progress is how far the writing is.
type progress struct {
	times                                        timeline
	messageLeaves, topicLeaves, definitionLeaves int
	topics, definitions                          int // rows
}

// pageChunk is a chunk of pages that are to be written.
type pageChunk struct {
	pages sqlite.Pages
	first int64 // LogTime of the first message
	span  output.Span
}

// newDatabaseWriter begins a database in which the topics of before, unless that is nil, are declared. It takes file over.
// describe returns what the file says of itself.
func newDatabaseWriter(file *output.File, o codec.CreateOptions, schema int, describe func(*codec.Info) *metadata, before *databaseWriter) (*databaseWriter, error) {
	w := &databaseWriter{
		describe: describe, schema: schema,
		chunkSize: min(cmp.Or(o.ChunkSize, databaseChunkSize), maxDatabaseChunk),
		duration:  int64(cmp.Or(o.ChunkDuration, databaseChunkDuration)),
		known:     map[*codec.Channel]*source{},
	}
	w.part.Init(file, w, o)
	if err := file.Append(sqlite.Header(1, nil)); err != nil {
		file.Discard()
		return nil, fmt.Errorf("create %s: %w", file.Path(), err)
	}
	w.chunk = w.newChunk(2)
	if before != nil {
		before.part.Lock()
		defer before.part.Unlock()
		for _, s := range before.sources {
			w.source(s.Channel)
		}
	}
	return w, nil
}

func (w *databaseWriter) newChunk(first uint32) *pageChunk {
	return &pageChunk{pages: sqlite.Pages{First: first, Bytes: make([]byte, 0, w.chunkSize+w.chunkSize/4)}}
}

// reset empties the chunk for pages from first on.
func (c *pageChunk) reset(first uint32) {
	c.pages.First, c.pages.Bytes, c.span = first, c.pages.Bytes[:0], output.Span{}
}

// Declare implements output.Part.
func (w *databaseWriter) Declare(c *codec.Channel) error {
	w.part.Lock()
	defer w.part.Unlock()
	if err := w.part.Ended(); err != nil {
		return err
	}
	w.source(c)
	return nil
}

// source returns the source of a channel's messages.
func (w *databaseWriter) source(c *codec.Channel) *source {
	if w.last != nil && w.last.Channel == c {
		return w.last
	}
	s, ok := w.known[c]
	if !ok {
		s = &source{output.Topic{Channel: c}, w.row(c)}
		w.known[c] = s
		w.sources = append(w.sources, s)
		w.part.Topics = append(w.part.Topics, &s.Topic)
	}
	w.last = s
	return s
}

// row returns the row of a channel's topic. It is written with the next chunk.
func (w *databaseWriter) row(c *codec.Channel) *topicRow {
	for _, row := range w.rows {
		if o := &row.channel; o.Topic == c.Topic && o.Type == c.Type && o.Encoding == c.Encoding {
			for _, qos := range c.QoS {
				if !slices.Contains(o.QoS, qos) {
					o.QoS = append(o.QoS, qos)
				}
			}
			return row
		}
	}
	row := &topicRow{id: int64(len(w.rows) + 1), channel: *c}
	row.channel.QoS = slices.Clone(c.QoS)
	w.rows = append(w.rows, row)
	sameType := func(o *codec.Channel) bool { return o.Type == c.Type }
	if w.schema > 3 && c.Type != "" && !slices.ContainsFunc(w.definitions, sameType) {
		w.definitions = append(w.definitions, c)
	}
	const rest = 1024 // of what metadata says of a topic, twice
	w.embedSize += int64(4*len(codec.FormatQoSProfiles(c.QoS)) + 2*len(c.Topic) + 2*len(c.Type) + rest)
	return row
}

// Write implements output.Part.
func (w *databaseWriter) Write(m *codec.Message) error {
	w.part.Lock()
	defer w.part.Unlock()
	if err := w.part.Ended(); err != nil {
		return err
	}
	if len(m.Data) > sqlite.MaxBlob {
		return fmt.Errorf("write %s: a message of %d bytes on %s: SQLite has room for %d", w.part.File.Path(), len(m.Data), m.Channel.Topic, sqlite.MaxBlob)
	}
	if w.chunk.span.Messages > 0 && m.LogTime-w.chunk.first >= w.duration {
		w.part.Write()
		if err := w.part.Ended(); err != nil {
			return err
		}
	}
	w.append(w.source(m.Channel), m)
	if len(w.chunk.pages.Bytes) >= w.chunkSize {
		w.part.Write()
	}
	return nil
}

// append appends a message to the chunk.
func (w *databaseWriter) append(s *source, m *codec.Message) {
	c := w.chunk
	if c.span.Messages == 0 {
		c.first = m.LogTime
	}
	c.span.Add(m.LogTime)
	w.added.times.add(m.LogTime)
	w.head = sqlite.AppendHead(w.head[:0], s.row.id, m.LogTime, len(m.Data))
	w.tables.messages.Add(&c.pages, w.added.times.n, w.head, m.Data)
	s.Messages++
	w.part.Took(m)
}

// addRows adds the rows of topics that are not in a chunk yet.
func (w *databaseWriter) addRows() {
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

// Flush implements output.Layout.
func (w *databaseWriter) Flush(beside bool) {
	w.addRows()
	c := w.chunk
	if len(c.pages.Bytes) == 0 {
		return
	}
	t := &w.tables
	t.messages.Seal()
	t.topics.Seal()
	t.definitions.Seal()
	w.added.messageLeaves, w.added.topicLeaves, w.added.definitionLeaves = t.messages.Leaves(), t.topics.Leaves(), t.definitions.Leaves()
	taken := w.added
	next := c.pages.Next()
	if beside {
		if w.chunk, w.spare = w.spare, nil; w.chunk == nil {
			w.chunk = w.newChunk(next)
		}
		w.chunk.reset(next)
	}
	reserve := sqlite.IndexSize(taken.times.n, taken.messageLeaves) + databaseReserve
	reserve += w.embedSize + w.part.EventReserve()
	err := w.part.Put(func() error {
		if err := w.part.File.Reserve(reserve); err != nil {
			return err
		}
		return w.part.File.Append(c.pages.Bytes)
	})
	if beside {
		w.spare = c
	}
	if err != nil {
		w.part.Fail(err, c.span, w.chunk.span)
		w.forget()
		return
	}
	w.written = taken
	w.part.Keep(c.span)
	c.reset(next)
}

// forget forgets what is not in the file.
func (w *databaseWriter) forget() {
	w.added = w.written
	w.tables.messages.Truncate(w.added.messageLeaves)
	w.tables.topics.Truncate(w.added.topicLeaves)
	w.tables.definitions.Truncate(w.added.definitionLeaves)
	w.chunk.reset(w.nextPage())
}

// nextPage returns the number of the page behind the file's last one.
func (w *databaseWriter) nextPage() uint32 { return uint32(w.part.File.Size()/sqlite.PageSize) + 1 }

// Sync implements output.Part.
func (w *databaseWriter) Sync() error { return w.part.Sync() }

// Complete implements output.Part.
func (w *databaseWriter) Complete(durable bool) error { return w.part.Complete(durable) }

// Note implements output.Layout.
func (w *databaseWriter) Note(e codec.Event) {
	if m, err := codec.EventMessage(e); err == nil {
		w.append(w.source(m.Channel), m)
	}
}

// Release implements output.Layout.
func (w *databaseWriter) Release() {
	w.Flush(false) // rows of topics whose chunk was lost
	w.chunk, w.spare = nil, nil
}

// The tables as rosbag2_storage_sqlite3 creates them. Type hashes and definitions came with schema version 4.
const (
	createSchema      = "CREATE TABLE schema(schema_version INTEGER PRIMARY KEY,ros_distro TEXT NOT NULL)"
	createMetadata    = "CREATE TABLE metadata(id INTEGER PRIMARY KEY,metadata_version INTEGER NOT NULL,metadata TEXT NOT NULL)"
	createTopics      = "CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL"
	createHash        = ",type_description_hash TEXT NOT NULL"
	createDefinitions = "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY,topic_type TEXT NOT NULL,encoding TEXT NOT NULL,encoded_message_definition TEXT NOT NULL,type_description_hash TEXT NOT NULL)"
	createMessages    = "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,timestamp INTEGER NOT NULL, data BLOB NOT NULL)"
	createIndex       = "CREATE INDEX timestamp_idx ON messages (timestamp ASC)"
)

// Finish implements output.Layout: it writes everything that follows the messages, and the first page.
func (w *databaseWriter) Finish(durable bool) error {
	err := w.finishTables()
	if err != nil {
		_ = w.part.File.Abandon()
		return err
	}
	return w.part.File.Complete(durable)
}

func (w *databaseWriter) finishTables() error {
	info := w.byRow(w.part.Written(Name))
	info.Path = w.part.File.Path()
	described := w.describe(info)
	text, err := described.format(false)
	if err != nil {
		return err
	}
	p := &sqlite.Pages{First: w.nextPage()}
	flush := func() error {
		err := w.part.File.Append(p.Bytes)
		p.First, p.Bytes = p.Next(), p.Bytes[:0]
		return err
	}
	spill := func() error {
		if len(p.Bytes) < spillSize {
			return nil
		}
		return flush()
	}
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
		objects = append(objects, sqlite.Object{Type: "index", Name: "timestamp_idx", Table: "messages", Root: root, SQL: createIndex})
		err = flush()
	}
	if err == nil {
		err = w.part.File.WriteAt(sqlite.Header(p.First-1, objects), 0)
	}
	return err
}

// Info implements output.Part.
func (w *databaseWriter) Info() *codec.Info { return w.byRow(w.part.Info(Name)) }

// byRow has info tell of the topics that the database has, in place of its channels.
func (w *databaseWriter) byRow(info *codec.Info) *codec.Info {
	info.Topics = nil
	for _, row := range w.rows {
		channel := row.channel
		channel.QoS = slices.Clone(channel.QoS)
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: &channel})
	}
	for _, s := range w.sources {
		info.Topics[s.row.id-1].MessageCount += s.Written()
	}
	return info
}

// timeline is the times of messages in the order in which they were written, in few bytes each.
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

// sorted returns what yields the entries of an index over the times.
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
	slices.SortFunc(entries, func(a, b sqlite.Entry) int { return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.ID, b.ID)) })
	return func() sqlite.Entry {
		e := entries[0]
		entries = entries[1:]
		return e
	}
}
