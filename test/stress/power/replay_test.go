package power

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/powerdisk"
)

// replay looks at one power cut again, and drops pieces of writes that are not needed for the failure.
func (h *history) replay(t *testing.T, s scenario) {
	models := append(slices.Clone(powerdisk.Models), powerdisk.Lying)
	n := slices.IndexFunc(models, func(m powerdisk.Model) bool { return m.Name == *model })
	require.GreaterOrEqual(t, n, 0, "no model is named %s", *model)
	random := h.seed(models[n])
	crashes, err := h.Log.Crashes(models[n], random)
	require.NoError(t, err)
	viewer := powerdisk.NewViewer(t, h.System)
	at := h.Log.Cut(h.Begin, random, *which)
	kept := crashes.Kept(at)
	look := func(kept []powerdisk.Piece) string {
		return h.look(t, s, viewer, crashes, at, kept, true).text()
	}
	failure := look(kept)
	t.Logf("power cut at position %d, %v; %d of %d pieces are kept: %s", at.Position, at.Time,
		len(kept), len(crashes.Open(at)), failure)
	if failure != "" {
		kept = shrink(kept, func(kept []powerdisk.Piece) bool { return look(kept) != "" })
		t.Errorf("%d kept pieces suffice: %s", len(kept), look(kept))
		for _, piece := range kept {
			q := h.Log.Requests[piece.Request]
			t.Logf("request %d, %v before the power cut: bytes %d to %d", piece.Request,
				at.Time.Sub(q.Began), q.Offset+piece.From, q.Offset+piece.To)
		}
	}
	if *show {
		require.NoError(t, viewer.Mount(crashes, at, kept))
		t.Logf("end this with Ctrl-C; the state is mounted: nsenter -m -t %d --wd=%s", os.Getpid(), viewer.Dir)
		select {}
	}
}

// shrink drops elements of a list as long as it fails, and returns the shortest list that it has found.
func shrink[T any](list []T, fails func([]T) bool) []T {
	if len(list) > 0 && fails(nil) {
		return nil
	}
	for n := len(list); n > 0; n /= 2 {
		for from := 0; from < len(list); {
			shorter := slices.Delete(slices.Clone(list), from, min(from+n, len(list)))
			if fails(shorter) {
				list = shorter
			} else {
				from += n
			}
		}
	}
	return list
}

func TestShrink(t *testing.T) {
	list := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	needs := func(wanted ...int) func([]int) bool {
		return func(list []int) bool {
			return !slices.ContainsFunc(wanted, func(n int) bool { return !slices.Contains(list, n) })
		}
	}
	require.Equal(t, []int{3, 8}, shrink(list, needs(3, 8)))
	require.Empty(t, shrink(list, needs()))
	require.Equal(t, list, shrink(list, needs(list...)))
}
