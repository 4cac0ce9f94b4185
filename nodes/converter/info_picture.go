package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tapedeck/bridge/robot"
	"tapedeck/codec"
	"tapedeck/codec/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/picture"
	"tapedeck/nodes/internal/progress"
)

// pictureOptions are the options of --picture.
type pictureOptions struct {
	Picture string `param:"picture" group:"Picture" value:"FILE.png" help:"draw the recording into FILE.png: its topics over time, or for a data set a page for each episode"`
	Size    string `param:"size" group:"Picture" value:"WxH" pattern:"[0-9]{1,5}x[0-9]{1,5}" help:"page size in pixels; with height 0 a page is as high as needed"`
	Episode int    `param:"episode" group:"Picture" value:"N" min:"0" help:"draw only this episode, counted from 1; 0 draws all"`
	Mapping string `param:"mapping" group:"Picture" value:"FILE" help:"draw any recording as episodes: YAML FILE that says which topics are cameras and arms (see config/robot_mapping.yaml)"`
}

func defaultPictureOptions() pictureOptions {
	return pictureOptions{Size: fmt.Sprintf("%dx%d", picture.DefaultSize.Width, picture.DefaultSize.Height)}
}

func (o *pictureOptions) check() error {
	if o.Picture == "" {
		if o.Episode > 0 || o.Mapping != "" {
			return config.Usagef("--episode and --mapping need --picture")
		}
		return nil
	}
	// An existing file is replaced, which should not be a recording.
	if !strings.EqualFold(filepath.Ext(o.Picture), ".png") {
		return config.Usagef("--picture %s: want a name that ends with .png", o.Picture)
	}
	if err := o.size().Check(); err != nil {
		return config.Usagef("--size %s: %v", o.Size, err)
	}
	return nil
}

func (o *pictureOptions) size() (s picture.Size) {
	// The pattern of the option has been checked.
	_, _ = fmt.Sscanf(o.Size, "%dx%d", &s.Width, &s.Height)
	return s
}

// draw draws the recording at paths[0].
func (o *infoOptions) draw(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	if len(paths) > 1 {
		return config.Usagef("--picture draws one recording, but got %d", len(paths))
	}
	if o.JSON || o.Wanted() {
		return config.Usagef("--picture does not go with --json, --apollo or the options of CARLA logs")
	}
	source, r, err := o.openPicture(ctx, paths[0], stderr)
	if err != nil {
		return err
	}
	if source != nil {
		defer source.Close()
		return o.drawEpisodes(ctx, source, paths[0], stdout)
	}
	in, err := newInput(paths[0], r)
	if err != nil {
		return err
	}
	defer in.Close()
	density, err := o.count(ctx, in, stderr)
	if err != nil {
		return err
	}
	page, err := picture.Recording(in.info, density, o.size())
	if err != nil {
		return err
	}
	return o.write(page, o.Picture, stdout)
}

// openPicture opens a recording, as episodes if it has episodes or there is a mapping.
func (o *infoOptions) openPicture(ctx context.Context, path string, stderr io.Writer) (*episodes, codec.Reader, error) {
	if o.Mapping == "" {
		r, err := o.open(path, stderr)
		if err != nil {
			return nil, nil, err
		}
		if r, ok := r.(*episode.Reader); ok {
			info, err := r.Info()
			if err != nil {
				r.Close()
				return nil, nil, err
			}
			for _, missing := range r.Missing() {
				fmt.Fprintln(stderr, "warning:", missing)
			}
			return &episodes{r.Source(), info.Format}, nil, nil
		}
		if o.Episode > 0 {
			r.Close()
			return nil, nil, config.Usagef("%s has no episodes; --mapping says which topics are cameras and arms", path)
		}
		return nil, r, nil
	}
	mapping, err := robot.LoadMapping(o.Mapping)
	if err != nil {
		return nil, nil, err
	}
	r, left, err := known.OpenROS2(path, formats.ReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, err := range left {
		fmt.Fprintln(stderr, "warning: not translated to ROS 2:", err)
	}
	info, err := r.Info()
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	source, err := robot.Episodes(r, mapping)
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	bar := progress.Seconds(os.Stderr, "reading", span(info))
	source.Progress = func(t int64) error {
		bar.Set(t - info.StartTime)
		return ctx.Err()
	}
	_, err = source.Episodes()
	bar.Close()
	for _, note := range source.Notes() {
		fmt.Fprintln(stderr, "warning:", note)
	}
	if err != nil {
		source.Close()
		return nil, nil, err
	}
	return &episodes{source, info.Format}, nil, nil
}

// episodes is a source of episodes with its format.
type episodes struct {
	episode.Source
	format string
}

// drawEpisodes draws a page for each selected episode.
func (o *infoOptions) drawEpisodes(ctx context.Context, source *episodes, path string, stdout io.Writer) error {
	list, err := source.Episodes()
	if err != nil {
		return err
	}
	if o.Episode > len(list) || len(list) == 0 {
		return fmt.Errorf("draw %s: there is no such episode; the recording has %d", path, len(list))
	}
	bar := progress.Bytes(os.Stderr, "drawing", int64(len(list)))
	defer bar.Close()
	for i, e := range list {
		if o.Episode > 0 && i != o.Episode-1 {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		page, err := picture.Episode(e, picture.Set{Path: path, Format: source.format, Number: i + 1, Of: len(list)},
			o.size())
		if err != nil {
			return fmt.Errorf("draw episode %d of %s: %w", i+1, path, err)
		}
		name := o.Picture
		if len(list) > 1 && o.Episode == 0 {
			ext := filepath.Ext(name)
			name = fmt.Sprintf("%s_%0*d%s", strings.TrimSuffix(name, ext), len(fmt.Sprint(len(list))), i+1, ext)
		}
		bar.Hide()
		if err := o.write(page, name, stdout); err != nil {
			return err
		}
		bar.Set(int64(i + 1))
	}
	return nil
}

// count counts messages over time, without few messages whose times are far from all others: then it reads twice.
func (o *infoOptions) count(ctx context.Context, in *input, stderr io.Writer) (*picture.Density, error) {
	density := picture.NewDensity(in.info.StartTime, in.info.EndTime)
	if err := o.fill(ctx, in, density, stderr); err != nil {
		return nil, err
	}
	start, end, absurd := density.Absurd()
	if !absurd {
		return density, nil
	}
	density = picture.NewDensity(start, end)
	return density, o.fill(ctx, in, density, io.Discard)
}

func (o *infoOptions) fill(ctx context.Context, in *input, density *picture.Density, stderr io.Writer) error {
	bar := progress.Seconds(os.Stderr, "reading", span(in.info))
	defer bar.Close()
	damaged := 0
	it, err := in.reader.Read(codec.Query{Start: in.info.StartTime, Damaged: func(err error) {
		if damaged++; damaged <= 3 {
			bar.Hide()
			fmt.Fprintln(stderr, "warning:", err)
		}
	}})
	if err != nil {
		return err
	}
	defer it.Close()
	for n := 0; ; n++ {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && n%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		density.Add(m)
		bar.Set(m.LogTime - in.info.StartTime)
	}
}

// write writes a page, and replaces a file of that name only once the page is complete.
func (o *pictureOptions) write(page *picture.Drawing, name string, stdout io.Writer) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".part")
	if err != nil {
		return fmt.Errorf("draw %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("draw %s: %w", name, err)
		}
	}()
	if err = page.WritePNG(f); err != nil {
		return err
	}
	if err = errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d × %d pixels\n", name, page.Width, page.Height)
	return err
}
