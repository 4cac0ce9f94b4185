package codec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

type number int

func (n number) Before(o number) bool { return n < o }

func TestHeap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h Heap[number]
	var sorted []number // the same items
	for range 5000 {
		n := number(random.IntN(50))
		switch random.IntN(5) {
		case 0, 1:
			h.Push(n)
			sorted = append(sorted, n)
		case 2:
			if len(h) > 0 {
				h[0], sorted[0] = n, n
				h.Fix()
			}
		default:
			if len(h) > 0 {
				require.Equal(t, sorted[0], h.Pop())
				sorted = sorted[1:]
			}
		}
		slices.Sort(sorted)
		require.Len(t, h, len(sorted))
		if len(h) > 0 {
			require.Equal(t, sorted[0], h[0])
		}
	}
}
