package robot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/training/episode"
)

// Recording reads a recording of ROS 2 messages as episodes.
type Recording struct {
	episode.Findings

	// Progress, unless nil, is called with the LogTime of each message that Episodes reads. An error of Progress ends
	// Episodes.
	Progress func(logTime int64) error

	mu     sync.Mutex // guards reader and its iterators: several goroutines read frames
	reader codec.Reader
	info   *codec.Info
	m      *Mapping
	topics *topics
	// recorded are the episodes that the recording was converted from, by its metadata; nil: the mapping divides the
	// recording.
	recorded []episode.Summary
	episodes []*episode.Episode
	missing  []string       // lines of the mapping whose topics the recording lacks
	unusable map[string]int // number of unusable messages, by topic, type and error
}

var _ episode.Source = (*Recording)(nil)

// Episodes returns a recording of ROS 2 messages as episodes, by the mapping m; nil is the Default. The returned
// Recording owns r. If there is an error, the caller still owns r.
func Episodes(r codec.Reader, m *Mapping) (*Recording, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	rec := &Recording{reader: r, info: info, m: m, unusable: map[string]int{},
		Findings: episode.Findings{Lost: codec.LossCounts{}}}
	if m == nil {
		rec.m = Default(info)
	}
	if rec.m.Episodes == (Boundaries{}) {
		rec.recorded = recordedEpisodes(info)
	}
	rec.topics = newTopics(rec.m)
	if err := rec.bind(m == nil); err != nil {
		return nil, fmt.Errorf("episodes of %s: %w", info.Path, err)
	}
	return rec, nil
}

// bind binds the topics of the recording to the mapping. byNames means that the mapping is the Default.
func (r *Recording) bind(byNames bool) error {
	recorded := map[string]bool{}
	found := false
	for _, t := range r.info.Topics {
		bound, err := r.topics.topicOf(t.Channel)
		if err != nil {
			return err
		}
		recorded[t.Channel.Topic] = true
		if !r.m.names(t.Channel.Topic) && t.MessageCount > 0 {
			r.Lost.Add(t.Channel.Topic, "topics that the mapping does not name", t.MessageCount)
		}
		found = found || bound != nil && (bound.cameras != nil || bound.samplers != nil)
	}
	if t := r.m.Episodes.Topic; t != "" && !recorded[t] {
		return fmt.Errorf("there is no topic %s, the trigger of episodes", t)
	}
	if !found && byNames {
		return errors.New("no topic has the name and type of a camera or an arm; write a mapping")
	}
	if !found {
		return fmt.Errorf("the recording has no topic of the mapping: %s", strings.Join(r.m.topics(), ", "))
	}
	for _, line := range r.m.Lines() {
		if _, topic, _ := strings.Cut(line, ": "); !recorded[topic] {
			r.missing = append(r.missing, line)
		}
	}
	return nil
}

// recordedEpisodes returns the episodes that a recording was converted from, by its metadata. It returns nil if the
// times of the episodes no longer match the recording.
func recordedEpisodes(info *codec.Info) []episode.Summary {
	var d episode.Details
	if json.Unmarshal([]byte(info.Metadata[episode.MetadataKey]), &d) != nil || len(d.Episodes) == 0 {
		return nil
	}
	for i, e := range d.Episodes {
		if e.Start > e.End || i > 0 && e.Start <= d.Episodes[i-1].End {
			return nil
		}
	}
	if d.Episodes[0].Start != info.StartTime || d.Episodes[len(d.Episodes)-1].End != info.EndTime {
		return nil // the recording was cut, or moved in time
	}
	return d.Episodes
}

// Mapping returns the mapping in use.
func (r *Recording) Mapping() *Mapping { return r.m }

// Missing returns the lines of the mapping whose topics the recording lacks.
func (r *Recording) Missing() []string { return r.missing }

// Notes returns remarks on the recording, one line each. It is complete after Episodes.
func (r *Recording) Notes() (notes []string) {
	for _, line := range r.missing {
		notes = append(notes, line+" is not there")
	}
	for messages, n := range r.unusable {
		notes = append(notes, fmt.Sprintf("cannot be used: %d of %s", n, messages))
	}
	slices.Sort(notes[len(r.missing):])
	return notes
}

// Close closes the recording.
func (r *Recording) Close() error { return r.reader.Close() }

// Episodes implements episode.Source. It reads the recording.
func (r *Recording) Episodes() ([]*episode.Episode, error) {
	err := r.survey()
	if err != nil {
		err = fmt.Errorf("episodes of %s: %w", r.info.Path, err)
	}
	return r.episodes, err
}

// query returns a query for messages of some topics from start on. Reading skips damaged messages and messages that
// cannot be translated. The reader reports these messages elsewhere.
func (r *Recording) query(start int64, topics func(*codec.Channel) bool) codec.Query {
	return codec.Query{Start: start, Topics: topics, Damaged: func(error) {}}
}

// survey reads the recording once and divides it into episodes.
func (r *Recording) survey() error {
	q := r.query(0, func(c *codec.Channel) bool { return r.m.names(c.Topic) })
	s := survey{Recording: r, boundary: newBoundary(r.m.Episodes), places: make([]place, len(r.m.Cameras))}
	for m, err := range codec.Messages(r.reader, q) {
		if err == nil && r.Progress != nil {
			err = r.Progress(m.LogTime)
		}
		if err == nil {
			err = s.add(m)
		}
		if err != nil {
			return err
		}
	}
	s.end()
	if len(r.episodes) == 0 && r.m.Episodes.Topic != "" {
		return fmt.Errorf("there is no episode: %s never begins one, or nothing was recorded in any",
			r.m.Episodes.Topic)
	}
	if len(r.episodes) == 0 {
		return fmt.Errorf("there are no messages of cameras and arms: %s", strings.Join(r.Notes(), "; "))
	}
	r.complete()
	return nil
}

// survey is the state of Recording.survey.
type survey struct {
	*Recording
	*boundary
	task          string           // task that the trigger named; "": Mapping.Task
	episode       *episode.Episode // the current episode; nil: none
	lists         []*frameList     // by camera of episode
	last          *episode.Episode // episode, or the episode that ended last
	places        []place          // by camera, the place of the next frame if its LogTime is that of the latest frame
	recordedIndex int              // index in recorded of the current or next episode
}

// add adds a message to the episodes.
func (s *survey) add(m *codec.Message) error {
	t, err := s.topics.topicOf(m.Channel)
	if err != nil || t == nil {
		return err
	}
	if t.trigger != nil {
		effect, err := s.handleTrigger(t.trigger, m)
		if err != nil {
			s.addUnusable(m, err)
		}
		if effect.discarded {
			s.last.Discarded = true
		}
		if effect.ended {
			s.end()
			s.task = effect.task
		}
	}
	if t.cameras == nil && t.samplers == nil {
		return nil
	}
	if s.recorded != nil {
		s.moveTo(m.LogTime)
	}
	if s.followsPause(m.LogTime) {
		s.end()
	}
	if s.active && s.episode == nil {
		s.begin()
	}
	if !s.active {
		s.Lost.Add(m.Channel.Topic, "messages outside of episodes", 1)
	}
	stamp, stamped := t.stampOf(m)
	var unusable error
	if t.cameras != nil {
		_, unusable = t.picture.Whole(m.Data)
		if unusable == nil {
			s.frame(t, m.LogTime, stamp, stamped)
		}
	}
	for _, p := range t.samplers {
		values, err := p.sample(p.fields, m.Data)
		if err == nil && values != nil && s.active {
			s.sample(p.sampler, values, stamp, stamped)
		}
		unusable = cmp.Or(unusable, err)
	}
	if unusable != nil {
		s.addUnusable(m, unusable)
	}
	return nil
}

// moveTo moves to the recorded episode at a time, and ends the episodes before that time.
func (s *survey) moveTo(logTime int64) {
	for s.recordedIndex < len(s.recorded) && logTime > s.recorded[s.recordedIndex].End {
		s.end()
		s.recordedIndex++
	}
	s.active = s.recordedIndex < len(s.recorded) && logTime >= s.recorded[s.recordedIndex].Start
}

// describe sets the properties of e that the metadata of the recording has.
func (s *survey) describe(e *episode.Episode) {
	t := s.recorded[s.recordedIndex]
	e.Name, e.Success, e.Discarded, e.Metadata = t.Name, t.Success, t.Discarded, t.Metadata
	if t.Task != "" {
		e.Task = t.Task
	}
	e.SetDevices(t.Devices)
}

// addUnusable counts a message that cannot be used.
func (s *survey) addUnusable(m *codec.Message, err error) {
	s.unusable[fmt.Sprintf("%s [%s]: %v", m.Channel.Topic, m.Channel.Type, err)]++
	s.Lost.Add(m.Channel.Topic, "messages that cannot be used: "+err.Error(), 1)
}

// begin begins an episode.
func (s *survey) begin() {
	e := &episode.Episode{Task: cmp.Or(s.task, s.m.Task)}
	s.episode, s.lists, s.last = e, nil, e
	for _, c := range s.m.Cameras {
		list := &frameList{Recording: s.Recording, topic: c.Topic}
		s.lists = append(s.lists, list)
		camera := c.empty()
		camera.Open = list.open
		e.Cameras = append(e.Cameras, camera)
	}
	for i := range s.m.Arms {
		e.Arms = append(e.Arms, s.m.Arms[i].empty())
	}
	e.Discarded = s.addSample()
}

// frame adds a frame to the cameras of a topic. stamped reports that the message of the frame has a stamp.
func (s *survey) frame(t *topic, logTime, stamp int64, stamped bool) {
	for _, i := range t.cameras {
		at := &s.places[i]
		if at.logTime != logTime {
			*at = place{logTime: logTime}
		}
		if s.active {
			c := s.episode.Cameras[i]
			c.Stamps = append(c.Stamps, stamp)
			if !stamped {
				c.Unstamped++
			}
			s.lists[i].places = append(s.lists[i].places, *at)
		}
		at.before++
	}
}

// sample adds the values that a sampler read to the sampler's stream. stamped reports that the message has a stamp.
func (s *survey) sample(v *sampler, values []float64, stamp int64, stamped bool) {
	to := v.vector(s.episode.Arms)
	if len(to.Columns) < len(v.columns) {
		*to = *episode.Spread(to, v.columns)
	}
	to.Stamps = append(to.Stamps, stamp)
	to.Values = append(to.Values, values...)
	if !stamped {
		to.Unstamped++
	}
}

// end ends the current episode, if there is one.
func (s *survey) end() {
	e := s.episode
	s.episode = nil
	if e == nil {
		return
	}
	for _, c := range e.Cameras {
		extendSpan(e, c.Stamps)
	}
	for _, a := range e.Arms {
		for _, v := range a.Streams {
			if v != nil {
				extendSpan(e, v.Stamps)
			}
		}
	}
	if e.Start == 0 {
		return // the episode is empty
	}
	e.Name = time.Unix(0, e.Start).UTC().Format("20060102_150405")
	if len(s.info.Metadata) > 0 {
		e.Metadata, _ = json.Marshal(s.info.Metadata)
	}
	if s.recorded != nil {
		s.describe(e)
	}
	name := e.Name
	for n := 1; slices.ContainsFunc(s.episodes, func(other *episode.Episode) bool {
		return other.Name == e.Name
	}); n++ {
		e.Name = fmt.Sprintf("%s_%d", name, n)
	}
	s.episodes = append(s.episodes, e)
}

// extendSpan extends the time of an episode to stamps.
func extendSpan(e *episode.Episode, stamps []int64) {
	for _, t := range stamps {
		if e.Start == 0 || t < e.Start {
			e.Start = t
		}
		e.End = max(e.End, t)
	}
}

// complete gives each stream equal columns in all episodes. It removes cameras and arms that have no data in any
// episode.
func (r *Recording) complete() {
	for _, v := range r.topics.samplers {
		for _, e := range r.episodes {
			if stream := e.Arms[v.arm].Streams[v.role]; stream != nil {
				*stream = *episode.Spread(stream, v.columns)
			}
		}
	}
	r.forgetUnits()
	for i := len(r.m.Cameras) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(r.episodes, func(e *episode.Episode) bool { return len(e.Cameras[i].Stamps) > 0 }) {
			for _, e := range r.episodes {
				e.Cameras = slices.Delete(e.Cameras, i, i+1)
			}
		}
	}
	for i := len(r.m.Arms) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(r.episodes, func(e *episode.Episode) bool {
			return e.Arms[i].Streams != episode.Streams{}
		}) {
			for _, e := range r.episodes {
				e.Arms = slices.Delete(e.Arms, i, i+1)
			}
		}
	}
}

// forgetUnits removes the units of streams that were converted from joints in an unknown unit, by the metadata of the
// recording.
func (r *Recording) forgetUnits() {
	unknown := map[string]bool{}
	for _, e := range r.recorded {
		for _, s := range e.Streams {
			unknown[s.Name] = unknown[s.Name] || s.Unit == episode.UnitUnknown
		}
	}
	for _, v := range r.topics.samplers {
		for _, e := range r.episodes {
			stream := e.Arms[v.arm].Streams[v.role]
			if stream == nil || v.stream.Unit != "" || !unknown[stream.Name] {
				continue
			}
			stream.Columns = slices.Clone(stream.Columns)
			for i := range stream.Columns {
				stream.Columns[i].Unit = ""
			}
		}
	}
}
