package diff

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// matchBoth returns the differences that match finds, and the differences after placeByTime has found partners by time.
func matchBoth(a, b []message, offset int64) (found, placed []hunk) {
	repeats := match(a, b, false)
	found = slices.Collect(differences(a, b))
	for _, run := range repeats {
		placeByTime(a, b, run, offset)
	}
	return found, slices.Collect(differences(a, b))
}

// joinHunks joins hunks that touch.
func joinHunks(hunks []hunk) (all []hunk) {
	for _, h := range hunks {
		if last := len(all) - 1; last >= 0 && all[last].a1 == h.a0 && all[last].b1 == h.b0 {
			all[last].a1, all[last].b1 = h.a1, h.b1
		} else {
			all = append(all, h)
		}
	}
	return all
}

// weight counts the differences in hunks.
func weight(hunks []hunk) (n int) {
	for _, h := range hunks {
		n += h.changed() + h.missing() + h.extra()
	}
	return n
}

// payloads returns a sequence of payloads, one for each letter.
func payloads(letters string) []message {
	var s []message
	for _, l := range letters {
		s = append(s, message{hash: uint64(l)})
	}
	return s
}

// at returns a sequence of payloads with log times.
func at(letters string, times ...int64) []message {
	s := payloads(letters)
	for i, t := range times {
		s[i].logTime = t
	}
	return s
}

func TestMatch(t *testing.T) {
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
			found, _ := matchBoth(payloads(test.a), payloads(test.b), 0)
			require.Equal(t, test.want, joinHunks(found))
		})
	}
}

// TestMatchIsSound checks with random sequences that elements between hunks are equal and that no element is missing.
func TestMatchIsSound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		kinds := uint64(1 + random.IntN(1+random.IntN(300)))
		sequence := func(n int) []message {
			s := make([]message, n)
			for i := range s {
				s[i] = message{hash: random.Uint64N(kinds), logTime: int64(10*i + random.IntN(30))}
			}
			return s
		}
		a := sequence(random.IntN(200))
		var b []message
		for _, s := range a {
			switch random.IntN(20) {
			case 0: // lost
			case 1:
				b = append(b, sequence(1+random.IntN(3))...)
			default:
				b = append(b, s)
			}
		}
		found, placed := matchBoth(a, b, random.Int64N(100))
		require.Equal(t, weight(found), weight(placed))
		for _, hunks := range [][]hunk{found, placed} {
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

func TestMatchFindsLossesInLongSequences(t *testing.T) {
	const n = 300_000
	a := make([]message, n)
	for i := range a {
		a[i].hash = uint64(i)
	}
	b := append(append([]message{}, a[:1000]...), a[50_000:]...)
	found, _ := matchBoth(a, b, 0)
	require.Equal(t, []hunk{{1000, 50_000, 1000, 1000}}, found)

	other := make([]message, n)
	for i := range other {
		other[i].hash = uint64(n + i)
	}
	found, _ = matchBoth(a, other, 0)
	require.Equal(t, []hunk{{0, n, 0, n}}, joinHunks(found))
}

// If payloads repeat, log times decide which message is missing.
func TestPlace(t *testing.T) {
	for name, test := range map[string]struct {
		a, b   []message
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
		_, placed := matchBoth(test.a, test.b, test.offset)
		require.Equal(t, test.want, joinHunks(placed), name)
	}
}

// Many repetitions at one time take linear time. Quadratic time would take hours.
func TestPlaceOfOneTime(t *testing.T) {
	a := make([]message, 2_000_000)
	b := make([]message, len(a)/2)
	placeByTime(a, b, hunk{0, len(a), 0, len(b)}, 0)
	require.Equal(t, []hunk{{len(b), len(a), len(b), len(b)}}, slices.Collect(differences(a, b)))
}

// If one side has more changed messages than the other, log times decide which of them are missing.
func TestMatchByTime(t *testing.T) {
	for name, test := range map[string]struct {
		a, b []message
		want []hunk
	}{
		"one missing": {at("abc", 0, 10, 20), at("xy", 0, 20), []hunk{{0, 1, 0, 1}, {1, 2, 1, 1}, {2, 3, 1, 2}}},
		"both missing": {at("abc", 0, 10, 20), at("xy", 5, 10),
			[]hunk{{0, 1, 0, 0}, {1, 1, 0, 1}, {1, 2, 1, 2}, {2, 3, 2, 2}}},
		"other times":    {at("abc", 0, 10, 20), at("xy", 1, 11), []hunk{{0, 1, 0, 1}, {1, 2, 1, 2}, {2, 3, 2, 2}}},
		"as many":        {at("ab", 0, 10), at("xy", 10, 20), []hunk{{0, 1, 0, 1}, {1, 2, 1, 2}}},
		"between others": {at("-ab-", 0, 1, 2, 3), at("-y-", 0, 2, 3), []hunk{{1, 2, 1, 1}, {2, 3, 1, 2}}},
	} {
		match(test.a, test.b, true)
		require.Equal(t, test.want, slices.Collect(differences(test.a, test.b)), name)
	}
}
