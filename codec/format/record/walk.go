package record

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/text/plural"
)

// maxChannel is the maximum size of a Channel section and of an entry of the index, in bytes. They are read as a whole.
const maxChannel = 16 << 20

const wrongSum = "the checksum of the chunk is wrong: some of its messages may be damaged"

// walk reads the sections of a file in order. A shallow walk trusts the headers of the chunks and ends at the first
// damage. A deep walk also reads the messages. Behind damage it looks for the next section or message.
type walk struct {
	*reader
	layout
	deep bool

	pos         int64                 // of the next section or message
	inBody      bool                  // a message begins at pos, not a section
	chunkHeader *recordpb.ChunkHeader // chunk header right before pos; nil: the previous section is no chunk header
	chunk       walkedChunk           // the current chunk; outside of chunks the previous one
	lastMessage lastMessage           // the message that was added last
	described   map[string]uint32     // by channel name: descriptionSum of the channel's section
}

// walkedChunk is a chunk whose messages a walk reads.
type walkedChunk struct {
	number     int    // counted from 1; 0 before the first chunk
	end        int64  // end of the messages; the end of the file if unknown
	endUnknown bool   // because of damage
	cut        bool   // the file ends within the body
	remaining  uint64 // messages that the chunk's header counts and that are still to come; 0 if the count is unknown
	expected   expected
}

// lastMessage is the message that a walk added last. removeLast needs it, because the message's length may be damaged.
type lastMessage struct {
	pos, content, end int64 // positions of the message, of its payload and of the next message
	channel           int
}

// expected holds the message count and times in a chunk's header, and the number of messages found.
type expected struct {
	messages, found uint64
	start, end      int64 // LogTime of the first and the last message
}

// endChunk adds to the damage of a chunk how many of the chunk's messages are missing. The messages' topics are
// unknown.
func (w *walk) endChunk() {
	e := w.chunk.expected
	w.chunk.expected = expected{}
	if e.messages <= e.found {
		return
	}
	for _, d := range slices.Backward(w.damage) {
		if d.chunk == w.chunk.number {
			lost := codec.AffectedMessages{Count: e.messages - e.found}
			if e.start != math.MinInt64 { // the header gives times
				lost.Start, lost.End = e.start, e.end
			}
			d.lost = codec.Affected{lost}
			return
		}
	}
}

// endFile adds to the damage of a closed file how many messages are missing. The index gives the numbers by topic.
// Without an index the header gives the total.
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
	switch total := w.header.GetMessageNumber(); {
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
	around.Start, around.End = int64(w.header.GetBeginTime()), int64(w.header.GetEndTime())
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

// walk walks through the file and returns the layout.
func (r *reader) walk(deep bool) (*layout, error) {
	w := &walk{reader: r, deep: deep, pos: firstSection, described: map[string]uint32{},
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

// begin finds the first section or message of a file without a header. The beginning of the file may be missing.
func (w *walk) begin() error {
	section, err := w.plausibleSection(w.pos)
	if err != nil || section || !w.deep {
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

// report adds damage at pos.
func (w *walk) report(text string) {
	d := &damage{path: w.path, pos: w.pos, text: text}
	if w.inBody {
		d.chunk = w.chunk.number
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
	header := w.chunkHeader
	w.chunkHeader = nil
	if header != nil && s.typ != chunkBodySection {
		return errNoMessage("a chunk's header is followed by a section that is no chunk body")
	}
	if s.typ == chunkBodySection {
		return w.enterBody(header, start, s.size)
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
		return w.appendedFile()
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
		if _, ok := w.described[c.GetName()]; !ok {
			w.described[c.GetName()] = descriptionSum(c.GetMessageType(), c.ProtoDesc)
		}
	case chunkHeaderSection:
		w.chunkHeader = new(recordpb.ChunkHeader)
		if err := proto.Unmarshal(payload, w.chunkHeader); err != nil {
			w.chunkHeader = nil
			return errNoMessage(fmt.Sprintf("the header of a chunk cannot be read: %v", codec.Plain(err)))
		}
	}
	w.pos = end
	return nil
}

// appendedFile continues with a file that was appended to this one. Other data behind the index remains from a longer
// file that was overwritten, and is ignored.
func (w *walk) appendedFile() error {
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
	if section, err := w.plausibleSection(w.pos + firstSection); err != nil || !section {
		return err
	}
	w.report("another recording follows here")
	if w.deep {
		w.pos += firstSection
		w.finished = false
	}
	return nil
}

// enterBody begins the body of a chunk. A shallow walk adds the body as a piece and moves pos behind it.
func (w *walk) enterBody(header *recordpb.ChunkHeader, start, size int64) error {
	if size == openBody && size > w.size-start && w.unfinished() {
		w.pos, w.cut = w.size, true // the header and the messages of the chunk cannot be trusted
		return nil
	}
	cut := size > w.size-start
	p := piece{start: start, end: w.size, min: math.MinInt64, max: math.MaxInt64}
	if !cut {
		p.end = start + size
	}
	w.endChunk()
	w.chunk.number++
	p.chunk = w.chunk.number
	if header != nil && header.Checksum != nil && !cut {
		w.bodies[w.chunk.number] = body{start, p.end, header.GetChecksum()}
	}
	if header != nil {
		p.count = header.GetMessageNumber()
		begin, end := int64(header.GetBeginTime()), int64(header.GetEndTime())
		if header.BeginTime != nil && header.EndTime != nil && begin <= end {
			p.min, p.max = begin, end
		}
	}
	if w.deep {
		w.inBody, w.pos = true, start
		w.chunk = walkedChunk{number: p.chunk, end: p.end, cut: cut, remaining: p.count,
			expected: expected{messages: p.count, start: p.min, end: p.max}}
		return w.checkSum(header)
	}
	if p.end > p.start {
		w.pieces = append(w.pieces, p)
	}
	w.cut = cut
	w.pos = p.end
	return nil
}

// checkSum compares the body that begins at pos with the checksum in the chunk's header, if the file was not closed.
// After a crash the end of the last chunk may be zeros: then the body ends where the zeros begin.
func (w *walk) checkSum(header *recordpb.ChunkHeader) error {
	if header == nil || header.Checksum == nil || w.chunk.cut || !w.unfinished() {
		return nil
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(w.file, w.pos, w.chunk.end-w.pos)); err != nil ||
		sum.Sum32() == header.GetChecksum() {
		return err
	}
	content, err := w.contentEnd()
	if err != nil {
		return err
	}
	if w.torn(content) {
		w.chunk.end, w.chunk.cut = max(w.pos, content), true
		delete(w.bodies, w.chunk.number)
	} else {
		w.report(wrongSum)
		w.damage[len(w.damage)-1].sum = true
	}
	return nil
}

// torn reports whether the zeros that begin at content replaced messages. The last message may also end with zeros.
func (w *walk) torn(content int64) bool {
	var m singleMessage
	for pos := w.pos; pos < content && content < w.chunk.end; pos = m.end {
		if readMessage(&w.window, pos, &m) != nil {
			return content <= pos+headSize
		}
	}
	return content < w.chunk.end && m.end < w.chunk.end
}

// messages reads the messages from pos on.
func (w *walk) messages() error {
	var m singleMessage
	for w.pos < w.chunk.end {
		err := readMessage(&w.window, w.pos, &m)
		if err == nil && (m.end > w.size || w.chunk.cut && m.end > w.chunk.end) {
			err = errOverrun
		}
		const over = "a message runs over the end of the chunk"
		if errors.Is(err, errOverrun) && !w.chunk.cut {
			err = errNoMessage(over)
		}
		if err != nil {
			return err
		}
		if m.end > w.chunk.end {
			if !w.known(m.name) {
				return errNoMessage(over)
			}
			w.report(over)
			w.chunk.end, w.chunk.endUnknown = w.size, true
		}
		w.add(&m, w.chunk.number)
		channel := w.find(m.name)
		w.lastMessage = lastMessage{m.pos, m.content, m.end, channel}
		for len(w.counts) < len(w.channels) {
			w.counts = append(w.counts, 0)
		}
		w.counts[channel]++
		if w.located[channel] && len(w.places[channel]) < maxPlaces {
			w.places[channel] = append(w.places[channel], m.pos)
		}
		if w.chunk.remaining > 0 {
			w.chunk.remaining--
		}
		w.chunk.expected.found++
		w.pos = m.end
	}
	if w.chunk.remaining > 0 && !w.chunk.endUnknown && !w.chunk.cut && w.pos < w.size {
		w.report(fmt.Sprintf("the chunk has %d fewer messages than its header says", w.chunk.remaining))
	}
	w.inBody = false
	return nil
}

// recover finds where the walk continues after a problem at pos. more is false if the walk ends there.
func (w *walk) recover(problem error) (more bool, err error) {
	if w.inBody {
		section, err := w.plausibleSection(w.pos)
		if err != nil {
			return false, err
		}
		if section {
			if !w.chunk.endUnknown {
				w.report("the messages of the chunk end here, before the chunk does")
			}
			w.inBody = false
			return true, nil
		}
	}
	next, message, err := w.resync(w.pos + 1)
	if err == nil && w.deep && (w.lastMessage.end == w.pos || w.pos == firstSection) {
		// A wrong length of the last message may hide the messages behind it, or a part of the header is missing.
		var earlier int64
		var isMessage bool
		earlier, isMessage, err = w.resync(max(w.lastMessage.content, sectionSize))
		if earlier >= 0 && earlier < w.pos {
			if w.lastMessage.end == w.pos {
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
	w.pos = w.lastMessage.pos
	w.counts[w.lastMessage.channel]--
	w.chunk.expected.found--
	if places := w.places[w.lastMessage.channel]; len(places) > 0 && places[len(places)-1] == w.pos {
		w.places[w.lastMessage.channel] = places[:len(places)-1]
	}
	p := &w.pieces[len(w.pieces)-1]
	p.end, p.count = w.pos, p.count-1
	if p.count == 0 {
		w.pieces = w.pieces[:len(w.pieces)-1]
	}
}

// continueAt continues behind damage, at the section or message at next.
func (w *walk) continueAt(next int64, message bool) {
	w.chunkHeader = nil
	w.pos = next
	if !message {
		w.inBody = false
		return
	}
	if !w.inBody {
		w.endChunk()
		w.inBody = true
		w.chunk.number++
		w.chunk.end, w.chunk.endUnknown, w.chunk.remaining = w.size, true, 0
	}
	w.chunk.remaining = 0
	if next >= w.chunk.end {
		w.chunk.end, w.chunk.endUnknown = w.size, true
	}
}

// descriptionSum returns a checksum of a channel's description.
func descriptionSum(messageType string, protoDesc []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(protoDesc), crc32.IEEETable, []byte(messageType))
}

// index reads the payload of an index: channels without a section, and the message count of each channel. It reports
// channels that the index describes differently than their sections.
func (w *walk) index(start, end int64) error {
	var counts []uint64
	counted := uint64(0)
	var undescribed []string // channels of the index without a section
	if err := readIndex(&w.window, start, end, func(entry *recordpb.SingleIndex) error {
		if sectionType(entry.GetType()) != channelSection {
			return nil
		}
		cache := entry.GetChannelCache()
		sum, ok := w.described[cache.GetName()]
		if ok && sum != descriptionSum(cache.GetMessageType(), cache.GetProtoDesc()) {
			w.report(fmt.Sprintf("the index and the section of channel %q describe it differently", cache.GetName()))
		}
		if !ok {
			undescribed = append(undescribed, cache.GetName())
		}
		delete(w.described, cache.GetName())
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
	if left := slices.Sorted(maps.Keys(w.described)); len(left) > 0 && undescribed != nil {
		w.report(fmt.Sprintf("channel %q has no section, and channel %q is not in the index", undescribed[0], left[0]))
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

// channelsOfIndex declares the channels of the index to which the header points, if there is an index.
func (r *reader) channelsOfIndex() error {
	start, end, err := r.findIndex()
	if err != nil || end == 0 {
		return err
	}
	w := &walk{reader: r, deep: true}
	return ignoreProblem(w.index(start, end))
}
