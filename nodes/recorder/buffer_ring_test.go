package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ringTest feeds a ring, and knows which items are alive.
type ringTest struct {
	*ring
	t     *testing.T
	alive map[int64]*int // by publishTime, which numbers the items
	next  int64
}

func newRingTest(t *testing.T, maxBytes int64) *ringTest {
	return &ringTest{ring: newRing(maxBytes), t: t, alive: map[int64]*int{}}
}

// put pushes an item of size bytes, overhead included, that was received at a second.
func (r *ringTest) put(tr *track, second float64, size int) {
	it, freed := testItem(int64(second*1e9), size-itemOverhead, 1)
	it.publishTime = r.next
	r.alive[r.next] = freed
	r.next++
	releaseAll(r.push(tr, []*item{it}, nil))
}

// kept returns the numbers of the items that were not given back.
func (r *ringTest) kept() (list []int64) {
	for n := range r.next {
		require.LessOrEqual(r.t, *r.alive[n], 1)
		if *r.alive[n] == 0 {
			list = append(list, n)
		}
	}
	return list
}

// all reads what there is for v to read now.
func (r *ringTest) all(v *view) (numbers []int64) {
	for more := true; more; {
		var list []*item
		list, more = r.read(v, nil)
		for _, it := range list {
			if it.receiveTime <= v.until {
				numbers = append(numbers, it.publishTime)
			}
		}
		releaseAll(list)
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
		limits   limits
		seconds  []float64
		want     []int64
	}{
		"time":           {1e9, limits{age: 2 * time.Second}, []float64{1, 2, 3, 4, 5}, []int64{2, 3, 4}},
		"slack":          {1e9, limits{age: 2 * time.Second}, []float64{1, 3.4, 3.6}, []int64{1, 2}},
		"bytes":          {1e9, limits{bytes: 2500}, []float64{1, 2, 3, 4}, []int64{2, 3}},
		"bytes of all":   {2500, limits{}, []float64{1, 2, 3, 4}, []int64{2, 3}},
		"a clock behind": {1e9, limits{age: 2 * time.Second}, []float64{5, 1, 2}, []int64{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r, tr := newRingTest(t, c.maxBytes), &track{limits: c.limits}
			for _, s := range c.seconds {
				r.put(tr, s, 1000)
			}
			require.Equal(t, c.want, r.kept())
			require.EqualValues(t, 1000*len(c.want), r.bytes)
			require.Zero(t, r.held)
		})
	}
}

func TestRingShedsTheOldestOfAllTopics(t *testing.T) {
	r := newRingTest(t, 4000)
	a, b := &track{}, &track{limits: limits{age: time.Second}}
	for i := range 4 {
		r.put(a, float64(2*i+1), 1000)
		r.put(b, float64(2*i+2), 1000)
	}
	require.Equal(t, []int64{2, 4, 6, 7}, r.kept(), "of b the last one, of a what fits in beside it")
	require.EqualValues(t, 1e9, r.cut)
}

func TestRingRefusesWhatIsLargerThanItself(t *testing.T) {
	r := newRingTest(t, 3000)
	a, b := &track{}, &track{limits: limits{bytes: 1500}}
	r.put(a, 1, 1000)
	r.put(a, 2, 3001)
	r.put(b, 3, 1501)
	r.put(b, 4, 1500)
	require.Equal(t, []int64{0, 3}, r.kept())
	require.EqualValues(t, 3e9, r.cut)
}

func TestRingForgetsSilentTopics(t *testing.T) {
	r, tr := newRingTest(t, 1e9), &track{limits: limits{age: time.Second}}
	r.put(tr, 1, 1000)
	r.put(tr, 2, 1000)
	r.expire(2.6e9)
	require.Equal(t, []int64{1}, r.kept())
	r.expire(9e9)
	require.Empty(t, r.kept())
	require.Empty(t, r.tracks)
	r.put(tr, 10, 1000)
	require.Equal(t, []int64{2}, r.kept())
	require.Len(t, r.tracks, 1)
}

func TestViewsReadTheirTime(t *testing.T) {
	long, short := limits{age: 60 * time.Second}, limits{age: 3 * time.Second}
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
			r := newRing(1e9)
			a, b := &track{limits: long}, &track{limits: short}
			put := func(from, to int64) {
				for i := from; i < to; i++ {
					x, _ := testItem(i*1e9, 10, 1)
					y, _ := testItem(i*1e9, 10, 1)
					x.publishTime, y.publishTime = i, 100+i
					releaseAll(r.push(a, []*item{x}, nil))
					releaseAll(r.push(b, []*item{y}, nil))
				}
			}
			put(6, 11)
			v := &view{trigger: 10e9, before: c.before, until: int64(c.until * 1e9)}
			r.open(v)
			put(11, 14)
			got := (&ringTest{ring: r, t: t}).all(v)
			slices.Sort(got)
			require.Equal(t, c.want, got)
		})
	}
}

func TestViewsKeepWhatTheyHaveNotRead(t *testing.T) {
	r, tr := newRingTest(t, 5000), &track{limits: limits{age: 2 * time.Second}}
	for i := range 3 {
		r.put(tr, float64(i), 1000)
	}
	a, b := &view{trigger: 2e9, until: 100e9}, &view{trigger: 2e9, until: 100e9}
	r.open(a)
	for i := range 3 {
		r.put(tr, float64(10+i), 1000)
	}
	r.open(b)
	require.Equal(t, upTo(0, 6), r.kept())
	require.EqualValues(t, 3000, r.held)
	require.Equal(t, upTo(0, 6), r.all(a))
	require.Equal(t, upTo(0, 6), r.kept(), "b has yet to read them")
	require.Equal(t, upTo(0, 6), r.all(b))
	require.Equal(t, upTo(3, 6), r.kept())
	require.Zero(t, r.held)
	r.put(tr, 30, 1000)
	require.Equal(t, []int64{6}, r.all(b))
	r.close(b)
	r.put(tr, 60, 1000)
	require.Equal(t, []int64{6, 7}, r.kept(), "a has yet to read 6")
	r.close(a)
	require.Equal(t, []int64{7}, r.kept())
}

func TestViewsMayBeExtended(t *testing.T) {
	r, tr := newRingTest(t, 1e9), &track{}
	v := &view{until: 1e9}
	r.open(v)
	r.put(tr, 1, 1000)
	r.put(tr, 2, 1000)
	list, _ := r.read(v, nil)
	require.Len(t, list, 2, "what comes after the end is not passed over, as the end may move")
	require.True(t, r.extend(v, 2e9))
	_, over := r.finish(v, 1e9)
	require.False(t, over)
	_, over = r.finish(v, 2e9)
	require.True(t, over)
	require.False(t, r.extend(v, 3e9))
	releaseAll(list)
	r.close(v)
}

func TestViewsWaitForMessagesThatComeLate(t *testing.T) {
	r := newRingTest(t, 1e9)
	busy, silent := &track{}, &track{}
	v := &view{until: 10e9}
	r.open(v)
	past := func(now float64) bool {
		until, past := r.end(v, int64(now*1e9))
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
	r.close(v)
}

func TestSlowViewsMissTheOldest(t *testing.T) {
	r, tr := newRingTest(t, 3000), &track{}
	slow, fast, early := &view{until: 100e9}, &view{until: 100e9}, &view{until: 2e9}
	r.open(slow)
	r.open(fast)
	r.open(early)
	for i := range int64(10) {
		r.put(tr, float64(i), 1000)
		require.Equal(t, []int64{i}, r.all(fast))
		require.LessOrEqual(t, r.held, int64(3000))
	}
	require.Equal(t, upTo(4, 10), r.kept(), "as much within the limits as beyond them")
	require.Equal(t, upTo(4, 10), r.all(slow))
	require.EqualValues(t, 4, slow.missed)
	require.Zero(t, fast.missed)
	require.EqualValues(t, 3, early.missed, "only what it wanted counts")
	for _, v := range []*view{slow, fast, early} {
		r.close(v)
	}
	require.Equal(t, upTo(7, 10), r.kept())
}

func TestViewsMayBeClosedBeforeTheyHaveReadAll(t *testing.T) {
	r, tr := newRingTest(t, 1e9), &track{limits: limits{age: time.Second}}
	v := &view{until: math.MaxInt64}
	r.open(v)
	for i := range 3 * viewItems {
		r.put(tr, float64(i), 1000)
	}
	r.close(v)
	require.Len(t, r.kept(), 2)
	require.Empty(t, r.views)
	require.Zero(t, r.held)
}

func TestViewsTakeBatches(t *testing.T) {
	r, tr := newRingTest(t, 1e9), &track{}
	v := &view{until: math.MaxInt64}
	for i := range 10 {
		r.put(tr, float64(i), viewBytes/2)
	}
	r.open(v)
	list, more := r.read(v, nil)
	require.True(t, more)
	require.Len(t, list, 2)
	releaseAll(list)
}

// TestRingAgainstModel compares random use with what should be kept, counted item by item.
func TestRingAgainstModel(t *testing.T) {
	whole := 0 // views that missed nothing
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 4))
		r := newRingTest(t, 100000)
		tracks := []*track{{}, {limits: limits{age: 3 * time.Second}}, {limits: limits{bytes: 4000}},
			{limits: limits{time.Second, 3000}}}
		type reader struct {
			*view
			want, got []int64
		}
		var readers []*reader
		now := 100.0
		for step := range 4000 {
			switch n := random.IntN(20); {
			case n < 16:
				now += random.Float64() / 5
				tr := tracks[random.IntN(len(tracks))]
				r.put(tr, now, itemOverhead+random.IntN(1500))
				it := r.last
				if it == nil || it.publishTime != r.next-1 {
					continue // it was too large
				}
				for _, v := range readers {
					if v.reaches(it) && it.receiveTime <= v.until {
						v.want = append(v.want, it.publishTime)
					}
				}
			case n < 17 && len(readers) < 5:
				v := &reader{view: &view{trigger: int64(now * 1e9), before: time.Duration(random.IntN(3e9)),
					until: int64(now*1e9) + int64(random.IntN(3e9))}}
				for it := r.first; it != nil; it = it.link.next {
					if v.reaches(it) && it.receiveTime <= v.until {
						v.want = append(v.want, it.publishTime)
					}
				}
				r.open(v.view)
				readers = append(readers, v)
			case len(readers) > 0:
				v := readers[random.IntN(len(readers))]
				v.got = append(v.got, r.all(v.view)...)
				if now*1e9 > float64(v.until) {
					r.close(v.view)
					missed := int(v.missed)
					require.Len(t, v.got, len(v.want)-missed)
					for _, n := range v.got { // in the order of want, with nothing else between them
						i := slices.Index(v.want, n)
						require.GreaterOrEqual(t, i, 0)
						v.want = v.want[i+1:]
					}
					whole += 1 / (1 + missed)
					readers = slices.DeleteFunc(readers, func(other *reader) bool { return other == v })
				}
			}
			require.LessOrEqual(t, r.bytes, r.maxBytes)
			if step%20 > 0 {
				continue
			}
			var bytes, held int64
			for it := r.first; it != nil; it = it.link.next {
				if it.link.outdated {
					held += it.size()
				} else {
					bytes += it.size()
				}
			}
			require.Equal(t, []int64{bytes, held}, []int64{r.bytes, r.held})
		}
		for _, v := range readers {
			r.close(v.view)
		}
		require.Zero(t, r.held)
	}
	require.Greater(t, whole, 300)
}

// TestRingUnderLoad has several goroutines push while views come and go. It is for the race detector, and counts
// references.
func TestRingUnderLoad(t *testing.T) {
	r := newRing(100 * (100 + itemOverhead))
	var writers, readers sync.WaitGroup
	var all [4][]*int
	stop := make(chan struct{})
	for w := range all {
		writers.Go(func() {
			tr := &track{limits: limits{age: time.Duration(w) * time.Millisecond}}
			for n := range 20000 {
				it, freed := testItem(time.Now().UnixNano(), 100, 1)
				it.publishTime = int64(n)
				all[w] = append(all[w], freed)
				releaseAll(r.push(tr, []*item{it}, nil))
			}
		})
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := &view{trigger: time.Now().UnixNano(), until: math.MaxInt64}
				r.open(v)
				for range 100 {
					list, _ := r.read(v, nil)
					releaseAll(list)
				}
				r.close(v)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	require.Zero(t, r.held)
	kept := 0
	for _, list := range all {
		for _, freed := range list {
			require.LessOrEqual(t, *freed, 1)
			if *freed == 0 {
				kept++
			}
		}
	}
	require.EqualValues(t, r.bytes, kept*(100+itemOverhead))
}

func TestRingAllocatesNothing(t *testing.T) {
	r, tr := newRing(1e9), &track{limits: limits{age: time.Second}}
	v := &view{until: math.MaxInt64}
	r.open(v)
	var batches [][]*item
	for i := range int64(1001) {
		it, _ := testItem(i*1e9, 100, 2)
		batches = append(batches, []*item{it})
	}
	out := make([]*item, 0, 10)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		out = r.push(tr, batches[0], out[:0])
		out, _ = r.read(v, out[:0])
		batches = batches[1:]
	}))
}
