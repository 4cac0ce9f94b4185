// Pictures makes the README's pictures from the recording of the demo: the page of converter report, and the live page
// of a recorder that records the played recording. It needs Chromium.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"

	"tapedeck/bridge/bridgetest"
)

const (
	recording = "demo-out/drive.record.00000"
	output    = "docs/pictures"
	domain    = "96" // no robot nearby uses this ROS domain
	patience  = time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := pictures(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func pictures(ctx context.Context) error {
	if _, err := os.Stat(recording); err != nil {
		return fmt.Errorf("%w: make demo writes it", err)
	}
	reach, here := bridgetest.Loopback()
	for name, value := range map[string]string{"ROS_DOMAIN_ID": domain, reach: here} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	browser, end, err := startBrowser(ctx, work)
	if err != nil {
		return err
	}
	defer end()
	return errors.Join(report(browser, work), live(browser, work))
}

// startBrowser starts a headless browser, which keeps its files in the folder home.
func startBrowser(ctx context.Context, home string) (context.Context, func(), error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Env("HOME="+home, "TMPDIR="+home), chromedp.Flag("hide-scrollbars", true))
	allocator, stop := chromedp.NewExecAllocator(ctx, options...)
	browser, end := chromedp.NewContext(allocator)
	return browser, func() { end(); stop() }, chromedp.Do(browser)
}

// report writes a picture of the page of converter report, from the timeline on.
func report(ctx context.Context, work string) error {
	page := filepath.Join(work, "drive.html")
	cmd := command(ctx, "converter", "report", recording, "-o", page)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("converter report: %w", err)
	}
	return photograph(ctx, "file://"+page, 1180, "report.png", `(scrollTo(0,
		[...document.querySelectorAll("h2")].find(e => e.innerText === "Timeline").offsetTop - 110), true)`)
}

// live writes a picture of a recorder's page after some seconds of recording.
func live(ctx context.Context, work string) error {
	var printed buffer
	recorder := command(ctx, "recorder", "--regex", "^/carla", "-o", filepath.Join(work, "drive.mcap"),
		"--snapshot", "--page", "127.0.0.1:0")
	recorder.Stdout = &printed
	player := command(ctx, "player", recording, "--restamp", "--loop")
	for _, cmd := range []*exec.Cmd{recorder, player} {
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() {
			_ = cmd.Cancel()
			_ = cmd.Wait()
		}()
	}
	address := regexp.MustCompile(`http://\S+token=\S+`)
	for deadline := time.Now().Add(patience); address.FindString(printed.String()) == ""; {
		if time.Now().After(deadline) {
			return errors.New("the recorder has printed no address of its page")
		}
		time.Sleep(50 * time.Millisecond)
	}
	return photograph(ctx, address.FindString(printed.String()), 1180, "live.png",
		`parseFloat(document.querySelector("#cursor").dataset.at) > 12`)
}

// photograph writes a picture of the top of a page once the JavaScript expression ready is true.
func photograph(parent context.Context, url string, height int64, name, ready string) error {
	ctx, cancel := chromedp.NewContext(parent)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	const still = `(b => b.length > 0 && b.every(e => !e.board.visible || !e.board.stale))(
		[...document.querySelectorAll(".board")])`
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, height, chromedp.EmulateScale(0.75)),
		chromedp.Navigate(url)); err != nil {
		return err
	}
	for {
		done, err := chromedp.Run(ctx, chromedp.Evaluate[bool](
			`!!document.querySelector("#cursor") && (`+ready+`) && `+still))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if done {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	path := filepath.Join(output, name)
	fmt.Printf("%s: %d kB\n", path, len(png)/1000)
	return os.WriteFile(path, png, 0o644)
}

// command returns a command of an executable in the folder of this executable.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	fmt.Printf("$ %s %s\n", name, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(os.Args[0]), name), args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// buffer keeps the output of a running process.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns everything that was printed until now.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
