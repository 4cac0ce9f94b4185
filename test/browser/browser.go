// Package browser opens pages in a headless Chromium for tests.
package browser

import (
	"context"
	"fmt"
	"os/exec"
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
	"github.com/stretchr/testify/require"
)

const patience = 60 * time.Second // the longest wait for a page

// Start starts a headless browser that ends with the test, and returns its context.
func Start(t *testing.T) context.Context {
	if testing.Short() {
		t.Skip("-short starts no browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		home := t.TempDir() // for the files of the browser
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
	t.Skip("Chromium is not installed (Debian: chromium); pages are not tested")
	return nil
}

// Tab is a page in the browser.
type Tab struct {
	*testing.T
	ctx      context.Context
	home     string
	mu       sync.Mutex
	problems []string // errors and warnings in the console, and requests to a network
}

// Open opens a page whose address begins with home. At the end of the test, it requires that the page has no Problems.
func Open(t *testing.T, parent context.Context, url, home string) *Tab {
	ctx, cancel := chromedp.NewContext(parent)
	p := &Tab{T: t, ctx: ctx, home: home}
	require.NoError(t, chromedp.Do(ctx))
	var stop context.CancelFunc
	p.ctx, stop = context.WithTimeout(ctx, 4*patience)
	t.Cleanup(func() {
		stop()
		cancel()
		require.Empty(t, p.Problems())
	})
	require.NoError(t, chromedp.Listen(ctx, p.listen))
	Call(p, network.Enable, network.EnableParams{})
	Call(p, cdplog.Enable, cdp.Empty{})
	p.Size(1280, 900)
	Call(p, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: late})
	p.Do(chromedp.Navigate(url))
	Eval[any](p, helpers)
	return p
}

// Problems returns the errors and warnings in the console and the requests to addresses outside of home, since the last
// call.
func (p *Tab) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.problems
	p.problems = nil
	return list
}

func (p *Tab) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *cdpruntime.EventExceptionThrown:
		problem = fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
	case *cdpruntime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s", e.Type)
	case *cdplog.EventEntryAdded:
		if !strings.Contains(e.Entry.Text, "GL Driver Message (OpenGL, Performance") { // there is no GPU
			problem = e.Entry.Text
		}
	case *network.EventRequestWillBeSent:
		scheme, _, _ := strings.Cut(e.Request.URL, ":")
		if scheme != "data" && scheme != "blob" && !strings.HasPrefix(e.Request.URL, p.home) {
			problem = "request of " + e.Request.URL
		}
	}
	if problem != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, problem)
	}
}

// Call calls a method of the devtools.
func Call[P, R any](p *Tab, command cdp.Command[P, R], params P) R {
	p.Helper()
	result, err := chromedp.Call(p.ctx, command, params)
	require.NoError(p, err)
	return result
}

// Do runs steps of chromedp.
func (p *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	require.NoError(p, chromedp.Do(p.ctx, steps...))
}

// Size sets the size of the window, in pixels.
func (p *Tab) Size(width, height int64) {
	p.Helper()
	Call(p, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

// Eval returns the value of a JavaScript expression. If the value is a promise, Eval waits for its result.
func Eval[T any](p *Tab, expression string, args ...any) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](fmt.Sprintf(expression, args...), chromedp.EvalAwaitPromise))
	require.NoError(p, err, expression)
	return v
}

// Wait waits until a JavaScript expression is true.
func (p *Tab) Wait(expression string, args ...any) {
	p.Helper()
	for deadline := time.Now().Add(patience); !Eval[bool](p, expression, args...); time.Sleep(20 * time.Millisecond) {
		require.True(p, time.Now().Before(deadline), "%s %v", expression, args)
	}
}

// Mouse sends a mouse event to a point of an element. x and y are fractions of the element's width and height.
func (p *Tab) Mouse(kind input.DispatchMouseEventType, selector string, x, y float64, options ...chromedp.MouseOption) {
	p.Helper()
	p.Wait(`(b => (b.scrollIntoView({block: "center"}), !b.board.stale))($(%q).closest(".board"))`,
		selector)
	at := Eval[[]float64](p, `(e => { e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect();
		return [r.left + r.width * %v, r.top + r.height * %v]; })($(%q))`, x, y, selector)
	p.Do(chromedp.MouseEvent(kind, at[0], at[1], options...))
}

// Click clicks at a point of an element. x and y are fractions of the element's width and height.
func (p *Tab) Click(selector string, x, y float64) {
	p.Helper()
	p.Mouse(input.DispatchMouseEventTypeMouseMoved, selector, x, y)
	p.Mouse(input.DispatchMouseEventTypeMousePressed, selector, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, selector, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

// Drag drags the mouse between two points of an element. Coordinates are fractions of the element's width and height.
func (p *Tab) Drag(selector string, fromX, fromY, toX, toY float64) {
	p.Helper()
	p.Mouse(input.DispatchMouseEventTypeMousePressed, selector, fromX, fromY,
		chromedp.ButtonLeft, chromedp.ClickCount(1))
	p.Mouse(input.DispatchMouseEventTypeMouseMoved, selector, toX, toY, chromedp.ButtonLeft)
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, selector, toX, toY, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

// Wheel turns the wheel in the middle of an element.
func (p *Tab) Wheel(selector string, down float64, options ...chromedp.MouseOption) {
	p.Helper()
	p.Mouse(input.DispatchMouseEventTypeMouseWheel, selector, 0.6, 0.5,
		append(options, func(e *input.DispatchMouseEventParams) { e.DeltaX, e.DeltaY = 1e-9, down })...)
}

// Keys types keys.
func (p *Tab) Keys(keys string) { p.Helper(); p.Do(chromedp.KeyEvent(keys)) }

// late is a script that delays drawing, as a busy machine does. A test that does not wait for drawing fails then on
// every machine.
const late = `{
	const soon = requestAnimationFrame.bind(window);
	window.requestAnimationFrame = f => soon(() => setTimeout(() => soon(f), 100));
	window.IntersectionObserver = class extends IntersectionObserver {
		constructor(f, options) { super(list => setTimeout(() => f(list), 100), options); }
	};
}`

// helpers has JavaScript functions for the expressions of tests.
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
