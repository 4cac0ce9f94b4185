package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/compressed"
	"tapedeck/codec/internal/tail"
	"tapedeck/codec/store"
)

const (
	// maxEntries bounds what an iterator remembers of messages to come: 20 MiB.
	maxEntries = 1 << 19
	// splitSize is the size from which on a chunk is scanned for its parts. Our own are smaller.
	splitSize = 32 << 20
	// enoughEntries is when it begins to ask whether it can do without further pieces that overlap in time.
	enoughEntries = 1 << 15
	// prefetchSize is how much of a file in a store is fetched at once.
	prefetchSize = 16 << 20
	// firstEntries is that for the first message, which is waited for.
	firstEntries = 1 << 11
)

// key orders messages by time and then by their place in the file.
type key struct{ time, pos int64 }

func (k key) before(o key) bool { return k.time < o.time || k.time == o.time && k.pos < o.pos }

var lastKey = key{math.MaxInt64, math.MaxInt64}

// entry is a message to come.
type entry struct {
	time, content, publish int64
	size, channel          int32
}

func (e *entry) key() key { return key{e.time, e.content} }

// iterator implements codec.Iterator. Chunks may overlap in time, and the messages in a chunk need not be in order.
// So the heads of the messages are collected first, chunk by chunk and together with those of all chunks that overlap
// it, and the contents are read when it is their turn.
//
// Package chunked would load whole chunks. Nothing is compressed here, so that reading heads alone is much faster for
// one topic among large messages (0.9 ms instead of 100 ms in 300 MB) and for a seek (0.1 ms instead of 5 ms), and
// takes a few MB of memory also for chunks of 200 MB, Apollo's default.
type iterator struct {
	*reader
	query  codec.Query
	layout *layout
	scan   chunked.Window // over the heads
	data   *windows       // over the contents

	begun   bool    // something was collected
	pieces  []piece // to be collected, in the order of time
	entries []entry
	next    int    // of the entries
	fetched int64  // where the bytes end that were fetched ahead
	after   key    // behind the last message that was returned; zero: there was none
	err     error  // what follows the entries
	end     error  // what follows the pieces, if not io.EOF
	wanted  []bool // by channel, as far as they were met
	tails   *tails // of which messages are wanted; nil: all
	suspect []int  // chunks whose checksum is wrong, which was reported
	found   singleMessage
	packed  compressed.Unpacker // of payloads that are not what their channel says
	labels  compressed.Labels   // what was told of them
	message codec.Message

	// Of the entries being collected:
	limit  key // messages from it on wait
	latest key
	sorted bool
}

func (it *iterator) Next() (*codec.Message, error) {
	for {
		m, err := it.advance()
		if err != nil || !compressed.Is(m.Data) || m.Channel.Encoding != codec.EncodingCDR {
			return m, err
		}
		data, err := it.packed.Unpack(m.Channel, m.Data)
		if err == nil {
			it.labels.Tell(it.path, m.Channel, &it.query)
			m.Data = data
			return m, nil
		}
		err = fmt.Errorf("read %s: message on %s at %d ns: %w", it.path, m.Channel.Topic, m.LogTime, err)
		if err := it.query.Damage(err); err != nil {
			it.entries, it.next, it.err = nil, 0, err
			return nil, err
		}
	}
}

// advance returns the next message as it is in the file.
func (it *iterator) advance() (*codec.Message, error) {
	for it.next == len(it.entries) {
		if it.err != nil {
			return nil, it.err
		}
		it.fill()
	}
	e := &it.entries[it.next]
	it.next++
	it.after = key{e.time, e.content + 1}
	data, err := it.data.read(e.content, int(e.size))
	if err != nil {
		it.entries, it.next = nil, 0
		it.err = fmt.Errorf("read %s: message at %#x: %w", it.path, e.content, codec.Pathless(err))
		return nil, it.err
	}
	it.message = codec.Message{Channel: it.channels[e.channel], LogTime: e.time, PublishTime: e.publish, Data: data}
	return &it.message, nil
}

func (it *iterator) Close() error {
	it.entries, it.next, it.pieces = nil, 0, nil
	it.data = nil
	it.packed.Close()
	it.err = fmt.Errorf("read %s: %w", it.path, os.ErrClosed)
	return nil
}

// lowest is before all messages of p that were not collected.
func (p *piece) lowest() key {
	if low := (key{p.min, p.start}); p.from == (key{}) || p.from.before(low) {
		return low
	}
	return p.from
}

// sort sorts the pieces from i on.
func (it *iterator) sort(i int) {
	slices.SortFunc(it.pieces[i:], func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.min, b.min), cmp.Compare(a.start, b.start))
	})
}

// fill collects the next messages. It sets err when there are none behind them.
func (it *iterator) fill() {
	it.entries, it.next = it.entries[:0], 0
	it.limit, it.sorted = lastKey, true
	it.latest = key{math.MinInt64, math.MinInt64}
	used, enough := 0, enoughEntries
	if !it.begun {
		it.begun, enough = true, firstEntries
	} else {
		it.prefetchNext(1)
	}
	for used < len(it.pieces) && it.err == nil {
		p := &it.pieces[used]
		if low := p.lowest(); len(it.entries) > 0 {
			if !low.before(it.limit) {
				break
			}
			if it.latest.before(low) {
				it.limit = low
				break
			}
			if len(it.entries) >= enough {
				enough = 2 * len(it.entries)
				if it.countBefore(low) >= len(it.entries)/2 {
					it.limit = low
					break
				}
			}
		}
		if p.splits() && !it.sparse() {
			it.err = it.split(used)
			continue
		}
		sound := true
		if it.query.Verify || it.query.Sound {
			sound, it.err = it.verify(p.chunk)
		}
		p.last = key{math.MinInt64, math.MinInt64}
		if it.err == nil && (sound || !it.query.Sound) {
			it.err = it.collect(p)
		}
		used++
	}
	// Damage that the index does not tell of, where the caller wants what is around it.
	if it.query.Damaged != nil && it.layout == it.shallow && it.tails == nil && errors.Is(it.err, ErrDamaged) {
		if it.err = it.salvage(); it.err == nil {
			it.fill()
		}
		return
	}
	if !it.sorted {
		slices.SortFunc(it.entries, compareEntries)
	}
	if it.limit != lastKey {
		n := sort.Search(len(it.entries), func(i int) bool { return !it.entries[i].key().before(it.limit) })
		it.entries = it.entries[:n]
	}
	rest := used
	for i := used - 1; i >= 0; i-- {
		if p := it.pieces[i]; !p.last.before(it.limit) {
			p.from = it.limit
			rest--
			it.pieces[rest] = p
		}
	}
	it.pieces = it.pieces[rest:]
	it.prefetchNext(used - rest)
	if len(it.pieces) == 0 && it.err == nil {
		it.err = cmp.Or(it.end, io.EOF)
	}
}

// salvage goes on behind the last message with what is found in the file without its index.
func (it *iterator) salvage() error {
	if _, err := it.survey(); err != nil {
		return err
	}
	rest, err := it.reader.read(it.query)
	if err != nil {
		return err
	}
	it.layout, it.pieces, it.end = rest.layout, rest.pieces, rest.end
	for i := range it.pieces {
		it.pieces[i].from = it.after
	}
	return nil
}

// prefetch begins to fetch a piece of which pos is read, so that its messages do not take a request each.
func (it *iterator) prefetch(p *piece, pos int64) {
	if pos > it.fetched || pos < it.fetched-2*prefetchSize {
		it.fetched = pos
	}
	if n := min(p.end-it.fetched, prefetchSize); n > 0 && it.fetched < pos+prefetchSize/2 {
		store.Prefetch(it.file, it.fetched, n)
		it.fetched += n
	}
}

// prefetchNext begins to fetch the i-th piece, before that is collected.
func (it *iterator) prefetchNext(i int) {
	if i < len(it.pieces) {
		p := &it.pieces[i]
		store.Prefetch(it.file, p.start, min(p.end-p.start, prefetchSize))
	}
}

func compareEntries(a, b entry) int {
	if a.time != b.time {
		return cmp.Compare(a.time, b.time)
	}
	return cmp.Compare(a.content, b.content)
}

func (it *iterator) countBefore(k key) int {
	n := 0
	for i := range it.entries {
		if it.entries[i].key().before(k) {
			n++
		}
	}
	return n
}

// collect adds the messages of p that are wanted, at or behind p.from and before limit, to the entries.
func (it *iterator) collect(p *piece) error {
	m := &it.found
	count := uint64(0)
	sparse, tails := it.sparse(), it.tails
	for pos := p.start; pos < p.end; pos = m.end {
		if sparse {
			if pos = it.skip(p, pos); pos == p.end {
				break
			}
		} else {
			it.prefetch(p, pos)
		}
		if err := it.read(p, pos); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		count++
		channel := it.find(m.name)
		if !it.wants(channel) || !it.query.Covers(m.time) {
			continue
		}
		k := key{m.time, m.content}
		if tails != nil && !tails.list[channel].Has(tail.Key{Time: k.time, Place: k.pos}) {
			continue
		}
		if p.from != (key{}) && k.before(p.from) {
			continue
		}
		if p.last.before(k) {
			p.last = k
		}
		if !k.before(it.limit) {
			continue
		}
		if it.latest.before(k) {
			it.latest = k
		} else {
			it.sorted = false
		}
		it.entries = append(it.entries, entry{m.time, m.content, m.publish, int32(m.size), int32(channel)})
		if len(it.entries) == maxEntries {
			it.halve()
		}
	}
	if count < p.count && !p.cut && !sparse {
		return &damage{path: it.path, pos: p.end, chunk: p.chunk,
			text: fmt.Sprintf("the chunk has %d fewer messages than its header says", p.count-count)}
	}
	return nil
}

// halve drops the later half of the entries, to be collected again.
func (it *iterator) halve() {
	slices.SortFunc(it.entries, compareEntries)
	it.limit = it.entries[maxEntries/2].key()
	it.entries = it.entries[:maxEntries/2]
	it.latest, it.sorted = it.entries[maxEntries/2-1].key(), true
}

// read reads the message of p at pos into found. The error is io.EOF where the file ends within the chunk.
func (it *iterator) read(p *piece, pos int64) error {
	err := readMessage(&it.scan, pos, &it.found)
	if err == nil && it.found.end <= p.end {
		return nil
	}
	if err == nil {
		err = errOverrun
	}
	if !isProblem(err) {
		return fmt.Errorf("read %s: chunk %d at %#x: %w", it.path, p.chunk, pos, codec.Pathless(err))
	}
	// Whether the file should have ended here is known already.
	ends, err2 := false, error(nil)
	if p.cut && errors.Is(err, errOverrun) {
		var next int64
		next, _, err2 = it.resync(pos + 1)
		ends = next < 0
	} else if it.unfinished() {
		ends, err2 = it.zeros(pos)
	}
	if err2 != nil {
		return fmt.Errorf("read %s: chunk %d at %#x: %w", it.path, p.chunk, pos, codec.Pathless(err2))
	}
	if ends {
		return io.EOF
	}
	return &damage{path: it.path, pos: pos, chunk: p.chunk, text: err.Error()}
}

// splits reports whether p is to be split before it is collected.
func (p *piece) splits() bool {
	const smallest = 6 // bytes of a message
	count := min(p.count, uint64(p.end-p.start)/smallest)
	return !p.exact && (p.end-p.start > splitSize || count > maxEntries/2 || p.min == math.MinInt64)
}

// split replaces the i-th piece by smaller ones, about which everything is known.
func (it *iterator) split(i int) error {
	parts, err := it.parts(it.pieces[i])
	if err != nil {
		return err
	}
	it.pieces = slices.Replace(it.pieces, i, i+1, parts...)
	it.sort(i)
	return nil
}

// parts returns smaller pieces for p, those that the query wants.
func (it *iterator) parts(p piece) ([]piece, error) {
	parts := it.pieceCache[p.extent()].parts
	if parts == nil {
		var whole bool
		var err error
		if parts, whole, err = it.findParts(p); err != nil || !whole {
			return parts, err
		}
		it.pieceCache[p.extent()] = cachedPiece{parts: parts}
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p piece) bool { return !p.overlaps(it.query) }), nil
}

// findParts scans p for its parts. It reports whether p was whole.
func (it *iterator) findParts(p piece) (_ []piece, whole bool, err error) {
	var parts layout
	whole = true
	expected := p.count
	for pos := p.start; pos < p.end; pos = it.found.end {
		it.prefetch(&p, pos)
		err := it.read(&p, pos)
		if errors.Is(err, io.EOF) {
			expected = 0
			break
		}
		if err != nil {
			whole = false
			if !errors.Is(err, ErrDamaged) {
				return nil, false, err
			}
			// It is met again when the messages before it were collected.
			rest := piece{start: pos, end: p.end, min: p.min, max: p.max, chunk: p.chunk, exact: true, cut: p.cut}
			if n := len(parts.pieces); n > 0 {
				rest.min = parts.pieces[n-1].max
			}
			parts.pieces = append(parts.pieces, rest)
			expected = 0
			break
		}
		parts.add(&it.found, p.chunk)
		if expected > 0 {
			expected--
		}
	}
	if n := len(parts.pieces); n > 0 {
		parts.pieces[n-1].count += expected
	}
	return parts.pieces, whole, nil
}

// wants reports whether the messages of a channel are wanted.
func (it *iterator) wants(channel int) bool {
	if channel >= len(it.wanted) {
		it.ask(channel)
	}
	return it.wanted[channel]
}

// ask asks whether the channels up to this one are wanted.
func (it *iterator) ask(channel int) {
	for channel >= len(it.wanted) {
		c := it.channels[len(it.wanted)]
		n := it.query.Depth(c)
		wanted := n > 0
		if it.tails != nil {
			wanted = it.tails.add(n, it.layout.counts)
		}
		it.wanted = append(it.wanted, wanted)
	}
}

// windows are several windows of one file, for reading at several places in turn.
type windows struct {
	small [8]chunked.Window
	last  int    // the one used last
	order [8]int // the time each was used last
	time  int
	large chunked.Window // for what is larger than chunked.WindowSize
}

func newWindows(file io.ReaderAt, size int64) *windows {
	w := &windows{large: chunked.Window{File: file, Size: size}}
	for i := range w.small {
		w.small[i] = w.large
	}
	return w
}

// read returns the n bytes of the file at pos. They are valid until the next call.
func (w *windows) read(pos int64, n int) ([]byte, error) {
	from := &w.small[w.last]
	if !from.Holds(pos, int64(n)) {
		from = w.pick(pos, n)
	}
	b, err := from.View(pos, n)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, fmt.Errorf("the file shrank while it was read: %w", io.ErrUnexpectedEOF)
	}
	return b[:n:n], nil
}

// pick returns the window to read through: the one that holds the bytes, or else one that they follow, or else the
// one that was not used for the longest time.
func (w *windows) pick(pos int64, n int) *chunked.Window {
	if n > chunked.WindowSize {
		return &w.large
	}
	w.time++
	i := slices.IndexFunc(w.small[:], func(s chunked.Window) bool { return s.Holds(pos, int64(n)) })
	if i < 0 {
		i = slices.IndexFunc(w.small[:], func(s chunked.Window) bool { return s.Near(pos) })
	}
	if i < 0 {
		i = slices.Index(w.order[:], slices.Min(w.order[:]))
	}
	w.last, w.order[i] = i, w.time
	return &w.small[i]
}
