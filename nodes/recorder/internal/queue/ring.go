package queue

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Ring keeps the latest items for snapshots, within the limits of their topics and maxBytes for all topics together.
// The oldest items make room for new ones.
//
// Items that leave the ring are evicted. Evicted items that a view has yet to read stay in memory, up to maxBytes
// more. Beyond that the slowest view misses its oldest items and counts them. The lock is never held during input or
// output, and for no longer than a batch takes.
type Ring struct {
	maxBytes int64

	mu          sync.Mutex
	first, last *Item    // list of all items, also evicted ones, in the order in which they came
	count       uint64   // number of items that came so far
	oldest      *Item    // first item within the limits
	bytes       int64    // bytes of items within the limits
	unreadBytes int64    // bytes of evicted items that views have yet to read
	topics      []*Topic // topics with items within the limits
	views       []*View
	unread      uint64 // number of the first item that a view has yet to read, or allRead
	cut         int64  // receive time of the last item that was evicted because of maxBytes; 0: none was
}

const (
	allRead   = math.MaxUint64
	viewItems = 1024        // number of items that a view examines while it holds the lock
	viewBytes = 4 << 20     // bytes of items that a view takes while it holds the lock
	lateness  = time.Second // longest time from the reception of a message to its arrival in the ring
)

// RingSlack is how much longer than their age items are kept, because a trigger may come some time after its cause.
const RingSlack = 500 * time.Millisecond

// link is an item's place in the ring.
type link struct {
	prev, next *Item
	newer      *Item  // next item of the topic
	number     uint64 // counts the items from 1; 0: the item is not in the ring
	evicted    bool   // beyond the limits, kept for views only
}

// Limits are the limits of a topic in the ring; 0 is no limit.
type Limits struct {
	Age   time.Duration
	Bytes int64
}

// View reads the items of a time range from the ring. All times are receive times.
type View struct {
	ring    *Ring
	trigger int64
	before  time.Duration // how far the view reaches back from trigger; 0: as far as the limits of topics
	first   int64         // time of the ring's first item when the view was opened; 0: the ring was empty
	cut     int64         // Ring.cut when the view was opened

	// Guarded by the ring's lock.
	until  int64  // end of the time range
	over   bool   // until cannot be extended any more
	next   *Item  // next item to be read; nil: all items were read
	missed uint64 // items that were removed before they were read

	freed []*Item
}

// NewRing returns an empty ring that holds maxBytes.
func NewRing(maxBytes int64) *Ring { return &Ring{maxBytes: maxBytes, unread: allRead} }

// Push appends items of one topic, with their references. It appends the items that it removes to out, and returns out.
func (r *Ring) Push(t *Topic, list, out []*Item) []*Item {
	if len(list) == 0 {
		return out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.kept.last = max(t.kept.last, list[len(list)-1].ReceiveTime)
	for _, item := range list {
		r.append(item)
		if size := item.Size(); size > r.maxBytes || t.Limits.Bytes > 0 && size > t.Limits.Bytes {
			r.cut = item.ReceiveTime
			out = r.evict(item, out)
			continue
		}
		r.admit(item)
		for t.exceedsLimits(item.ReceiveTime) {
			out = r.evictOldest(t, out)
		}
		for r.bytes > r.maxBytes {
			r.cut = r.oldest.ReceiveTime
			out = r.evictOldest(r.oldest.Topic, out)
		}
	}
	for r.unreadBytes > r.maxBytes {
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

// append adds an item to the end of the list of all items.
func (r *Ring) append(item *Item) {
	r.count++
	item.link = link{prev: r.last, number: r.count}
	if r.last == nil {
		r.first = item
	} else {
		r.last.link.next = item
	}
	r.last = item
	for _, v := range r.views {
		if v.next == nil {
			v.next = item
		}
	}
	if len(r.views) > 0 {
		r.unread = min(r.unread, item.link.number)
	}
}

// admit counts the last item as one within the limits.
func (r *Ring) admit(item *Item) {
	k := &item.Topic.kept
	if k.newest == nil {
		k.oldest = item
	} else {
		k.newest.link.newer = item
	}
	k.newest = item
	k.bytes += item.Size()
	r.bytes += item.Size()
	if r.oldest == nil {
		r.oldest = item
	}
	if !k.listed {
		k.listed = true
		r.topics = append(r.topics, item.Topic)
	}
}

// exceedsLimits reports whether the oldest item of the topic is beyond the topic's limits at now.
func (t *Topic) exceedsLimits(now int64) bool {
	k, l := &t.kept, &t.Limits
	return k.oldest != nil && (l.Age > 0 && now-k.oldest.ReceiveTime > int64(l.Age+RingSlack) ||
		l.Bytes > 0 && k.bytes > l.Bytes)
}

// evictOldest evicts the oldest item of a topic.
func (r *Ring) evictOldest(t *Topic, out []*Item) []*Item {
	k := &t.kept
	item := k.oldest
	k.oldest = item.link.newer
	if k.oldest == nil {
		k.newest = nil
	}
	k.bytes -= item.Size()
	r.bytes -= item.Size()
	for r.oldest == item || r.oldest != nil && r.oldest.link.evicted {
		r.oldest = r.oldest.link.next
	}
	return r.evict(item, out)
}

// evict removes an item at once, or when all views have read it.
func (r *Ring) evict(item *Item, out []*Item) []*Item {
	item.link.evicted = true
	r.unreadBytes += item.Size()
	if item.link.number < r.unread {
		out = r.remove(item, out)
	}
	return out
}

// remove removes an evicted item from the ring and appends it to out.
func (r *Ring) remove(item *Item, out []*Item) []*Item {
	l := &item.link
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
	r.unreadBytes -= item.Size()
	return append(out, item)
}

// settle is called after a view went on from an item. It removes the evicted items that no view will read any more.
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

// Expire evicts items that are too old at now. Topics that receive messages need no Expire.
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

// Open returns a view of the items received until a time. It reaches back from trigger as far as the limits of a topic
// allow, and no further than before unless before is 0. The caller closes the view.
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

// Since returns the receive time of the first item in the ring, math.MaxInt64 if the ring is empty.
func (r *Ring) Since() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		return math.MaxInt64
	}
	return r.first.ReceiveTime
}

// Cut returns the receive time of the last item that the ring evicted because of maxBytes before the view was opened, 0
// if there was none.
func (v *View) Cut() int64 { return v.cut }

// Since returns the receive time from which on the view has all items of a topic.
func (v *View) Since(t *Topic) int64 { return max(v.begin(t), v.first) }

// Includes reports whether the view will yield an item. Nothing must have been read from the view.
func (v *View) Includes(item *Item) bool {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	return item.link.number != 0 && v.reaches(item)
}

// Extend moves the end of the view to a later time. It reports false if Finish has fixed the end.
func (v *View) Extend(until int64) bool {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	if v.over {
		return false
	}
	v.until = max(v.until, until)
	return true
}

// End returns the end of the view, and reports whether all messages received until then are in the ring at the time
// now. That is assumed once each topic with messages shortly before the end has a later one, or lateness after the end
// at the latest.
func (v *View) End(now int64) (until int64, past bool) {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	past = now > v.until+int64(Reorder) && !slices.ContainsFunc(v.ring.topics, func(t *Topic) bool {
		return t.kept.last <= v.until && t.kept.last > v.until-int64(lateness)
	})
	return v.until, past || now > v.until+int64(lateness)
}

// Finish fixes the end of the view and returns how many items the view missed. It reports false if the end was moved
// from until meanwhile.
func (v *View) Finish(until int64) (missed uint64, ok bool) {
	v.ring.mu.Lock()
	defer v.ring.mu.Unlock()
	v.over = v.until == until
	return v.missed, v.over
}

// Read appends the next items of the view to list, each with a reference, and reports whether more items follow. Some
// items may be later than the end of the view, which can still be extended. A view is read by one goroutine.
func (v *View) Read(list []*Item) (_ []*Item, more bool) {
	r := v.ring
	r.mu.Lock()
	from, taken := v.next, int64(0)
	for n := 0; n < viewItems && taken < viewBytes && v.next != nil; n++ {
		if item := v.next; v.reaches(item) {
			item.Retain()
			list = append(list, item)
			taken += item.Size()
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

// reaches reports whether an item is not too early for the view.
func (v *View) reaches(item *Item) bool { return item.ReceiveTime >= v.begin(item.Topic) }

// begin returns the time at which the view begins for a topic; 0 is no limit.
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

// behind compares how far two views have read. It returns -1 if v is behind other.
func (v *View) behind(other *View) int {
	switch {
	case v.next == nil:
		return 1
	case other.next == nil || v.next.link.number < other.next.link.number:
		return -1
	}
	return 1
}
