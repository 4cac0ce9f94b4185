package contract

import (
	"math"
	"math/bits"
	"slices"
)

// Latencies are times from stamps to receipt, ns, of which quantiles are known to 3 %. The zero value is ready.
type Latencies struct {
	count uint64
	late  []uint64 // by bucket
	ahead []uint64 // of those below 0, likewise
}

// Add adds a latency.
func (l *Latencies) Add(ns int64) {
	l.count++
	counts := &l.late
	ns = max(ns, -math.MaxInt64)
	if ns < 0 {
		ns, counts = -ns, &l.ahead
	}
	key := bucket(uint64(ns))
	for len(*counts) <= key {
		*counts = append(*counts, 0)
	}
	(*counts)[key]++
}

// Count returns how many there are.
func (l *Latencies) Count() uint64 { return l.count }

// Quantile returns the latency that a part of all, 0 to 1, do not exceed; 0 if there are none.
func (l *Latencies) Quantile(part float64) (ns int64) {
	rest := int64(part * float64(l.count))
	for key, n := range slices.Backward(l.ahead) {
		if n > 0 && rest >= 0 {
			rest, ns = rest-int64(n), -middle(key)
		}
	}
	for key, n := range l.late {
		if n > 0 && rest >= 0 {
			rest, ns = rest-int64(n), middle(key)
		}
	}
	return ns
}

// bucket returns the number of the bucket of v: its 5 highest bits and where they are.
func bucket(v uint64) int {
	shift := max(0, bits.Len64(v)-5)
	return shift<<4 + int(v>>shift)
}

// middle returns the value in the middle of a bucket.
func middle(key int) int64 {
	if key < 32 {
		return int64(key)
	}
	shift := key>>4 - 1
	low := uint64(key-shift<<4) << shift
	return int64(low + 1<<shift/2)
}
