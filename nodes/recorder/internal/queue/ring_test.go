package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// topicWith returns a topic with limits in the ring.
func topicWith(l Limits) *Topic {
	t := newTopic("/n")
	t.Limits = l
	return t
}

// ringTest feeds a ring, and counts the references of its items.
type ringTest struct {
	*Ring
	t     *testing.T
	alive map[int64]*int // by PublishTime, the number of an item
	next  int64
}

func newRingTest(t *testing.T, maxBytes int64) *ringTest {
	return &ringTest{Ring: NewRing(maxBytes), t: t, alive: map[int64]*int{}}
}

// put pushes an item of size bytes with overhead, received at a time in seconds.
func (r *ringTest) put(tr *Topic, second float64, size int) {
	item, freed := testItem(tr, int64(second*1e9), size-Overhead)
	item.PublishTime = r.next
	r.alive[r.next] = freed
	r.next++
	Release(r.Push(tr, []*Item{item}, nil)...)
}

// keptItems returns the numbers of the items whose payloads were not freed.
func (r *ringTest) keptItems() (list []int64) {
	for n := range r.next {
		require.LessOrEqual(r.t, *r.alive[n], 1)
		if *r.alive[n] == 0 {
			list = append(list, n)
		}
	}
	return list
}

// all reads all present items of v.
func (r *ringTest) all(v *View) (numbers []int64) {
	for more := true; more; {
		var list []*Item
		list, more = v.Read(nil)
		for _, item := range list {
			if item.ReceiveTime <= v.until {
				numbers = append(numbers, item.PublishTime)
			}
		}
		Release(list...)
	}
	return numbers
}

func upTo(from, to int64) (list []int64) {
	for ; from < to; from++ {
		list = append(list, from)
	}
	return list
}

func TestRingKeepsWhatItsLimitsAllow(t *testing.T) {
	for name, c := range map[string]struct {
		maxBytes int64
		limits   Limits
		seconds  []float64
		want     []int64
	}{
		"time":           {1e9, Limits{Age: 2 * time.Second}, []float64{1, 2, 3, 4, 5}, []int64{2, 3, 4}},
		"slack":          {1e9, Limits{Age: 2 * time.Second}, []float64{1, 3.4, 3.6}, []int64{1, 2}},
		"bytes":          {1e9, Limits{Bytes: 2500}, []float64{1, 2, 3, 4}, []int64{2, 3}},
		"bytes of all":   {2500, Limits{}, []float64{1, 2, 3, 4}, []int64{2, 3}},
		"a clock behind": {1e9, Limits{Age: 2 * time.Second}, []float64{5, 1, 2}, []int64{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r, tr := newRingTest(t, c.maxBytes), topicWith(c.limits)
			for _, s := range c.seconds {
				r.put(tr, s, 1000)
			}
			require.Equal(t, c.want, r.keptItems())
			require.EqualValues(t, 1000*len(c.want), r.bytes)
			require.Zero(t, r.unreadBytes)
		})
	}
}

func TestRingShedsTheOldestOfAllTopics(t *testing.T) {
	r := newRingTest(t, 4000)
	a, b := topicWith(Limits{}), topicWith(Limits{Age: time.Second})
	for i := range 4 {
		r.put(a, float64(2*i+1), 1000)
		r.put(b, float64(2*i+2), 1000)
	}
	require.Equal(t, []int64{2, 4, 6, 7}, r.keptItems(), "of b the last one, of a what fits in beside it")
	require.EqualValues(t, 1e9, r.cut)
}

func TestRingRefusesWhatIsLargerThanItself(t *testing.T) {
	r := newRingTest(t, 3000)
	a, b := topicWith(Limits{}), topicWith(Limits{Bytes: 1500})
	r.put(a, 1, 1000)
	r.put(a, 2, 3001)
	r.put(b, 3, 1501)
	r.put(b, 4, 1500)
	require.Equal(t, []int64{0, 3}, r.keptItems())
	require.EqualValues(t, 3e9, r.cut)
}

func TestRingForgetsSilentTopics(t *testing.T) {
	r, tr := newRingTest(t, 1e9), topicWith(Limits{Age: time.Second})
	r.put(tr, 1, 1000)
	r.put(tr, 2, 1000)
	r.Expire(2.6e9)
	require.Equal(t, []int64{1}, r.keptItems())
	r.Expire(9e9)
	require.Empty(t, r.keptItems())
	require.Empty(t, r.topics)
	r.put(tr, 10, 1000)
	require.Equal(t, []int64{2}, r.keptItems())
	require.Len(t, r.topics, 1)
}

func TestViewsReadTheirTime(t *testing.T) {
	long, short := Limits{Age: 60 * time.Second}, Limits{Age: 3 * time.Second}
	for name, c := range map[string]struct {
		before time.Duration
		until  float64
		want   []int64
	}{
		"as far as the limits": {0, 10, []int64{6, 7, 8, 9, 10, 107, 108, 109, 110}},
		"less":                 {2 * time.Second, 10, []int64{8, 9, 10, 108, 109, 110}},
		"between":              {4 * time.Second, 10, []int64{6, 7, 8, 9, 10, 107, 108, 109, 110}},
		"some of what follows": {time.Second, 12, []int64{9, 10, 11, 12, 109, 110, 111, 112}},
		"beyond what follows":  {time.Second, 99, []int64{9, 10, 11, 12, 13, 109, 110, 111, 112, 113}},
		"nothing before":       {1, 11, []int64{10, 11, 110, 111}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRing(1e9)
			a, b := topicWith(long), topicWith(short)
			put := func(from, to int64) {
				for i := from; i < to; i++ {
					x, _ := testItem(a, i*1e9, 10)
					y, _ := testItem(b, i*1e9, 10)
					x.PublishTime, y.PublishTime = i, 100+i
					Release(r.Push(a, []*Item{x}, nil)...)
					Release(r.Push(b, []*Item{y}, nil)...)
				}
			}
			put(6, 11)
			v := r.Open(10e9, c.before, int64(c.until*1e9))
			put(11, 14)
			got := (&ringTest{Ring: r, t: t}).all(v)
			slices.Sort(got)
			require.Equal(t, c.want, got)
		})
	}
}

func TestViewsKeepWhatTheyHaveNotRead(t *testing.T) {
	r, tr := newRingTest(t, 5000), topicWith(Limits{Age: 2 * time.Second})
	for i := range 3 {
		r.put(tr, float64(i), 1000)
	}
	a := r.Open(2e9, 0, 100e9)
	for i := range 3 {
		r.put(tr, float64(10+i), 1000)
	}
	b := r.Open(2e9, 0, 100e9)
	require.Equal(t, upTo(0, 6), r.keptItems())
	require.EqualValues(t, 3000, r.unreadBytes)
	require.Equal(t, upTo(0, 6), r.all(a))
	require.Equal(t, upTo(0, 6), r.keptItems(), "b has yet to read them")
	require.Equal(t, upTo(0, 6), r.all(b))
	require.Equal(t, upTo(3, 6), r.keptItems())
	require.Zero(t, r.unreadBytes)
	r.put(tr, 30, 1000)
	require.Equal(t, []int64{6}, r.all(b))
	b.Close()
	r.put(tr, 60, 1000)
	require.Equal(t, []int64{6, 7}, r.keptItems(), "a has yet to read 6")
	a.Close()
	require.Equal(t, []int64{7}, r.keptItems())
}

func TestViewsMayBeExtended(t *testing.T) {
	r, tr := newRingTest(t, 1e9), topicWith(Limits{})
	v := r.Open(0, 0, 1e9)
	r.put(tr, 1, 1000)
	r.put(tr, 2, 1000)
	list, _ := v.Read(nil)
	require.Len(t, list, 2, "items after the end are not skipped, because the end may move")
	require.True(t, v.Extend(2e9))
	_, over := v.Finish(1e9)
	require.False(t, over)
	_, over = v.Finish(2e9)
	require.True(t, over)
	require.False(t, v.Extend(3e9))
	Release(list...)
	v.Close()
}

func TestViewsWaitForMessagesThatComeLate(t *testing.T) {
	r := newRingTest(t, 1e9)
	busy, silent := topicWith(Limits{}), topicWith(Limits{})
	v := r.Open(0, 0, 10e9)
	past := func(now float64) bool {
		until, past := v.End(int64(now * 1e9))
		require.EqualValues(t, 10e9, until)
		return past
	}
	r.put(silent, 8, 1000)
	require.False(t, past(10), "something may be on its way")
	require.True(t, past(10.2))
	r.put(busy, 9.9, 1000)
	require.False(t, past(10.2))
	r.put(busy, 10, 1000)
	require.False(t, past(10.2))
	require.True(t, past(11.1), "not for ever")
	r.put(busy, 10.1, 1000)
	require.True(t, past(10.2))
	v.Close()
}

func TestSlowViewsMissTheOldest(t *testing.T) {
	r, tr := newRingTest(t, 3000), topicWith(Limits{})
	slow, fast, early := r.Open(0, 0, 100e9), r.Open(0, 0, 100e9), r.Open(0, 0, 2e9)
	for i := range int64(10) {
		r.put(tr, float64(i), 1000)
		require.Equal(t, []int64{i}, r.all(fast))
		require.LessOrEqual(t, r.unreadBytes, int64(3000))
	}
	require.Equal(t, upTo(4, 10), r.keptItems(), "as much within the limits as beyond them")
	require.Equal(t, upTo(4, 10), r.all(slow))
	require.EqualValues(t, 4, slow.missed)
	require.Zero(t, fast.missed)
	require.EqualValues(t, 3, early.missed, "only what it wanted counts")
	for _, v := range []*View{slow, fast, early} {
		v.Close()
	}
	require.Equal(t, upTo(7, 10), r.keptItems())
}

func TestViewsMayBeClosedBeforeTheyHaveReadAll(t *testing.T) {
	r, tr := newRingTest(t, 1e9), topicWith(Limits{Age: time.Second})
	v := r.Open(0, 0, math.MaxInt64)
	for i := range 3 * viewItems {
		r.put(tr, float64(i), 1000)
	}
	v.Close()
	require.Len(t, r.keptItems(), 2)
	require.Empty(t, r.views)
	require.Zero(t, r.unreadBytes)
}

func TestViewsTakeBatches(t *testing.T) {
	r, tr := newRingTest(t, 1e9), topicWith(Limits{})
	for i := range 10 {
		r.put(tr, float64(i), viewBytes/2)
	}
	v := r.Open(0, 0, math.MaxInt64)
	list, more := v.Read(nil)
	require.True(t, more)
	require.Len(t, list, 2)
	Release(list...)
}

// TestRingAgainstModel compares the items that views read, during random operations, with the items that they should.
func TestRingAgainstModel(t *testing.T) {
	whole := 0 // number of views that missed nothing
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 4))
		r := newRingTest(t, 100000)
		topics := []*Topic{topicWith(Limits{}), topicWith(Limits{Age: 3 * time.Second}), topicWith(Limits{Bytes: 4000}),
			topicWith(Limits{time.Second, 3000})}
		type reader struct {
			*View
			want, got []int64
		}
		var readers []*reader
		now := 100.0
		for step := range 4000 {
			switch n := random.IntN(20); {
			case n < 16:
				now += random.Float64() / 5
				tr := topics[random.IntN(len(topics))]
				r.put(tr, now, Overhead+random.IntN(1500))
				item := r.last
				if item == nil || item.PublishTime != r.next-1 {
					continue // the item was too large
				}
				for _, v := range readers {
					if v.reaches(item) && item.ReceiveTime <= v.until {
						v.want = append(v.want, item.PublishTime)
					}
				}
			case n < 17 && len(readers) < 5:
				v := &reader{View: r.Open(int64(now*1e9), time.Duration(random.IntN(3e9)),
					int64(now*1e9)+int64(random.IntN(3e9)))}
				for item := r.first; item != nil; item = item.link.next {
					if v.reaches(item) && item.ReceiveTime <= v.until {
						v.want = append(v.want, item.PublishTime)
					}
				}
				readers = append(readers, v)
			case len(readers) > 0:
				v := readers[random.IntN(len(readers))]
				v.got = append(v.got, r.all(v.View)...)
				if now*1e9 > float64(v.until) {
					v.Close()
					missed := int(v.missed)
					require.Len(t, v.got, len(v.want)-missed)
					for _, n := range v.got { // must be a subsequence of want
						i := slices.Index(v.want, n)
						require.GreaterOrEqual(t, i, 0)
						v.want = v.want[i+1:]
					}
					whole += 1 / (1 + missed)
					readers = slices.DeleteFunc(readers, func(other *reader) bool { return other == v })
				}
			}
			if r.bytes > r.maxBytes {
				require.LessOrEqual(t, r.bytes, r.maxBytes)
			}
			if step%20 > 0 {
				continue
			}
			var bytes, unread int64
			for item := r.first; item != nil; item = item.link.next {
				if item.link.evicted {
					unread += item.Size()
				} else {
					bytes += item.Size()
				}
			}
			require.Equal(t, []int64{bytes, unread}, []int64{r.bytes, r.unreadBytes})
		}
		for _, v := range readers {
			v.Close()
		}
		require.Zero(t, r.unreadBytes)
	}
	require.Greater(t, whole, 180)
}

// TestRingUnderLoad pushes from several goroutines while views come and go, for the race detector, and counts
// references.
func TestRingUnderLoad(t *testing.T) {
	r := NewRing(100 * (100 + Overhead))
	var writers, readers sync.WaitGroup
	var all [4][]*int
	stop := make(chan struct{})
	for w := range all {
		writers.Go(func() {
			tr := topicWith(Limits{Age: time.Duration(w) * time.Millisecond})
			for n := range 5000 {
				item, freed := testItem(tr, time.Now().UnixNano(), 100)
				item.PublishTime = int64(n)
				all[w] = append(all[w], freed)
				Release(r.Push(tr, []*Item{item}, nil)...)
			}
		})
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := r.Open(time.Now().UnixNano(), 0, math.MaxInt64)
				for range 100 {
					list, _ := v.Read(nil)
					Release(list...)
				}
				v.Close()
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	require.Zero(t, r.unreadBytes)
	kept := 0
	for _, list := range all {
		for _, freed := range list {
			if *freed > 1 {
				require.LessOrEqual(t, *freed, 1)
			}
			if *freed == 0 {
				kept++
			}
		}
	}
	require.EqualValues(t, r.bytes, kept*(100+Overhead))
}

func TestRingAllocatesNothing(t *testing.T) {
	r, tr := NewRing(1e9), topicWith(Limits{Age: time.Second})
	v := r.Open(0, 0, math.MaxInt64)
	var batches [][]*Item
	for i := range int64(1001) {
		item, _ := testItem(tr, i*1e9, 100)
		item.Retain()
		batches = append(batches, []*Item{item})
	}
	out := make([]*Item, 0, 10)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		out = r.Push(tr, batches[0], out[:0])
		out, _ = v.Read(out[:0])
		batches = batches[1:]
	}))
}
