package contract

import (
	"math"
	"math/bits"
	"slices"
)

// Latencies is a histogram of times from stamps to receipt in ns. Its quantiles are exact to 3 %. The zero value is
// ready.
type Latencies struct {
	count uint64
	late  []uint64 // number of latencies by bucket
	ahead []uint64 // number of negative latencies by bucket of their absolute values
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

// Count returns the number of latencies.
func (l *Latencies) Count() uint64 { return l.count }

// Quantile returns the q-quantile, for q from 0 to 1; 0 if there are no latencies.
func (l *Latencies) Quantile(q float64) (ns int64) {
	rest := int64(q * float64(l.count))
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

// bucket returns the bucket of v, which stands for the 5 highest bits of v and their position.
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
