package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/convert/manifest"
)

// eachLine is the line of JSON about a recording that was converted by itself.
type eachLine struct {
	Input    string   `json:"input"`
	Output   string   `json:"output"`
	Status   string   `json:"status"` // converted, skipped (converted before), discarded (while recording) or failed
	Error    string   `json:"error,omitempty"`
	Messages uint64   `json:"messages,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"` // of payloads
	Seconds  float64  `json:"seconds,omitempty"`
	Losses   []string `json:"losses,omitempty"`
	Damaged  int      `json:"damaged,omitempty"` // places that were skipped
}

// expandLists replaces each path @FILE by the lines of the file, and - by the lines of stdin.
func expandLists(paths []string, stdin io.Reader) (all []string, err error) {
	for _, path := range paths {
		name, list := strings.CutPrefix(path, "@")
		in := stdin
		if list {
			file, err := os.Open(name)
			if err != nil {
				return nil, fmt.Errorf("read the list %s: %w", name, codec.Pathless(err))
			}
			defer file.Close()
			in = file
		} else if path != "-" {
			all = append(all, path)
			continue
		}
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if line := strings.TrimSuffix(lines.Text(), "\r"); line != "" {
				all = append(all, line)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read the list %s: %w", path, err)
		}
	}
	return all, nil
}

// foundRecordings are recordings to be handled one by one. All shards have the same order of recordings.
type foundRecordings struct {
	paths   []string
	folders []string // by recording: its folder below the searched one; "" for a named recording
}

// search returns the recordings that paths name, and recordings in lists and folders. It excludes recordings in the
// folder except.
func (p places) search(paths []string, stdin io.Reader, except string) (r foundRecordings, err error) {
	paths, err = expandLists(paths, stdin)
	if err != nil {
		return r, err
	}
	except, err = absolute(except)
	if err != nil {
		return r, err
	}
	below := func(path string) bool {
		path, err := absolute(path)
		return err == nil && strings.HasPrefix(path, except+"/")
	}
	seen := map[string]bool{}
	for _, path := range paths {
		path = store.Clean(path)
		found, err := series.Search(p.files, known.Codecs(), path)
		if errors.Is(err, fs.ErrNotExist) { // perhaps the beginning of the names of several files
			found, err = []string{path}, nil
		}
		if errors.Is(err, store.ErrKey) {
			fmt.Fprintln(human.Stderr, "warning:", err)
			err = nil
		}
		if err != nil {
			return r, err
		}
		for _, one := range found {
			if seen[one] || one != path && below(one) {
				continue
			}
			seen[one] = true
			folder := ""
			if one != path {
				folder = strings.Trim(strings.TrimPrefix(store.Dir(one), path), "/")
			}
			r.paths, r.folders = append(r.paths, one), append(r.folders, folder)
		}
	}
	return p.withoutFurtherFiles(r), nil
}

// withoutFurtherFiles returns the recordings without paths that are further files of other recordings.
func (p places) withoutFurtherFiles(r foundRecordings) (w foundRecordings) {
	kept := p.firsts(r.paths)
	for i, path := range r.paths {
		if slices.Contains(kept, path) {
			w.paths, w.folders = append(w.paths, path), append(w.folders, r.folders[i])
		}
	}
	return w
}

// absolute returns an absolute path. A URL stays unchanged.
func absolute(path string) (string, error) {
	if store.IsURL(path) {
		return store.Clean(path), nil
	}
	return filepath.Abs(store.Local(path))
}

// pick returns the shard's recordings and the names of their outputs, sorted by name.
func (s shard) pick(paths, names []string) (shardPaths, shardNames []string) {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	for n, i := range order {
		if s.takes(n) {
			shardPaths, shardNames = append(shardPaths, paths[i]), append(shardNames, names[i])
		}
	}
	return shardPaths, shardNames
}

// each calls do with the numbers from 0 to n-1, up to jobs at once, until ctx ends. If jobs is 0, it is the number of
// processors.
func each(ctx context.Context, n, jobs int, do func(i int)) {
	if jobs == 0 {
		jobs = runtime.NumCPU()
	}
	var running sync.WaitGroup
	var next atomic.Int64
	for range min(jobs, n) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	running.Wait()
}

// stateOf returns the state of a recording's files.
func (p places) stateOf(path string) (manifest.State, error) {
	if len(series.Names(p.files, path)) == 1 {
		state, err := manifest.Stat(p.files, path)
		if !errors.Is(err, fs.ErrNotExist) {
			return state, err
		}
	}
	in, err := (&readOptions{places: p}).openInput(path) // path may mean several files
	if err != nil {
		return manifest.State{}, err
	}
	defer in.Close()
	var files []string
	for _, f := range in.info.Files {
		files = append(files, f.Path)
	}
	return manifest.Stat(p.files, path, files...)
}

// runClaimed runs a job whose output is called name in folder, if no other process runs it. The result is nil if an
// equal conversion was done before.
func (p places) runClaimed(ctx context.Context, job *convert.Job, folder, name string) (*convert.Result, error) {
	state, err := p.stateOf(job.Inputs[0])
	if err != nil {
		return nil, err
	}
	job.Output = store.Join(folder, name)
	if !store.IsURL(folder) {
		if err := os.MkdirAll(filepath.Dir(job.Output), 0o777); err != nil {
			return nil, fmt.Errorf("create %s: %w", job.Output, err)
		}
	}
	claim, err := manifest.Take(p.files, folder, name,
		manifest.Conversion{Input: state, Options: job.Options.Changed()}, job.Options.Overwrite)
	if err != nil {
		return nil, err
	}
	if claim.Done {
		return nil, claim.Release()
	}
	job.Options.Overwrite = job.Options.Overwrite || claim.Ours
	result, err := job.Run(ctx)
	if err != nil {
		return nil, errors.Join(err, claim.Release())
	}
	return result, claim.Finish(result.Files)
}
