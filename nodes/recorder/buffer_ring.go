package main

import (
	"math"
	"slices"
	"sync"
	"time"
)

// ring keeps the latest messages for snapshots: of each topic as much as its limits allow, and of all together as much
// as there is room for, where the oldest make room for the newest. What a view has yet to read stays beyond that, up to
// as many bytes again; then the slowest view misses its oldest messages, and counts them. The lock is never held during
// input or output, and for no longer than a batch takes.
type ring struct {
	maxBytes int64

	mu          sync.Mutex
	first, last *item    // all items, in the order in which they came
	count       uint64   // of the items that came
	oldest      *item    // the first that is within the limits
	bytes       int64    // within the limits
	held        int64    // bytes beyond the limits
	tracks      []*track // that hold items
	views       []*view
	unread      uint64 // number of the first item that a view has yet to read, or allRead
	cut         int64  // receive time of the last item that went for want of room; 0: none did
}

const (
	allRead   = math.MaxUint64
	viewItems = 1024    // that a view looks at in one go
	viewBytes = 4 << 20 // that it takes
	// for which items outlive their age, as a trigger may come some time after its cause.
	ringSlack = 500 * time.Millisecond
	lateness  = time.Second // of items, after their reception, that is waited for
)

// link is an item's place in a ring.
type link struct {
	track      *track
	prev, next *item
	newer      *item // of the same track
	number     uint64
	outdated   bool // beyond the limits, kept for views only
}

// limits say how much of a topic is kept; 0 is no limit.
type limits struct {
	age   time.Duration
	bytes int64
}

// track is the part of a ring that belongs to one stream.
type track struct {
	limits
	oldest, newest *item // within the limits
	size           int64 // bytes of those
	last           int64 // receive time of the last item that came
	listed         bool  // the ring knows it
}

// view reads what a ring holds of a certain time.
type view struct {
	trigger int64         // ns since the Unix epoch, as all receive times
	before  time.Duration // how far back the view reaches, if the topic's limits do; 0: as far as they do
	first   int64         // of the first item that there was; 0: there was none

	until  int64  // of the last message, under the ring's lock, as all below
	over   bool   // until is not extended any more
	next   *item  // to be read; nil: everything was read
	missed uint64 // messages that had to make room
	freed  []*item
}

func newRing(maxBytes int64) *ring { return &ring{maxBytes: maxBytes, unread: allRead} }

// push appends a batch to a track. What goes for it is appended to out, which is returned; the caller owns its
// references.
func (r *ring) push(t *track, list, out []*item) []*item {
	if len(list) == 0 {
		return out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.last = max(t.last, list[len(list)-1].receiveTime)
	for _, it := range list {
		r.append(t, it)
		if size := it.size(); size > r.maxBytes || t.bytes > 0 && size > t.bytes {
			r.cut = it.receiveTime
			out = r.outdate(it, out)
			continue
		}
		r.admit(it)
		for t.exceeded(it.receiveTime) {
			out = r.retire(t, out)
		}
		for r.bytes > r.maxBytes {
			r.cut = r.oldest.receiveTime
			out = r.retire(r.oldest.link.track, out)
		}
	}
	for r.held > r.maxBytes {
		v := slices.MinFunc(r.views, func(a, b *view) int { return a.behind(b) })
		passed := v.next
		if v.reaches(passed) && passed.receiveTime <= v.until {
			v.missed++
		}
		v.next = passed.link.next
		out = r.settle(passed, out)
	}
	return out
}

// append puts an item at the end, for views to read.
func (r *ring) append(t *track, it *item) {
	r.count++
	it.link = link{track: t, prev: r.last, number: r.count}
	if r.last == nil {
		r.first = it
	} else {
		r.last.link.next = it
	}
	r.last = it
	for _, v := range r.views {
		if v.next == nil {
			v.next = it
		}
	}
	if len(r.views) > 0 {
		r.unread = min(r.unread, it.link.number)
	}
}

// admit counts the item at the end as one within the limits.
func (r *ring) admit(it *item) {
	t := it.link.track
	if t.newest == nil {
		t.oldest = it
	} else {
		t.newest.link.newer = it
	}
	t.newest = it
	t.size += it.size()
	r.bytes += it.size()
	if r.oldest == nil {
		r.oldest = it
	}
	if !t.listed {
		t.listed = true
		r.tracks = append(r.tracks, t)
	}
}

// exceeded says whether the oldest item of the track is beyond its limits.
func (t *track) exceeded(now int64) bool {
	return t.oldest != nil && (t.age > 0 && now-t.oldest.receiveTime > int64(t.age+ringSlack) || t.bytes > 0 &&
		t.size > t.bytes)
}

// retire has the oldest item of a track go.
func (r *ring) retire(t *track, out []*item) []*item {
	it := t.oldest
	if t.oldest = it.link.newer; t.oldest == nil {
		t.newest = nil
	}
	t.size -= it.size()
	r.bytes -= it.size()
	for r.oldest == it || r.oldest != nil && r.oldest.link.outdated {
		r.oldest = r.oldest.link.next
	}
	return r.outdate(it, out)
}

// outdate has an item beyond the limits go, at once or when views have read it.
func (r *ring) outdate(it *item, out []*item) []*item {
	it.link.outdated = true
	r.held += it.size()
	if it.link.number < r.unread {
		out = r.remove(it, out)
	}
	return out
}

// remove takes an outdated item out.
func (r *ring) remove(it *item, out []*item) []*item {
	l := &it.link
	if l.prev == nil {
		r.first = l.next
	} else {
		l.prev.link.next = l.next
	}
	if l.next == nil {
		r.last = l.prev
	} else {
		l.next.link.prev = l.prev
	}
	*l = link{}
	r.held -= it.size()
	return append(out, it)
}

// settle removes what nobody will read any more, after a view went on from an item.
func (r *ring) settle(from *item, out []*item) []*item {
	r.unread = allRead
	for _, v := range r.views {
		if v.next != nil {
			r.unread = min(r.unread, v.next.link.number)
		}
	}
	for from != nil && from.link.number < r.unread {
		next := from.link.next
		if from.link.outdated {
			out = r.remove(from, out)
		}
		from = next
	}
	return out
}

// expire has items go that are too old at now, where none come that would push them out.
func (r *ring) expire(now int64) {
	var out []*item
	r.mu.Lock()
	r.tracks = slices.DeleteFunc(r.tracks, func(t *track) bool {
		for t.exceeded(now) {
			out = r.retire(t, out)
		}
		t.listed = t.oldest != nil
		return !t.listed
	})
	r.mu.Unlock()
	releaseAll(out)
}

// open adds a view. It returns the receive time of the last item that went for want of room.
func (r *ring) open(v *view) (cut int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.next = r.first; v.next != nil {
		v.first = v.next.receiveTime
	}
	r.views = append(r.views, v)
	r.settle(nil, nil)
	return r.cut
}

// since returns when the first of what is kept, or still to be read, was received.
func (r *ring) since() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		return math.MaxInt64
	}
	return r.first.receiveTime
}

// shows says whether v, of which nothing was read, will come to an item.
func (r *ring) shows(v *view, it *item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return it.link.track != nil && v.reaches(it)
}

// extend has a view reach until a later time, unless it is over.
func (r *ring) extend(v *view, until int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.over {
		return false
	}
	v.until = max(v.until, until)
	return true
}

// end returns until when a view reaches, and whether at now, as far as can be known, all that was received until then
// has come: of each topic that was heard shortly before there is something later.
func (r *ring) end(v *view, now int64) (until int64, past bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	past = now > v.until+int64(reorder) && !slices.ContainsFunc(r.tracks, func(t *track) bool {
		return t.last <= v.until && t.last > v.until-int64(lateness)
	})
	return v.until, past || now > v.until+int64(lateness)
}

// finish has a view not be extended any more, and returns how many messages it missed. It fails if the view does not
// end at until any more.
func (r *ring) finish(v *view, until int64) (missed uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.over = v.until == until
	return v.missed, v.over
}

// read appends the next items that v reaches to list, each with one reference more, and says whether there are others
// behind them. Some may have come later than the view's end, which can still be extended. Views are read by one
// goroutine each.
func (r *ring) read(v *view, list []*item) (_ []*item, more bool) {
	r.mu.Lock()
	from, taken := v.next, int64(0)
	for n := 0; n < viewItems && taken < viewBytes && v.next != nil; n++ {
		if it := v.next; v.reaches(it) {
			it.refs.Add(1)
			list = append(list, it)
			taken += it.size()
		}
		v.next = v.next.link.next
	}
	more = v.next != nil
	v.freed = r.settle(from, v.freed[:0])
	r.mu.Unlock()
	releaseAll(v.freed)
	return list, more
}

// close gives up a view.
func (r *ring) close(v *view) {
	for closed := false; !closed; {
		r.mu.Lock()
		from := v.next
		for n := 0; n < viewItems && v.next != nil; n++ {
			v.next = v.next.link.next
		}
		if closed = v.next == nil; closed {
			r.views = slices.DeleteFunc(r.views, func(other *view) bool { return other == v })
		}
		v.freed = r.settle(from, v.freed[:0])
		r.mu.Unlock()
		releaseAll(v.freed)
	}
}

// reaches says whether an item did not come too early for the view.
func (v *view) reaches(it *item) bool {
	return it.receiveTime >= v.begin(it.link.track)
}

// begin returns the time from which on v reaches the items of a track.
func (v *view) begin(t *track) int64 {
	age := t.age
	if v.before > 0 && (age == 0 || v.before < age) {
		age = v.before
	}
	if age == 0 {
		return 0
	}
	return v.trigger - int64(age)
}

// behind compares how far two views have read.
func (v *view) behind(other *view) int {
	switch {
	case v.next == nil:
		return 1
	case other.next == nil || v.next.link.number < other.next.link.number:
		return -1
	}
	return 1
}
