package queue

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Ring keeps the latest items for snapshots: of each topic as much as its limits allow, and of all together MaxBytes,
// where the oldest items make room for the newest. An item that a view has yet to read stays after that, up to as many
// bytes again; beyond them the slowest view misses its oldest items, and counts them. The lock is never held during
// input or output, and for no longer than a batch takes.
type Ring struct {
	maxBytes int64

	mu          sync.Mutex
	first, last *Item    // all items, in the order in which they came
	count       uint64   // of the items that came
	oldest      *Item    // the first that is within the limits
	bytes       int64    // within the limits
	held        int64    // bytes of evicted items that views have yet to read
	topics      []*Topic // that have items within the limits
	views       []*View
	unread      uint64 // number of the first item that a view has yet to read, or allRead
	cut         int64  // receive time of the last item that was evicted for want of room; 0: none was
}

const (
	allRead   = math.MaxUint64
	viewItems = 1024        // that a view looks at in one go
	viewBytes = 4 << 20     // that it takes
	lateness  = time.Second // at most, from the reception of a message to its arrival in the ring
)

// RingSlack is how much longer than their age items are kept, as a trigger may come some time after its cause.
const RingSlack = 500 * time.Millisecond

// link is an item's place in the ring.
type link struct {
	prev, next *Item
	newer      *Item  // of the same topic
	number     uint64 // 0: it is not in the ring
	evicted    bool   // beyond the limits, kept for views only
}

// Limits is how much of a topic the ring keeps; 0 is no limit.
type Limits struct {
	Age   time.Duration
	Bytes int64
}

// View reads what the ring holds of a time range.
type View struct {
	ring    *Ring
	trigger int64         // by the clock of Now, as all receive times
	before  time.Duration // how far back the view reaches, if the topic's limits do; 0: as far as they do
	first   int64         // of the first item at the start; 0: there was none
	cut     int64         // of the last item before that was evicted for want of room; 0: none was

	// Guarded by the ring's lock.
	until  int64  // receive time of the last message
	over   bool   // until is not extended any more
	next   *Item  // to be read; nil: everything was read
	missed uint64 // items that were evicted before they were read

	freed []*Item
}

// NewRing returns an empty ring for so many bytes.
func NewRing(maxBytes int64) *Ring { return &Ring{maxBytes: maxBytes, unread: allRead} }

// Push appends items of one topic, with their references. The items that are evicted for them are appended to out,
// which is returned.
func (r *Ring) Push(t *Topic, list, out []*Item) []*Item {
	if len(list) == 0 {
		return out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.kept.last = max(t.kept.last, list[len(list)-1].ReceiveTime)
	for _, it := range list {
		r.append(it)
		if size := it.Size(); size > r.maxBytes || t.Limits.Bytes > 0 && size > t.Limits.Bytes {
			r.cut = it.ReceiveTime
			out = r.evict(it, out)
			continue
		}
		r.admit(it)
		for t.exceedsLimits(it.ReceiveTime) {
			out = r.evictOldest(t, out)
		}
		for r.bytes > r.maxBytes {
			r.cut = r.oldest.ReceiveTime
			out = r.evictOldest(r.oldest.Topic, out)
		}
	}
	for r.held > r.maxBytes {
		v := slices.MinFunc(r.views, func(a, b *View) int { return a.behind(b) })
		passed := v.next
		if v.reaches(passed) && passed.ReceiveTime <= v.until {
			v.missed++
		}
		v.next = passed.link.next
		out = r.settle(passed, out)
	}
	return out
}

// append puts an item at the end, for views to read.
func (r *Ring) append(it *Item) {
	r.count++
	it.link = link{prev: r.last, number: r.count}
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
func (r *Ring) admit(it *Item) {
	k := &it.Topic.kept
	if k.newest == nil {
		k.oldest = it
	} else {
		k.newest.link.newer = it
	}
	k.newest = it
	k.bytes += it.Size()
	r.bytes += it.Size()
	if r.oldest == nil {
		r.oldest = it
	}
	if !k.listed {
		k.listed = true
		r.topics = append(r.topics, it.Topic)
	}
}

// exceedsLimits reports whether the oldest item of the topic is beyond its limits at now.
func (t *Topic) exceedsLimits(now int64) bool {
	k, l := &t.kept, &t.Limits
	return k.oldest != nil && (l.Age > 0 && now-k.oldest.ReceiveTime > int64(l.Age+RingSlack) ||
		l.Bytes > 0 && k.bytes > l.Bytes)
}

// evictOldest evicts the oldest item of a topic.
func (r *Ring) evictOldest(t *Topic, out []*Item) []*Item {
	k := &t.kept
	it := k.oldest
	k.oldest = it.link.newer
	if k.oldest == nil {
		k.newest = nil
	}
	k.bytes -= it.Size()
	r.bytes -= it.Size()
	for r.oldest == it || r.oldest != nil && r.oldest.link.evicted {
		r.oldest = r.oldest.link.next
	}
	return r.evict(it, out)
}

// evict removes an item that is beyond the limits, at once or when views have read it.
func (r *Ring) evict(it *Item, out []*Item) []*Item {
	it.link.evicted = true
	r.held += it.Size()
	if it.link.number < r.unread {
		out = r.remove(it, out)
	}
	return out
}

// remove takes an evicted item out.
func (r *Ring) remove(it *Item, out []*Item) []*Item {
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
	r.held -= it.Size()
	return append(out, it)
}

// settle removes the evicted items that no view will read any more, after a view went on from an item.
func (r *Ring) settle(from *Item, out []*Item) []*Item {
	r.unread = allRead
	for _, v := range r.views {
		if v.next != nil {
			r.unread = min(r.unread, v.next.link.number)
		}
	}
	for from != nil && from.link.number < r.unread {
		next := from.link.next
		if from.link.evicted {
			out = r.remove(from, out)
		}
		from = next
	}
	return out
}

// Expire evicts items that are too old at now, where none come that would push them out.
func (r *Ring) Expire(now int64) {
	var out []*Item
	r.mu.Lock()
	r.topics = slices.DeleteFunc(r.topics, func(t *Topic) bool {
		for t.exceedsLimits(now) {
			out = r.evictOldest(t, out)
		}
		t.kept.listed = t.kept.oldest != nil
		return !t.kept.listed
	})
	r.mu.Unlock()
	Release(out...)
}

// Open returns a view of what is received until a time. It reaches back from trigger as far as the limits of a topic
// and, unless it is 0, before allow. All times are receive times. The caller closes it.
func (r *Ring) Open(trigger int64, before time.Duration, until int64) *View {
	v := &View{ring: r, trigger: trigger, before: before, until: until}
	r.mu.Lock()
	defer r.mu.Unlock()
	v.next = r.first
	if v.next != nil {
		v.first = v.next.ReceiveTime
	}
	v.cut = r.cut
	r.views = append(r.views, v)
	r.settle(nil, nil)
	return v
}

// Since returns when the first of the items that are kept, or still to be read, was received.
func (r *Ring) Since() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		return math.MaxInt64
	}
	return r.first.ReceiveTime
}

// Cut returns the receive time of the last item, before the view was opened, that the ring had no room for; 0 if there
// was none.
func (v *View) Cut() int64 { return v.cut }

// Since returns the receive time from which on the view has the items of a topic.
func (v *View) Since(t *Topic) int64 { return max(v.begin(t), v.first) }

// Includes reports whether the view, of which nothing was read, will come to an item.
func (v *View) Includes(it *Item) bool {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	return it.link.number != 0 && v.reaches(it)
}

// Extend makes the view reach until a later time. It reports false if the view is over.
func (v *View) Extend(until int64) bool {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	if v.over {
		return false
	}
	v.until = max(v.until, until)
	return true
}

// End returns until when the view reaches, and whether at now, as far as can be known, all that was received until then
// has come: of each topic that was heard shortly before there is something later.
func (v *View) End(now int64) (until int64, past bool) {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	past = now > v.until+int64(Reorder) && !slices.ContainsFunc(v.ring.topics, func(t *Topic) bool {
		return t.kept.last <= v.until && t.kept.last > v.until-int64(lateness)
	})
	return v.until, past || now > v.until+int64(lateness)
}

// Finish ends extensions of the view, and returns how many items it missed. It fails if the view does not end at until
// any more.
func (v *View) Finish(until int64) (missed uint64, ok bool) {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	v.over = v.until == until
	return v.missed, v.over
}

// Read appends the next items of the view to list, each with a reference, and reports whether there are others behind
// them. Some may have come later than the view's end, which can still be extended. A view is read by one goroutine.
func (v *View) Read(list []*Item) (_ []*Item, more bool) {
	r := v.ring
	r.mu.Lock()
	from, taken := v.next, int64(0)
	for n := 0; n < viewItems && taken < viewBytes && v.next != nil; n++ {
		if it := v.next; v.reaches(it) {
			it.Retain()
			list = append(list, it)
			taken += it.Size()
		}
		v.next = v.next.link.next
	}
	more = v.next != nil
	v.freed = r.settle(from, v.freed[:0])
	r.mu.Unlock()
	Release(v.freed...)
	return list, more
}

// Close ends the view.
func (v *View) Close() {
	r := v.ring
	for closed := false; !closed; {
		r.mu.Lock()
		from := v.next
		for n := 0; n < viewItems && v.next != nil; n++ {
			v.next = v.next.link.next
		}
		closed = v.next == nil
		if closed {
			r.views = slices.DeleteFunc(r.views, func(other *View) bool { return other == v })
		}
		v.freed = r.settle(from, v.freed[:0])
		r.mu.Unlock()
		Release(v.freed...)
	}
}

// reaches reports whether an item was not received too early for the view.
func (v *View) reaches(it *Item) bool { return it.ReceiveTime >= v.begin(it.Topic) }

// begin returns the time from which on v reaches the items of a topic.
func (v *View) begin(t *Topic) int64 {
	age := t.Limits.Age
	if v.before > 0 && (age == 0 || v.before < age) {
		age = v.before
	}
	if age == 0 {
		return 0
	}
	return v.trigger - int64(age)
}

// behind compares how far two views have read.
func (v *View) behind(other *View) int {
	switch {
	case v.next == nil:
		return 1
	case other.next == nil || v.next.link.number < other.next.link.number:
		return -1
	}
	return 1
}
