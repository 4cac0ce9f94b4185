//go:build !race

// The race detector would make compiling the packages for browsers slow, and these tests are skipped with -short.

package main

import (
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tapedeck/test/browser"
	"tapedeck/test/samples/generate"
)

// The pages of recordings of each format draw all their data, and react to keys.
func TestReportInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("this test drives a browser")
	}
	chromium := browser.Start(t)
	folder := t.TempDir()
	session := generate.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	take, dataset := filepath.Join(folder, "take.record"), filepath.Join(folder, "dataset")
	for _, args := range [][]string{{session, take}, {session, dataset, "--to", "lerobot", "--missing-image", "hold"}} {
		_, _, err := run(t, args...)
		require.NoError(t, err)
	}
	all := []string{"Topics", "Timeline", "Curves", "Where"}
	for path, panels := range map[string][]string{
		generate.Path(t, "apollo/example.record.00000"):           all,
		generate.Path(t, "apollo/apollo_cpp_sensors.record"):      append(all, "Pictures", "3D"),
		generate.Path(t, "bag/cruise_example.bag"):                all,
		generate.Path(t, "carla/sr2020_DistanceToLaneCenter.log"): append(all, "Metadata"),
		generate.Path(t, "mavlink/synthetic_px4_v2.tlog"):         all,
		generate.Path(t, "rosbag2/rosbags_rs/test_bag_sqlite3"):   append(all, "3D"),
		session: {"Topics", "Episodes"}, dataset: {"Topics", "Episodes"}, take: {"Topics", "Timeline", "Pictures"},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.html")
			_, _, err := run(t, "report", path, "-o", out)
			require.NoError(t, err)
			d := readPage(t, out)[0]
			p := browser.Open(t, chromium, "file://"+out, "file:")
			require.Subset(t, browser.Eval[[]string](p, `all("h2").map(e => e.innerText)`), panels)
			for _, board := range []string{".rows .body", ".overview", ".curve", ".strip", ".map", ".scene"} {
				n := browser.Eval[int](p, `all("%s canvas").length`, board)
				for i := range n {
					p.Wait(`colours(all("%s canvas")[%d]) > 1`, board, i)
				}
			}
			if path == take {
				p.Wait(`all(".views img").length === 3 && all(".views img").every(e => e.naturalWidth > 0)`)
			}
			p.Keys(kb.End)
			p.Wait(`Math.abs(at() - %v) < 1e-6`, d.Duration)
			p.Keys("+")
			p.Wait(`+$(".overview").dataset.from > 0`)
			p.Keys("0/no such topic")
			p.Wait(`column(0)[0] === "No topic matches"`)
		})
	}
}
