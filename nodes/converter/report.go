package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/fleet/contract"
	page "tapedeck/nodes/internal/page/report"
	"tapedeck/nodes/internal/progress"
)

// reportOptions are the options of report.
type reportOptions struct {
	Output  string      `param:"output" short:"o" value:"FILE.html"`
	Plot    []string    `param:"plot" value:"/TOPIC.FIELD"`
	MaxSize config.Size `param:"max_size" min:"64kB"`
	Expect  string      `param:"expect" value:"FILE"`
	Mapping string      `param:"mapping" value:"FILE"`

	readOptions
}

func (*reportOptions) OptionTexts() string { return optionTexts }

func defaultReportOptions() *reportOptions { return &reportOptions{MaxSize: 5e6} }

// report writes a page that shows the recordings at paths.
func (o *reportOptions) report(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	output, paths, err := o.outputOf(paths)
	if err != nil {
		return err
	}
	var pages []*page.Data
	elsewhere := o.Plot // plots of topics that a recording may lack; for the last one: plots that others have
	var found []string
	paths = o.firsts(paths)
	for i, path := range paths {
		if i == len(paths)-1 {
			elsewhere = found
		}
		data, err := o.read(ctx, path, elsewhere, stderr)
		if err != nil {
			return err
		}
		pages = append(pages, data)
		for _, plot := range o.Plot {
			if topic, _, _ := strings.Cut(plot, "."); slices.ContainsFunc(data.Topics, func(t page.Topic) bool {
				return t.Name == topic
			}) {
				found = append(found, plot)
			}
		}
	}
	if err := writeFile(output, func(w io.Writer) error { return page.Write(w, pages) }); err != nil {
		return err
	}
	for _, p := range pages {
		for _, text := range p.Omitted {
			fmt.Fprintf(stderr, "%s: not shown: %s\n", human.Printable(p.Name), human.Printable(text))
		}
	}
	stat, err := os.Stat(output)
	if err == nil {
		_, err = fmt.Fprintf(stdout, "%s: %s\n", output, human.Bytes(stat.Size()))
	}
	return err
}

// outputOf returns the file name of the page, and the recordings in paths.
func (o *reportOptions) outputOf(paths []string) (output string, inputs []string, err error) {
	output, paths, err = namedOutput(o.Output, paths, ".html", ".htm")
	if err != nil || output != "" {
		return output, paths, errors.Join(err, checkOutput(output, "<!doctype html>"))
	}
	name := strings.TrimRight(store.Base(store.Clean(paths[0])), "/")
	if !store.IsURL(paths[0]) {
		name = strings.TrimRight(paths[0], "/")
	}
	if stat, err := os.Stat(name); err != nil || !stat.IsDir() {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	output = name + ".html"
	if _, err := os.Stat(output); !errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("%s exists; --output %[1]s replaces it", output)
	}
	return output, paths, nil
}

// namedOutput returns the file that a command writes, and the other paths. The file is output, or the last path if it
// has one of the endings; "" if neither names it.
func namedOutput(output string, paths []string, endings ...string) (string, []string, error) {
	last := len(paths) - 1
	if last < 0 || !slices.Contains(endings, strings.ToLower(filepath.Ext(paths[last]))) {
		return output, paths, nil
	}
	switch {
	case output != "":
		return "", nil, config.Usagef("got %s and --output %s; name one output", paths[last], output)
	case last == 0:
		return "", nil, config.Usagef("name a recording before %s", paths[last])
	}
	return paths[last], paths[:last], nil
}

// read returns the page's data of a recording.
func (o *reportOptions) read(ctx context.Context, path string, elsewhere []string, stderr io.Writer) (*page.Data,
	error) {
	in, err := o.openROS2(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	episodes := in.reader.Parts[0].Episodes
	if o.Mapping != "" {
		episodes = nil // the mapping decides what episodes are
	}
	if episodes == nil {
		printNotes(stderr, in.info)
	}
	warnings := warningsOf(in.info.Events)
	for _, text := range warnings[:min(len(warnings), shownDamage)] {
		fmt.Fprintln(stderr, "warning:", text)
	}
	if episodes != nil {
		return o.episodes(ctx, episodes, episodes)
	}
	bar := progress.Seconds(os.Stderr, "reading", describe.Span(in.info))
	defer bar.Close()
	if o.Mapping != "" {
		mapping, err := robot.LoadMapping(o.Mapping)
		if err != nil {
			return nil, err
		}
		source, err := robot.Episodes(in.reader, mapping)
		if err != nil {
			return nil, err
		}
		source.Progress = func(t int64) error {
			bar.Set(t - in.info.StartTime)
			return ctx.Err()
		}
		return o.episodes(ctx, in.reader, source)
	}
	var expected *contract.Contract
	if o.Expect != "" {
		expected, err = contract.Load(o.Expect)
		if err != nil {
			return nil, err
		}
	}
	found := 0
	return page.Build(ctx, in.reader, in.untranslated, page.Options{
		Plots: o.Plot, Elsewhere: elsewhere, MaxSize: int64(o.MaxSize),
		Expect: expected, Reading: func(ns int64) { bar.Set(ns - in.info.StartTime) },
		Found: func(text string) {
			if slices.ContainsFunc(warnings, func(known string) bool { return strings.HasSuffix(text, known) }) {
				return
			}
			found++
			if found <= shownDamage {
				bar.Hide()
				fmt.Fprintln(stderr, "warning:", text)
			}
		}})
}

// episodes returns the page's data of episodes.
func (o *reportOptions) episodes(ctx context.Context, r codec.Reader, source episode.Source) (*page.Data, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	if len(o.Plot) > 0 || o.Expect != "" {
		return nil, config.Usagef("--plot and --expect do not go with episodes, of which all arms are drawn")
	}
	return page.BuildEpisodes(source, info, page.Options{MaxSize: int64(o.MaxSize)},
		func(int) error { return ctx.Err() })
}

// checkOutput returns an error if name exists and is not a regular file that begins with head. Other files must not be
// replaced.
func checkOutput(name, head string) error {
	stat, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if stat.Mode().IsRegular() {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		begin, err := io.ReadAll(io.LimitReader(f, int64(len(head))))
		if err != nil || string(begin) == head {
			return err
		}
	}
	return fmt.Errorf("%s exists and is no report; name another file", name)
}

// writeFile writes a file. It replaces an existing file only once the new one is complete.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".part")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
