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
	episode.Findings // what is damaged is an error

	// Progress, unless nil, is called with the LogTime of each message that Episodes reads. Its error ends that.
	Progress func(logTime int64) error

	mu     sync.Mutex // of reader and its iterators, as several goroutines read frames
	reader codec.Reader
	info   *codec.Info
	m      *Mapping
	topics *topics
	// recorded are the episodes that the recording was converted from, by its metadata; nil: the mapping divides it.
	recorded []episode.Summary
	episodes []*episode.Episode
	missing  []string       // what the mapping names and the recording has not
	bad      map[string]int // messages that cannot be used, by their errors
}

var _ episode.Source = (*Recording)(nil)

// Episodes returns a recording of ROS 2 messages as episodes, by the mapping m; nil is the Default. The recording owns
// r, unless there is an error.
func Episodes(r codec.Reader, m *Mapping) (*Recording, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	rec := &Recording{reader: r, info: info, m: m, bad: map[string]int{},
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

// bind looks up what the mapping takes from the topics of the recording.
func (r *Recording) bind(byNames bool) error {
	there := map[string]bool{}
	found := false
	for _, t := range r.info.Topics {
		bound, err := r.topics.of(t.Channel)
		if err != nil {
			return err
		}
		there[t.Channel.Topic] = true
		if !r.m.names(t.Channel.Topic) && t.MessageCount > 0 {
			r.Lost.Add(t.Channel.Topic, "topics that the mapping does not name", t.MessageCount)
		}
		found = found || bound != nil && (bound.cameras != nil || bound.samplers != nil)
	}
	if t := r.m.Episodes.Topic; t != "" && !there[t] {
		return fmt.Errorf("there is no topic %s, the trigger of episodes", t)
	}
	if !found && byNames {
		return errors.New("no topic is one of a camera or an arm by its name and type; write a mapping")
	}
	if !found {
		return fmt.Errorf("the recording has no topic of the mapping: %s", strings.Join(r.m.topics(), ", "))
	}
	for _, line := range r.m.Lines() {
		if _, topic, _ := strings.Cut(line, ": "); !there[topic] {
			r.missing = append(r.missing, line)
		}
	}
	return nil
}

// recordedEpisodes returns the episodes that a recording was converted from, by its metadata, if they are still right.
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

// Mapping returns the mapping that is used.
func (r *Recording) Mapping() *Mapping { return r.m }

// Missing returns the lines of the mapping whose topics the recording has not.
func (r *Recording) Missing() []string { return r.missing }

// Notes returns remarks on the recording, one line each. Episodes finds most of them.
func (r *Recording) Notes() (notes []string) {
	for _, line := range r.missing {
		notes = append(notes, line+" is not there")
	}
	for what, n := range r.bad {
		notes = append(notes, fmt.Sprintf("cannot be used: %d of %s", n, what))
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

// wanted queries messages of some topics. It leaves out what is damaged, which the reader reports otherwise, and what
// cannot be translated.
func (r *Recording) wanted(start int64, topics func(*codec.Channel) bool) codec.Query {
	return codec.Query{Start: start, Topics: topics, Damaged: func(error) {}}
}

func (r *Recording) survey() error {
	q := r.wanted(0, func(c *codec.Channel) bool { return r.m.names(c.Topic) })
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
		return fmt.Errorf("there is no episode: %s never begins one, or nothing was recorded then", r.m.Episodes.Topic)
	}
	if len(r.episodes) == 0 {
		return fmt.Errorf("there are no messages of cameras and arms: %s", strings.Join(r.Notes(), "; "))
	}
	r.complete()
	return nil
}

// survey reads a recording to find its episodes.
type survey struct {
	*Recording
	*boundary
	task    string
	episode *episode.Episode // that has begun; nil: none
	lists   []*frameList     // of the cameras of episode
	last    *episode.Episode // episode, or the one that ended last
	places  []place          // of the next frames of cameras, if they have the LogTime of the latest ones
	at      int              // of recorded
}

// add takes a message.
func (s *survey) add(m *codec.Message) error {
	t, err := s.topics.of(m.Channel)
	if err != nil || t == nil {
		return err
	}
	if t.trigger != nil {
		c, err := s.trigger(t.trigger, m)
		if err != nil {
			s.spoilt(m, err)
		}
		if c.discarded {
			s.last.Discarded = true
		}
		if c.ended {
			s.end()
			s.task = c.task
		}
	}
	if t.cameras == nil && t.samplers == nil {
		return nil
	}
	if s.recorded != nil {
		s.follow(m.LogTime)
	}
	if s.pause(m.LogTime) {
		s.end()
	}
	if s.active && s.episode == nil {
		s.begin()
	}
	if !s.active {
		s.Lost.Add(m.Channel.Topic, "messages outside of episodes", 1)
	}
	stamp, own := t.stamp(m)
	var bad error
	if t.cameras != nil {
		_, bad = t.picture.Whole(m.Data)
		if bad == nil {
			s.frame(t, m.LogTime, stamp, own)
		}
	}
	for _, p := range t.samplers {
		values, err := p.sample(p.fields, m.Data)
		if err == nil && values != nil && s.active {
			s.sample(p.sampler, values, stamp, own)
		}
		bad = cmp.Or(bad, err)
	}
	if bad != nil {
		s.spoilt(m, bad)
	}
	return nil
}

// follow goes to the recorded episode at a time.
func (s *survey) follow(logTime int64) {
	for s.at < len(s.recorded) && logTime > s.recorded[s.at].End {
		s.end()
		s.at++
	}
	s.active = s.at < len(s.recorded) && logTime >= s.recorded[s.at].Start
}

// describe fills in what the metadata recorded about an episode.
func (s *survey) describe(e *episode.Episode) {
	t := s.recorded[s.at]
	e.Name, e.Success, e.Discarded, e.Metadata = t.Name, t.Success, t.Discarded, t.Metadata
	if t.Task != "" {
		e.Task = t.Task
	}
	e.SetDevices(t.Devices)
}

// spoilt notes that a message cannot be used.
func (s *survey) spoilt(m *codec.Message, err error) {
	s.bad[fmt.Sprintf("%s [%s]: %v", m.Channel.Topic, m.Channel.Type, err)]++
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
	e.Discarded = s.boundary.sample()
}

// frame adds a frame to the cameras of a topic.
func (s *survey) frame(t *topic, logTime, stamp int64, own bool) {
	for _, i := range t.cameras {
		at := &s.places[i]
		if at.logTime != logTime {
			*at = place{logTime: logTime}
		}
		if s.active {
			c := s.episode.Cameras[i]
			c.Stamps = append(c.Stamps, stamp)
			if !own {
				c.Unstamped++
			}
			s.lists[i].places = append(s.lists[i].places, *at)
		}
		at.before++
	}
}

// sample adds what a sampler read to its stream.
func (s *survey) sample(v *sampler, values []float64, stamp int64, own bool) {
	to := v.of(s.episode.Arms)
	if len(to.Columns) < len(v.columns) {
		*to = *episode.Spread(to, v.columns)
	}
	to.Stamps = append(to.Stamps, stamp)
	to.Values = append(to.Values, values...)
	if !own {
		to.Unstamped++
	}
}

// end ends the episode that has begun, if there is one.
func (s *survey) end() {
	e := s.episode
	s.episode = nil
	if e == nil {
		return
	}
	for _, c := range e.Cameras {
		span(e, c.Stamps)
	}
	for _, a := range e.Arms {
		for _, v := range a.Streams {
			if v != nil {
				span(e, v.Stamps)
			}
		}
	}
	if e.Start == 0 {
		return // there is nothing in it
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

// span extends the time of an episode.
func span(e *episode.Episode, stamps []int64) {
	for _, t := range stamps {
		if e.Start == 0 || t < e.Start {
			e.Start = t
		}
		e.End = max(e.End, t)
	}
}

// complete gives the streams of all episodes the columns that any has, and removes cameras and arms that none has.
func (r *Recording) complete() {
	for _, v := range r.topics.samplers {
		for _, e := range r.episodes {
			if of := e.Arms[v.arm].Streams[v.role]; of != nil {
				*of = *episode.Spread(of, v.columns)
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

// forgetUnits takes the units off streams that were recorded from joints in an unknown unit, as metadata tells.
func (r *Recording) forgetUnits() {
	unknown := map[string]bool{}
	for _, e := range r.recorded {
		for _, s := range e.Streams {
			unknown[s.Name] = unknown[s.Name] || s.Unit == episode.UnitUnknown
		}
	}
	for _, v := range r.topics.samplers {
		for _, e := range r.episodes {
			of := e.Arms[v.arm].Streams[v.role]
			if of == nil || v.stream.Unit != "" || !unknown[of.Name] {
				continue
			}
			of.Columns = slices.Clone(of.Columns)
			for i := range of.Columns {
				of.Columns[i].Unit = ""
			}
		}
	}
}
