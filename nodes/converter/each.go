package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/manifest"
)

// eachLine is the line of JSON about a recording that was to be converted by itself.
type eachLine struct {
	Input    string   `json:"input"`
	Output   string   `json:"output"`
	Status   string   `json:"status"` // converted, skipped because it was before, or failed
	Error    string   `json:"error,omitempty"`
	Messages uint64   `json:"messages,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"` // of payloads
	Seconds  float64  `json:"seconds,omitempty"`
	Losses   []string `json:"losses,omitempty"`
}

// listed replaces @FILE by the lines of a file, and - by those of stdin.
func listed(paths []string, stdin io.Reader) (all []string, err error) {
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

// of returns the recordings of the shard with the names of their outputs, in the order of the names.
func (s shard) of(paths, names []string) (ofPaths, ofNames []string, err error) {
	byName := map[string]string{}
	for i, name := range names {
		if other, ok := byName[name]; ok && filepath.Clean(other) != filepath.Clean(paths[i]) {
			return nil, nil, config.Usagef("%s and %s would both become %s; convert them to several folders", other,
				paths[i], name)
		}
		byName[name] = paths[i]
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	for i, name := range sorted {
		if s.takes(i) {
			ofPaths, ofNames = append(ofPaths, byName[name]), append(ofNames, name)
		}
	}
	return ofPaths, ofNames, nil
}

// runClaimed runs a job unless another process does, or has done so. The result is nil if it was done before.
func runClaimed(ctx context.Context, job *convert.Job) (*convert.Result, error) {
	state, err := manifest.Stat(job.Inputs[0])
	if err != nil { // such as the common beginning of the names of several files
		return job.Run(ctx)
	}
	claim, err := manifest.Take(filepath.Dir(job.Output), filepath.Base(job.Output),
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
