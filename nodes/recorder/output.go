package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tapedeck/codec"
)

var (
	recordSuffix = regexp.MustCompile(`\.record(\.\d{5})?$`)
	recordPart   = regexp.MustCompile(`^\.record\.\d{5}$`)
)

// outputPath returns what is created for the name that the user gave: NAME.record.00000, or the folder NAME.
func outputPath(o *options, name string) string {
	if o.Storage == "record" {
		return bareName(name) + ".record.00000"
	}
	return strings.TrimRight(name, "/")
}

// bareName returns the name without what a storage adds to it.
func bareName(name string) string {
	return recordSuffix.ReplaceAllString(strings.TrimRight(name, "/"), "")
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

// create begins a snapshot of that name and returns its path.
func create(o *options, name string, metadata map[string]string) (codec.Writer, string, error) {
	return open(o, name, metadata, nil)
}

// open begins a recording of that name and returns its path. completed is told of its files.
func open(o *options, name string, metadata map[string]string, completed func(codec.FileInfo, error)) (codec.Writer, string, error) {
	format := o.Storage
	if format == "mcap" {
		format = "rosbag2"
	}
	path := outputPath(o, name)
	if o.Overwrite && o.Storage == "record" {
		if err := removeParts(bareName(name)); err != nil {
			return nil, path, err
		}
	}
	w, err := codec.Create(path, codec.CreateOptions{
		Format: format, Overwrite: o.Overwrite,
		ChunkSize: int(o.ChunkSize), ChunkDuration: o.ChunkDuration, Compression: o.Compression, Metadata: metadata,
		Completed: completed,
	})
	return w, path, err
}

// removeParts deletes the files behind the first one of a recording of that name, so that they do not look like those of the
// recording that takes its place.
func removeParts(name string) error {
	folder, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return nil // which Create says better
	}
	base := filepath.Base(name)
	for _, entry := range folder {
		rest, found := strings.CutPrefix(strings.TrimSuffix(entry.Name(), codec.ActiveSuffix), base)
		if !found || !recordPart.MatchString(rest) {
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
