package power

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/powerdisk"
	"tapedeck/test/internal/process"
)

// scenario is a program and what it promises.
type scenario struct {
	name  string
	run   func(*run) // runs the program until it ends
	check func(*cut) // looks at the state after a power cut
}

// run is a run of a scenario's program.
type run struct {
	*testing.T
	disk *powerdisk.Disk
	dir  string // where the disk is mounted, for the program's output
	temp string // a folder beside the disk

	mu       sync.Mutex
	promises []promise
}

// promise says in the words of its scenario what each later power cut keeps.
type promise struct {
	Position int64 // of the disk, when the promise was made
	Text     string
}

// promise notes what each later power cut must keep. Several goroutines may call it.
func (r *run) promise(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promises = append(r.promises, promise{r.disk.Position(), text})
}

// know notes a fact for checks, which holds from the beginning on.
func (r *run) know(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promises = append(r.promises, promise{0, fmt.Sprintf(format, args...)})
}

// cut is a mounted state after a power cut. It is a require.TestingT: a failed requirement is a broken promise.
type cut struct {
	powerdisk.Cut

	t        *testing.T      // of all power cuts
	env      []string        // of programs that a check starts, beside that of this process
	dir      string          // where the state is mounted
	temp     string          // an empty folder
	promises []string        // made before the power cut, in their order
	ctx      context.Context // of programs that a check starts; it ends after the check

	lost   time.Duration // how much was lost, or -1: reported by a check
	broken []string      // promises
}

func (c *cut) Errorf(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

func (c *cut) FailNow() {
	if len(c.broken) == 0 {
		c.broken = append(c.broken, "failed")
	}
	runtime.Goexit()
}

// history is a run that has ended.
type history struct {
	Scenario string
	System   powerdisk.FileSystem
	Begin    int64 // position of the disk before the program
	Promises []promise
	Log      *powerdisk.Log
}

// record runs the program of a scenario on a new disk.
func (s scenario) record(t *testing.T, system powerdisk.FileSystem) *history {
	t.Helper()
	disk := powerdisk.New(t, system)
	r := &run{T: t, disk: disk, dir: disk.Dir, temp: t.TempDir()}
	h := &history{Scenario: s.name, System: system, Begin: disk.Position()}
	began := time.Now()
	s.run(r)
	h.Promises, h.Log = r.promises, disk.Unmount()
	flushes, size := 0, int64(0)
	for _, q := range h.Log.Requests {
		if q.Flush {
			flushes++
		}
		size += q.Size
	}
	t.Logf("%s on %s: %.1f s, %d promises, %d requests (%.1f MB), %d of them flushes", s.name, system.Name,
		time.Since(began).Seconds(), len(h.Promises), len(h.Log.Requests), float64(size)/1e6, flushes)
	return h
}

// result counts power cuts.
type result struct {
	cuts        int
	broken      int // cuts with a broken promise
	unmountable int // cuts after which the file system could not be mounted
	unclean     int // cuts after which the file system had damage
	lost        []time.Duration
	took        time.Duration
	model       powerdisk.Model
	failures    []string // the first ones
}

func (r result) String() string {
	text := fmt.Sprintf("%s: %d cuts, %.0f a minute: %d broken, %d unmountable, %d unclean", r.model.Name, r.cuts,
		float64(r.cuts)/r.took.Minutes(), r.broken, r.unmountable, r.unclean)
	if len(r.lost) > 0 {
		text += fmt.Sprintf("; lost: median %v, 90 %% %v, worst %v", r.lostAt(0.5), r.lostAt(0.9), r.lostAt(1))
	}
	return text
}

// lostAt returns how much a share of the power cuts has lost at most.
func (r result) lostAt(share float64) time.Duration {
	lost := slices.Sorted(slices.Values(r.lost))
	return lost[int(share*float64(len(lost)-1))].Round(time.Millisecond)
}

// requireKept requires that no power cut has broken a promise. It keeps the history otherwise. Torn sectors may make a
// file system unmountable: the superblock of btrfs has 8 sectors and one checksum.
func (h *history) requireKept(t *testing.T, r result) {
	t.Helper()
	torn := r.model.Unit > 0 && r.model.Unit < 4096
	if r.broken > 0 || r.unclean > 0 || r.unmountable > 0 && !torn {
		t.Errorf("%s\n%s", r, strings.Join(r.failures, "\n"))
		require.NoError(t, h.save())
	}
}

// seed returns a seed that depends on -seed, the scenario, the file system and the model.
func (h *history) seed(m powerdisk.Model) uint64 {
	name := fnv.New64()
	_, _ = io.WriteString(name, strings.Join([]string{h.Scenario, h.System.Name, m.Name}, "\x00"))
	return *seed ^ name.Sum64()
}

// batch is a number of power cuts, which are examined in the order of their positions.
const batch = 20

// examine makes n power cuts, or fewer if enough becomes true.
func (h *history) examine(t *testing.T, s scenario, m powerdisk.Model, n int, enough func(result) bool) result {
	t.Helper()
	r := result{model: m}
	viewer := powerdisk.NewViewer(t, h.System)
	began := time.Now()
	for r.cuts < n && !enough(r) {
		crashes, err := h.Log.Crashes(m, h.seed(m))
		require.NoError(t, err)
		var list []powerdisk.Cut
		for number := range min(batch, n-r.cuts) {
			list = append(list, h.Log.Cut(h.Begin, h.seed(m), r.cuts+number))
		}
		slices.SortFunc(list, func(a, b powerdisk.Cut) int { return int(a.Position - b.Position) })
		for _, at := range list {
			h.count(&r, h.look(t, s, viewer, crashes, at, crashes.Kept(at), r.cuts%batch == 0))
		}
		require.NoError(t, crashes.Close())
	}
	r.took = time.Since(began)
	return r
}

// finding is what a look at a state has found.
type finding struct {
	number      int
	unmountable error
	unclean     error
	broken      []string // promises
	lost        time.Duration
}

func (f finding) text() string {
	text := f.broken
	if f.unmountable != nil {
		text = append(text, f.unmountable.Error())
	}
	if f.unclean != nil {
		text = append(text, f.unclean.Error())
	}
	return strings.Join(text, "\n")
}

// look mounts the state after a power cut that has kept the pieces, and checks it.
func (h *history) look(t *testing.T, s scenario, viewer *powerdisk.Viewer, crashes *powerdisk.Crashes,
	at powerdisk.Cut, kept []powerdisk.Piece, clean bool) finding {
	t.Helper()
	f := finding{number: at.Number, lost: -1}
	f.unmountable = viewer.Mount(crashes, at, kept)
	if f.unmountable != nil {
		return f
	}
	temp, err := os.MkdirTemp("", "tapedeck-power-")
	require.NoError(t, err)
	defer os.RemoveAll(temp)
	ctx, end := context.WithCancel(context.Background())
	c := &cut{Cut: at, t: t, dir: viewer.Dir, temp: temp, ctx: ctx, lost: -1}
	for _, p := range h.Promises {
		if p.Position < at.Position {
			c.promises = append(c.promises, p.Text)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.check(c)
	}()
	<-done
	end()
	f.broken, f.lost = c.broken, c.lost
	f.unclean = viewer.Unmount(clean)
	return f
}

// count adds a finding to a result.
func (h *history) count(r *result, f finding) {
	r.cuts++
	if f.lost >= 0 {
		r.lost = append(r.lost, f.lost)
	}
	switch {
	case f.unmountable != nil:
		r.unmountable++
	case len(f.broken) > 0:
		r.broken++
	case f.unclean != nil:
		r.unclean++
	default:
		return
	}
	if len(r.failures) < 3 {
		r.failures = append(r.failures, fmt.Sprintf("cut %d: %s\nshow it: go test ./test/stress/power -v -run "+
			"TestReplay -timeout 0 -log %s -model %s -seed %d -cut %d -show", f.number, f.text(), h.path(),
			r.model.Name, *seed, f.number))
	}
}

// path returns where the history is kept when a promise is broken.
func (h *history) path() string {
	name := strings.ReplaceAll(h.Scenario, " ", "-") + "-" + h.System.Name + ".log"
	return filepath.Join(process.Root(), "build", "power", name)
}

// save keeps the history for TestReplay.
func (h *history) save() error {
	if err := os.MkdirAll(filepath.Dir(h.path()), 0o777); err != nil {
		return err
	}
	f, err := os.Create(h.path())
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := zstd.NewWriter(f)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(out).Encode(h), out.Close())
}

// load returns the history that save has written.
func load(path string) (*history, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, err := zstd.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	h := &history{}
	return h, gob.NewDecoder(in).Decode(h)
}
