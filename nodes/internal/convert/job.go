// Package convert converts recordings from one format to another.
package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/text/human"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// Job is a conversion of one or several recordings, merged in time, to one recording.
type Job struct {
	Files   *store.Files // where recordings are; nil: local files
	Store   *s3.Store    // where an output goes that is a URL; nil: there is no such output
	Formats formats.List // known ones
	Inputs  []string
	Output  string
	Options Options
	// Stdout, if not nil, is where the output named StandardOutput goes.
	Stdout io.Writer

	// Damaged, if not nil, is called with each damaged place in the inputs, from another goroutine than Progress; all
	// checksums are compared. The job then also saves what a conversion refuses, episodes without some of their files,
	// and discarded episodes unless the output holds rows to train on. It fails if no message can be read. If it is
	// nil, Warn is called with the first damaged places at the end, or the job fails at the first one if
	// Options.Strict.
	Damaged func(error)
	// Sound leaves out messages that may be damaged, as a checksum is wrong.
	Sound bool
	// Events, if not nil, is called once all messages are written, and returns events that the output keeps as well, if
	// its format can.
	Events func() []codec.Event
	// Open opens an input; nil is Formats.Open.
	Open func(path string) (codec.Reader, error)

	Warn     func(text string)               // called with warnings; may be nil
	Progress func(done, total time.Duration) // called often with the recorded time that is written; may be nil
	// Workers is how many episodes are written at once, where each becomes a file; 0 is one per processor.
	Workers int
}

// StandardOutput is the name of an output that is written to Job.Stdout.
const StandardOutput = "-"

// Result describes what was written.
type Result struct {
	Path      string
	Files     []string // one, or several when it was split
	Messages  uint64
	Topics    int           // names
	Bytes     int64         // of payloads
	Start     int64         // earliest LogTime written, ns since the Unix epoch
	End       int64         // latest one
	Took      time.Duration // from opening the output to its end
	Losses    []Loss        // what was selected but is not in the output
	Unplaced  []Loss        // what else is not, as a format without messages has no place for it
	Throttled Loss          // what Options.Throttle left out
	LeftOut   string        // episodes that were not selected; "": none
	Repeated  Loss          // latched messages that files begin with; among Messages
	Damaged   int           // damaged places in the inputs that were left out, if Job.Damaged is nil
	Episodes  []Episode     // in formats that keep episodes; Messages is then 0
}

// Episode describes an episode that was written.
type Episode struct {
	Name   string
	Start  int64         // ns since the Unix epoch
	End    int64         // likewise
	Frames int           // of all cameras
	Report *align.Report // nil where there are no rows, as in a session
}

// Run converts the inputs. If it fails, it leaves no output.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	p, t, err := j.prepare()
	if err != nil {
		return nil, err
	}
	p.episodes.KeepDiscarded = j.Damaged != nil && (t.format.Episodes == nil || !t.format.Episodes.Rows) // marks, too
	var d damage
	run := j.runMessages
	if t.format.Episodes != nil {
		run = j.runEpisodes
	}
	result, err := run(ctx, p, t, &d)
	for _, text := range d.texts() {
		j.warn(text)
	}
	if result != nil {
		result.Damaged = d.count
	}
	return result, err
}

// runMessages converts the inputs to a format that keeps messages.
func (j *Job) runMessages(ctx context.Context, p *plan, t *target, d *damage) (*Result, error) {
	ins, err := j.open(ctx, j.Inputs, p, t)
	if err != nil {
		return nil, err
	}
	defer ins.Close()
	if err := p.checkEpisodes(); err != nil {
		return nil, err
	}
	result, err := j.convert(ctx, p, t, ins, d)
	if err == nil {
		result.LeftOut = p.episodes.String()
	}
	return result, err
}

// Check returns an error about the options that Run would return before it opens an input.
func (j *Job) Check() error {
	_, _, err := j.prepare()
	return err
}

// prepare checks all that needs no input.
func (j *Job) prepare() (*plan, *target, error) {
	p, err := j.Options.parse()
	if err != nil {
		return nil, nil, err
	}
	format, err := FormatOf(j.Formats, j.Output, p.To)
	if err == nil && j.Stdout != nil && j.Output == StandardOutput {
		_, err = newStream(j.Stdout, j.Output, j.Formats, format)
	}
	if err == nil {
		err = p.fits(format, j.Formats)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case format.Episodes == nil:
		t, err := newTarget(format, p)
		return p, t, compressing(err, format, p.Compression, j.Formats)
	case format.Episodes.Check != nil:
		if err := format.Episodes.Check(&p.Options.Options); err != nil {
			return nil, nil, config.Usagef("%w", err)
		}
	}
	return p, &target{format: format}, nil
}

// compressing adds to an error of a format that lacks a compression which formats have it.
func compressing(err error, format formats.Format, compression string, known formats.List) error {
	refuses := func(f *formats.Format) bool {
		return f.Check != nil && f.Check(codec.CreateOptions{Compression: compression}) != nil
	}
	if err == nil || compression == "" || !refuses(&format) {
		return err
	}
	var names []string
	for i := range known {
		if f := &known[i]; f.Create != nil && f.Check != nil && !refuses(f) {
			names = append(names, f.Name)
		}
	}
	if names == nil {
		return err
	}
	return fmt.Errorf("%w; %s is for --to %s", err, compression, strings.Join(names, ", --to "))
}

func (j *Job) convert(ctx context.Context, p *plan, t *target, ins *recordings.Recording, d *damage) (*Result, error) {
	if err := p.check(ins.Infos(), j.warn); err != nil {
		return nil, err
	}
	if !p.AlignStarts {
		for _, text := range recordings.FarApart(ins.Originals()) {
			j.warn(text)
		}
	}
	first, last := ins.Window()
	start, end, err := p.window(first, last, j.warn)
	if err != nil {
		return nil, err
	}
	var missing losses
	for _, in := range ins.Parts {
		for _, text := range in.Original.Notes {
			j.warn(text)
		}
		if err := j.accept(in, p, &missing); err != nil {
			return nil, err
		}
		if !in.Original.Complete && j.Damaged == nil {
			j.warn(in.Path + " is incomplete; converting everything readable")
		}
		if in.Standard {
			j.warn(in.Path + " has messages of PX4: converting them as with --standard-messages")
		}
		j.reportApollo(in, p, t)
		j.reportUnreadQoS(in, p)
		j.reportLabels(in, &missing)
		if err := j.reportDamage(in, p, d); err != nil {
			return nil, err
		}
		if len(in.Still) > 0 {
			j.warn("stamps can be found only in ROS 2 messages, not in those of " + human.List(in.Still))
		}
	}
	s := newSource(p, t, ins, start, end)
	s.damaged, s.salvages = j.onDamage(d), j.Damaged != nil
	s.labels = func(err error) { j.warn(err.Error()) }
	s.known = append(s.known, missing...)
	if start > first {
		if err := s.readState(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.refuse(j.Output); err != nil {
		return nil, err
	}
	out, err := j.output(p, t, ins)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if !p.AlignStarts {
		for _, text := range recordings.Doubled(ins.Sources()) {
			j.warn(text)
		}
	}
	begin := time.Now()
	w := newWriter(s, out, j.Progress)
	w.warn, w.events = j.Warn, j.Events
	w.start, w.end = max(first, start), last
	if end > 0 {
		w.end = min(last, end)
	}
	metadata := metadata(ins, t, int64(p.Offset))
	if s.composed {
		t.composer.SetDefaults(metadata)
	}
	options := p.create(metadata)
	options.Salvaged = j.Damaged != nil
	if t.format.Keeps.Attachments {
		damaged := s.damaged
		if p.Strict {
			damaged = nil
		}
		attach(ctx, ins, &options, int64(p.Offset), damaged)
	}
	if err := w.run(ctx, options); err != nil {
		return nil, err
	}
	if p.Strict {
		if err := losses(w.result.Losses).strict(out.path, t.format); err != nil {
			return nil, err
		}
	}
	w.result.Took = time.Since(begin)
	w.result.Files, err = out.commit(ctx)
	return &w.result, err
}

// reportUnreadQoS reports, once for each selected topic, QoS that cannot be read.
func (j *Job) reportUnreadQoS(in *recordings.Part, p *plan) {
	reported := map[string]bool{}
	for _, e := range in.Original.Events {
		selected := slices.ContainsFunc(in.Original.Topics, func(t codec.TopicInfo) bool {
			return t.Channel.Topic == e.Topic && p.selection.Wants(t.Channel)
		})
		if e.Kind != codec.EventDamage || !selected || reported[e.Topic] {
			continue
		}
		reported[e.Topic] = true
		if j.Damaged != nil {
			j.Damaged(errors.New(e.Text))
		} else {
			j.warn(in.Path + ": " + e.Text)
		}
	}
}

// reportApollo says how messages that were Apollo's become Apollo's again in a record.
func (j *Job) reportApollo(in *recordings.Part, p *plan, t *target) {
	if p.Encoding != "auto" || in.Original.Format == t.format.Name ||
		!slices.Contains(t.format.Native, codec.EncodingProtobuf) {
		return
	}
	var topics []string
	for _, topic := range in.Info.Topics {
		if c := topic.Channel; recordings.WasApollo(c) && p.selection.Wants(c) {
			topics = append(topics, c.Topic)
		}
	}
	if topics != nil {
		slices.Sort(topics)
		j.warn(fmt.Sprintf("%s: messages that came from Apollo stay ROS 2's on %s; --encoding protobuf makes them "+
			"Apollo's again", in.Path, human.List(slices.Compact(topics))))
	}
}

// reportLabels reports what was not read as the recording says, and adds the messages of it that cannot be read to
// lost.
func (j *Job) reportLabels(in *recordings.Part, lost *losses) {
	for _, e := range in.Original.Events {
		switch {
		case e.Kind == codec.EventLabel, e.Kind == codec.EventNote:
			j.warn(in.Path + ": " + e.Text)
		case e.Kind == codec.EventDamage && e.Count > 0 && e.Topic == "" && j.Damaged == nil:
			lost.add(in.Path+": "+strings.TrimPrefix(e.Text, store.Base(in.Path)+": "), "", 0)
		}
	}
}

// reportDamage reports damage that a recording is known to have and that reading it may not meet. Files of it that are
// missing are an error with --strict. Those of episodes are for accept.
func (j *Job) reportDamage(in *recordings.Part, p *plan, d *damage) error {
	if in.Episodes != nil {
		return nil
	}
	for _, e := range in.Original.Events {
		switch {
		case e.Topic != "" || e.Count > 0 || j.Damaged != nil:
		case e.Kind == codec.EventMissing && p.Strict:
			return p.damaged(inRecording(in.Path, e.Text))
		case e.Kind == codec.EventMissing || e.Kind == codec.EventDamage && !p.Strict:
			d.tell(in.Path, e.Text)
		}
	}
	return nil
}

// output returns where the recording is written.
func (j *Job) output(p *plan, t *target, ins *recordings.Recording) (*output, error) {
	if j.Stdout != nil && j.Output == StandardOutput {
		return newStream(j.Stdout, j.Output, j.Formats, t.format)
	}
	return newOutput(j, t.format, p.Overwrite, ins.Originals())
}

// onDamage returns the function that is called with damaged places: Job.Damaged, or one that adds them to d.
func (j *Job) onDamage(d *damage) func(error) {
	if j.Damaged != nil {
		return j.Damaged
	}
	return d.add
}

// videos has the frames of an input's colour videos become JPEGs in recordings, unless pixels are wanted, and tells how
// much they become.
func (j *Job) videos(path string, r *episode.Reader, p *plan, t *target) error {
	if !t.format.KeepsMessages() {
		return nil
	}
	if p.Images != formats.ImagesRaw {
		r.CompressVideos(p.Quality)
	}
	bytes, err := r.Pixels()
	if err != nil || bytes < tellPixels {
		return err
	}
	if p.Images == formats.ImagesRaw {
		j.warn(fmt.Sprintf("%s: its videos become about %s of pixels; without --images raw they become JPEGs", path,
			human.Bytes(bytes)))
	} else {
		j.warn(fmt.Sprintf("%s: its videos become JPEGs of about %s; --images raw keeps their pixels, about %s", path,
			human.Bytes(bytes/pixelsPerJPEG), human.Bytes(bytes)))
	}
	return nil
}

const (
	tellPixels    = 100 << 20 // from so many bytes on, a warning says how large videos become
	pixelsPerJPEG = 10        // bytes of pixels for a byte of a JPEG, as a rule
)

// accept adds files that the input lacks to what is lost; without --partial they are an error. Job.Damaged is called
// with them anyway.
func (j *Job) accept(in *recordings.Part, p *plan, lost *losses) error {
	missing := missing(in, p)
	if len(missing) == 0 || j.Damaged != nil {
		return nil
	}
	if !p.Partial {
		return lacks(in.Path, missing)
	}
	for _, m := range missing {
		if m.Channel == nil {
			lost.add("episodes whose files are missing", "", 0)
		} else {
			lost.add("images whose files are missing", m.Channel.Topic, uint64(m.Images))
		}
	}
	return nil
}

// lacks returns the error about files that a recording lacks.
func lacks(path string, missing []*episode.MissingError) error {
	var files, of []string
	images := 0
	for _, m := range missing {
		name, err := filepath.Rel(path, m.Path)
		if err != nil || strings.HasPrefix(name, "..") {
			name = m.Path
		}
		files, images = append(files, human.Printable(name)), images+m.Images
		if camera := human.Printable(m.Camera); m.Camera != "" && !slices.Contains(of, camera) {
			of = append(of, camera)
		}
	}
	what := human.Count(len(files), "file") + ": " + human.List(files)
	switch {
	case images > 0:
		what += fmt.Sprintf(" (%s of %s)", human.Count(images, "image"), human.List(of))
	case len(of) > 0:
		what += fmt.Sprintf(" (images of %s)", human.List(of))
	}
	why := missing[0].Err
	if !errors.Is(why, codec.ErrLFSPointer) {
		why = fmt.Errorf("%w; get them, in a Git clone with 'git lfs pull'", why)
	}
	return fmt.Errorf("%s lacks %s: %w, or use --partial to convert everything else", path, what, why)
}

func (j *Job) warn(text string) {
	if j.Warn != nil {
		j.Warn(text)
	}
}
