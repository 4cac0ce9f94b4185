package rosbag2

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
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
// It is a part of a recording, output.Part.
type databaseWriter struct {
	file      *output.File
	describe  func(*codec.Info) *metadata
	schema    int
	chunkSize int
	duration  int64

	disk sync.Mutex // of file; locked before mu, which is not held while the disk works

	mu       sync.Mutex // for all below
	err      error      // what ended the writing
	told     bool       // it was returned
	closed   bool       // all is written, or given up
	complete bool       // the file has its name

	sources     []*source
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
	channel  *codec.Channel
	row      *topicRow
	messages uint64
	taken    uint64 // of messages: in the file or in the chunk that is being written
	written  uint64 // of messages: in the file
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
	start, end                                   int64
}

// pageChunk is a chunk of pages that are to be written.
type pageChunk struct {
	pages      sqlite.Pages
	messages   int
	first      int64 // LogTime of the first message
	start, end int64 // LogTime of the earliest and the latest message
}

// newDatabaseWriter begins a database in which the topics of before, unless that is nil, are declared. It takes file over.
// describe returns what the file says of itself.
func newDatabaseWriter(file *output.File, o codec.CreateOptions, schema int, describe func(*codec.Info) *metadata, before *databaseWriter) (*databaseWriter, error) {
	w := &databaseWriter{
		file: file, describe: describe, schema: schema,
		chunkSize: min(cmp.Or(o.ChunkSize, databaseChunkSize), maxDatabaseChunk),
		duration:  int64(cmp.Or(o.ChunkDuration, databaseChunkDuration)),
		known:     map[*codec.Channel]*source{},
	}
	if err := file.Append(sqlite.Header(1, nil)); err != nil {
		file.Discard()
		return nil, fmt.Errorf("create %s: %w", file.Path(), err)
	}
	w.chunk = w.newChunk(2)
	if before != nil {
		before.mu.Lock()
		defer before.mu.Unlock()
		for _, s := range before.sources {
			w.source(s.channel)
		}
	}
	return w, nil
}

func (w *databaseWriter) newChunk(first uint32) *pageChunk {
	return &pageChunk{pages: sqlite.Pages{First: first, Bytes: make([]byte, 0, w.chunkSize+w.chunkSize/4)}}
}

// reset empties the chunk for pages from first on.
func (c *pageChunk) reset(first uint32) {
	c.pages.First, c.pages.Bytes, c.messages = first, c.pages.Bytes[:0], 0
}

// Declare implements output.Part.
func (w *databaseWriter) Declare(c *codec.Channel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.ended()
	}
	w.source(c)
	return nil
}

// ended returns what ended the writing, if something did.
func (w *databaseWriter) ended() error {
	w.told = w.err != nil
	return w.err
}

// source returns the source of a channel's messages.
func (w *databaseWriter) source(c *codec.Channel) *source {
	if w.last != nil && w.last.channel == c {
		return w.last
	}
	s, ok := w.known[c]
	if !ok {
		s = &source{channel: c, row: w.row(c)}
		w.known[c] = s
		w.sources = append(w.sources, s)
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
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.ended()
	}
	if len(m.Data) > sqlite.MaxBlob {
		return fmt.Errorf("write %s: a message of %d bytes on %s: SQLite has room for %d", w.file.Path(), len(m.Data), m.Channel.Topic, sqlite.MaxBlob)
	}
	if w.chunk.messages > 0 && m.LogTime-w.chunk.first >= w.duration {
		w.writeChunk(false)
		if w.err != nil {
			return w.ended()
		}
	}
	w.append(w.source(m.Channel), m)
	if len(w.chunk.pages.Bytes) >= w.chunkSize {
		w.writeChunk(false)
	}
	return nil
}

// append appends a message to the chunk.
func (w *databaseWriter) append(s *source, m *codec.Message) {
	c := w.chunk
	if c.messages == 0 {
		c.first, c.start, c.end = m.LogTime, m.LogTime, m.LogTime
	}
	c.start, c.end = min(c.start, m.LogTime), max(c.end, m.LogTime)
	if w.added.times.n == 0 {
		w.added.start, w.added.end = m.LogTime, m.LogTime
	}
	w.added.start, w.added.end = min(w.added.start, m.LogTime), max(w.added.end, m.LogTime)
	w.added.times.add(m.LogTime)
	w.head = sqlite.AppendHead(w.head[:0], s.row.id, m.LogTime, len(m.Data))
	w.tables.messages.Add(&c.pages, w.added.times.n, w.head, m.Data)
	c.messages++
	s.messages++
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

// lockDisk locks the disk too, while mu is locked. Sync may write the chunk before.
func (w *databaseWriter) lockDisk() {
	w.mu.Unlock()
	w.disk.Lock()
	w.mu.Lock()
}

// writeChunk writes the open chunk. An error is err then, and says that all of it is missing. beside says that Write may go on
// meanwhile.
func (w *databaseWriter) writeChunk(beside bool) {
	w.lockDisk()
	defer w.disk.Unlock()
	w.flush(beside)
}

// flush does what writeChunk does while the disk and mu are locked.
func (w *databaseWriter) flush(beside bool) {
	if w.err != nil || w.closed {
		return
	}
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
	for _, s := range w.sources {
		s.taken = s.messages
	}
	reserve := sqlite.IndexSize(taken.times.n, taken.messageLeaves) + w.embedSize + databaseReserve
	w.mu.Unlock()

	err := w.file.Reserve(reserve)
	if err == nil {
		err = w.file.Append(c.pages.Bytes)
	}

	w.mu.Lock()
	if beside {
		w.spare = c
	}
	if err != nil {
		w.fail(err, c)
		return
	}
	w.written = taken
	for _, s := range w.sources {
		s.written = s.taken
	}
	c.reset(next)
}

// fail ends the writing: what is not in the file is missing. lost is the chunk that is in no place any more.
func (w *databaseWriter) fail(cause error, lost *pageChunk) {
	missing := &codec.MissingError{Path: w.file.Path(), Err: cause}
	for _, s := range w.sources {
		if n := s.messages - s.written; n > 0 {
			missing.Topics = append(missing.Topics, codec.TopicInfo{Channel: s.channel, MessageCount: n})
		}
		s.messages = s.written
	}
	open := w.chunk
	switch {
	case lost.messages == 0:
		lost = open
	case open.messages == 0:
		open = lost
	}
	missing.Start, missing.End = min(lost.start, open.start), max(lost.end, open.end)
	w.added = w.written
	w.tables.messages.Truncate(w.added.messageLeaves)
	w.tables.topics.Truncate(w.added.topicLeaves)
	w.tables.definitions.Truncate(w.added.definitionLeaves)
	w.chunk.reset(w.nextPage())
	w.err, w.told = missing, false
}

// nextPage returns the number of the page behind the file's last one.
func (w *databaseWriter) nextPage() uint32 { return uint32(w.file.Size()/sqlite.PageSize) + 1 }

// Sync implements output.Part.
func (w *databaseWriter) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeChunk(true)
	if w.err != nil || w.closed {
		return w.ended()
	}
	w.mu.Unlock()
	err := w.file.Sync()
	w.mu.Lock()
	if err != nil && w.err == nil {
		w.err = &codec.MissingError{Path: w.file.Path(), Err: fmt.Errorf("put it on the disk: %w", err)}
	}
	return w.ended()
}

// Complete implements output.Part.
func (w *databaseWriter) Complete(durable bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lockDisk()
	defer w.disk.Unlock()
	before, told := w.err, w.told
	w.err = nil
	w.flush(false) // after an error of syncing there may be something
	last := w.err
	w.file.Release()
	w.note(before)
	w.note(last)
	w.err = nil
	w.flush(false) // rows of topics whose chunk was lost
	w.closed, w.err = true, cmp.Or(before, last)
	w.chunk, w.spare = nil, nil
	err := last
	if err == nil && !told {
		err = before
	}
	if unable := w.finish(durable); unable != nil {
		return errors.Join(err, fmt.Errorf("complete %s: %w; it is readable nevertheless", w.file.Path(), unable))
	}
	w.complete = true
	return err
}

// note writes what the recording itself is to say of missing messages. It is returned, too, so that it need not succeed.
func (w *databaseWriter) note(err error) {
	var missing *codec.MissingError
	if !errors.As(err, &missing) || missing.Count() == 0 {
		return
	}
	w.err = nil
	if m, err := codec.EventMessage(missing.Event()); err == nil {
		w.append(w.source(m.Channel), m)
		w.flush(false)
	}
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

// finish writes everything that follows the messages, and the first page.
func (w *databaseWriter) finish(durable bool) error {
	err := w.finishTables()
	if err != nil {
		_ = w.file.Abandon()
		return err
	}
	return w.file.Complete(durable)
}

func (w *databaseWriter) finishTables() error {
	info := w.info()
	info.Path = w.file.Path()
	described := w.describe(info)
	text, err := described.format(false)
	if err != nil {
		return err
	}
	p := &sqlite.Pages{First: w.nextPage()}
	flush := func() error {
		err := w.file.Append(p.Bytes)
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
		err = w.file.WriteAt(sqlite.Header(p.First-1, objects), 0)
	}
	return err
}

// Info implements output.Part.
func (w *databaseWriter) Info() *codec.Info {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.info()
}

func (w *databaseWriter) info() *codec.Info {
	info := &codec.Info{
		Format: Name, Path: w.file.Path(), Size: w.file.Size(), MessageCount: uint64(w.written.times.n),
		StartTime: w.written.start, EndTime: w.written.end, Complete: w.complete,
	}
	if !w.complete {
		info.Path += codec.ActiveSuffix
	}
	for _, row := range w.rows {
		channel := row.channel
		channel.QoS = slices.Clone(channel.QoS)
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: &channel})
	}
	for _, s := range w.sources {
		info.Topics[s.row.id-1].MessageCount += s.written
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
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
