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

// Job is one conversion: it merges one or several recordings in time and writes one recording.
type Job struct {
	Files   *store.Files // opens files and URLs; nil: local files only
	Store   *s3.Store    // to which an output that is a URL is uploaded; nil if no output is a URL
	Formats formats.List // formats of inputs and output
	Inputs  []string     // paths or URLs
	Output  string       // path, URL or StandardOutput
	Options Options
	// Stdout receives the output named StandardOutput. If it is nil, the name is an ordinary path.
	Stdout io.Writer

	// Damaged, if not nil, is called with each damaged place in the inputs, not on the goroutine of Progress. The job
	// then compares all checksums, converts episodes without some of their files, and converts discarded episodes
	// unless the output has rows to train on. It fails if no message can be read.
	//
	// If Damaged is nil, Run calls Warn with the first damaged places at the end. With Options.Strict the job fails at
	// the first damaged place.
	Damaged func(error)
	// Sound leaves out messages that may be damaged because a checksum is wrong.
	Sound bool
	// Events, if not nil, is called once all messages are written. The events that it returns are added to the output
	// if its format can hold them.
	Events func() []codec.Event
	// Open opens an input; nil: Formats.Open.
	Open func(path string) (codec.Reader, error)

	Warn     func(text string)               // called with warnings; may be nil
	Progress func(done, total time.Duration) // called often with the recorded time that is written; may be nil
	// Workers is the number of episodes written at once if the format has a file for each; 0: one per processor.
	Workers int
}

// StandardOutput is the name of an output that is written to Job.Stdout.
const StandardOutput = "-"

// Result describes a written recording.
type Result struct {
	Path            string
	Files           []string      // several if the recording was split
	Messages        uint64        // 0 in formats of episodes
	Topics          int           // number of different names
	Bytes           int64         // of payloads
	Start           int64         // earliest LogTime written, ns since the Unix epoch
	End             int64         // latest LogTime written, ns since the Unix epoch
	Took            time.Duration // from opening the output to its end
	Losses          []Loss        // selected, but not in the output
	Unplaced        []Loss        // properties of messages for which a format without messages has no place
	Throttled       Loss          // messages dropped by Options.Throttle
	SkippedEpisodes string        // episodes that were not selected; "": none
	Repeated        Loss          // latched messages with which files begin; Messages includes them
	Damaged         int           // damaged places in the inputs that were skipped; 0 if Job.Damaged is set
	Episodes        []Episode     // in formats that keep episodes
}

// Episode describes a written episode.
type Episode struct {
	Name   string
	Start  int64         // ns since the Unix epoch
	End    int64         // ns since the Unix epoch
	Frames int           // of all cameras
	Report *align.Report // nil in formats without rows, such as sessions
}

// Run converts the inputs. If it fails, it leaves no output.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	s, t, err := j.prepare()
	if err != nil {
		return nil, err
	}
	s.episodes.KeepDiscarded = j.Damaged != nil && (t.format.Episodes == nil || !t.format.Episodes.Rows) // marks, too
	var d damageLog
	run := j.runMessages
	if t.format.Episodes != nil {
		run = j.runEpisodes
	}
	result, err := run(ctx, s, t, &d)
	for _, text := range d.warnings() {
		j.warn(text)
	}
	if result != nil {
		result.Damaged = d.count
	}
	return result, err
}

// runMessages converts the inputs to a format that keeps messages.
func (j *Job) runMessages(ctx context.Context, s *settings, t *target, d *damageLog) (*Result, error) {
	inputs, err := j.openInputs(ctx, j.Inputs, s, t)
	if err != nil {
		return nil, err
	}
	defer inputs.Close()
	if err := s.checkEpisodes(); err != nil {
		return nil, err
	}
	result, err := j.convert(ctx, s, t, inputs, d)
	if err == nil {
		result.SkippedEpisodes = s.episodes.String()
	}
	return result, err
}

// Check returns the error about options that Run would return before it opens an input.
func (j *Job) Check() error {
	_, _, err := j.prepare()
	return err
}

// prepare parses and checks the options without opening an input.
func (j *Job) prepare() (*settings, *target, error) {
	s, err := j.Options.parse()
	if err != nil {
		return nil, nil, err
	}
	format, err := FormatOf(j.Formats, j.Output, s.To)
	if err == nil && j.Stdout != nil && j.Output == StandardOutput {
		_, err = newStdoutOutput(j.Stdout, j.Output, j.Formats, format)
	}
	if err == nil {
		err = s.checkFormat(format, j.Formats)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case format.Episodes == nil:
		t, err := newTarget(format, s)
		return s, t, suggestFormats(err, format, s.Compression, j.Formats)
	case format.Episodes.Check != nil:
		if err := format.Episodes.Check(&s.Options.Options); err != nil {
			return nil, nil, config.Usagef("%w", err)
		}
	}
	return s, &target{format: format}, nil
}

// suggestFormats adds to an error about a missing compression the names of the formats that have the compression.
func suggestFormats(err error, format formats.Format, compression string, known formats.List) error {
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

func (j *Job) convert(ctx context.Context, s *settings, t *target, inputs *recordings.Recording,
	d *damageLog) (*Result, error) {
	if err := s.checkTopics(inputs.Infos(), j.warn); err != nil {
		return nil, err
	}
	if !s.AlignStarts {
		for _, text := range recordings.FarApart(inputs.Originals()) {
			j.warn(text)
		}
	}
	first, last := inputs.Window()
	start, end, err := s.window(first, last, j.warn)
	if err != nil {
		return nil, err
	}
	var missing losses
	for _, in := range inputs.Parts {
		for _, text := range in.Original.Notes {
			j.warn(text)
		}
		if err := j.acceptMissing(in, s, &missing); err != nil {
			return nil, err
		}
		if !in.Original.Complete && j.Damaged == nil {
			j.warn(in.Path + " is incomplete; converting everything readable")
		}
		if in.Standard {
			j.warn(in.Path + " has messages of PX4: converting them as with --standard-messages")
		}
		j.reportApollo(in, s, t)
		j.reportUnreadQoS(in, s)
		j.reportLabels(in, &missing)
		if err := j.reportDamage(in, s, d); err != nil {
			return nil, err
		}
		if len(in.Still) > 0 {
			j.warn("stamps can be found only in ROS 2 messages, not in those of " + human.List(in.Still))
		}
	}
	r := newMessageReader(s, t, inputs, start, end)
	r.damaged, r.salvages = j.onDamage(d), j.Damaged != nil
	r.mislabelled = func(err error) { j.warn(err.Error()) }
	r.knownLosses = append(r.knownLosses, missing...)
	if start > first {
		if err := r.readLatched(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.checkLosses(j.Output); err != nil {
		return nil, err
	}
	out, err := j.openOutput(s, t, inputs)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if !s.AlignStarts {
		for _, text := range recordings.Doubled(inputs.FileReaders()) {
			j.warn(text)
		}
	}
	begin := time.Now()
	c := newCopier(r, out, j.Progress)
	c.warn, c.events = j.Warn, j.Events
	c.start, c.end = max(first, start), last
	if end > 0 {
		c.end = min(last, end)
	}
	metadata := metadata(inputs, t, int64(s.Offset))
	if r.composed {
		t.composer.SetDefaults(metadata)
	}
	options := s.createOptions(metadata)
	options.Salvaged = j.Damaged != nil
	if t.format.Keeps.Attachments {
		damaged := r.damaged
		if s.Strict {
			damaged = nil
		}
		attach(ctx, inputs, &options, int64(s.Offset), damaged)
	}
	if err := c.run(ctx, options); err != nil {
		return nil, err
	}
	if s.Strict {
		if err := losses(c.result.Losses).strictError(out.path, t.format); err != nil {
			return nil, err
		}
	}
	c.result.Took = time.Since(begin)
	c.result.Files, err = out.commit(ctx)
	return &c.result, err
}

// reportUnreadQoS reports, once for each selected topic, QoS that cannot be read.
func (j *Job) reportUnreadQoS(in *recordings.Part, s *settings) {
	reported := map[string]bool{}
	for _, e := range in.Original.Events {
		selected := slices.ContainsFunc(in.Original.Topics, func(t codec.TopicInfo) bool {
			return t.Channel.Topic == e.Topic && s.selection.Wants(t.Channel)
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

// reportApollo warns of messages that were translated from Apollo's, and that a record keeps as ROS 2 messages without
// --encoding protobuf.
func (j *Job) reportApollo(in *recordings.Part, s *settings, t *target) {
	if s.Encoding != "auto" || in.Original.Format == t.format.Name ||
		!slices.Contains(t.format.Native, codec.EncodingProtobuf) {
		return
	}
	var topics []string
	for _, topic := range in.Info.Topics {
		if c := topic.Channel; recordings.WasApollo(c) && s.selection.Wants(c) {
			topics = append(topics, c.Topic)
		}
	}
	if topics != nil {
		slices.Sort(topics)
		j.warn(fmt.Sprintf("%s: messages that came from Apollo stay ROS 2's on %s; --encoding protobuf makes them "+
			"Apollo's again", in.Path, human.List(slices.Compact(topics))))
	}
}

// reportLabels warns of data that was not read as the recording labels it, and adds unreadable messages to lost.
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

// reportDamage reports damage that the recording's Info lists, which reading may not meet. With --strict it returns an
// error for a missing file. It does nothing for recordings of episodes: acceptMissing reports their missing files.
func (j *Job) reportDamage(in *recordings.Part, s *settings, d *damageLog) error {
	if in.Episodes != nil {
		return nil
	}
	for _, e := range in.Original.Events {
		switch {
		case e.Topic != "" || e.Count > 0 || j.Damaged != nil:
		case e.Kind == codec.EventMissing && s.Strict:
			return s.damageError(inRecording(in.Path, e.Text))
		case e.Kind == codec.EventMissing || e.Kind == codec.EventDamage && !s.Strict:
			d.addListed(in.Path, e.Text)
		}
	}
	return nil
}

// openOutput returns the output, which may be standard output.
func (j *Job) openOutput(s *settings, t *target, inputs *recordings.Recording) (*output, error) {
	if j.Stdout != nil && j.Output == StandardOutput {
		return newStdoutOutput(j.Stdout, j.Output, j.Formats, t.format)
	}
	return newOutput(j, t.format, s.Overwrite, inputs.Originals())
}

// onDamage returns the function to call with damaged places: Job.Damaged, or d.add if that is nil.
func (j *Job) onDamage(d *damageLog) func(error) {
	if j.Damaged != nil {
		return j.Damaged
	}
	return d.add
}

// compressVideos makes r return the frames of colour videos as JPEGs if the output keeps messages, unless the option
// Images asks for pixels. It warns if the frames take much space.
func (j *Job) compressVideos(path string, r *episode.Reader, s *settings, t *target) error {
	if !t.format.KeepsMessages() {
		return nil
	}
	if s.Images != formats.ImagesRaw {
		r.CompressVideos(s.Quality)
	}
	bytes, err := r.Pixels()
	if err != nil || bytes < largeVideos {
		return err
	}
	if s.Images == formats.ImagesRaw {
		j.warn(fmt.Sprintf("%s: its videos become about %s of pixels; without --images raw they become JPEGs", path,
			human.Bytes(bytes)))
	} else {
		j.warn(fmt.Sprintf("%s: its videos become JPEGs of about %s; --images raw keeps their pixels, about %s", path,
			human.Bytes(bytes/pixelsPerJPEG), human.Bytes(bytes)))
	}
	return nil
}

const (
	largeVideos   = 100 << 20 // bytes of pixels from which on a warning gives the size of videos
	pixelsPerJPEG = 10        // typical number of bytes of pixels for each byte of a JPEG
)

// acceptMissing adds the files that the input lacks to lost. Without --partial it returns an error instead. It does
// nothing if Job.Damaged is set, which is called with the missing files.
func (j *Job) acceptMissing(in *recordings.Part, s *settings, lost *losses) error {
	missing := missingFiles(in, s)
	if len(missing) == 0 || j.Damaged != nil {
		return nil
	}
	if !s.Partial {
		return missingError(in.Path, missing)
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

// missingError returns an error that lists the files that the recording at path lacks.
func missingError(path string, missing []*episode.MissingFileError) error {
	var files, cameras []string
	images := 0
	for _, m := range missing {
		name, err := filepath.Rel(path, m.Path)
		if err != nil || strings.HasPrefix(name, "..") {
			name = m.Path
		}
		files, images = append(files, human.Printable(name)), images+m.Images
		if camera := human.Printable(m.Camera); m.Camera != "" && !slices.Contains(cameras, camera) {
			cameras = append(cameras, camera)
		}
	}
	what := human.Count(len(files), "file") + ": " + human.List(files)
	switch {
	case images > 0:
		what += fmt.Sprintf(" (%s of %s)", human.Count(images, "image"), human.List(cameras))
	case len(cameras) > 0:
		what += fmt.Sprintf(" (images of %s)", human.List(cameras))
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
