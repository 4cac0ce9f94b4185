package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/progress"
)

// shownDamage is the largest number of damaged places that are reported one by one.
const shownDamage = 20

// recoverOptions are the options of recover.
type recoverOptions struct {
	Output      string      `param:"output_path" flag:"output" short:"o" group:"Output" value:"OUT"`
	To          string      `param:"to" group:"Output"`
	ChunkSize   config.Size `param:"chunk_size" group:"Output" min:"0" max:"1073741824"`
	Compression string      `param:"compression" group:"Output"`
	Overwrite   bool        `param:"overwrite" group:"Output"`
	Sound       bool        `param:"leave_out_damaged" group:"Output"`

	readOptions
}

func (*recoverOptions) OptionTexts() string { return optionTexts }

// salvage writes a complete copy of everything readable in the recording at paths[0], to paths[1] if given.
func (o *recoverOptions) salvage(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	switch {
	case o.Output != "" && len(paths) > 1:
		return config.Usagef("got %s and --output %s; name one output", paths[1], o.Output)
	case o.Output != "":
		paths = append(paths, o.Output)
	}
	in, err := o.openInput(paths[0])
	if err != nil {
		return err
	}
	format := o.To
	if format == "" && (len(paths) == 1 || !namesFormat(paths[1]) ||
		isFolder(in.path) && filepath.Ext(paths[1]) == "") {
		format = known.Saved(in.info.Format) // a name without extension fits any folder
	}
	path := recoveredName(in.path, format)
	if len(paths) > 1 {
		path = paths[1]
	}
	target, err := convert.FormatOf(known, path, format)
	if err != nil {
		return errors.Join(err, in.reader.Close())
	}
	opened := false
	found := findings{sound: o.Sound, info: in.info}
	job := o.newJob(convert.DefaultOptions(), in.path)
	job.Output, job.Sound, job.Events = path, o.Sound, found.events
	job.Open = func(string) (codec.Reader, error) {
		opened = true
		return in.reader.Parts[0].Files, nil
	}
	job.Options.To, job.Options.Overwrite, job.Options.ChunkSize, job.Options.Compression = format, o.Overwrite,
		o.ChunkSize, o.Compression
	if target.Episodes != nil {
		job.Options.Partial = true
		switch {
		case target.Episodes.FixedRate:
			job.Options.SplitHoles()
		case target.Name == in.info.Format && target.Episodes.Rows:
			job.Options.KeepPixels()
		}
	} else {
		job.Options.Unmatched = "raw"
		if holdsAll(target.Format, in.info) {
			job.Options.Encoding = "keep"
		}
	}
	bar := progress.Seconds(os.Stderr, "recovering", describe.Span(in.info))
	job.Progress = func(done, _ time.Duration) { bar.Set(int64(done)) }
	job.Damaged = func(err error) {
		if found.add(err) && found.places <= shownDamage {
			bar.Hide()
			fmt.Fprintln(stderr, "damaged:", err)
		}
	}
	result, err := job.Run(ctx)
	bar.Close()
	if !opened {
		in.Close()
	}
	if found.places > shownDamage {
		fmt.Fprintf(stderr, "damaged: and %d more places\n", found.places-shownDamage)
	}
	if err != nil {
		return fmt.Errorf("recover %s: %w", in.path, err)
	}
	for _, line := range result.Lines(true) {
		fmt.Fprintln(stdout, line)
	}
	for _, loss := range result.Losses {
		if strings.HasPrefix(loss.What, episode.DamagedImages("")) {
			found.places += int(loss.Messages)
		}
	}
	saved := int64(result.Messages)
	if target.Episodes != nil {
		saved = -1
	}
	for _, line := range found.report(saved) {
		fmt.Fprintln(stdout, line)
	}
	return nil
}

// holdsAll reports whether a format can hold the messages of a recording without translation.
func holdsAll(f codec.Format, info *codec.Info) bool {
	return f.Keeps.Encodings == nil || !slices.ContainsFunc(info.Topics, func(t codec.TopicInfo) bool {
		return !slices.Contains(f.Keeps.Encodings, t.Channel.Encoding)
	})
}

// recoveredName returns the default name of the copy of path: "drive.record.00000.recover", as in Apollo's
// cyber_recorder, or "drive.recover.mcap" if that name would not show the format. For a URL it is a name in the working
// folder.
func recoveredName(path, format string) string {
	path = strings.TrimSuffix(store.Clean(path), codec.ActiveSuffix)
	if store.IsURL(path) {
		path = store.Base(path)
	}
	ext := filepath.Ext(path)
	for _, name := range []string{path + ".recover", strings.TrimSuffix(path, ext) + ".recover" + ext, path +
		".recover." + format} {
		if namedAs(name, format) {
			return name
		}
	}
	return path + ".recover"
}

func namedAs(path, format string) bool {
	for _, f := range known {
		if f.Name == format {
			return f.Named(path)
		}
	}
	return false
}

// isFolder reports whether path is a local folder.
func isFolder(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.IsDir()
}

// namesFormat reports whether the name of path shows a format.
func namesFormat(path string) bool {
	for _, f := range known {
		if f.Writes() && f.Named(path) {
			return true
		}
	}
	return false
}

// reindex rebuilds the metadata.yaml of bags, and their damaged files.
func reindex(ctx context.Context, paths []string, stdout, _ io.Writer) error {
	if last := len(paths) - 1; last > 0 && config.IsStorage(paths[last]) { // as in ros2 bag reindex
		paths = paths[:last]
	}
	for _, path := range paths {
		if store.IsURL(path) {
			return fmt.Errorf("reindex %s: only a bag on a disk is repaired in place; 'converter recover' makes a "+
				"complete copy of one in a store", path)
		}
		if stat, err := os.Stat(path); err == nil && !stat.IsDir() {
			return fmt.Errorf("reindex %s: it is a file, not a bag folder; 'converter recover' makes a complete "+
				"copy of it, with an index", path)
		}
		info, err := known.Reindex(path, func(text string) { fmt.Fprintln(stdout, text) })
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s: %s in %s\n", path, human.Count(info.MessageCount, "message"),
			human.Count(len(info.Files), "file"))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
