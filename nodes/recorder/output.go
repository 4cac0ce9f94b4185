package main

import (
	"fmt"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

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
	format := formats.All().ByStorage(o.Storage)
	path := format.Live.Path(name)
	if o.Storage == storageSession {
		w, err := createSession(path, o.Overwrite, s.robot, metadata, hooks.Completed)
		return w, path, err
	}
	if o.Overwrite {
		if err := format.Live.RemoveOthers(format.Live.BareName(name)); err != nil {
			return nil, path, err
		}
	}
	w, err := codec.Formats{format.Format}.Create(path, codec.CreateOptions{
		Overwrite: o.Overwrite,
		ChunkSize: int(o.ChunkSize), ChunkDuration: o.ChunkDuration, Compression: o.Compression, Metadata: metadata,
		Completed: hooks.Completed, Ending: hooks.Ending,
	})
	if err == nil && s.author != nil {
		w = s.author.Writer(w)
	}
	return w, path, err
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
