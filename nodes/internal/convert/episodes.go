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
	damage   *damageLog
	onDamage func(error)
	settings *settings
	format   formats.Format
	mapping  *robot.Mapping // nil: derived from topic names and types
	align    align.Options
	ranges   []gripperRange
	writer   formats.EpisodeWriter

	mu            sync.Mutex
	result        Result
	unwritten     []int // indices of skipped episodes
	lost          losses
	inputProgress []float64 // progress of each input, 0 to 1
}

// searchShare is the share of an input's progress for finding its episodes.
const searchShare = 0.3

// runEpisodes writes the episodes of the inputs, one input after the other.
func (j *Job) runEpisodes(ctx context.Context, s *settings, t *target, d *damageLog) (*Result, error) {
	format := t.format
	j.Inputs = series.Firsts(j.Files, j.Formats.Codecs(), j.Inputs)
	e := &episodeJob{Job: j, settings: s, format: format, inputProgress: make([]float64, len(j.Inputs)), damage: d,
		onDamage: j.onDamage(d)}
	var err error
	e.mapping, err = s.mapping()
	if err != nil {
		return nil, err
	}
	e.align, err = s.alignOptions()
	if err != nil {
		return nil, err
	}
	e.ranges, err = s.gripperRanges()
	if err != nil {
		return nil, err
	}
	if s.LinkFile != "" && (format.Named(j.Output) || store.IsURL(j.Output)) {
		return nil, config.Usagef("--link-file needs a folder of HDF5 files as output, and %s is none", j.Output)
	}
	var read []*codec.Info
	for _, path := range j.Inputs {
		read = append(read, &codec.Info{Path: path})
	}
	out, err := newOutput(j, format, s.Overwrite, read)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if err := s.checkLink(out); err != nil {
		return nil, err
	}
	begin := time.Now()
	e.result.Path = out.path
	if err := e.run(ctx, out); err != nil {
		return nil, out.withOutputPath(err)
	}
	e.result.Files, err = out.commit(ctx)
	if err == nil && s.LinkFile != "" {
		err = e.link(out)
		if err != nil && !s.Overwrite {
			err = errors.Join(err, os.RemoveAll(out.path))
		}
	}
	e.result.Took = time.Since(begin)
	return &e.result, err
}

// checkLink returns an error if the file with links has no folder, or exists and must not be replaced.
func (s *settings) checkLink(out *output) error {
	if s.LinkFile == "" {
		return nil
	}
	_, err := os.Lstat(s.LinkFile)
	folder := filepath.Dir(s.LinkFile)
	_, folderErr := os.Stat(folder)
	switch {
	case folderErr != nil && folder != out.path:
		return fmt.Errorf("--link-file %s: %w", s.LinkFile, codec.Pathless(folderErr))
	case err != nil:
		return nil
	case !s.Overwrite:
		return fmt.Errorf("--link-file %s exists; name another file or use --overwrite", s.LinkFile)
	case out.isInput(s.LinkFile):
		return fmt.Errorf("--link-file %s is an input; name another file", s.LinkFile)
	}
	return nil
}

// link writes the file with links to all episodes of the output folder.
func (j *episodeJob) link(out *output) error {
	j.result.Files = append(j.result.Files, j.settings.LinkFile)
	return out.format.Episodes.Link(j.settings.LinkFile, out.path, len(j.result.Episodes), j.settings.Overwrite)
}

// messageOptions are options that do not apply to episodes.
var messageOptions = []string{"throttle", "align_starts", "message_order", "chunk_size", "compression",
	"compression_mode", "storage", "metadata_version", "max_bag_size", "max_bag_duration", "max_bag_messages", "repeat",
	"encoding", "unmatched"}

// checkFormat returns an error about options that do not apply to the format: options of other formats, and options of
// episodes, rows and splits if the format has none.
func (s *settings) checkFormat(format formats.Format, known formats.List) error {
	defaults := DefaultOptions()
	was := config.Parameters(&defaults)
	for i, o := range config.Parameters(&s.Options) {
		if o.Default == was[i].Default || o.Default == "" || o.Default == "0" {
			continue
		}
		about := func(f formats.Format) bool { return f.Group == o.Group }
		switch {
		case format.TakesFrameOption(o.Name, o.Default):
			continue
		case o.Group == "Robot" && format.Episodes == nil:
			return config.Usagef("--%s does not apply to %s, which keeps no episodes", o.Flag, format.Name)
		case o.Group == "Alignment" && o.Name != "partial" && (format.Episodes == nil || !format.Episodes.Rows):
			return config.Usagef("--%s does not apply to %s, which has no rows", o.Flag, format.Name)
		case format.Episodes == nil && !format.Splits && strings.HasPrefix(o.Name, "max_bag_"):
			return config.Usagef("--%s does not apply to %s, which cannot be split", o.Flag, format.Name)
		case format.Episodes != nil && slices.Contains(messageOptions, o.Name),
			slices.ContainsFunc(known, about) && !about(format) && o.Name != format.Also:
			return config.Usagef("--%s does not apply to %s", o.Flag, format.Name)
		}
	}
	return nil
}

// editsMessages reports whether options select or change messages. Episodes must then be read as messages.
func (s *settings) editsMessages() bool {
	return s.Mapping != "" || len(s.Topics)+len(s.Exclude)+len(s.Types)+len(s.ExcludeTypes)+len(s.Remap) > 0 ||
		s.Begin != "" || s.End != "" || s.StartOffset != 0 || s.Duration > 0 || s.Prefix != "" || s.Offset != 0 ||
		s.Order == "header" || s.Restamp
}

// episodeTask is an episode to be written.
type episodeTask struct {
	index   int     // in the output
	input   int     // index in Job.Inputs
	share   float64 // of the input's progress
	episode *episode.Episode
}

// run finds all episodes and writes them, several at once if the format's writer allows it. The numbers of all episodes
// are in memory, images are not.
func (j *episodeJob) run(ctx context.Context, out *output) error {
	var tasks []episodeTask
	for i, path := range j.Inputs {
		input, episodes, err := j.findEpisodes(ctx, i, path)
		if err != nil {
			return err
		}
		defer input.Close()
		for _, e := range episodes {
			tasks = append(tasks, episodeTask{len(tasks), i, (1 - searchShare) / float64(len(episodes)), e})
		}
	}
	if err := j.settings.checkEpisodes(); err != nil {
		return err
	}
	j.result.SkippedEpisodes = j.settings.episodes.String()
	if err := j.strictError(); err != nil {
		return err
	}
	var layout episode.Layout
	for _, t := range tasks {
		if err := layout.Add(t.episode); err != nil {
			return fmt.Errorf("%s in %s: %w", t.episode.Name, j.Inputs[t.input], err)
		}
	}
	if j.settings.Timeline == timelineAuto && out.format.Episodes.FixedRate {
		if err := j.fixRate(tasks[0].episode); err != nil {
			return err
		}
	}
	path := filepath.Join(out.tempFolder, store.Base(out.path))
	begin := out.format.Episodes.New
	writer, err := begin(&j.settings.Options.Options, path, out.format.Named(out.path), len(tasks) == 1, &layout)
	if err != nil {
		return err
	}
	j.writer, j.result.Episodes = writer, make([]Episode, len(tasks))
	err = j.writeAll(ctx, tasks)
	j.lost.addAll(writer.Losses())
	if err == nil {
		err = j.strictError()
	}
	if err != nil {
		writer.Abort()
		return err
	}
	for _, i := range slices.Backward(slices.Sorted(slices.Values(j.unwritten))) {
		j.result.Episodes = slices.Delete(j.result.Episodes, i, i+1)
	}
	j.result.Losses, j.result.Unplaced = j.lost.divide(j.format)
	for _, note := range writer.Notes() {
		j.warn(note)
	}
	return writer.Close()
}

// strictError returns the error of --strict, nil if nothing is lost.
func (j *episodeJob) strictError() error {
	if !j.settings.Strict {
		return nil
	}
	return j.lost.strictError(j.result.Path, j.format)
}

// fixRate sets the timeline to the rate of the first camera. If first has rows that are kept, it may also be the rate
// of the first vector.
func (j *episodeJob) fixRate(first *episode.Episode) error {
	rate := 0.0
	s := episode.Summarize(first)
	streams := s.Cameras
	if first.Table != nil { // the cameras may be skipped
		streams = slices.Concat(s.Cameras, s.Streams)
	}
	if len(streams) > 0 {
		rate = math.Round(streams[0].Rate)
	}
	if rate < 1 {
		return errors.New("a dataset of LeRobot has rows at a fixed rate, which no camera tells: give it as in " +
			"--timeline fixed:30")
	}
	j.align.Timeline = fmt.Sprintf("%s:%v", align.TimelineFixed, rate)
	return nil
}

// writeAll writes episodes until one fails.
func (j *episodeJob) writeAll(ctx context.Context, tasks []episodeTask) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan episodeTask, len(tasks))
	for _, t := range tasks {
		todo <- t
	}
	close(todo)
	n := 1
	if j.writer.Parallel() {
		n = cmp.Or(j.Workers, runtime.GOMAXPROCS(0))
	}
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for t := range todo {
				if err := j.write(ctx, &t); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// checkEpisodes returns an error if the options select episodes that the inputs lack.
func (s *settings) checkEpisodes() error {
	err := s.episodes.Check()
	switch {
	case err == nil && s.Unit() != "" && s.episodes.Total() == 0:
		return config.Usagef("--joint-unit is the unit of joints in episodes, which no input has")
	case err == nil:
		return nil
	case s.Only != "":
		return config.Usagef("--episodes %s: %w", s.Only, err)
	case s.OmitEpisodes != "":
		return config.Usagef("--leave-out-episodes %s: %w", s.OmitEpisodes, err)
	}
	return err
}

// findEpisodes opens an input and finds its episodes.
func (j *episodeJob) findEpisodes(ctx context.Context, i int, path string) (episode.Source, []*episode.Episode, error) {
	before := j.settings.episodes.Total()
	input, err := j.openInput(ctx, i, path)
	if err != nil {
		return nil, nil, err
	}
	episodes, err := input.Episodes()
	if err == nil && !input.selected {
		episodes = j.settings.episodes.Select(episodes)
	}
	if err == nil && j.settings.episodes.Total() == before {
		err = fmt.Errorf("there are no episodes in %s", path)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return nil, nil, errors.Join(err, input.Close())
	}
	j.setSearched(i, 1)
	notes := input.notes
	j.lost.addAll(input.Found().Lost.Losses())
	if input.messages != nil {
		j.lost.addLosses(input.messages.lost())
		input.messages.reread = true
	}
	for _, e := range episodes {
		if j.settings.Task != "" {
			e.Task = j.settings.Task
		}
		if !input.keepsRows {
			e.Table = nil
		}
		for _, a := range e.Arms {
			for _, r := range j.ranges {
				if r.arm == "" || r.arm == a.Name {
					a.GripperRange = r.ends
				}
			}
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, note := range notes {
		j.warn(path + ": " + note)
	}
	return input, episodes, nil
}

// episodeInput is an input of which episodes are read.
type episodeInput struct {
	episode.Source
	notes     []string
	messages  *messageReader // messages of which the episodes are made; nil: the input keeps episodes
	keepsRows bool           // rows are not aligned: the input is recovered in its own format
	selected  bool           // Source has only the selected episodes
}

// openInput opens an input.
func (j *episodeJob) openInput(ctx context.Context, i int, path string) (*episodeInput, error) {
	opened, err := j.openInputs(ctx, []string{path}, j.settings, ros2Target(j.format))
	if err != nil {
		return nil, err
	}
	in := opened.Parts[0]
	j.reportLabels(in, &j.lost)
	if in.Episodes != nil && !j.settings.editsMessages() {
		input := &episodeInput{Source: in.Episodes, selected: true,
			keepsRows: j.Damaged != nil && in.Info.Format == j.format.Name}
		if !in.Info.Complete {
			input.notes = append(input.notes, "it is incomplete; converting everything readable")
		}
		if err := j.acceptMissing(in, j.settings, &j.lost); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
		for _, err := range input.Found().Damage {
			switch {
			case j.Damaged == nil && errors.As(err, new(*episode.MissingFileError)): // acceptMissing handled it
			case j.settings.Strict:
				return nil, errors.Join(j.settings.damageError(err), opened.Close())
			default:
				j.onDamage(err)
			}
		}
		return input, nil
	}
	input, err := j.fromMessages(ctx, i, opened)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return input, nil
}

// fromMessages returns the episodes of a recording of messages.
func (j *episodeJob) fromMessages(ctx context.Context, i int, opened *recordings.Recording) (*episodeInput, error) {
	s, in := j.settings, opened.Parts[0]
	for _, text := range in.Original.Notes {
		j.warn(text)
	}
	if err := s.checkTopics([]*codec.Info{in.Info}, j.warn); err != nil {
		return nil, err
	}
	start, end, err := s.window(in.Original.StartTime, in.Original.EndTime, j.warn)
	if err != nil {
		return nil, err
	}
	input := &episodeInput{selected: in.Episodes != nil}
	if !in.Original.Complete && j.Damaged == nil {
		input.notes = append(input.notes, "it is incomplete; converting everything readable")
	}
	reader := newMessageReader(s, ros2Target(j.format), opened, start, end)
	if err := cmp.Or(j.acceptMissing(in, s, &j.lost), j.reportDamage(in, s, j.damage)); err != nil {
		return nil, err
	}
	reader.damaged, input.messages = j.onDamage, reader
	reader.info.Path, reader.info.Metadata = in.Path, movedEpisodes(in.Original.AllMetadata(), int64(s.Offset))
	mapping := j.mapping
	if s.RobotOptions.Stamps != "auto" {
		if mapping == nil {
			mapping = robot.Default(reader.info)
		} else {
			copied := *mapping
			mapping = &copied
		}
		mapping.Receive = s.RobotOptions.Stamps == align.StampsReceive
	}
	recording, err := robot.Episodes(reader, mapping)
	if err != nil {
		return nil, err
	}
	if missing := recording.Missing(); len(missing) > 0 && j.mapping != nil && !s.Partial {
		return nil, fmt.Errorf("%s lacks topics of --mapping: %s; correct the mapping, or use --partial", in.Path,
			strings.Join(missing, ", "))
	}
	for _, line := range recording.Missing() {
		input.notes = append(input.notes, line+" is not there")
	}
	if j.mapping == nil && reader.info.Metadata[episode.MetadataKey] == "" {
		input.notes = append(input.notes, "mapping derived from topic names and types (see --mapping): "+
			strings.Join(recording.Mapping().Lines(), ", "))
	}
	span := float64(max(in.Original.EndTime-in.Original.StartTime, 1))
	recording.Progress = func(t int64) error {
		j.setSearched(i, min(max(float64(t-reader.info.StartTime)/span, 0), 1))
		return context.Cause(ctx)
	}
	input.Source = recording
	return input, nil
}

// write writes an episode.
func (j *episodeJob) write(ctx context.Context, t *episodeTask) error {
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
					j.addWritten(t.input, t.share/float64(all))
				}
				return context.Cause(ctx)
			}}, err
		}
		e.Cameras = append(e.Cameras, &counted)
	}
	o := j.align
	switch stamps := j.settings.RobotOptions.Stamps; {
	case stamps == align.StampsReceive, stamps == "auto" && j.mapping != nil && j.mapping.Receive:
		o.Stamps = align.StampsReceive
	}
	o.KeepRows = e.Table != nil
	if o.KeepRows && !j.format.Episodes.FixedRate {
		o.Gaps = align.GapsNaN
	}
	report, err := j.writer.Write(t.index, &e, o)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Damaged != nil && ctx.Err() == nil && errors.As(err, new(*episode.UnwrittenError)) {
		j.unwritten = append(j.unwritten, t.index)
		j.lost.add("episodes that are left out", e.Name, 0)
		j.Damaged(err)
		if len(j.unwritten) < len(j.result.Episodes) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	s := episode.Summarize(&e)
	j.addRows(&e, report)
	j.result.Episodes[t.index] = Episode{Name: s.Name, Start: s.Start, End: s.End, Frames: all, Report: report}
	return nil
}

// addRows adds frames without a row to the losses, and samples and digits for which rows have no place.
func (j *episodeJob) addRows(e *episode.Episode, report *align.Report) {
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
			j.lost.add(episode.DamagedImages(c.Damage), name, uint64(c.Damaged))
		}
		if unused := c.Samples - c.Used; unused > 0 {
			j.lost.add("frames that no row has", name, uint64(unused))
		}
	}
	for _, a := range e.Arms {
		for _, v := range a.Streams {
			if v == nil || e.Table != nil { // rows are kept
				continue
			}
			topic := cmp.Or(v.Topic, v.Name)
			i := slices.IndexFunc(report.Vectors, func(r *align.VectorReport) bool { return r.Name == v.Name })
			if i >= 0 && report.Vectors[i].Between > 0 {
				j.lost.addFormat("samples between rows", topic, uint64(report.Vectors[i].Between))
			}
			if n := longNumbers(v); n > 0 {
				j.lost.addFormat("digits of numbers beyond 32 bits", topic, n)
			}
		}
	}
}

// longNumbers returns the number of samples with a value that float32 cannot represent.
func longNumbers(v *align.Vector) (samples uint64) {
	for sample := range slices.Chunk(v.Values, max(len(v.Columns), 1)) {
		if slices.ContainsFunc(sample, func(x float64) bool { return x == x && float64(float32(x)) != x }) {
			samples++
		}
	}
	return samples
}

// setSearched sets the share of an input that was searched for episodes, 0 to 1.
func (j *episodeJob) setSearched(input int, part float64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inputProgress[input] = searchShare * part
	j.reportProgress()
}

// addWritten adds to the share of an input that was written.
func (j *episodeJob) addWritten(input int, part float64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inputProgress[input] += part
	j.reportProgress()
}

func (j *episodeJob) reportProgress() {
	if j.Progress == nil {
		return
	}
	var sum float64
	for _, part := range j.inputProgress {
		sum += part
	}
	j.Progress(time.Duration(sum*float64(time.Second)), time.Duration(len(j.inputProgress))*time.Second)
}

// countedFrames calls next before it reads a frame.
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
