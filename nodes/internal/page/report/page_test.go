//go:build !race

// These tests are skipped with -short, and with the race detector compiling the packages for browsers would take long.

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tapedeck/test/browser"
)

const move = input.DispatchMouseEventTypeMouseMoved

// open opens the page of recordings.
func open(t *testing.T, chromium context.Context, recordings ...*Data) *browser.Tab {
	return openAfter(t, chromium, "", recordings...)
}

// openAfter opens the page after a script.
func openAfter(t *testing.T, chromium context.Context, script string, recordings ...*Data) *browser.Tab {
	var b bytes.Buffer
	require.NoError(t, Write(&b, recordings))
	path := filepath.Join(t.TempDir(), "report.html")
	text := strings.Replace(b.String(), "<body>", "<body><script>"+script+"</script>", 1)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return browser.Open(t, chromium, "file://"+path, "file:")
}

// view returns the time range that is shown, after the last changes were drawn.
func view(p *browser.Tab) [2]float64 {
	p.Helper()
	browser.Eval[any](p, `new Promise(requestAnimationFrame)`)
	return browser.Eval[[2]float64](p, `(d => [+d.from, +d.until])($(".overview").dataset)`)
}

func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("this test drives a browser")
	}
	chromium := browser.Start(t)
	for name, test := range map[string]func(*testing.T, context.Context){
		"panels": testPanels, "cursor": testCursor, "zoom": testZoom, "table": testTable, "several": testSeveral,
		"theme": testTheme, "phone": testPhone, "downloads": testDownloads, "scene": testScene,
		"boxes": testBoxes, "map": testMap,
		"curves": testCurves, "episodes": testEpisodes, "hostile": testHostile, "bare": testBare, "many": testMany,
		"print": testPrint, "help": testHelp,
	} {
		t.Run(name, func(t *testing.T) { test(t, chromium) })
	}
}

// Every canvas has something drawn, and every section its title and its table.
func testPanels(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t))
	require.Equal(t, []string{"Topics", "Timeline", "Pictures", "Curves", "Where", "3D", "Log and events", "Parameters",
		"Metadata", "Not shown"},
		browser.Eval[[]string](p, `all("h2").map(e => e.innerText).filter(s => s && s !== "Keys and mouse")`))
	require.Equal(t, "drive_2026_05_04 – tapedeck report", browser.Eval[string](p, `document.title`))
	require.Contains(t, browser.Eval[string](p, `text("#head")`), "4.81 GB in 3 files")
	n := browser.Eval[int](p, `all("canvas").length`)
	require.Greater(t, n, 12)
	for i := range n {
		p.Wait(`colours(all("canvas")[%d]) > 1`, i)
	}
	for _, panel := range []string{".rows .body", ".rows .axis", ".overview", ".curve", ".map", ".scene"} {
		p.Wait(`colours($("%s canvas")) > 8`, panel)
	}
	p.Wait(`all(".views img").length === 2 && all(".views img").every(e => e.naturalWidth === 160)`)
	p.Wait(`(show(".strip"), all(".strip img").length > 10) && all(".strip img").every(e => e.naturalWidth === 160)`)
	p.Drag(".overview canvas", 0.1, 0.5, 0.15, 0.5)
	p.Wait(`(show(".strip"), all(".strip i").length === 1 && text(".strip i") === "unreadable")`)
	require.Empty(t, browser.Eval[[]string](p,
		`all("canvas[role=img]").filter(e => !e.ariaLabel && !e.ariaHidden).map(e => e.parentNode.className)`))
	require.Empty(t, browser.Eval[[]string](p, `all("table").filter(e => !e.caption?.textContent).map(e => e.innerText)`))
	require.Equal(t, 13, browser.Eval[int](p, `all("#log tbody tr").length`))
	require.Contains(t, browser.Eval[string](p, `text("#log")`), "no frame for 400 ms\nreconnecting")
	require.Contains(t, browser.Eval[string](p, `text("#left")`), "/radar/raw")
	require.Contains(t, browser.Eval[string](p, `text("#parameters tbody tr")`), "max_speed")
	require.Contains(t, browser.Eval[string](p, `text("#parameters tbody tr")`), "12.5")
}

// The cursor follows the keys, and the mouse until it is pinned. Pictures, values, map and points follow the cursor.
func testCursor(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t))
	p.Wait(`text("#cursor b") === "0.000 s"`)
	p.Wait(`colours($(".rows .body canvas")) > 8`)
	p.Mouse(move, ".rows .body canvas", 0.9, 0.3)
	p.Wait(`at() > 90 && !document.body.matches(".pinned")`)
	require.Contains(t, browser.Eval[string](p, `text("#tip")`), "messages/s")
	p.Click(".rows .body canvas", 0.6, 0.5)
	p.Wait(`at() > 50 && at() < 70 && document.body.matches(".pinned")`)
	before := browser.Eval[float64](p, `at()`)
	p.Mouse(move, ".rows .body canvas", 0.9, 0.5)
	p.Keys(kb.Escape)
	p.Wait(`!document.body.matches(".pinned")`)
	require.InDelta(t, before, browser.Eval[float64](p, `at()`), 1e-9)
	p.Keys(kb.ArrowRight)
	p.Wait(`Math.abs(at() - %v) < 0.01`, before+length/200)
	p.Keys(kb.End)
	p.Wait(`at() === 120`)
	require.Equal(t, "2026-05-04 09:32:15.250 UTC", browser.Eval[string](p, `text("#cursor span")`))
	p.Wait(`text(".views figcaption").includes("1:58.500")`)
	p.Wait(`(show(".map"), text("#where .readout").includes("heading"))`)
	p.Wait(`text("#scene .readout") === "/lidar/top/points at 1:45.000: 3,560 of 131,072 points, 3 boxes"`)
	p.Keys(kb.Home + "nn")
	p.Wait(`at() === 30`)
	p.Keys("p")
	p.Wait(`at() === 18.2`)
	browser.Eval[any](p, `all("#log .link")[4].click()`)
	p.Wait(`at() === 47`)
	p.Mouse(move, ".rows .axis canvas", 0.171+0.829*47/length, 0.8)
	p.Wait(`text("#tip").startsWith("snapshot: 47.000 s")`)
	p.Wait(`(show(".curve"), text(".keys output").includes("…"))`)
}

func testZoom(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t))
	whole := [2]float64{0, length}
	require.Equal(t, whole, view(p))
	p.Wait(`colours($(".rows .body canvas")) > 8`)
	before := browser.Eval[string](p, `picture(".rows .body")`)
	p.Wheel(".rows .body canvas", -400, chromedp.ButtonModifiers(chromedp.ModifierCtrl))
	p.Wait(`$(".overview").dataset.from > 1`)
	v := view(p)
	require.InDelta(t, length*math.Exp(-0.8), v[1]-v[0], 0.1)
	p.Wait(`picture(".rows .body") !== %q`, before)
	p.Drag(".curve canvas", 0.5, 0.5, 0.3, 0.5)
	p.Wait(`+$(".overview").dataset.from > %v`, v[0]+5)
	p.Keys("0")
	p.Wait(`+$(".overview").dataset.until === 120`)
	p.Drag(".overview canvas", 0.25, 0.5, 0.5, 0.5)
	p.Wait(`Math.abs($(".overview").dataset.from - 30) < 0.5`)
	require.InDelta(t, 60, view(p)[1], 0.5)
	p.Wait(`(show(".strip"), all(".strip img").length > 5)`)
	p.Keys("0" + kb.End + "++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++")
	v = view(p)
	require.InDelta(t, length*1e-6, v[1]-v[0], 1e-6)
	require.LessOrEqual(t, v[1], length)
	p.Keys("0")
	browser.Eval[any](p, `addEventListener("wheel", e => { wheel = [e.deltaY, e.defaultPrevented]; })`)
	p.Wheel(".rows .body canvas", 200)
	p.Wait(`"wheel" in window`)
	require.Equal(t, []any{200., false}, browser.Eval[[]any](p, `wheel`), "a wheel alone scrolls the page")
	require.Equal(t, whole, view(p))
}

func testTable(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t))
	require.Equal(t, "/camera/front/image/compressed", browser.Eval[string](p, `column(0)[0]`))
	sort := func(n int) { browser.Eval[any](p, `all("#topics thead button")[%d].click()`, n) }
	sorted := func(n int) string { return browser.Eval[string](p, `all("#topics thead th")[%d].ariaSort`, n) }
	sort(3)
	require.Equal(t, "descending", sorted(3))
	require.Equal(t, []string{"/lidar/top/points", "/camera/front/image/compressed"},
		browser.Eval[[]string](p, `column(0).slice(0, 2)`))
	browser.Eval[any](p, `all("#topics thead button")[0].focus()`)
	p.Keys(kb.Enter)
	require.Equal(t, "ascending", sorted(0))
	require.Equal(t, "/battery_state", browser.Eval[string](p, `column(0)[0]`))
	p.Keys(kb.Enter)
	require.Equal(t, "/tf_static", browser.Eval[string](p, `column(0)[0]`))
	sort(9)
	require.Equal(t, "–", browser.Eval[string](p, `column(9).at(-1)`), "what is unknown is last")
	sort(9)
	require.Equal(t, []string{"400 µs", "–"}, browser.Eval[[]string](p, `[column(9)[0], column(9).at(-1)]`))
	browser.Eval[any](p, `document.activeElement.blur()`)
	p.Keys("/camera COMPRESSED")
	p.Wait(`all("#topics tbody tr").length === 2`)
	require.Equal(t, "2 of 15", browser.Eval[string](p, `text("#topics [role=status]")`))
	require.Less(t, browser.Eval[int](p, `$(".rows .body").clientHeight`), 60,
		"the time line shows the same topics")
	p.Keys("no such")
	p.Wait(`column(0)[0] === "No topic matches"`)

	p.Keys(kb.Tab)
	browser.Eval[any](p, `choose("#log select", [...$("#log select").options].findIndex(o => o.text === "error (2)"))`)
	require.Equal(t, []string{"31.000 s", "1:01.400"}, browser.Eval[[]string](p, `all("#log .link").map(e => e.innerText)`))
}

func testSeveral(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t), armSession(t), &Data{Name: "third"})
	choose := func(i int) {
		browser.Eval[any](p, `choose(".bar select", %d)`, i)
	}
	require.Equal(t, []string{"! drive_2026_05_04", "✓ fold_towel", "! third"},
		browser.Eval[[]string](p, `all(".bar option").map(e => e.innerText)`))
	choose(1)
	require.Equal(t, "fold_towel", browser.Eval[string](p, `text("h1")`))
	require.Equal(t, [2]float64{0, 90}, view(p))
	choose(2)
	require.Equal(t, "third", browser.Eval[string](p, `text("h1")`))
	choose(0)
	p.Wait(`colours($(".rows .body canvas")) > 8`)
}

// The page is as dark as the reader's system, until the reader chooses otherwise.
func testTheme(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t))
	prefer := func(scheme string) {
		browser.Call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	}
	p.Wait(`colours($(".rows .body canvas")) > 8`)
	before := browser.Eval[string](p, `picture(".rows .body")`)
	const background = `getComputedStyle(document.body).backgroundColor`
	require.Equal(t, "rgb(255, 255, 255)", browser.Eval[string](p, background))
	prefer("dark")
	p.Wait(background + ` === "rgb(17, 21, 26)"`)
	p.Wait(`picture(".rows .body") !== %q`, before)
	browser.Eval[any](p, `$("[aria-label='Light or dark']").click()`)
	p.Wait(background + ` === "rgb(255, 255, 255)"`)
}

// Nothing is wider than a phone; wide tables scroll by themselves.
func testPhone(t *testing.T, chromium context.Context) {
	for i, data := range []*Data{richDrive(t), armSession(t), hostileData(t)} {
		p := open(t, chromium, data)
		for _, width := range []int64{360, 700, 1100} {
			p.Size(width, 740)
			p.Wait(`innerWidth === %d && drawn()`, width)
			require.LessOrEqual(t, browser.Eval[int64](p, `document.documentElement.scrollWidth`), width, "%s: %s", data.Name,
				browser.Eval[string](p, `all("*").filter(e => !e.closest(".sheet") &&
					e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 200)).join("\n")`))
			if width == 360 && i == 0 {
				require.True(t, browser.Eval[bool](p, `all("#log .sheet, #parameters .sheet")
					.every(e => e.scrollWidth <= e.clientWidth)`), "rows of %s wrap", data.Name)
			}
		}
	}
}

func testDownloads(t *testing.T, chromium context.Context) {
	d := richDrive(t)
	d.Name = "a<b>&\u202e\x01/.."
	p := open(t, chromium, d)
	// Files that a click would store are caught where the page makes them.
	browser.Eval[any](p, `(() => {
		saved = [];
		const make = URL.createObjectURL;
		URL.createObjectURL = blob => { blob.text().then(text => saved.push([text, blob.type])); return make(blob); };
		HTMLAnchorElement.prototype.click = function() { saved.push([this.download, new URL(this.href).protocol]); };
	})()`)
	file := func(n int) (name, text string) {
		browser.Eval[any](p, `all("#where .buttons button").find(b => b.innerText === %q).click()`,
			[]string{"GeoJSON", "KML"}[n])
		p.Wait(`saved.length === 2`)
		pair := browser.Eval[[][2]string](p, `saved.splice(0).sort((a, b) => a[0].length - b[0].length)`)
		require.Equal(t, "blob:", pair[0][1])
		return pair[0][0], pair[1][0]
	}
	name, text := file(0)
	require.Equal(t, "a_b_u_202e_u_1_...geojson", name)
	var geo struct {
		Features []struct {
			Properties struct{ Topic string }
			Geometry   struct {
				Type        string
				Coordinates [][][3]float64
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &geo))
	require.Len(t, geo.Features, 2)
	require.Equal(t, "/odom", geo.Features[0].Properties.Topic)
	line := geo.Features[0].Geometry.Coordinates[0]
	require.Len(t, line, 1200)
	last := d.Tracks[0].Points[1199]
	const degree = 6371008.8 * math.Pi / 180 // as in tracks.go
	require.InDelta(t, 48.1351+float64(last[2])/degree, line[1199][1], 1e-8)
	require.InDelta(t, 11.5820+float64(last[1])/(degree*math.Cos(48.1351*math.Pi/180)), line[1199][0], 1e-8)
	require.InDelta(t, 519, line[1199][2], 1e-9)

	name, text = file(1)
	require.Equal(t, "a_b_u_202e_u_1_...kml", name)
	var kml struct {
		Document struct {
			Name      string `xml:"name"`
			Placemark []struct {
				Name        string   `xml:"name"`
				Coordinates []string `xml:"MultiGeometry>LineString>coordinates"`
			}
		}
	}
	require.NoError(t, xml.Unmarshal([]byte(text), &kml))
	require.Equal(t, `a<b>&\u{202e}\u{1}/..`, kml.Document.Name)
	require.Len(t, strings.Fields(kml.Document.Placemark[1].Coordinates[0]), 240)
}

// Points are drawn by WebGL. Without WebGL they look the same on a plain canvas.
func testScene(t *testing.T, chromium context.Context) {
	const points = `(c => {
		const data = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 0; i < data.length; i += 4)
			if (Math.max(...data.subarray(i, i + 3)) - Math.min(...data.subarray(i, i + 3)) > 60) n += data[i + 3] / 255;
		return n;
	})($(".scene canvas"))`
	pixels := map[string]float64{}
	for by, script := range map[string]string{
		"webgl": "",
		"canvas": `const get = HTMLCanvasElement.prototype.getContext;
			HTMLCanvasElement.prototype.getContext = function(kind, ...rest) {
				return kind.includes("webgl") ? null : get.call(this, kind, ...rest);
			};`,
	} {
		p := openAfter(t, chromium, script, richDrive(t))
		p.Wait(`colours($(".scene canvas")) > 20`)
		require.Equal(t, by, browser.Eval[string](p, `$(".scene").dataset.by`))
		pixels[by] = browser.Eval[float64](p, points)
		changed := func(what string, act func()) {
			t.Helper()
			before := browser.Eval[string](p, `picture(".scene")`)
			act()
			p.Wait(`picture(".scene") !== %q`, before)
		}
		changed("drag", func() { p.Drag(".scene canvas", 0.5, 0.5, 0.7, 0.6) })
		changed("key", func() { p.Keys(kb.ArrowUp) })
		require.Zero(t, browser.Eval[float64](p, `at()`), "the keys are the board's")
		changed("zoom", func() { p.Keys("+") })
		changed("wheel", func() { p.Wheel(".scene canvas", 300) })
		changed("pan", func() { p.Do(chromedp.KeyEvent(kb.ArrowLeft, chromedp.KeyModifiers(chromedp.ModifierShift))) })
		changed("intensity", func() { browser.Eval[any](p, `choose("#scene select", 1)`) })
		require.Contains(t, browser.Eval[string](p, `text("#scene .legend")`), "255 intensity")
		changed("next", func() { browser.Eval[any](p, `$("[aria-label='Next points']").click()`) })
		require.InDelta(t, 25, browser.Eval[float64](p, `at()`), 1e-9)
	}
	t.Log("pixels of points:", pixels)
	require.Greater(t, pixels["canvas"], 2000.)
	require.InEpsilon(t, pixels["canvas"], pixels["webgl"], 0.2)
}

// Boxes of another topic are drawn beside points of the same frame.
func testBoxes(t *testing.T, chromium context.Context) {
	d := richDrive(t)
	points, boxes := d.Clouds[0], d.Clouds[0]
	points.Frame, points.Boxes = "map", nil
	boxes.Frame, boxes.Topic, boxes.XYZ, boxes.Shade = "map", "/objects", nil, nil
	far := boxes
	far.Frame, far.Topic = "odom", "/elsewhere"
	d.Clouds = []Cloud{points, far, boxes}
	p := open(t, chromium, d)
	p.Wait(`(show(".scene"), text("#scene .readout").endsWith(" points, 3 boxes"))`)
	d.Clouds = []Cloud{points, far}
	p = open(t, chromium, d)
	p.Wait(`(show(".scene"), text("#scene .readout").endsWith(" points"))`)
	// Without points, boxes are seen from their middle.
	boxes.Boxes = [][7]int{{58_700_000, 414_000_000, 0, 450, 180, 150, 0},
		{58_701_000, 414_001_000, 0, 450, 180, 150, 0}}
	boxes.Points, boxes.Scale = 2, unit
	d.Clouds = []Cloud{boxes}
	p = open(t, chromium, d)
	p.Wait(`(show(".scene"), text("#scene .readout").endsWith(": 2 boxes, around x 587,000, y 4,140,000 m"))`)
	p.Wait(`colours($(".scene canvas")) > 8`)
}

func testMap(t *testing.T, chromium context.Context) {
	d := richDrive(t)
	d.Tracks = append(d.Tracks, Track{Topic: "/tf", Name: "base_link", Frame: "other", Points: [][4]Number{
		{0, 0, 0, 0}, {1, Number(math.NaN()), Number(math.NaN()), 0}, {2, 5, 5, 0}, {3, 5, 5, 0}},
		Speed: Numbers{0, float32(math.NaN()), 1, 0}})
	p := open(t, chromium, d)
	p.Wait(`colours($(".map canvas")) > 20`)
	before := browser.Eval[string](p, `picture(".map")`)
	p.Drag(".map canvas", 0.5, 0.5, 0.6, 0.6)
	p.Wait(`picture(".map") !== %q`, before)
	choose := func(label string, i int) {
		browser.Eval[any](p, `choose("[aria-label='%s']", %d)`, label, i)
	}
	choose("Colours of the tracks", 1)
	require.Contains(t, browser.Eval[string](p, `text("#where .legend")`), "m/s")
	choose("Frame of the map", 1)
	require.Zero(t, browser.Eval[int](p, `all("#where .buttons button").filter(b => b.innerText === "KML").length`),
		"its origin is unknown")
	p.Keys(kb.ArrowRight)
	p.Wait(`(show(".map"), text("#where .readout").startsWith("/tf base_link"))`)
}

func testCurves(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t))
	require.Equal(t, 5, browser.Eval[int](p, `all("#curves .curve").length`))
	p.Wait(`colours($(".curve canvas")) > 8`)
	before := browser.Eval[string](p, `picture(".curve")`)
	require.Equal(t, []string{"x", "y", "z"},
		browser.Eval[[]string](p, `[...$(".keys").querySelectorAll("span")].map(e => e.innerText)`))
	require.Contains(t, browser.Eval[string](p, `text("#curves .side")`),
		"linear_acceleration, in m/s²")
	browser.Eval[any](p, `$(".keys button").click()`)
	require.Equal(t, "false", browser.Eval[string](p, `$(".keys button").ariaPressed`))
	p.Wait(`picture(".curve") !== %q`, before)
	browser.Eval[any](p, `$("#curves summary").click()`)
	p.Wait(`text("#curves details").includes("All numeric fields (55, 15 drawn)")`)
	require.Equal(t, 55, browser.Eval[int](p, `all("#curves tbody tr").length`))
}

func testEpisodes(t *testing.T, chromium context.Context) {
	p := open(t, chromium, armSession(t))
	require.Equal(t, []string{"Episodes"},
		browser.Eval[[]string](p, `all("h2").map(e => e.innerText).filter(s => s && s !== "Keys and mouse")`))
	n := browser.Eval[int](p, `all("canvas").length`)
	for i := range 4 {
		browser.Eval[any](p, `all("#episodes .link")[%d].click()`, i%3)
		require.Equal(t, fmt.Sprintf("episode_%d", i%3), browser.Eval[string](p, `text(".episode h3")`))
		p.Wait(`colours($(".episode .curve canvas")) > 8`)
		p.Wait(`all(".episode .views img").length === 2 && all(".episode .views img").every(e => e.naturalWidth > 0)`)
	}
	require.Equal(t, n, browser.Eval[int](p, `all("canvas").length`))
	browser.Eval[any](p, `all("#episodes .link")[1].click()`)
	text := browser.Eval[string](p, `text(".episode")`)
	require.Contains(t, text, "50 of 750 rows lack the wrist camera")
	require.Contains(t, text, "makes no row")
	p.Wait(`at() === 30`)
}

// hostileData is a recording whose texts and numbers are meant to upset a page.
func hostileData(t *testing.T) *Data {
	bad := "<img src=x onerror=alert(1)></script><script>alert(2)</script>\u202eevil\u0000\x1b[31m\u2028" +
		strings.Repeat("Ω̷̧̨̛", 30)
	long := strings.Repeat("/very_long_name", 4500)
	nan, most := math.NaN(), math.MaxFloat64
	d := &Data{
		Name: bad, Format: bad, Size: -1, Files: -3, Start: start, Duration: 1e12, Verdict: []string{bad, long},
		Metadata: map[string]string{bad: long, "__proto__": bad},
		Topics: []Topic{
			{Name: bad, Type: long, QoS: bad, Messages: math.MaxUint64, Bytes: math.MaxUint64, Rate: most, Gap: most,
				Dropped: math.MaxUint64,
				Latency: &[2]float64{-most, most}, Density: []float32{math.MaxFloat32, -1, 0},
				Gaps: [][2]float64{{-1e300, 1e300}, {5, 1}}},
			{Name: long, Density: make([]float32, 10*Bins)}, {Name: "__proto__", Density: []float32{1}}, {},
		},
		Events: []Event{{Kind: bad, Topic: long, From: -most, Until: most, Text: long}, {Kind: "constructor"},
			{Kind: "drop", Topic: bad, From: 1e300, Count: math.MaxUint64}},
		Cameras: []Camera{{Topic: bad, Width: -1, Height: 1 << 40, Kind: long,
			Thumbs: []Thumb{{JPEG: []byte("no picture")}, {At: -1e300}, {At: 5}}}, {}},
		Signals: []Signal{{Topic: bad, Path: long, Group: bad, Unit: long, Low: Numbers{float32(nan), math.MaxFloat32},
			High: Numbers{-math.MaxFloat32}}, {},
			{Topic: "x", Low: Numbers{-math.MaxFloat32, math.MaxFloat32},
				High: Numbers{-math.MaxFloat32, math.MaxFloat32}}},
		Fields: []Field{{Topic: bad, Path: long}, {}},
		Tracks: []Track{{Topic: bad, Name: long, Frame: bad, Origin: &[2]float64{1e300, -1e300},
			Points: [][4]Number{{0, 1e300, -1e300, 0}, {1, 0, 0, 0}}}, {},
			{Frame: "one point", Points: [][4]Number{{0, 3, 4, 5}}}},
		Clouds: []Cloud{{Topic: bad, Scale: 1e300, XYZ: []byte{1, 2, 3, 4, 5, 6, 7}, Shade: []byte{1},
			Boxes: [][7]int{{math.MaxInt, 0, 0, math.MaxInt}}}, {Topic: long, At: 1e300}, {}},
		LogLines:   []LogLine{{At: -1e300, Level: bad, From: bad, Text: bad}, {At: 1e300, Text: long}},
		Parameters: []Parameter{{bad, long, bad, -1, 1e300}, {}},
		Omitted:    []string{bad, long},
		Episodes: []Episode{{Name: bad, Task: long, From: 5, Until: -5, Verdict: []string{bad},
			Dropped: [][2]float64{{1, 0}}, Panels: []Panel{{Name: bad, Unit: bad,
				Columns: []Column{{Name: long, Low: Numbers{1}}}}}}, {}},
	}
	return d
}

func testHostile(t *testing.T, chromium context.Context) {
	p := open(t, chromium, hostileData(t))
	n := browser.Eval[int](p, `all("canvas").length`)
	for i := range n {
		browser.Eval[any](p, `all("canvas")[%d]?.scrollIntoView()`, i)
	}
	p.Wait(`(scrollTo(0, 0), drawn())`)
	require.Zero(t, browser.Eval[int](p, `all("img[src=x], main script").length`))
	text := browser.Eval[string](p, `document.body.innerText`)
	require.Contains(t, text,
		`<img src=x onerror=alert(1)></script><script>alert(2)</script>\u{202e}evil\u{0}\u{1b}[31m\u{2028}`)
	require.NotContains(t, text, "\u202e")
	require.Less(t, len(text), 200_000)
	p.Keys("nnpp+-0" + kb.End + kb.Home + kb.ArrowLeft + "t")
	p.Mouse(move, ".rows .body canvas", 0.6, 0.2)
	p.Mouse(move, ".rows .axis canvas", 0.22, 0.8)
	for i := range 4 {
		browser.Eval[any](p, `all("select").filter(e => e.options[%d]).forEach(e => {
			e.value = %d;
			e.dispatchEvent(new Event("change"));
		})`, i, i)
		browser.Eval[any](p, `all("#topics thead button, #log thead button").forEach(e => e.click())`)
	}
	browser.Eval[any](p, `all("#episodes .link").forEach(e => e.click())`)
	p.Wait(`drawn()`)
}

// Recordings with little or no data can be shown.
func testBare(t *testing.T, chromium context.Context) {
	one := &Data{Name: "one", Start: start, Messages: 1, Good: true, Verdict: []string{"all is well"},
		Topics: []Topic{{Name: "/a", Type: "std_msgs/msg/String", Messages: 1, Bytes: 8,
			Density: append([]float32{1}, make([]float32, Bins-1)...)}},
		Cameras:  []Camera{{Topic: "/c"}},
		Signals:  []Signal{{Topic: "/a", Path: "data", Low: Numbers{1}, High: Numbers{1}}},
		Tracks:   []Track{{Topic: "/t", Points: [][4]Number{{0, 1, 2, 3}}, Speed: Numbers{0}}},
		Clouds:   []Cloud{{Topic: "/p", Scale: 1, XYZ: make([]byte, 6)}},
		Episodes: []Episode{{Name: "e"}}}
	p := open(t, chromium, &Data{}, one)
	require.Equal(t, "Recording", browser.Eval[string](p, `text("h1")`))
	require.Contains(t, browser.Eval[string](p, `text("#topics")`), "No topics")
	p.Keys("n+-0" + kb.End + kb.ArrowRight)
	browser.Eval[any](p, `choose(".bar select", 1)`)
	p.Wait(`colours($(".rows .body canvas")) > 2`)
	p.Keys("n+-0" + kb.End + kb.ArrowRight)
	p.Wait(`(show(".map"), drawn())`)
	require.Zero(t, browser.Eval[float64](p, `at()`))

	p = open(t, chromium)
	require.Equal(t, "This page has no recordings.", browser.Eval[string](p, `text("main")`))
}

// A timeline of many topics draws only the visible rows.
func testMany(t *testing.T, chromium context.Context) {
	d := richDrive(t)
	for i := range 500 {
		topic := d.Topics[i%15]
		topic.Name = fmt.Sprintf("/namespace_%d%s", i, topic.Name)
		d.Topics = append(d.Topics, topic)
	}
	p := open(t, chromium, d)
	p.Wait(`colours($(".rows .body canvas")) > 8`)
	require.Less(t, browser.Eval[int](p, `$(".rows .body canvas").height`), 700)
	require.Equal(t, 300, browser.Eval[int](p, `all("#topics tbody tr").length`))
	browser.Eval[any](p, `all("#topics button").at(-1).click()`)
	require.Equal(t, 515, browser.Eval[int](p, `all("#topics tbody tr").length`))
	before := browser.Eval[string](p, `picture(".rows .body")`)
	browser.Eval[any](p, `$(".rows").scrollTop = 1e6`)
	p.Wait(`picture(".rows .body") !== %q`, before)
	p.Mouse(move, ".rows .body canvas", 0.05, 0.99)
	p.Wait(`text("#tip").startsWith("/namespace_499")`)
	const redraws = `(b => {
		const t = performance.now();
		for (let i = 0; i < 20; i++) b.paint();
		return (performance.now() - t) / 20;
	})`
	t.Logf("a time line of 515 topics is drawn in %.1f ms",
		browser.Eval[float64](p, redraws+`($(".rows .body").board)`))
}

// A print is light and has all rows, whatever is on the screen.
func testPrint(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t))
	p.Keys("t")
	browser.Eval[any](p, `addEventListener("beforeprint", () => {
		printed = [document.documentElement.dataset.theme, all("canvas").filter(c => !c.width).length];
	})`)
	pdf := browser.Call(p, cdppage.PrintToPDF, cdppage.PrintToPDFParams{})
	require.Greater(t, len(pdf.Data), 50_000)
	require.Equal(t, []any{"light", 0.}, browser.Eval[[]any](p, `printed`))
	require.Equal(t, "dark", browser.Eval[string](p, `document.documentElement.dataset.theme`))
}

// Everything can be reached by the keyboard, and ? explains how.
func testHelp(t *testing.T, chromium context.Context) {
	p := open(t, chromium, richDrive(t))
	p.Keys("?")
	p.Wait(`$("dialog").open`)
	p.Keys(kb.Escape)
	p.Wait(`!$("dialog").open`)
	var reached []string
	for range 200 {
		p.Keys(kb.Tab)
		if len(reached) > 0 && browser.Eval[bool](p,
			`[document.body, $(".bar button")].includes(document.activeElement)`) {
			break
		}
		name := browser.Eval[string](p, `(e => e.closest(".board")?.className || e.ariaLabel || e.innerText || e.tagName)(
			document.activeElement)`)
		reached = append(reached, name)
	}
	for _, name := range []string{"Zoom in", "board overview", "Search topics and types", "board body",
		"board map free",
		"board scene free", "Download the tracks as GeoJSON", "31.000 s"} {
		require.Contains(t, reached, name)
	}
}

func TestPagePolicy(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, nil))
	require.Contains(t, b.String(), "default-src 'none'")
	require.Contains(t, b.String(), "base-uri 'none'; form-action 'none'")
}
