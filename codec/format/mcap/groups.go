package mcap

import (
	"cmp"
	"encoding/binary"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

// groups are the groups of topics of a file, each with an open chunk. Chunks of different groups overlap in time.
//
// At most one open chunk is written in pieces, at the end of the file. It is the tail. Other chunks wait in memory
// until they are closed or become the tail. If they have ChunkSize bytes together, the largest is closed. A chunk that
// is ready to be written in pieces closes the tail if the tail has an eighth of ChunkSize. So several large topics get
// long chunks, and few bytes wait.
type groups struct {
	groupName    func(c *codec.Channel, size int) string // CreateOptions.ChunkGroups; nil: there is one group
	list         []*group                                // by number; the first has the name ""
	places       []place                                 // by channel
	schemaStarts []int                                   // offsets in summary.schemas, by number of the schema - 1

	current *group // group of the latest message
	open    int    // number of open chunks with messages
	first   int64  // LogTime of the first message since there was no open chunk with messages
	tail    *chunk // the chunk that is written in pieces; nil: none
	waiting int64  // bytes of the open chunks with messages, except the tail

	blocks output.Blocks // memory of the chunks if there may be several groups
}

// group is a group of topics.
type group struct {
	number   int
	name     string
	chunk    *chunk   // the open chunk; nil: none
	spare    *chunk   // nil: none
	channels []uint16 // by place.slot
}

// place says where the records of a channel are.
type place struct {
	group  *group // has the messages; nil before the first message
	slot   int    // index in group.channels
	schema uint16
	start  int // offset of the channel's record in summary.channels
	size   int // bytes of the record
}

// newGroups returns the groups of w before the first channel. name is CreateOptions.ChunkGroups.
func newGroups(w *encoder, name func(c *codec.Channel, size int) string) groups {
	g := &group{}
	if name == nil {
		g.spare = &chunk{encoder: w, body: output.NewBody(bareChunk)}
	}
	return groups{groupName: name, list: []*group{g}, current: g}
}

// addPlace adds the place of the next channel.
func (w *encoder) addPlace(id uint16, p place) {
	if w.groupName == nil {
		p.group, p.slot = w.list[0], int(id)
		p.group.channels = append(p.group.channels, id)
	}
	w.places = append(w.places, p)
}

// appendRecord appends the record of a schema or a channel to the open chunk of g.
func (w *encoder) appendRecord(g *group, record []byte) {
	w.openChunk(g).body.Append(record)
}

// openChunk returns the open chunk of g.
func (w *encoder) openChunk(g *group) *chunk {
	switch {
	case g.chunk != nil:
		return g.chunk
	case g.spare != nil:
		g.chunk, g.spare = g.spare, nil
	case w.groupName == nil:
		g.chunk = &chunk{encoder: w, body: output.NewBody(bareChunk)}
	default:
		g.chunk = &chunk{encoder: w, group: g.number, body: w.blocks.Body(bareChunk)}
	}
	g.chunk.body.Grow(0)
	return g.chunk
}

// release empties a chunk, which its group may use again.
func (w *encoder) release(c *chunk) {
	if w.tail == c {
		w.tail = nil
	}
	w.waiting -= c.waiting
	c.reset()
	w.list[c.group].spare = c
}

// assign sets the group of a channel with the first message m. Before m, the group's chunk gets the records of the
// channel, too: this chunk may be in the file before the chunk that has them.
func (w *encoder) assign(id uint16, m *codec.Message) {
	name := ""
	if m.Channel.Topic != codec.EventTopic {
		name = w.groupName(m.Channel, len(m.Data))
	}
	var g *group
	for _, o := range w.list {
		if o.name == name {
			g = o
		}
	}
	if g == nil {
		g = &group{number: len(w.list), name: name}
		w.list = append(w.list, g)
	}
	p := &w.places[id]
	p.group, p.slot = g, len(g.channels)
	g.channels = append(g.channels, id)
	w.topics[id].Group = g.number
	if g.number == 0 {
		return
	}
	if p.schema > 0 {
		end := len(w.summary.schemas)
		if int(p.schema) < len(w.schemaStarts) {
			end = w.schemaStarts[p.schema]
		}
		w.appendRecord(g, w.summary.schemas[w.schemaStarts[p.schema-1]:end])
	}
	w.appendRecord(g, w.summary.channels[p.start:][:p.size])
}

// Prepare reports whether chunks must be written before m: all if their messages would span too much time with m, or
// the tail if m makes another chunk ready to be written in pieces.
func (w *encoder) Prepare(m *codec.Message) (full bool, err error) {
	if err := w.Declare(m.Channel); err != nil {
		return false, err
	}
	if w.places[w.lastID].group == nil {
		w.assign(w.lastID, m)
	}
	w.current = w.places[w.lastID].group
	c := w.openChunk(w.current)
	switch {
	case w.open > 0 && m.LogTime-w.first >= w.duration:
		w.Fill()
		return true, nil
	case w.tail != nil && w.tail != c && w.tail.body.Size() >= w.chunkSize/8 && c.body.Ready(m.Data):
		w.tail.full = true
		return true, nil
	}
	return false, nil
}

// Append appends m to the chunk of its group. All chunks that are full must then be written.
func (w *encoder) Append(m *codec.Message) (full bool) {
	c := w.openChunk(w.current)
	if c.span.Messages == 0 {
		if w.open == 0 {
			w.first = m.LogTime
		}
		w.open++
	}
	c.span.Add(m.LogTime)

	at := c.body.Size()
	c.body.Grow(recordHead + messageHead)
	b := append(c.body.Buf, byte(mcap.OpMessage))
	b = binary.LittleEndian.AppendUint64(b, uint64(messageHead+len(m.Data)))
	b = binary.LittleEndian.AppendUint16(b, w.lastID)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.LogTime))
	c.body.Buf = binary.LittleEndian.AppendUint64(b, uint64(cmp.Or(m.PublishTime, m.LogTime)))
	if w.Body() != nil {
		c.body.AppendPayload(m.Data)
	} else {
		c.body.Append(m.Data)
	}

	slot := w.places[w.lastID].slot
	if missing := slot + 1 - len(c.indexes); missing > 0 {
		c.indexes = append(c.indexes, make([][]byte, missing)...)
	}
	index := binary.LittleEndian.AppendUint64(c.indexes[slot], uint64(m.LogTime))
	c.indexes[slot] = binary.LittleEndian.AppendUint64(index, uint64(at))
	w.topics[w.lastID].Messages++
	return w.limit(c)
}

// limit marks the chunks that are full after a message was appended to c. It reports whether there are any.
func (w *encoder) limit(c *chunk) bool {
	size := c.body.Size()
	c.full = c.full || size >= w.chunkSize
	if c == w.tail || c.body.Direct != nil { // c becomes the tail, unless it is closed
		return c.full
	}
	w.waiting += size - c.waiting
	c.waiting = size
	if w.waiting < w.chunkSize {
		return c.full
	}
	for _, g := range w.list {
		if g.chunk != nil && g.chunk.waiting > c.waiting {
			c = g.chunk
		}
	}
	c.full = true
	return true
}

// Fill makes all open chunks full.
func (w *encoder) Fill() {
	for _, g := range w.list {
		if g.chunk != nil {
			g.chunk.full = g.chunk.body.Size() > 0
		}
	}
}

// Take returns a full chunk, after the tail, which is at the end of the file.
func (w *encoder) Take(bool) output.Chunk {
	var c *chunk
	for _, g := range w.list {
		if g.chunk != nil && g.chunk.full {
			c = g.chunk
			break
		}
	}
	if c == nil {
		return nil
	}
	if w.tail != nil {
		c, w.tail = w.tail, nil
	}
	g := w.list[c.group]
	g.chunk = nil
	if c.span.Messages > 0 {
		w.open--
	}
	w.waiting -= c.waiting
	c.waiting = 0
	c.channels = g.channels
	c.reserve, c.profile = w.summarySize()+w.embedSize+finalReserve, w.profile
	return c
}

// Body returns the body of the chunk of the latest message. It returns nil if the chunk will be compressed, or if
// another chunk is the tail.
func (w *encoder) Body() *output.Body {
	c := w.current.chunk
	if c == nil || w.tail != nil && w.tail != c {
		return nil
	}
	return c.Body()
}

// openChunkSize is the size that the file gives for a chunk's records until the chunk is complete.
const openChunkSize = maxChunk - 1

// Front returns a head that marks the chunk of the latest message as incomplete. This chunk becomes the tail.
func (w *encoder) Front() []byte {
	c := w.current.chunk
	w.tail = c
	w.waiting -= c.waiting
	c.waiting = 0
	return appendChunkHead(nil, c.span, openChunkSize, 0, "", openChunkSize)
}

// Drop empties all open chunks.
func (w *encoder) Drop() (span output.Span) {
	for _, g := range w.list {
		if g.chunk != nil {
			span = span.Join(g.chunk.span)
			w.release(g.chunk)
			g.chunk = nil
		}
	}
	w.open = 0
	return span
}
