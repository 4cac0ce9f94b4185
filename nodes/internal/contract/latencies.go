package contract

import (
	"maps"
	"math/bits"
	"slices"
)

// Latencies are times from stamps to receipt, ns, of which quantiles are known to 3 %. The zero value is ready.
type Latencies struct {
	count  uint64
	counts map[int]uint64 // by bucket
}

// Add adds a latency.
func (l *Latencies) Add(ns int64) {
	if l.counts == nil {
		l.counts = map[int]uint64{}
	}
	l.count++
	ns = max(min(ns, 1<<62), -1<<62)
	if ns < 0 {
		l.counts[-bucket(uint64(-ns))]++
	} else {
		l.counts[bucket(uint64(ns))]++
	}
}

// Count returns how many there are.
func (l *Latencies) Count() uint64 { return l.count }

// Quantile returns the latency that a part of all, 0 to 1, do not exceed; 0 if there are none.
func (l *Latencies) Quantile(part float64) int64 {
	rest := int64(part * float64(l.count))
	keys := slices.Sorted(maps.Keys(l.counts))
	for i, key := range keys {
		if rest -= int64(l.counts[key]); rest < 0 || i == len(keys)-1 {
			if key < 0 {
				return -middle(-key)
			}
			return middle(key)
		}
	}
	return 0
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
