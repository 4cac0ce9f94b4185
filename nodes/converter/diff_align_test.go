package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// stamps makes a sequence of payloads, one for each letter.
func stamps(letters string) []stamp {
	var s []stamp
	for _, l := range letters {
		s = append(s, stamp{hash: uint64(l)})
	}
	return s
}

func TestAlign(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want []hunk
	}{
		"nothing":                 {"", "", nil},
		"the same":                {"abcd", "abcd", nil},
		"all missing":             {"abc", "", []hunk{{0, 3, 0, 0}}},
		"all extra":               {"", "abc", []hunk{{0, 0, 0, 3}}},
		"one missing":             {"abcdefg", "abcefg", []hunk{{3, 4, 3, 3}}},
		"one extra":               {"abcefg", "abcdefg", []hunk{{3, 3, 3, 4}}},
		"one changed":             {"abcdefg", "abcXefg", []hunk{{3, 4, 3, 4}}},
		"first missing":           {"abcd", "bcd", []hunk{{0, 1, 0, 0}}},
		"last missing":            {"abcd", "abc", []hunk{{3, 4, 3, 3}}},
		"several missing":         {"abcdefghij", "abfghj", []hunk{{2, 5, 2, 2}, {8, 9, 5, 5}}},
		"one lost, one changed":   {"abcdefghij", "abdefgXij", []hunk{{2, 3, 2, 2}, {7, 8, 6, 7}}},
		"lost beside changed":     {"abcdefgh", "abXefgh", []hunk{{2, 4, 2, 3}}},
		"swapped":                 {"abcdef", "abdcef", []hunk{{2, 2, 2, 3}, {3, 4, 4, 4}}},
		"recurring, one changed":  {"cccXccc", "ccccccc", []hunk{{3, 4, 3, 4}}},
		"recurring, two changed":  {"ccXccYcc", "cccccccc", []hunk{{2, 3, 2, 3}, {5, 6, 5, 6}}},
		"recurring, one lost":     {"ccccc", "cccc", []hunk{{4, 5, 4, 4}}},
		"nothing in common":       {"abcd", "wxyz", []hunk{{0, 4, 0, 4}}},
		"nothing in common, less": {"abcd", "xy", []hunk{{0, 4, 0, 2}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, align(stamps(test.a), stamps(test.b)))
		})
	}
}

// TestAlignIsSound checks with random sequences that what lies between the hunks is the same and nothing is left out.
func TestAlignIsSound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		kinds := uint64(1 + random.IntN(1+random.IntN(300)))
		sequence := func(n int) []stamp {
			s := make([]stamp, n)
			for i := range s {
				s[i] = stamp{hash: random.Uint64N(kinds), log: int64(10*i + random.IntN(30))}
			}
			return s
		}
		a := sequence(random.IntN(200))
		var b []stamp
		for _, s := range a {
			switch random.IntN(20) {
			case 0: // lost
			case 1:
				b = append(b, sequence(1+random.IntN(3))...)
			default:
				b = append(b, s)
			}
		}
		hunks := align(a, b)
		moved := byTime(a, b, hunks, equalRuns(a, b, hunks), random.Int64N(100))
		require.Equal(t, weight(hunks), weight(moved))
		for _, hunks := range [][]hunk{hunks, moved} {
			i, j := 0, 0
			for _, h := range append(hunks, hunk{len(a), len(a), len(b), len(b)}) {
				require.Equal(t, h.a0-i, h.b0-j)
				for ; i < h.a0; i, j = i+1, j+1 {
					if a[i].hash != b[j].hash {
						require.Equal(t, a[i].hash, b[j].hash)
					}
				}
				require.LessOrEqual(t, h.a0, h.a1)
				require.LessOrEqual(t, h.b0, h.b1)
				i, j = h.a1, h.b1
			}
		}
	}
}

func TestAlignFindsLossesInLongSequences(t *testing.T) {
	const n = 300_000
	a := make([]stamp, n)
	for i := range a {
		a[i].hash = uint64(i)
	}
	b := append(append([]stamp{}, a[:1000]...), a[50_000:]...)
	require.Equal(t, []hunk{{1000, 50_000, 1000, 1000}}, align(a, b))

	other := make([]stamp, n)
	for i := range other {
		other[i].hash = uint64(n + i)
	}
	require.Equal(t, []hunk{{0, n, 0, n}}, align(a, other))
}

// Where payloads repeat, log times tell which message is missing.
func TestByTime(t *testing.T) {
	at := func(letters string, times ...int64) []stamp {
		s := stamps(letters)
		for i, t := range times {
			s[i].log = t
		}
		return s
	}
	for name, test := range map[string]struct {
		a, b   []stamp
		offset int64
		want   []hunk
	}{
		"first missing": {at("cccc", 0, 10, 20, 30), at("ccc", 10, 20, 30), 0, []hunk{{0, 1, 0, 0}}},
		"first extra":   {at("ccc", 10, 20, 30), at("cccc", 0, 10, 20, 30), 0, []hunk{{0, 0, 0, 1}}},
		"later":         {at("cccc", 0, 10, 20, 30), at("ccc", 1009, 1020, 1032), 1000, []hunk{{0, 1, 0, 0}}},
		"two missing": {at("ccccc", 0, 10, 20, 30, 40), at("ccc", 10, 19, 41), 0,
			[]hunk{{0, 1, 0, 0}, {3, 4, 2, 2}}},
		"last missing":    {at("cccc", 0, 10, 20, 30), at("ccc", 0, 10, 20), 0, []hunk{{3, 4, 3, 3}}},
		"within others":   {at("xcccy", 0, 10, 20, 30, 40), at("xccy", 0, 20, 30, 40), 0, []hunk{{1, 2, 1, 1}}},
		"one time":        {at("cccc"), at("ccc"), 0, []hunk{{3, 4, 3, 3}}},
		"no choice":       {at("cc", 0, 10), at(""), 0, []hunk{{0, 2, 0, 0}}},
		"changed as well": {at("abc", 0, 10, 20), at("xc", 10, 20), 0, []hunk{{0, 2, 0, 1}}},
	} {
		hunks := align(test.a, test.b)
		require.Equal(t, test.want, byTime(test.a, test.b, hunks, equalRuns(test.a, test.b, hunks), test.offset), name)
	}
}

// What repeats without end at one time takes no longer than other messages: the square of it would take hours.
func TestByTimeOfOneTime(t *testing.T) {
	a := make([]stamp, 2_000_000)
	run := hunk{0, len(a), 0, len(a) / 2}
	require.Equal(t, []hunk{{len(a) / 2, len(a), len(a) / 2, len(a) / 2}},
		byTime(a, a[:len(a)/2], []hunk{{len(a) / 2, len(a), len(a) / 2, len(a) / 2}}, []hunk{run}, 0))
}
