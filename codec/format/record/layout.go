package record

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
)

const (
	// maxChannel bounds a Channel section and an entry of the index, which are read as a whole.
	maxChannel = 16 << 20

	wrongSum = "the checksum of the chunk is wrong: some of its messages may be damaged"

	// Pieces end behind the message that reaches one of these.
	maxPieceSize  = 4 << 20
	maxPieceCount = 1 << 16
)

// piece is a part of a file that holds nothing but messages: the body of a chunk, or a part of one.
type piece struct {
	start, end int64
	min, max   int64  // LogTime
	count      uint64 // of messages, as far as known; the chunk's header may lie
	chunk      int    // its number, from 1
	exact      bool   // found message by message; otherwise min, max and count are what the chunk's header says
}

// overlaps reports whether p can hold messages in the window of q.
func (p *piece) overlaps(q codec.Query) bool {
	return p.max >= q.From() && (q.End == 0 || p.min < q.End)
}

// layout lists the message ranges of a file and its damage.
type layout struct {
	pieces []piece  // in the order of the file
	counts []uint64 // messages by channel; nil when the index does not say
	// where messages of located channels are; all of them, when they are as many as counts says
	places   map[int][]int64
	damage   []*damage
	bodies   map[int]body // by chunk, of those that have a checksum
	indexed  []uint64     // messages by channel, as the index has them; nil without one
	finished bool         // there is an index at the end
	cut      bool         // the file of a killed writer ends in the midst of a section

	contents *chunked.Contents // see describe; nil before it is needed
}

// body is where a chunk's body is, and the checksum that it should have.
type body struct {
	start, end int64
	sum        uint32
}

// add adds a message behind the others.
func (l *layout) add(m *singleMessage, chunk int) {
	if n := len(l.pieces); n > 0 {
		p := &l.pieces[n-1]
		if p.end == m.pos && p.chunk == chunk && p.end-p.start < maxPieceSize && p.count < maxPieceCount {
			p.end, p.count = m.end, p.count+1
			p.min, p.max = min(p.min, m.time), max(p.max, m.time)
			return
		}
	}
	l.pieces = append(l.pieces, piece{
		start: m.pos, end: m.end, min: m.time, max: m.time, count: 1, chunk: chunk, exact: true,
	})
}

// within returns the pieces of a segment.
func (l *layout) within(s *chunked.Segment) []piece {
	begin := func(p piece, at int64) int { return cmp.Compare(p.start, at) }
	i, _ := slices.BinarySearchFunc(l.pieces, s.Offset, begin)
	j, _ := slices.BinarySearchFunc(l.pieces, s.Offset+s.Size, begin)
	return l.pieces[i:j]
}

// replace replaces the piece from start on by its parts.
func (l *layout) replace(start int64, parts []piece) {
	i := slices.IndexFunc(l.pieces, func(p piece) bool { return p.start == start })
	l.pieces = slices.Replace(slices.Clone(l.pieces), i, i+1, parts...)
	l.contents = nil
}

// describe returns what package chunked reads: a segment for each piece or, where checksums are compared, for each
// chunk.
func (l *layout) describe(path string, chunks bool) *chunked.Contents {
	c := &chunked.Contents{Path: path, Counts: l.counts, Scanned: true, Heads: true}
	count := uint64(0)
	for i, p := range l.pieces {
		count += p.count
		if chunks && i > 0 && p.chunk == l.pieces[i-1].chunk && count <= maxHeads {
			s := &c.Segments[len(c.Segments)-1]
			s.Size, s.Start, s.End = p.end-s.Offset, min(s.Start, p.min), max(s.End, p.max)
			continue
		}
		c.Segments = append(c.Segments,
			chunked.Segment{Offset: p.start, Size: p.end - p.start, Start: p.min, End: p.max, Chunk: true})
		count = p.count
	}
	c.Sort()
	return c
}

// knowsPlaces reports whether l has the places of all messages of a channel.
func (l *layout) knowsPlaces(channel int) bool {
	return channel < len(l.counts) && uint64(len(l.places[channel])) == l.counts[channel]
}

// checkPlaces forgets places that are not among messages.
func (l *layout) checkPlaces() {
	for channel, places := range l.places {
		for _, p := range l.pieces {
			for len(places) > 0 && places[0] >= p.start && places[0] < p.end {
				places = places[1:]
			}
		}
		if len(places) > 0 {
			delete(l.places, channel)
		}
	}
}

// walk reads the sections of a file in order. A shallow one trusts the headers of the chunks and ends at the first
// damage. A deep one reads the messages too, and behind damage it looks for the next section or message.
type walk struct {
	*reader
	layout
	deep bool

	pos     int64
	chunk   int
	header  *recordpb.ChunkHeader // the section before was this
	inBody  bool                  // at pos is a message, not a section
	bodyEnd int64                 // where the messages end; the end of the file when not known
	bodyCut bool                  // the file ends before the body does
	lost    bool                  // bodyEnd is not known because of damage
	count   uint64                // of the messages of the body
	last    lastMessage           // that was added
	open    expected              // of the chunk
}

// lastMessage is where a message was found, to be taken back: its length may have been damaged.
type lastMessage struct {
	pos, content, end int64
	channel           int
}

// expected is what a chunk should have by its header.
type expected struct {
	messages, found uint64
	start, end      int64 // LogTime of the first and the last message
}

// endChunk notes how many messages a damaged chunk lacks, of topics that are not known.
func (w *walk) endChunk() {
	e := w.open
	w.open = expected{}
	if e.messages <= e.found {
		return
	}
	for _, d := range slices.Backward(w.damage) {
		if d.chunk == w.chunk {
			lost := codec.AffectedMessages{Count: e.messages - e.found}
			if e.start != math.MinInt64 { // the header has times
				lost.Start, lost.End = e.start, e.end
			}
			d.lost = codec.Affected{lost}
			return
		}
	}
}

// endFile notes how many messages of a damaged file are lost, as the index or else the header of a closed file counts
// them.
func (w *walk) endFile() {
	w.endChunk()
	if len(w.damage) == 0 || w.unfinished() || w.headerError != nil {
		return
	}
	last := w.damage[len(w.damage)-1]
	var ofChunks codec.Affected
	for _, d := range w.damage {
		for _, m := range d.lost {
			ofChunks.Join(m, -1)
		}
	}
	during := w.aroundDamage()
	found := uint64(0)
	for i, n := range w.counts {
		found += n
		if i < len(w.indexed) && w.indexed[i] > n {
			during.Topic, during.Count = w.channels[i].Topic, w.indexed[i]-n
			last.lost = append(last.lost, during)
		}
	}
	switch all := w.reader.header.GetMessageNumber(); {
	case w.indexed != nil: // in place of those without topics
		for _, d := range w.damage {
			d.lost = slices.DeleteFunc(d.lost, func(m codec.AffectedMessages) bool { return m.Topic == "" })
		}
	case all > found+ofChunks.Count():
		during.Topic, during.Count = "", all-found-ofChunks.Count()
		last.lost.Join(during, -1)
	}
}

// aroundDamage returns the times of the last message before the first damage and of the first one behind the last
// damage, or the times of the header where there is no such message.
func (w *walk) aroundDamage() codec.AffectedMessages {
	var around codec.AffectedMessages
	around.Start, around.End = int64(w.reader.header.GetBeginTime()), int64(w.reader.header.GetEndTime())
	first, last := w.damage[0].pos, w.damage[0].pos
	for _, d := range w.damage {
		first, last = min(first, d.pos), max(last, d.pos)
	}
	behind := false
	for _, p := range w.pieces {
		if p.end <= first {
			around.Start = p.max
		}
		if p.start >= last && !behind {
			behind, around.End = true, p.min
		}
	}
	around.End = max(around.Start, around.End)
	return around
}

func (r *reader) walk(deep bool) (*layout, error) {
	w := &walk{reader: r, deep: deep, pos: firstSection,
		layout: layout{places: map[int][]int64{}, bodies: map[int]body{}}}
	if deep {
		w.counts = []uint64{}
	}
	if r.headerError != nil {
		w.damage = append(w.damage, &damage{path: r.path, pos: 0, text: r.headerError.Error()})
		if err := w.begin(); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.path, err)
		}
	}
	for w.pos < r.size && !w.finished {
		var err error
		if w.inBody {
			err = w.messages()
		} else {
			err = w.section()
		}
		if err == nil {
			continue
		}
		if !isProblem(err) {
			return nil, fmt.Errorf("read %s: at %#x: %w", r.path, w.pos, err)
		}
		more, err := w.recover(err)
		if !more && deep {
			w.endFile()
		}
		if err != nil || !more {
			return &w.layout, err
		}
	}
	if !w.finished && !r.unfinished() {
		w.report("the file is cut off here: it says that it is complete, but has no index")
	}
	if deep {
		w.endFile()
	}
	return &w.layout, nil
}

// begin looks where to begin when there is no header: the beginning of the file may be missing.
func (w *walk) begin() error {
	there, err := w.plausibleSection(w.pos)
	if err != nil || there || !w.deep {
		return err
	}
	next, message, err := w.resync(0)
	if err == nil && next >= 0 {
		w.continueAt(next, message)
	}
	return err
}

// isProblem reports whether err is about the content of the file, not about reading it.
func isProblem(err error) bool {
	var no errNoMessage
	return errors.Is(err, errOverrun) || errors.As(err, &no)
}

// unfinished reports whether the writer did not say that it had closed the file.
func (r *reader) unfinished() bool { return r.headerError == nil && r.header.GetIsComplete() == 0 }

func (w *walk) report(text string) {
	d := &damage{path: w.path, pos: w.pos, text: text}
	if w.inBody {
		d.chunk = w.chunk
	}
	w.damage = append(w.damage, d)
}

// section reads the section at pos and moves behind it, or into it if it is a body to go through.
func (w *walk) section() error {
	b, err := w.window.View(w.pos, sectionSize)
	if err != nil {
		return err
	}
	if len(b) < sectionSize {
		return errOverrun
	}
	s := parseSection(b)
	if s.typ < chunkHeaderSection || s.typ > channelSection || s.size < 0 {
		return errNoMessage("there is no section")
	}
	start := w.pos + sectionSize
	header := w.header
	w.header = nil
	if header != nil && s.typ != chunkBodySection {
		return errNoMessage("a chunk's header is followed by a section that is no chunk body")
	}
	if s.typ == chunkBodySection {
		return w.body(header, start, s.size)
	}
	if s.size > w.size-start {
		return errOverrun
	}
	end := start + s.size
	if w.unfinished() {
		if content, err := w.contentEnd(); err != nil || content < end {
			return cmp.Or(err, errOverrun) // there are zeros in place of the rest
		}
	}
	if s.typ == indexSection {
		if err := w.index(start, end); err != nil {
			return err
		}
		w.pos, w.finished = end, true
		return w.following()
	}
	if s.size > maxChannel {
		return errNoMessage(fmt.Sprintf("a %v has the size %d", s.typ, s.size))
	}
	payload, err := w.window.View(start, int(s.size))
	if err != nil {
		return err
	}
	payload = payload[:s.size]
	switch s.typ {
	case channelSection:
		var c recordpb.Channel
		if err := proto.Unmarshal(payload, &c); err != nil {
			return errNoMessage(fmt.Sprintf("a channel cannot be read: %v", codec.Plain(err)))
		}
		w.declare(c.GetName(), c.GetMessageType(), c.ProtoDesc)
	case chunkHeaderSection:
		w.header = new(recordpb.ChunkHeader)
		if err := proto.Unmarshal(payload, w.header); err != nil {
			w.header = nil
			return errNoMessage(fmt.Sprintf("the header of a chunk cannot be read: %v", codec.Plain(err)))
		}
	}
	w.pos = end
	return nil
}

// following goes on with a file that was appended to this one. What else follows an index is left from a longer file
// that was overwritten.
func (w *walk) following() error {
	b, err := w.window.View(w.pos, firstSection)
	if err != nil || len(b) < firstSection {
		return err
	}
	var h recordpb.Header
	s := parseSection(b)
	if s.typ != headerSection || s.size <= 0 || s.size > headerArea ||
		proto.Unmarshal(b[sectionSize:sectionSize+s.size], &h) != nil || h.GetMajorVersion() == 0 {
		return nil
	}
	if there, err := w.plausibleSection(w.pos + firstSection); err != nil || !there {
		return err
	}
	w.report("another recording follows here")
	if w.deep {
		w.pos += firstSection
		w.finished = false
	}
	return nil
}

// body begins the body of a chunk.
func (w *walk) body(header *recordpb.ChunkHeader, start, size int64) error {
	if size == openBody && size > w.size-start && w.unfinished() {
		w.pos, w.cut = w.size, true // nothing vouches for what there is of it
		return nil
	}
	cut := size > w.size-start
	p := piece{start: start, end: w.size, min: math.MinInt64, max: math.MaxInt64}
	if !cut {
		p.end = start + size
	}
	w.endChunk()
	w.chunk++
	p.chunk = w.chunk
	if header != nil && header.Checksum != nil && !cut {
		w.bodies[w.chunk] = body{start, p.end, header.GetChecksum()}
	}
	if header != nil {
		p.count = header.GetMessageNumber()
		begin, end := int64(header.GetBeginTime()), int64(header.GetEndTime())
		if header.BeginTime != nil && header.EndTime != nil && begin <= end {
			p.min, p.max = begin, end
		}
	}
	if w.deep {
		w.open = expected{messages: p.count, start: p.min, end: p.max}
		w.inBody, w.pos, w.bodyEnd, w.bodyCut, w.lost, w.count = true, start, p.end, cut, false, p.count
		return w.check(header)
	}
	if p.end > p.start {
		w.pieces = append(w.pieces, p)
	}
	w.cut = cut
	w.pos = p.end
	return nil
}

// check compares the body that begins at pos with its checksum. What a crash left of the last chunk may be followed
// by zeros in place of the rest: then it ends where they begin.
func (w *walk) check(header *recordpb.ChunkHeader) error {
	if header == nil || header.Checksum == nil || w.bodyCut || !w.unfinished() {
		return nil
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(w.file, w.pos, w.bodyEnd-w.pos)); err != nil ||
		sum.Sum32() == header.GetChecksum() {
		return err
	}
	content, err := w.contentEnd()
	if err != nil {
		return err
	}
	if w.torn(content) {
		w.bodyEnd, w.bodyCut = max(w.pos, content), true
		delete(w.bodies, w.chunk)
	} else {
		w.report(wrongSum)
		w.damage[len(w.damage)-1].sum = true
	}
	return nil
}

// torn reports whether zeros from content on are in place of messages. They may also belong to the last message.
func (w *walk) torn(content int64) bool {
	var m singleMessage
	for pos := w.pos; pos < content && content < w.bodyEnd; pos = m.end {
		if readMessage(&w.window, pos, &m) != nil {
			return content <= pos+headSize
		}
	}
	return content < w.bodyEnd && m.end < w.bodyEnd
}

// messages reads the messages from pos on.
func (w *walk) messages() error {
	var m singleMessage
	for w.pos < w.bodyEnd {
		err := readMessage(&w.window, w.pos, &m)
		if err == nil && (m.end > w.size || w.bodyCut && m.end > w.bodyEnd) {
			err = errOverrun
		}
		const over = "a message runs over the end of the chunk"
		if errors.Is(err, errOverrun) && !w.bodyCut {
			err = errNoMessage(over)
		}
		if err != nil {
			return err
		}
		if m.end > w.bodyEnd {
			if !w.known(m.name) {
				return errNoMessage(over)
			}
			w.report(over)
			w.bodyEnd, w.lost = w.size, true
		}
		w.add(&m, w.chunk)
		channel := w.find(m.name)
		w.last = lastMessage{m.pos, m.content, m.end, channel}
		for len(w.counts) < len(w.channels) {
			w.counts = append(w.counts, 0)
		}
		w.counts[channel]++
		if w.located[channel] && len(w.places[channel]) < maxPlaces {
			w.places[channel] = append(w.places[channel], m.pos)
		}
		if w.count > 0 {
			w.count--
		}
		w.open.found++
		w.pos = m.end
	}
	if w.count > 0 && !w.lost && !w.bodyCut && w.pos < w.size {
		w.report(fmt.Sprintf("the chunk has %d fewer messages than its header says", w.count))
	}
	w.inBody = false
	return nil
}

// recover looks what to do about a problem at pos. It is false when the walk ends here.
func (w *walk) recover(problem error) (more bool, err error) {
	if w.inBody {
		section, err := w.plausibleSection(w.pos)
		if err != nil {
			return false, err
		}
		if section {
			if !w.lost {
				w.report("the messages of the chunk end here, before the chunk does")
			}
			w.inBody = false
			return true, nil
		}
	}
	next, message, err := w.resync(w.pos + 1)
	if err == nil && w.deep && (w.last.end == w.pos || w.pos == firstSection) {
		// The length of the last message may be wrong, so that it runs over others; or a part of the header is missing.
		var within int64
		var kind bool
		within, kind, err = w.resync(max(w.last.content, sectionSize))
		if within >= 0 && within < w.pos {
			if w.last.end == w.pos {
				w.removeLast()
			}
			next, message = within, kind
		}
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", w.path, err)
	}
	if next < 0 && w.unfinished() {
		cut := errors.Is(problem, errOverrun)
		if !cut {
			cut, err = w.zeros(w.pos)
			if err != nil {
				return false, fmt.Errorf("read %s: %w", w.path, err)
			}
		}
		if cut {
			w.cut = true
			return false, nil
		}
	}
	text := problem.Error()
	switch {
	case next < 0 && errors.Is(problem, errOverrun):
		text = "the file is cut off here: it says that it is complete"
	case next < 0:
		text = fmt.Sprintf("%s, and nothing in the last %s", text, plural.Count(w.size-w.pos, "byte"))
	case w.deep && next > w.pos:
		text = fmt.Sprintf("%s; %s lost", text, plural.Count(next-w.pos, "byte"))
	}
	w.report(text)
	if !w.deep || next < 0 {
		return false, nil
	}
	w.continueAt(next, message)
	return true, nil
}

// removeLast takes the last message out again.
func (w *walk) removeLast() {
	w.pos = w.last.pos
	w.counts[w.last.channel]--
	w.open.found--
	if places := w.places[w.last.channel]; len(places) > 0 && places[len(places)-1] == w.pos {
		w.places[w.last.channel] = places[:len(places)-1]
	}
	p := &w.pieces[len(w.pieces)-1]
	p.end, p.count = w.pos, p.count-1
	if p.count == 0 {
		w.pieces = w.pieces[:len(w.pieces)-1]
	}
}

// continueAt goes on behind damage, where a section or message is.
func (w *walk) continueAt(next int64, message bool) {
	w.header = nil
	w.pos = next
	if !message {
		w.inBody = false
		return
	}
	if !w.inBody {
		w.endChunk()
		w.inBody = true
		w.chunk++
		w.bodyEnd, w.lost, w.count = w.size, true, 0
	}
	w.count = 0
	if next >= w.bodyEnd {
		w.bodyEnd, w.lost = w.size, true
	}
}

// index reads the payload of an index: the channels that have no section of their own, and how many messages each has.
func (w *walk) index(start, end int64) error {
	var counts []uint64
	counted := uint64(0)
	if err := readIndex(&w.window, start, end, func(entry *recordpb.SingleIndex) error {
		if sectionType(entry.GetType()) != channelSection {
			return nil
		}
		cache := entry.GetChannelCache()
		w.declare(cache.GetName(), cache.GetMessageType(), cache.GetProtoDesc())
		channel := w.find([]byte(cache.GetName()))
		for len(counts) < len(w.channels) {
			counts = append(counts, 0)
		}
		counts[channel] += cache.GetMessageNumber()
		counted += cache.GetMessageNumber()
		if !w.deep {
			w.places[channel] = positions(cache)
		}
		return nil
	}); err != nil {
		return err
	}
	w.indexed = counts
	if w.deep {
		return nil
	}
	w.checkPlaces()
	for _, p := range w.pieces {
		counted -= p.count
	}
	if counted == 0 { // otherwise the index lies, or there are messages of channels that it does not know
		w.counts = counts
	}
	return nil
}

// channelsOfIndex declares the channels of the index that the header points to, if there is one.
func (r *reader) channelsOfIndex() error {
	start, end, err := r.findIndex()
	if err != nil || end == 0 {
		return err
	}
	w := &walk{reader: r, deep: true}
	return ignoreProblem(w.index(start, end))
}
