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

	// A piece ends behind the message with which it reaches maxPieceSize bytes or maxPieceCount messages.
	maxPieceSize  = 4 << 20
	maxPieceCount = 1 << 16
)

// piece is a range of a file that consists of messages: the body of a chunk, or a part of the body.
type piece struct {
	start, end int64
	min, max   int64  // LogTime
	count      uint64 // of messages; 0 if unknown, and wrong if the chunk's header is
	chunk      int    // number of the chunk, from 1
	exact      bool   // found message by message; otherwise min, max and count are from the chunk's header
}

// overlaps reports whether p can hold messages in the window of q.
func (p *piece) overlaps(q codec.Query) bool {
	return p.max >= q.From() && (q.End == 0 || p.min < q.End)
}

// layout lists the message ranges of a file and its damage.
type layout struct {
	pieces []piece  // in the order of the file
	counts []uint64 // messages by channel; nil if the index does not tell
	// places holds the positions of messages by located channel. They are complete if they are as many as counts says.
	places   map[int][]int64
	damage   []*damage
	bodies   map[int]body // by chunk, of the chunks that have a checksum
	indexed  []uint64     // messages by channel according to the index; nil without an index
	finished bool         // there is an index at the end
	cut      bool         // the writer was killed, and the file ends within a section

	contents *chunked.Contents // the result of describe; nil before it is needed
}

// body is the position of a chunk's body, and the checksum that it should have.
type body struct {
	start, end int64
	sum        uint32
}

// add adds a message that is behind all others.
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

// within returns the pieces that lie in a segment.
func (l *layout) within(s *chunked.Segment) []piece {
	begin := func(p piece, at int64) int { return cmp.Compare(p.start, at) }
	i, _ := slices.BinarySearchFunc(l.pieces, s.Offset, begin)
	j, _ := slices.BinarySearchFunc(l.pieces, s.Offset+s.Size, begin)
	return l.pieces[i:j]
}

// replace replaces the piece that begins at start by smaller pieces.
func (l *layout) replace(start int64, smaller []piece) {
	i := slices.IndexFunc(l.pieces, func(p piece) bool { return p.start == start })
	l.pieces = slices.Replace(slices.Clone(l.pieces), i, i+1, smaller...)
	l.contents = nil
}

// describe returns the contents for package chunked: a segment for each piece, or one for each chunk if checksums are
// compared.
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

// checkPlaces removes the positions of a channel if one of them is outside of all pieces.
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

// walk reads the sections of a file in order. A shallow walk trusts the headers of the chunks and ends at the first
// damage. A deep walk reads the messages too, and behind damage it looks for the next section or message.
type walk struct {
	*reader
	layout
	deep bool

	pos      int64
	chunk    int
	header   *recordpb.ChunkHeader // of the previous section, if that was a chunk header
	inBody   bool                  // a message begins at pos, not a section
	bodyEnd  int64                 // end of the chunk's messages; the end of the file if unknown
	bodyCut  bool                  // the file ends within the body
	lost     bool                  // bodyEnd is unknown because of damage
	count    uint64                // messages that the chunk's header counts and that are still to come
	last     lastMessage
	expected expected // of the open chunk
}

// lastMessage is the message that was added last. removeLast needs it: the message's length may be damaged.
type lastMessage struct {
	pos, content, end int64
	channel           int
}

// expected holds what a chunk's header says about its messages, and the number found.
type expected struct {
	messages, found uint64
	start, end      int64 // LogTime of the first and the last message
}

// endChunk adds the number of messages that a damaged chunk lacks to its damage. Their topics are unknown.
func (w *walk) endChunk() {
	e := w.expected
	w.expected = expected{}
	if e.messages <= e.found {
		return
	}
	for _, d := range slices.Backward(w.damage) {
		if d.chunk == w.chunk {
			lost := codec.AffectedMessages{Count: e.messages - e.found}
			if e.start != math.MinInt64 { // the header gives times
				lost.Start, lost.End = e.start, e.end
			}
			d.lost = codec.Affected{lost}
			return
		}
	}
}

// endFile adds the number of messages that a damaged, closed file lacks to its damage. The index gives the numbers by
// topic; without an index the header gives the total.
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
	switch total := w.reader.header.GetMessageNumber(); {
	case w.indexed != nil: // losses with a topic replace losses without one
		for _, d := range w.damage {
			d.lost = slices.DeleteFunc(d.lost, func(m codec.AffectedMessages) bool { return m.Topic == "" })
		}
	case total > found+ofChunks.Count():
		during.Topic, during.Count = "", total-found-ofChunks.Count()
		last.lost.Join(during, -1)
	}
}

// aroundDamage returns the times of the last message before the first damage and of the first message behind the last
// damage. Where there is no such message, it returns the times of the header.
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

// begin finds the first section or message of a file without a header: the beginning of the file may be missing.
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

// unfinished reports whether the header does not say that the writer closed the file.
func (r *reader) unfinished() bool { return r.headerError == nil && r.header.GetIsComplete() == 0 }

func (w *walk) report(text string) {
	d := &damage{path: w.path, pos: w.pos, text: text}
	if w.inBody {
		d.chunk = w.chunk
	}
	w.damage = append(w.damage, d)
}

// section reads the section at pos. It moves pos behind the section, or in a deep walk to the first message of a body.
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
			return cmp.Or(err, errOverrun) // the rest is zeros
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

// following continues with a file that was appended to this one. Other data behind an index remains from a longer file
// that was overwritten, and is ignored.
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
		w.pos, w.cut = w.size, true // its header and messages cannot be trusted
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
		w.expected = expected{messages: p.count, start: p.min, end: p.max}
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

// check compares the body that begins at pos with its checksum, in a file that was not closed. After a crash the end of
// the last chunk may be zeros: then the body ends where the zeros begin.
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

// torn reports whether the zeros that begin at content replaced messages. Zeros may also be part of the last message.
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
		w.expected.found++
		w.pos = m.end
	}
	if w.count > 0 && !w.lost && !w.bodyCut && w.pos < w.size {
		w.report(fmt.Sprintf("the chunk has %d fewer messages than its header says", w.count))
	}
	w.inBody = false
	return nil
}

// recover finds where the walk continues after a problem at pos. It returns false if the walk ends here.
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
		// A wrong length of the last message may hide the messages behind it, or a part of the header is missing.
		var earlier int64
		var isMessage bool
		earlier, isMessage, err = w.resync(max(w.last.content, sectionSize))
		if earlier >= 0 && earlier < w.pos {
			if w.last.end == w.pos {
				w.removeLast()
			}
			next, message = earlier, isMessage
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

// removeLast removes the last message.
func (w *walk) removeLast() {
	w.pos = w.last.pos
	w.counts[w.last.channel]--
	w.expected.found--
	if places := w.places[w.last.channel]; len(places) > 0 && places[len(places)-1] == w.pos {
		w.places[w.last.channel] = places[:len(places)-1]
	}
	p := &w.pieces[len(w.pieces)-1]
	p.end, p.count = w.pos, p.count-1
	if p.count == 0 {
		w.pieces = w.pieces[:len(w.pieces)-1]
	}
}

// continueAt continues behind damage, at the section or message at next.
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

// index reads the payload of an index: channels that have no section of their own, and the message count of each
// channel.
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
	if counted == 0 { // otherwise the index is wrong or lacks a channel
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
