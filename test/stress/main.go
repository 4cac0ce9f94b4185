// Stress runs the tests of packages many times beside busy processes, and prints how often each test failed:
//
//	stress [flags] packages
//
// A test that fails now and then is wrong, or has found a bug. The output of failing packages is kept.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 5, "number of runs of each test")
	parallel := flag.Int("p", 4*runtime.NumCPU(), "number of packages tested at once")
	load := flag.Int("load", 2*runtime.NumCPU(), "number of busy processes")
	short := flag.Bool("short", false, "run the tests with -short")
	run := flag.String("run", "", "regular expression: run only matching tests, as go test does")
	out := flag.String("out", "build/stress", "folder for the output of failing packages")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	args := []string{"-test.v=test2json", "-test.timeout=30m", "-test.run=" + *run, fmt.Sprint("-test.short=", *short)}
	s := &stress{ctx: ctx, out: *out, args: args, results: map[test]*result{}}
	if err := s.run(flag.Args(), *rounds, *parallel, *load); err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
}

// test is one test. With an empty Name it stands for the whole package.
type test struct{ Package, Name string }

// result counts the runs of a test.
type result struct{ runs, failures, skips int }

// stress is a run of this program.
type stress struct {
	ctx  context.Context
	out  string   // folder for the output of failing packages
	args []string // of each test executable

	mu      sync.Mutex // of results
	results map[test]*result
}

// pkg is a package with tests.
type pkg struct{ ImportPath, Dir, executable string }

// run compiles the tests once and runs them in rounds beside load busy processes. It returns an error if a test failed.
func (s *stress) run(patterns []string, rounds, parallel, load int) error {
	dir, err := os.MkdirTemp("", "tapedeck-stress-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	packages, err := s.compile(patterns, dir)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(s.out), os.MkdirAll(s.out, 0o755)); err != nil {
		return err
	}
	for range load {
		busy := exec.CommandContext(s.ctx, "sh", "-c", "while :; do :; done")
		busy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := busy.Start(); err != nil {
			return err
		}
		defer func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		}()
	}
	fmt.Printf("%d packages, %d at once, beside %d busy processes on %d processors\n",
		len(packages), parallel, load, runtime.NumCPU())
	for round := 1; round <= rounds && s.ctx.Err() == nil; round++ {
		began, before := time.Now(), s.failures()
		s.round(packages, round, parallel)
		average, _ := os.ReadFile("/proc/loadavg")
		fmt.Printf("round %d: %v, %d failures, load average %s\n",
			round, time.Since(began).Round(time.Second), s.failures()-before, strings.Fields(string(average))[0])
	}
	s.print()
	if failures := s.failures(); failures > 0 {
		return fmt.Errorf("%d failures, see %s", failures, s.out)
	}
	return s.ctx.Err()
}

// compile compiles the tests of packages into dir.
func (s *stress) compile(patterns []string, dir string) (list []*pkg, err error) {
	format := "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"
	out, err := exec.CommandContext(s.ctx, "go", append([]string{"list", "-f", format}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		p := &pkg{}
		if _, err := fmt.Sscan(line, &p.ImportPath, &p.Dir); err != nil {
			continue // a package without tests
		}
		p.executable = filepath.Join(dir, strings.ReplaceAll(p.ImportPath, "/", "_")+".test")
		cmd := exec.CommandContext(s.ctx, "go", "test", "-c", "-vet=off", "-o", p.executable, p.ImportPath)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("compile the tests of %s: %w\n%s", p.ImportPath, err, out)
		}
		list = append(list, p)
	}
	return list, nil
}

// round runs the tests of each package once.
func (s *stress) round(packages []*pkg, round, parallel int) {
	var running sync.WaitGroup
	free := make(chan struct{}, parallel)
	for _, p := range packages {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			s.test(p, round)
		})
	}
	running.Wait()
}

// test runs the tests of a package. It keeps the output if a test fails.
func (s *stress) test(p *pkg, round int) {
	cmd := exec.CommandContext(s.ctx, p.executable, s.args...)
	cmd.Dir = p.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	printed, err := cmd.CombinedOutput()
	if s.ctx.Err() != nil {
		return
	}
	events := exec.CommandContext(s.ctx, "go", "tool", "test2json", "-p", p.ImportPath)
	events.Stdin = bytes.NewReader(printed)
	out, convertErr := events.Output()
	err = cmp.Or(err, convertErr)
	unfinished := map[test]bool{{Package: p.ImportPath}: true}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var event struct{ Action, Test string }
		if decoder.Decode(&event) != nil {
			break
		}
		switch t := (test{p.ImportPath, event.Test}); event.Action {
		case "run":
			unfinished[t] = true
		case "pass", "skip", "fail":
			delete(unfinished, t)
			s.count(t, event.Action)
		}
	}
	for t := range unfinished { // the executable was killed
		s.count(t, "fail")
	}
	if err != nil {
		path := filepath.Join(s.out, fmt.Sprintf("%s-%d.txt", strings.ReplaceAll(p.ImportPath, "/", "_"), round))
		fmt.Printf("round %d: %s failed, see %s\n", round, p.ImportPath, path)
		if err := os.WriteFile(path, printed, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "stress:", err)
		}
	}
}

// count counts one run of a test. action is pass, skip or fail.
func (s *stress) count(t test, action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.results[t]
	if r == nil {
		r = &result{}
		s.results[t] = r
	}
	r.runs++
	switch action {
	case "fail":
		r.failures++
	case "skip":
		r.skips++
	}
}

// failures returns the number of failed runs of packages.
func (s *stress) failures() (n int) {
	for t, r := range s.results {
		if t.Name == "" {
			n += r.failures
		}
	}
	return n
}

// print prints the packages and the failed tests with their runs and failures, and the sums of all tests.
func (s *stress) print() {
	tests, runs, skips := 0, 0, 0
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\npackage\ttest\truns\tfailures\n")
	for _, t := range slices.SortedFunc(maps.Keys(s.results), func(a, b test) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name))
	}) {
		r := s.results[t]
		if t.Name != "" {
			tests, runs, skips = tests+1, runs+r.runs, skips+min(r.skips, 1)
		}
		if r.failures > 0 || t.Name == "" {
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", t.Package, cmp.Or(t.Name, "all"), r.runs, r.failures)
		}
	}
	_ = table.Flush()
	fmt.Printf("%d tests ran %d times, %d of them were skipped; %d failures\n", tests, runs, skips, s.failures())
}
