package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge/recordings"
	"tapedeck/bridge/translate/robot"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// episodeJob converts recordings to a format that keeps episodes.
type episodeJob struct {
	*Job
	damage   *damage
	onDamage func(error)
	plan     *plan
	format   formats.Format
	mapping  *robot.Mapping // nil: derived from topic names and types
	align    align.Options
	ranges   []gripperRange
	target   formats.EpisodeWriter

	mu        sync.Mutex
	result    Result
	unwritten []int // indices of episodes that are left out
	lost      losses
	parts     []float64 // progress of each input, 0 to 1
}

// surveying is the share of the progress on an input that finding its episodes takes.
const surveying = 0.3

// runEpisodes writes what is in the inputs, one after the other, as episodes.
func (j *Job) runEpisodes(ctx context.Context, p *plan, t *target, d *damage) (*Result, error) {
	format := t.format
	j.Inputs = series.Firsts(j.Files, j.Formats.Codecs(), j.Inputs)
	w := &episodeJob{Job: j, plan: p, format: format, parts: make([]float64, len(j.Inputs)), damage: d,
		onDamage: j.onDamage(d)}
	var err error
	w.mapping, err = p.mapping()
	if err != nil {
		return nil, err
	}
	w.align, err = p.rows()
	if err != nil {
		return nil, err
	}
	w.ranges, err = p.gripperRanges()
	if err != nil {
		return nil, err
	}
	if p.LinkFile != "" && (format.Named(j.Output) || store.IsURL(j.Output)) {
		return nil, config.Usagef("--link-file needs a folder of HDF5 files as output, and %s is none", j.Output)
	}
	var read []*codec.Info
	for _, path := range j.Inputs {
		read = append(read, &codec.Info{Path: path})
	}
	out, err := newOutput(j, format, p.Overwrite, read)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if err := p.checkLink(out); err != nil {
		return nil, err
	}
	begin := time.Now()
	w.result.Path = out.path
	if err := w.run(ctx, out); err != nil {
		return nil, out.renamed(err)
	}
	w.result.Files, err = out.commit(ctx)
	if err == nil && p.LinkFile != "" {
		err = w.link(out)
		if err != nil && !p.Overwrite {
			err = errors.Join(err, os.RemoveAll(out.path))
		}
	}
	w.result.Took = time.Since(begin)
	return &w.result, err
}

// checkLink returns an error if the file with links has no folder, or exists and must not be replaced.
func (p *plan) checkLink(out *output) error {
	if p.LinkFile == "" {
		return nil
	}
	_, err := os.Lstat(p.LinkFile)
	folder := filepath.Dir(p.LinkFile)
	_, lost := os.Stat(folder)
	switch {
	case lost != nil && folder != out.path:
		return fmt.Errorf("--link-file %s: %w", p.LinkFile, codec.Pathless(lost))
	case err != nil:
		return nil
	case !p.Overwrite:
		return fmt.Errorf("--link-file %s exists; name another file or use --overwrite", p.LinkFile)
	case out.reads(p.LinkFile):
		return fmt.Errorf("--link-file %s is an input; name another file", p.LinkFile)
	}
	return nil
}

// link writes the file with links to all episodes of a folder.
func (w *episodeJob) link(out *output) error {
	w.result.Files = append(w.result.Files, w.plan.LinkFile)
	return out.format.Episodes.Link(w.plan.LinkFile, out.path, len(w.result.Episodes), w.plan.Overwrite)
}

// ofMessages are options that do not apply to episodes.
var ofMessages = []string{"throttle", "align_starts", "message_order", "chunk_size", "compression", "compression_mode",
	"storage", "metadata_version", "max_bag_size", "max_bag_duration", "max_bag_messages", "repeat", "encoding",
	"unmatched"}

// fits refuses options of other formats, and those about episodes, rows and splits if the format has none.
func (p *plan) fits(format formats.Format, known formats.List) error {
	defaults := DefaultOptions()
	was := config.Parameters(&defaults)
	for i, o := range config.Parameters(&p.Options) {
		if o.Default == was[i].Default || o.Default == "" || o.Default == "0" {
			continue
		}
		about := func(f formats.Format) bool { return f.Group == o.Group }
		switch {
		case format.TakesOfFrames(o.Name, o.Default):
			continue
		case o.Group == "Robot" && format.Episodes == nil:
			return config.Usagef("--%s does not apply to %s, which keeps no episodes", o.Flag, format.Name)
		case o.Group == "Alignment" && o.Name != "partial" && (format.Episodes == nil || !format.Episodes.Rows):
			return config.Usagef("--%s does not apply to %s, which has no rows", o.Flag, format.Name)
		case format.Episodes == nil && !format.Splits && strings.HasPrefix(o.Name, "max_bag_"):
			return config.Usagef("--%s does not apply to %s, which cannot be split", o.Flag, format.Name)
		case format.Episodes != nil && slices.Contains(ofMessages, o.Name),
			slices.ContainsFunc(known, about) && !about(format) && o.Name != format.Also:
			return config.Usagef("--%s does not apply to %s", o.Flag, format.Name)
		}
	}
	return nil
}

// editsMessages reports whether options select or change messages, so that episodes must be read as messages.
func (p *plan) editsMessages() bool {
	return p.Mapping != "" || len(p.Topics)+len(p.Exclude)+len(p.Types)+len(p.ExcludeTypes)+len(p.Remap) > 0 ||
		p.Begin != "" || p.End != "" || p.StartOffset != 0 || p.Duration > 0 || p.Prefix != "" || p.Offset != 0 ||
		p.Order == "header" || p.Restamp
}

// task is an episode to be written.
type task struct {
	index   int // among all
	input   int
	share   float64 // of the input
	episode *episode.Episode
}

// run finds all episodes and writes them, several at once if the target allows it. Their numbers are in memory, their
// images are not.
func (w *episodeJob) run(ctx context.Context, out *output) error {
	var tasks []task
	for i, path := range w.Inputs {
		source, episodes, err := w.read(ctx, i, path)
		if err != nil {
			return err
		}
		defer source.Close()
		for _, e := range episodes {
			tasks = append(tasks, task{len(tasks), i, (1 - surveying) / float64(len(episodes)), e})
		}
	}
	if err := w.plan.checkEpisodes(); err != nil {
		return err
	}
	w.result.LeftOut = w.plan.episodes.String()
	if err := w.refuse(); err != nil {
		return err
	}
	var layout episode.Layout
	for _, t := range tasks {
		if err := layout.Add(t.episode); err != nil {
			return fmt.Errorf("%s in %s: %w", t.episode.Name, w.Inputs[t.input], err)
		}
	}
	if w.plan.Timeline == timelineAuto && out.format.Episodes.FixedRate {
		if err := w.fix(tasks[0].episode); err != nil {
			return err
		}
	}
	path := filepath.Join(out.part, store.Base(out.path))
	begin := out.format.Episodes.New
	target, err := begin(&w.plan.Options.Options, path, out.format.Named(out.path), len(tasks) == 1, &layout)
	if err != nil {
		return err
	}
	w.target, w.result.Episodes = target, make([]Episode, len(tasks))
	err = w.writeAll(ctx, tasks)
	w.lost.addAll(target.Losses())
	if err == nil {
		err = w.refuse()
	}
	if err != nil {
		target.Abort()
		return err
	}
	for _, i := range slices.Backward(slices.Sorted(slices.Values(w.unwritten))) {
		w.result.Episodes = slices.Delete(w.result.Episodes, i, i+1)
	}
	w.result.Losses, w.result.Unplaced = w.lost.divide(w.format)
	for _, note := range target.Notes() {
		w.warn(note)
	}
	return target.Close()
}

// refuse returns the error of --strict if anything is lost.
func (w *episodeJob) refuse() error {
	if !w.plan.Strict {
		return nil
	}
	return w.lost.strict(w.result.Path, w.format)
}

// fix sets the timeline to the rate of the first camera, or of rows that are kept.
func (w *episodeJob) fix(first *episode.Episode) error {
	rate := 0.0
	s := episode.Summarize(first)
	streams := s.Cameras
	if first.Table != nil { // whose cameras may be left out
		streams = slices.Concat(s.Cameras, s.Streams)
	}
	if len(streams) > 0 {
		rate = math.Round(streams[0].Rate)
	}
	if rate < 1 {
		return errors.New("a dataset of LeRobot has rows at a fixed rate, which no camera tells: give it as in " +
			"--timeline fixed:30")
	}
	w.align.Timeline = fmt.Sprintf("%s:%v", align.TimelineFixed, rate)
	return nil
}

// writeAll writes episodes until one fails.
func (w *episodeJob) writeAll(ctx context.Context, tasks []task) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan task, len(tasks))
	for _, t := range tasks {
		todo <- t
	}
	close(todo)
	n := 1
	if w.target.Parallel() {
		n = cmp.Or(w.Workers, runtime.GOMAXPROCS(0))
	}
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for t := range todo {
				if err := w.write(ctx, &t); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// checkEpisodes returns an error if episodes are selected that the inputs do not have.
func (p *plan) checkEpisodes() error {
	err := p.episodes.Check()
	switch {
	case err == nil && p.Unit() != "" && p.episodes.Total() == 0:
		return config.Usagef("--joint-unit is the unit of joints in episodes, which no input has")
	case err == nil:
		return nil
	case p.Only != "":
		return config.Usagef("--episodes %s: %w", p.Only, err)
	case p.LeftOut != "":
		return config.Usagef("--leave-out-episodes %s: %w", p.LeftOut, err)
	}
	return err
}

// read opens an input and finds its episodes.
func (w *episodeJob) read(ctx context.Context, i int, path string) (episode.Source, []*episode.Episode, error) {
	before := w.plan.episodes.Total()
	source, err := w.source(ctx, i, path)
	if err != nil {
		return nil, nil, err
	}
	episodes, err := source.Episodes()
	if err == nil && !source.chosen {
		episodes = w.plan.episodes.Select(episodes)
	}
	if err == nil && w.plan.episodes.Total() == before {
		err = fmt.Errorf("there are no episodes in %s", path)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return nil, nil, errors.Join(err, source.Close())
	}
	w.surveyed(i, 1)
	notes := source.notes
	w.lost.addAll(source.Found().Lost.Losses())
	if source.messages != nil {
		w.lost.join(source.messages.lost())
		source.messages.again = true
	}
	for _, e := range episodes {
		if w.plan.Task != "" {
			e.Task = w.plan.Task
		}
		if !source.keeps {
			e.Table = nil
		}
		for _, a := range e.Arms {
			for _, r := range w.ranges {
				if r.arm == "" || r.arm == a.Name {
					a.GripperRange = r.ends
				}
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, note := range notes {
		w.warn(path + ": " + note)
	}
	return source, episodes, nil
}

// notedSource is a Source with warnings about it.
type notedSource struct {
	episode.Source
	notes    []string
	messages *source // in which they are; nil: it was not read as messages
	keeps    bool    // rows are kept as they are: it is to be recovered in the same format
	chosen   bool    // it has only the episodes that are selected
}

// source opens an input.
func (w *episodeJob) source(ctx context.Context, i int, path string) (*notedSource, error) {
	opened, err := w.open(ctx, []string{path}, w.plan, ros2Target(w.format))
	if err != nil {
		return nil, err
	}
	in := opened.Parts[0]
	w.reportLabels(in, &w.lost)
	if in.Episodes != nil && !w.plan.editsMessages() {
		s := &notedSource{Source: in.Episodes, chosen: true,
			keeps: w.Damaged != nil && in.Info.Format == w.format.Name}
		if !in.Info.Complete {
			s.notes = append(s.notes, "it is incomplete; converting everything readable")
		}
		if err := w.accept(in, w.plan, &w.lost); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
		for _, err := range s.Found().Damage {
			switch {
			case w.Damaged == nil && errors.As(err, new(*episode.MissingError)): // which accept has handled
			case w.plan.Strict:
				return nil, errors.Join(w.plan.damaged(err), opened.Close())
			default:
				w.onDamage(err)
			}
		}
		return s, nil
	}
	s, err := w.fromMessages(ctx, i, opened)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return s, nil
}

// fromMessages returns the episodes in a recording of messages.
func (w *episodeJob) fromMessages(ctx context.Context, i int, opened *recordings.Recording) (*notedSource, error) {
	p, in := w.plan, opened.Parts[0]
	for _, text := range in.Original.Notes {
		w.warn(text)
	}
	if err := p.check([]*codec.Info{in.Info}, w.warn); err != nil {
		return nil, err
	}
	start, end, err := p.window(in.Original.StartTime, in.Original.EndTime, w.warn)
	if err != nil {
		return nil, err
	}
	s := &notedSource{chosen: in.Episodes != nil}
	if !in.Original.Complete && w.Damaged == nil {
		s.notes = append(s.notes, "it is incomplete; converting everything readable")
	}
	r := newSource(p, ros2Target(w.format), opened, start, end)
	if err := cmp.Or(w.accept(in, p, &w.lost), w.reportDamage(in, p, w.damage)); err != nil {
		return nil, err
	}
	r.damaged, s.messages = w.onDamage, r
	r.info.Path, r.info.Metadata = in.Path, movedEpisodes(in.Original.AllMetadata(), int64(p.Offset))
	mapping := w.mapping
	if p.RobotOptions.Stamps != "auto" {
		if mapping == nil {
			mapping = robot.Default(r.info)
		} else {
			copied := *mapping
			mapping = &copied
		}
		mapping.Receive = p.RobotOptions.Stamps == align.StampsReceive
	}
	recording, err := robot.Episodes(r, mapping)
	if err != nil {
		return nil, err
	}
	if missing := recording.Missing(); len(missing) > 0 && w.mapping != nil && !p.Partial {
		return nil, fmt.Errorf("%s lacks topics of --mapping: %s; correct the mapping, or use --partial", in.Path,
			strings.Join(missing, ", "))
	}
	for _, line := range recording.Missing() {
		s.notes = append(s.notes, line+" is not there")
	}
	if w.mapping == nil && r.info.Metadata[episode.MetadataKey] == "" {
		s.notes = append(s.notes, "mapping derived from topic names and types (see --mapping): "+
			strings.Join(recording.Mapping().Lines(), ", "))
	}
	span := float64(max(in.Original.EndTime-in.Original.StartTime, 1))
	recording.Progress = func(t int64) error {
		w.surveyed(i, min(max(float64(t-r.info.StartTime)/span, 0), 1))
		return context.Cause(ctx)
	}
	s.Source = recording
	return s, nil
}

// write writes an episode.
func (w *episodeJob) write(ctx context.Context, t *task) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	e := *t.episode
	e.Cameras = nil
	all := 0
	for _, c := range t.episode.Cameras {
		all += len(c.Stamps)
	}
	var mu sync.Mutex
	count := 0
	for _, c := range t.episode.Cameras {
		counted := *c
		counted.Open = func() (episode.Frames, error) {
			f, err := c.Open()
			return &countedFrames{Frames: f, next: func() error {
				mu.Lock()
				defer mu.Unlock()
				count++
				if count <= all {
					w.wrote(t.input, t.share/float64(all))
				}
				return context.Cause(ctx)
			}}, err
		}
		e.Cameras = append(e.Cameras, &counted)
	}
	o := w.align
	switch stamps := w.plan.RobotOptions.Stamps; {
	case stamps == align.StampsReceive, stamps == "auto" && w.mapping != nil && w.mapping.Receive:
		o.Stamps = align.StampsReceive
	}
	o.KeepRows = e.Table != nil
	if o.KeepRows && !w.format.Episodes.FixedRate {
		o.Gaps = align.GapsNaN
	}
	report, err := w.target.Write(t.index, &e, o)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Damaged != nil && ctx.Err() == nil && errors.As(err, new(*episode.UnwrittenError)) {
		w.unwritten = append(w.unwritten, t.index)
		w.lost.add("episodes that are left out", e.Name, 0)
		w.Damaged(err)
		if len(w.unwritten) < len(w.result.Episodes) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	s := episode.Summarize(&e)
	w.addRows(&e, report)
	w.result.Episodes[t.index] = Episode{Name: s.Name, Start: s.Start, End: s.End, Frames: all, Report: report}
	return nil
}

// addRows adds the frames that no row has to the losses, and the samples and digits for which rows have no place.
func (w *episodeJob) addRows(e *episode.Episode, report *align.Report) {
	if report == nil {
		return
	}
	for _, c := range report.Cameras {
		name := c.Name
		for _, camera := range e.Cameras {
			if camera.Name == name {
				name = cmp.Or(camera.Topic, name)
			}
		}
		if c.Damaged > 0 {
			w.lost.add(episode.DamagedImages(c.Damage), name, uint64(c.Damaged))
		}
		if unused := c.Samples - c.Used; unused > 0 {
			w.lost.add("frames that no row has", name, uint64(unused))
		}
	}
	for _, a := range e.Arms {
		for _, v := range a.Streams {
			if v == nil || e.Table != nil { // rows that are kept
				continue
			}
			topic := cmp.Or(v.Topic, v.Name)
			i := slices.IndexFunc(report.Vectors, func(r *align.VectorReport) bool { return r.Name == v.Name })
			if i >= 0 && report.Vectors[i].Between > 0 {
				w.lost.addFormat("samples between rows", topic, uint64(report.Vectors[i].Between))
			}
			if n := longNumbers(v); n > 0 {
				w.lost.addFormat("digits of numbers beyond 32 bits", topic, n)
			}
		}
	}
}

// longNumbers returns how many samples have a number that float32 cannot hold.
func longNumbers(v *align.Vector) (samples uint64) {
	for sample := range slices.Chunk(v.Values, max(len(v.Columns), 1)) {
		if slices.ContainsFunc(sample, func(x float64) bool { return x == x && float64(float32(x)) != x }) {
			samples++
		}
	}
	return samples
}

// surveyed sets how much of an input was searched for episodes, 0 to 1.
func (w *episodeJob) surveyed(input int, part float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts[input] = surveying * part
	w.tell()
}

// wrote adds to how much of an input was written.
func (w *episodeJob) wrote(input int, part float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts[input] += part
	w.tell()
}

func (w *episodeJob) tell() {
	if w.Progress == nil {
		return
	}
	var sum float64
	for _, part := range w.parts {
		sum += part
	}
	w.Progress(time.Duration(sum*float64(time.Second)), time.Duration(len(w.parts))*time.Second)
}

// countedFrames calls next before each frame is read.
type countedFrames struct {
	episode.Frames
	next func() error
}

func (f *countedFrames) Frame(i int) (episode.Frame, error) {
	if err := f.next(); err != nil {
		return episode.Frame{}, err
	}
	return f.Frames.Frame(i)
}
