package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tapedeck/bridge/carla"
	"tapedeck/codec"
)

// suffix is what the storages of files add to the name of a recording, parts what its other files have beside the name.
var (
	suffix = map[string]*regexp.Regexp{
		storageRecord: regexp.MustCompile(`\.record(\.\d{5})?$`), storageCARLA: regexp.MustCompile(`\.log$`),
	}
	parts = map[string]*regexp.Regexp{
		storageRecord: regexp.MustCompile(`^\.record\.\d{5}$`), storageCARLA: regexp.MustCompile(`^_\d+\.log$`),
	}
)

// outputPath returns what is created for the name that the user gave: NAME.record.00000, NAME.log, or the folder NAME.
func outputPath(o *options, name string) string {
	return bareName(o, name) + map[string]string{storageRecord: ".record.00000", storageCARLA: ".log"}[o.Storage]
}

// bareName returns the name without what a storage adds to it.
func bareName(o *options, name string) string {
	name = strings.TrimRight(name, "/")
	if suffix := suffix[o.Storage]; suffix != nil {
		name = suffix.ReplaceAllString(name, "")
	}
	return name
}

// defaultName is the name of a recording that the user did not name.
func defaultName(now time.Time) string { return dated("tapedeck", now) }

// recordingName is the name that the options give a recording that begins at now.
func recordingName(o *options, now time.Time) string {
	switch {
	case o.Output != "":
		return o.Output
	case o.OutputPrefix != "":
		return dated(o.OutputPrefix, now)
	}
	return defaultName(now)
}

func dated(name string, now time.Time) string { return name + "_" + now.Format("2006_01_02-15_04_05") }

// create begins a recording of that name and returns its path. s says how some are written, t, unless it is nil,
// hears of its files.
func create(
	o *options, s *settings, name string, metadata map[string]string, t *session,
) (codec.Writer, string, error) {
	var hooks codec.CreateOptions
	if t != nil {
		hooks.Completed, hooks.Ending = t.completed, t.ending
	}
	format := o.Storage
	if format == storageMCAP {
		format = "rosbag2"
	}
	path := outputPath(o, name)
	if o.Storage == storageSession {
		w, err := newTakes(path, o.Overwrite, s.robot, metadata, hooks.Completed)
		if err != nil {
			return nil, path, err
		}
		return w, path, nil
	}
	if part := parts[o.Storage]; o.Overwrite && part != nil {
		if err := removeParts(bareName(o, name), part); err != nil {
			return nil, path, err
		}
	}
	w, err := codec.Create(path, codec.CreateOptions{
		Format: format, Overwrite: o.Overwrite,
		ChunkSize: int(o.ChunkSize), ChunkDuration: o.ChunkDuration, Compression: o.Compression, Metadata: metadata,
		Completed: hooks.Completed, Ending: hooks.Ending,
	})
	if err == nil && o.Storage == storageCARLA {
		w = carla.NewWriter(w, s.log)
	}
	return w, path, err
}

// removeParts deletes the files behind the first one of a recording of that name, so that they do not look like those of the
// recording that takes its place.
func removeParts(name string, part *regexp.Regexp) error {
	folder, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return nil // which Create says better
	}
	base := filepath.Base(name)
	for _, entry := range folder {
		rest, found := strings.CutPrefix(strings.TrimSuffix(entry.Name(), codec.ActiveSuffix), base)
		if !found || !part.MatchString(rest) {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(name), entry.Name())); err != nil {
			return fmt.Errorf("overwrite: %w", err)
		}
	}
	return nil
}

// parseData reads KEY=VALUE.
func parseData(texts []string) (map[string]string, error) {
	data := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is not allowed, want KEY=VALUE", text)
		}
		data[key] = value
	}
	return data, nil
}
