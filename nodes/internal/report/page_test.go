package report

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

const (
	patience = 60 * time.Second
	move     = input.DispatchMouseEventTypeMouseMoved
)

// startBrowser returns the context of a browser without a window, which ends with the test.
func startBrowser(t *testing.T) context.Context {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		home := t.TempDir() // where the browser may leave files
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
			chromedp.DisableGPU, chromedp.Env("HOME="+home, "TMPDIR="+home), chromedp.Flag("disable-quic", true),
			chromedp.Flag("disable-component-update", true))
		allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
		t.Cleanup(cancel) // waits until the process has ended
		ctx, end := chromedp.NewContext(allocator)
		t.Cleanup(end)
		require.NoError(t, chromedp.Do(ctx))
		return ctx
	}
	t.Skip("Chromium is not installed (Debian: chromium); the page of a report is not tested")
	return nil
}

// tab is a page in the browser.
type tab struct {
	*testing.T
	ctx      context.Context
	mu       sync.Mutex
	problems []string // errors and warnings in the console, and requests to a network
}

// open opens the page of recordings. When the test ends nothing may have been said in the console.
func open(t *testing.T, parent context.Context, recordings ...*Data) *tab {
	var b bytes.Buffer
	require.NoError(t, Write(&b, recordings))
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
	ctx, cancel := chromedp.NewContext(parent)
	p := &tab{T: t, ctx: ctx}
	require.NoError(t, chromedp.Do(ctx))
	var stop context.CancelFunc
	p.ctx, stop = context.WithTimeout(ctx, 2*patience)
	t.Cleanup(func() {
		stop()
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Empty(t, p.problems)
	})
	require.NoError(t, chromedp.Listen(ctx, p.listen))
	call(p, network.Enable, network.EnableParams{})
	call(p, cdplog.Enable, cdp.Empty{})
	p.size(1280, 900)
	p.do(chromedp.Navigate("file://" + path))
	eval[any](p, helpers)
	return p
}

func (p *tab) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *cdpruntime.EventExceptionThrown:
		problem = fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
	case *cdpruntime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s", e.Type)
	case *cdplog.EventEntryAdded:
		problem = e.Entry.Text
	case *network.EventRequestWillBeSent:
		if scheme, _, _ := strings.Cut(e.Request.URL, ":"); scheme != "file" && scheme != "data" && scheme != "blob" {
			problem = "request of " + e.Request.URL
		}
	}
	if problem != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, problem)
	}
}

func call[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.Helper()
	result, err := chromedp.Call(p.ctx, command, params)
	require.NoError(p, err)
	return result
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	require.NoError(p, chromedp.Do(p.ctx, steps...))
}

func (p *tab) size(width, height int64) {
	p.Helper()
	call(p, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

// eval returns the value of an expression.
func eval[T any](p *tab, expression string, args ...any) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](fmt.Sprintf(expression, args...)))
	require.NoError(p, err, expression)
	return v
}

// wait waits until an expression is true.
func (p *tab) wait(expression string, args ...any) {
	p.Helper()
	for deadline := time.Now().Add(patience); !eval[bool](p, expression, args...); time.Sleep(20 * time.Millisecond) {
		require.True(p, time.Now().Before(deadline), "%s %v", expression, args)
	}
}

// mouse does something with the mouse at a part of the width and height of an element.
func (p *tab) mouse(kind input.DispatchMouseEventType, selector string, x, y float64, options ...chromedp.MouseOption) {
	p.Helper()
	p.wait(`(b => (b.scrollIntoView({block: "center"}), !b.board.stale))($(%q).closest(".board"))`,
		selector)
	at := eval[[]float64](p, `(e => { e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect();
		return [r.left + r.width * %v, r.top + r.height * %v]; })($(%q))`, x, y, selector)
	p.do(chromedp.MouseEvent(kind, at[0], at[1], options...))
}

func (p *tab) click(selector string, x, y float64) {
	p.Helper()
	p.mouse(input.DispatchMouseEventTypeMouseMoved, selector, x, y)
	p.mouse(input.DispatchMouseEventTypeMousePressed, selector, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	p.mouse(input.DispatchMouseEventTypeMouseReleased, selector, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

func (p *tab) drag(selector string, fromX, fromY, toX, toY float64) {
	p.Helper()
	p.mouse(input.DispatchMouseEventTypeMousePressed, selector, fromX, fromY,
		chromedp.ButtonLeft, chromedp.ClickCount(1))
	p.mouse(input.DispatchMouseEventTypeMouseMoved, selector, toX, toY, chromedp.ButtonLeft)
	p.mouse(input.DispatchMouseEventTypeMouseReleased, selector, toX, toY, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

// wheel turns the wheel in the middle of an element.
func (p *tab) wheel(selector string, down float64, options ...chromedp.MouseOption) {
	p.Helper()
	p.mouse(input.DispatchMouseEventTypeMouseWheel, selector, 0.6, 0.5,
		append(options, func(e *input.DispatchMouseEventParams) { e.DeltaX, e.DeltaY = 1e-9, down })...)
}

func (p *tab) keys(keys string) { p.Helper(); p.do(chromedp.KeyEvent(keys)) }

// view returns what part of the time is shown.
func (p *tab) view() [2]float64 {
	p.Helper()
	return eval[[2]float64](p, `(d => [+d.from, +d.until])($(".overview").dataset)`)
}

// helpers are functions for the expressions of tests.
const helpers = `
$ = selector => document.querySelector(selector);
at = () => +$("#cursor").dataset.at;
all = selector => [...document.querySelectorAll(selector)];
// colours returns how many colours a canvas has, after it was seen.
colours = canvas => {
	canvas.scrollIntoView({block: "center"});
	if (!canvas.width || !canvas.height || canvas.closest(".board").board.stale) return 0;
	const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
	copy.drawImage(canvas, 0, 0);
	return new Set(new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
};
picture = selector => $(selector + " canvas").toDataURL();
text = selector => $(selector).innerText;
show = selector => $(selector).scrollIntoView({block: "center"});
choose = (selector, value) => { $(selector).value = value; $(selector).dispatchEvent(new Event("change")); };
drawn = () => all(".board").every(b => !b.board.visible || !b.board.stale);
column = n => all("#topics tbody tr").map(r => r.children[n].innerText);
null`

func TestPage(t *testing.T) {
	browser := startBrowser(t)
	for name, test := range map[string]func(*testing.T, context.Context){
		"panels": testPanels, "cursor": testCursor, "zoom": testZoom, "table": testTable, "several": testSeveral,
		"theme": testTheme, "phone": testPhone, "downloads": testDownloads, "scene": testScene, "map": testMap,
		"curves": testCurves, "episodes": testEpisodes, "hostile": testHostile, "bare": testBare, "many": testMany,
		"print": testPrint, "help": testHelp,
	} {
		t.Run(name, func(t *testing.T) { test(t, browser) })
	}
}

// Every canvas has something drawn, and every section its title and its table.
func testPanels(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	require.Equal(t, []string{"Topics", "Timeline", "Pictures", "Curves", "Where", "3D", "Log and events", "Metadata",
		"Not shown"},
		eval[[]string](p, `all("h2").map(e => e.innerText).filter(s => s && s !== "Keys and mouse")`))
	require.Equal(t, "drive_2026_05_04 – tapedeck report", eval[string](p, `document.title`))
	require.Contains(t, eval[string](p, `text("#head")`), "4.81 GB in 3 files")
	n := eval[int](p, `all("canvas").length`)
	require.Greater(t, n, 15)
	for i := range n {
		p.wait(`colours(all("canvas")[%d]) > 1`, i)
	}
	for _, panel := range []string{".rows .body", ".rows .axis", ".overview", ".curve", ".map", ".scene"} {
		p.wait(`colours($("%s canvas")) > 8`, panel)
	}
	p.wait(`all(".views img").length === 2 && all(".views img").every(e => e.naturalWidth === 160)`)
	p.wait(`(show(".strip"), all(".strip img").length > 10) && all(".strip img").every(e => e.naturalWidth === 160)`)
	p.drag(".overview canvas", 0.1, 0.5, 0.15, 0.5)
	p.wait(`(show(".strip"), all(".strip i").length === 1 && text(".strip i") === "unreadable")`)
	require.Empty(t, eval[[]string](p,
		`all("canvas[role=img]").filter(e => !e.ariaLabel && !e.ariaHidden).map(e => e.parentNode.className)`))
	require.Empty(t, eval[[]string](p, `all("table").filter(e => !e.caption?.textContent).map(e => e.innerText)`))
	require.Equal(t, 13, eval[int](p, `all("#log tbody tr").length`))
	require.Contains(t, eval[string](p, `text("#log")`), "no frame for 400 ms\nreconnecting")
	require.Contains(t, eval[string](p, `text("#left")`), "/radar/raw")
}

// The cursor follows the mouse until it is pinned, and the keys; pictures, values, map and points follow the cursor.
func testCursor(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	p.wait(`text("#cursor b") === "0.000 s"`)
	p.wait(`colours($(".rows .body canvas")) > 8`)
	p.mouse(move, ".rows .body canvas", 0.9, 0.3)
	p.wait(`at() > 90 && !document.body.matches(".pinned")`)
	require.Contains(t, eval[string](p, `text("#tip")`), "messages/s")
	p.click(".rows .body canvas", 0.6, 0.5)
	p.wait(`at() > 50 && at() < 70 && document.body.matches(".pinned")`)
	before := eval[float64](p, `at()`)
	p.mouse(move, ".rows .body canvas", 0.9, 0.5)
	p.keys(kb.Escape)
	p.wait(`!document.body.matches(".pinned")`)
	require.InDelta(t, before, eval[float64](p, `at()`), 1e-9)
	p.keys(kb.ArrowRight)
	p.wait(`Math.abs(at() - %v) < 0.01`, before+length/200)
	p.keys(kb.End)
	p.wait(`at() === 120`)
	require.Equal(t, "2026-05-04 09:32:15.250 UTC", eval[string](p, `text("#cursor span")`))
	p.wait(`text(".views figcaption").includes("1:58.500")`)
	p.wait(`(show(".map"), text("#where .readout").includes("heading"))`)
	p.wait(`text("#scene .readout") === "/lidar/top/points at 1:45.000: 3,560 of 131,072 points, 3 boxes"`)
	p.keys(kb.Home + "nn")
	p.wait(`at() === 30`)
	p.keys("p")
	p.wait(`at() === 18.2`)
	eval[any](p, `all("#log .link")[4].click()`)
	p.wait(`at() === 47`)
	p.mouse(move, ".rows .axis canvas", 0.171+0.829*47/length, 0.8)
	p.wait(`text("#tip").startsWith("snapshot: 47.000 s")`)
	p.wait(`(show(".curve"), text(".keys output").includes("…"))`)
}

func testZoom(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	whole := [2]float64{0, length}
	require.Equal(t, whole, p.view())
	p.wait(`colours($(".rows .body canvas")) > 8`)
	before := eval[string](p, `picture(".rows .body")`)
	p.wheel(".rows .body canvas", -400, chromedp.ButtonModifiers(chromedp.ModifierCtrl))
	p.wait(`$(".overview").dataset.from > 1`)
	v := p.view()
	require.InDelta(t, length*math.Exp(-0.8), v[1]-v[0], 0.1)
	p.wait(`picture(".rows .body") !== %q`, before)
	p.drag(".curve canvas", 0.5, 0.5, 0.3, 0.5)
	p.wait(`+$(".overview").dataset.from > %v`, v[0]+5)
	p.keys("0")
	p.wait(`+$(".overview").dataset.until === 120`)
	p.drag(".overview canvas", 0.25, 0.5, 0.5, 0.5)
	p.wait(`Math.abs($(".overview").dataset.from - 30) < 0.5`)
	require.InDelta(t, 60, p.view()[1], 0.5)
	p.wait(`(show(".strip"), all(".strip img").length > 5)`)
	p.keys("0" + kb.End + "++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++")
	v = p.view()
	require.InDelta(t, length*1e-6, v[1]-v[0], 1e-6)
	require.LessOrEqual(t, v[1], length)
	p.keys("0")
	eval[any](p, `addEventListener("wheel", e => { wheel = [e.deltaY, e.defaultPrevented]; })`)
	p.wheel(".rows .body canvas", 200)
	p.wait(`"wheel" in window`)
	require.Equal(t, []any{200., false}, eval[[]any](p, `wheel`), "a wheel alone scrolls the page")
	require.Equal(t, whole, p.view())
}

func testTable(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	require.Equal(t, "/camera/front/image/compressed", eval[string](p, `column(0)[0]`))
	sort := func(n int) { eval[any](p, `all("#topics thead button")[%d].click()`, n) }
	sorted := func(n int) string { return eval[string](p, `all("#topics thead th")[%d].ariaSort`, n) }
	sort(3)
	require.Equal(t, "descending", sorted(3))
	require.Equal(t, []string{"/lidar/top/points", "/camera/front/image/compressed"},
		eval[[]string](p, `column(0).slice(0, 2)`))
	eval[any](p, `all("#topics thead button")[0].focus()`)
	p.keys(kb.Enter)
	require.Equal(t, "ascending", sorted(0))
	require.Equal(t, "/battery_state", eval[string](p, `column(0)[0]`))
	p.keys(kb.Enter)
	require.Equal(t, "/tf_static", eval[string](p, `column(0)[0]`))
	sort(9)
	require.Equal(t, "–", eval[string](p, `column(9).at(-1)`), "what is unknown is last")
	sort(9)
	require.Equal(t, []string{"400 µs", "–"}, eval[[]string](p, `[column(9)[0], column(9).at(-1)]`))
	eval[any](p, `document.activeElement.blur()`)
	p.keys("/camera COMPRESSED")
	p.wait(`all("#topics tbody tr").length === 2`)
	require.Equal(t, "2 of 15", eval[string](p, `text("#topics [role=status]")`))
	require.Less(t, eval[int](p, `$(".rows .body").clientHeight`), 60,
		"the time line shows the same topics")
	p.keys("no such")
	p.wait(`column(0)[0] === "No topic matches"`)

	p.keys(kb.Tab)
	eval[any](p, `choose("#log select", [...$("#log select").options].findIndex(o => o.text === "error (2)"))`)
	require.Equal(t, []string{"31.000 s", "1:01.400"}, eval[[]string](p, `all("#log .link").map(e => e.innerText)`))
}

func testSeveral(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t), armSession(t), &Data{Name: "third"})
	choose := func(i int) {
		eval[any](p, `choose(".bar select", %d)`, i)
	}
	require.Equal(t, []string{"! drive_2026_05_04", "✓ fold_towel", "! third"},
		eval[[]string](p, `all(".bar option").map(e => e.innerText)`))
	choose(1)
	require.Equal(t, "fold_towel", eval[string](p, `text("h1")`))
	require.Equal(t, [2]float64{0, 90}, p.view())
	choose(2)
	require.Equal(t, "third", eval[string](p, `text("h1")`))
	choose(0)
	p.wait(`colours($(".rows .body canvas")) > 8`)
}

// The page is as dark as the reader's system, until the reader chooses otherwise.
func testTheme(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	prefer := func(scheme string) {
		call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	}
	p.wait(`colours($(".rows .body canvas")) > 8`)
	before := eval[string](p, `picture(".rows .body")`)
	const background = `getComputedStyle(document.body).backgroundColor`
	require.Equal(t, "rgb(255, 255, 255)", eval[string](p, background))
	prefer("dark")
	p.wait(background + ` === "rgb(17, 21, 26)"`)
	p.wait(`picture(".rows .body") !== %q`, before)
	eval[any](p, `$("[aria-label='Light or dark']").click()`)
	p.wait(background + ` === "rgb(255, 255, 255)"`)
}

// Nothing is wider than a phone; wide tables scroll by themselves.
func testPhone(t *testing.T, browser context.Context) {
	for _, data := range []*Data{richDrive(t), armSession(t), hostileData(t)} {
		p := open(t, browser, data)
		for _, width := range []int64{360, 700, 1100} {
			p.size(width, 740)
			p.wait(`innerWidth === %d && drawn()`, width)
			require.LessOrEqual(t, eval[int64](p, `document.documentElement.scrollWidth`), width, "%s: %s", data.Name,
				eval[string](p, `all("*").filter(e => !e.closest(".sheet") &&
					e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 200)).join("\n")`))
		}
	}
}

func testDownloads(t *testing.T, browser context.Context) {
	d := richDrive(t)
	d.Name = "a<b>&\u202e\x01/.."
	p := open(t, browser, d)
	// What a click would store is caught where the page makes it.
	eval[any](p, `(() => {
		saved = [];
		const make = URL.createObjectURL;
		URL.createObjectURL = blob => { blob.text().then(text => saved.push([text, blob.type])); return make(blob); };
		HTMLAnchorElement.prototype.click = function() { saved.push([this.download, new URL(this.href).protocol]); };
	})()`)
	file := func(n int) (name, text string) {
		eval[any](p, `all("#where .buttons button").find(b => b.innerText === %q).click()`,
			[]string{"GeoJSON", "KML"}[n])
		p.wait(`saved.length === 2`)
		pair := eval[[][2]string](p, `saved.splice(0).sort((a, b) => a[0].length - b[0].length)`)
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

func testScene(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	p.wait(`colours($(".scene canvas")) > 20`)
	changed := func(what string, act func()) {
		t.Helper()
		before := eval[string](p, `picture(".scene")`)
		act()
		p.wait(`picture(".scene") !== %q`, before)
	}
	changed("drag", func() { p.drag(".scene canvas", 0.5, 0.5, 0.7, 0.6) })
	changed("key", func() { p.keys(kb.ArrowUp) })
	require.Zero(t, eval[float64](p, `at()`), "the keys are the board's")
	changed("zoom", func() { p.keys("+") })
	changed("wheel", func() { p.wheel(".scene canvas", 300) })
	changed("intensity", func() {
		eval[any](p, `choose("#scene select", 1)`)
	})
	require.Contains(t, eval[string](p, `text("#scene .legend")`), "255 intensity")
	changed("next", func() { eval[any](p, `$("[aria-label='Next points']").click()`) })
	require.InDelta(t, 25, eval[float64](p, `at()`), 1e-9)
}

func testMap(t *testing.T, browser context.Context) {
	d := richDrive(t)
	d.Tracks = append(d.Tracks, Track{Topic: "/tf", Name: "base_link", Frame: "other", Points: [][4]Number{
		{0, 0, 0, 0}, {1, Number(math.NaN()), Number(math.NaN()), 0}, {2, 5, 5, 0}, {3, 5, 5, 0}},
		Speed: Numbers{0, float32(math.NaN()), 1, 0}})
	p := open(t, browser, d)
	p.wait(`colours($(".map canvas")) > 20`)
	before := eval[string](p, `picture(".map")`)
	p.drag(".map canvas", 0.5, 0.5, 0.6, 0.6)
	p.wait(`picture(".map") !== %q`, before)
	choose := func(label string, i int) {
		eval[any](p, `choose("[aria-label='%s']", %d)`, label, i)
	}
	choose("Colours of the tracks", 1)
	require.Contains(t, eval[string](p, `text("#where .legend")`), "m/s")
	choose("Frame of the map", 1)
	require.Zero(t, eval[int](p, `all("#where .buttons button").filter(b => b.innerText === "KML").length`),
		"its origin is unknown")
	p.keys(kb.ArrowRight)
	p.wait(`(show(".map"), text("#where .readout").startsWith("/tf base_link"))`)
}

func testCurves(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	require.Equal(t, 5, eval[int](p, `all("#curves .curve").length`))
	p.wait(`colours($(".curve canvas")) > 8`)
	before := eval[string](p, `picture(".curve")`)
	require.Equal(t, []string{"x", "y", "z"},
		eval[[]string](p, `[...$(".keys").querySelectorAll("span")].map(e => e.innerText)`))
	require.Contains(t, eval[string](p, `text("#curves .side")`),
		"linear_acceleration, in m/s²")
	eval[any](p, `$(".keys button").click()`)
	require.Equal(t, "false", eval[string](p, `$(".keys button").ariaPressed`))
	p.wait(`picture(".curve") !== %q`, before)
	eval[any](p, `$("#curves summary").click()`)
	p.wait(`text("#curves details").includes("All numeric fields (55, 15 drawn)")`)
	require.Equal(t, 55, eval[int](p, `all("#curves tbody tr").length`))
}

func testEpisodes(t *testing.T, browser context.Context) {
	p := open(t, browser, armSession(t))
	require.Equal(t, []string{"Episodes"},
		eval[[]string](p, `all("h2").map(e => e.innerText).filter(s => s && s !== "Keys and mouse")`))
	n := eval[int](p, `all("canvas").length`)
	for i := range 4 {
		eval[any](p, `all("#episodes .link")[%d].click()`, i%3)
		require.Equal(t, fmt.Sprintf("episode_%d", i%3), eval[string](p, `text(".episode h3")`))
		p.wait(`colours($(".episode .curve canvas")) > 8`)
		p.wait(`all(".episode .views img").length === 2 && all(".episode .views img").every(e => e.naturalWidth > 0)`)
	}
	require.Equal(t, n, eval[int](p, `all("canvas").length`))
	eval[any](p, `all("#episodes .link")[1].click()`)
	text := eval[string](p, `text(".episode")`)
	require.Contains(t, text, "50 of 750 rows lack the wrist camera")
	require.Contains(t, text, "makes no row")
	p.wait(`at() === 30`)
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
		Words: []Word{{At: -1e300, Level: bad, From: bad, Text: bad}, {At: 1e300, Text: long}},
		Left:  []string{bad, long},
		Episodes: []Episode{{Name: bad, Task: long, From: 5, Until: -5, Verdict: []string{bad},
			Dropped: [][2]float64{{1, 0}}, Panels: []Panel{{Name: bad, Unit: bad,
				Columns: []Column{{Name: long, Low: Numbers{1}}}}}}, {}},
	}
	return d
}

func testHostile(t *testing.T, browser context.Context) {
	p := open(t, browser, hostileData(t))
	n := eval[int](p, `all("canvas").length`)
	for i := range n {
		eval[any](p, `all("canvas")[%d]?.scrollIntoView()`, i)
	}
	p.wait(`(scrollTo(0, 0), drawn())`)
	require.Zero(t, eval[int](p, `all("img[src=x], main script").length`))
	text := eval[string](p, `document.body.innerText`)
	require.Contains(t, text,
		`<img src=x onerror=alert(1)></script><script>alert(2)</script>\u{202e}evil\u{0}\u{1b}[31m\u{2028}`)
	require.NotContains(t, text, "\u202e")
	require.Less(t, len(text), 200_000)
	p.keys("nnpp+-0" + kb.End + kb.Home + kb.ArrowLeft + "t")
	p.mouse(move, ".rows .body canvas", 0.6, 0.2)
	p.mouse(move, ".rows .axis canvas", 0.22, 0.8)
	for i := range 4 {
		eval[any](p, `all("select").filter(e => e.options[%d]).forEach(e => {
			e.value = %d;
			e.dispatchEvent(new Event("change"));
		})`, i, i)
		eval[any](p, `all("#topics thead button, #log thead button").forEach(e => e.click())`)
	}
	eval[any](p, `all("#episodes .link").forEach(e => e.click())`)
	p.wait(`drawn()`)
}

// Recordings that have little or nothing are shown too.
func testBare(t *testing.T, browser context.Context) {
	one := &Data{Name: "one", Start: start, Messages: 1, Good: true, Verdict: []string{"all is well"},
		Topics: []Topic{{Name: "/a", Type: "std_msgs/msg/String", Messages: 1, Bytes: 8,
			Density: append([]float32{1}, make([]float32, Bins-1)...)}},
		Cameras:  []Camera{{Topic: "/c"}},
		Signals:  []Signal{{Topic: "/a", Path: "data", Low: Numbers{1}, High: Numbers{1}}},
		Tracks:   []Track{{Topic: "/t", Points: [][4]Number{{0, 1, 2, 3}}, Speed: Numbers{0}}},
		Clouds:   []Cloud{{Topic: "/p", Scale: 1, XYZ: make([]byte, 6)}},
		Episodes: []Episode{{Name: "e"}}}
	p := open(t, browser, &Data{}, one)
	require.Equal(t, "Recording", eval[string](p, `text("h1")`))
	require.Contains(t, eval[string](p, `text("#topics")`), "No topics")
	p.keys("n+-0" + kb.End + kb.ArrowRight)
	eval[any](p, `choose(".bar select", 1)`)
	p.wait(`colours($(".rows .body canvas")) > 2`)
	p.keys("n+-0" + kb.End + kb.ArrowRight)
	p.wait(`(show(".map"), drawn())`)
	require.Zero(t, eval[float64](p, `at()`))

	p = open(t, browser)
	require.Equal(t, "This page has no recordings.", eval[string](p, `text("main")`))
}

// A time line of many topics has no more to draw than what is seen of it.
func testMany(t *testing.T, browser context.Context) {
	d := richDrive(t)
	for i := range 500 {
		topic := d.Topics[i%15]
		topic.Name = fmt.Sprintf("/namespace_%d%s", i, topic.Name)
		d.Topics = append(d.Topics, topic)
	}
	p := open(t, browser, d)
	p.wait(`colours($(".rows .body canvas")) > 8`)
	require.Less(t, eval[int](p, `$(".rows .body canvas").height`), 700)
	require.Equal(t, 300, eval[int](p, `all("#topics tbody tr").length`))
	eval[any](p, `all("#topics button").at(-1).click()`)
	require.Equal(t, 515, eval[int](p, `all("#topics tbody tr").length`))
	before := eval[string](p, `picture(".rows .body")`)
	eval[any](p, `$(".rows").scrollTop = 1e6`)
	p.wait(`picture(".rows .body") !== %q`, before)
	p.mouse(move, ".rows .body canvas", 0.05, 0.99)
	p.wait(`text("#tip").startsWith("/namespace_499")`)
	const redraws = `(b => {
		const t = performance.now();
		for (let i = 0; i < 20; i++) b.paint();
		return (performance.now() - t) / 20;
	})`
	t.Logf("a time line of 515 topics is drawn in %.1f ms",
		eval[float64](p, redraws+`($(".rows .body").board)`))
}

// A print is light, with all rows, whatever is on the screen.
func testPrint(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	p.keys("t")
	eval[any](p, `addEventListener("beforeprint", () => {
		printed = [document.documentElement.dataset.theme, all("canvas").filter(c => !c.width).length];
	})`)
	pdf := call(p, cdppage.PrintToPDF, cdppage.PrintToPDFParams{})
	require.Greater(t, len(pdf.Data), 50_000)
	require.Equal(t, []any{"light", 0.}, eval[[]any](p, `printed`))
	require.Equal(t, "dark", eval[string](p, `document.documentElement.dataset.theme`))
}

// All is reachable by the keyboard, and ? says how.
func testHelp(t *testing.T, browser context.Context) {
	p := open(t, browser, richDrive(t))
	p.keys("?")
	p.wait(`$("dialog").open`)
	p.keys(kb.Escape)
	p.wait(`!$("dialog").open`)
	var reached []string
	for range 200 {
		p.keys(kb.Tab)
		if len(reached) > 0 && eval[bool](p,
			`[document.body, $(".bar button")].includes(document.activeElement)`) {
			break
		}
		name := eval[string](p, `(e => e.closest(".board")?.className || e.ariaLabel || e.innerText || e.tagName)(
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
