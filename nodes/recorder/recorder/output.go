package recorder

import (
	"fmt"
	"strings"
	"time"

	"tapedeck/codec"
)

// defaultName returns the name of a recording that the user did not name.
func defaultName(now time.Time) string { return dated("tapedeck", now) }

// recordingName returns the name of a recording that begins at now.
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

// create begins a recording of that name and returns its path. options has what o does not say.
func create(o *options, s *settings, name string, options codec.CreateOptions) (codec.Writer, string, error) {
	format := o.format()
	options.Format, options.Overwrite, options.Compression = format.Name, o.Overwrite, o.Compression
	options.ChunkSize, options.ChunkDuration = int(o.ChunkSize), o.ChunkDuration
	path := format.Live.Path(name)
	if format.Live.Robot != nil {
		w, err := format.Live.Robot(path, options, s.robot)
		return w, path, err
	}
	if o.Overwrite {
		if err := format.Live.RemoveRest(format.Live.BareName(name)); err != nil {
			return nil, path, err
		}
	}
	w, err := codec.Formats{format.Format}.Create(path, options)
	if err == nil && s.composer != nil {
		w = s.composer.Writer(w)
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
