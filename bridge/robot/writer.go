package robot

import (
	"fmt"

	"tapedeck/codec"
	"tapedeck/codec/align"
	"tapedeck/codec/episode"
)

// Splitter is a Session that goes on in another one.
type Splitter interface {
	Session
	// Split has what comes now be another take, unless nothing has come yet. A task, unless it is "", is what is done
	// in it.
	Split(task string) error
}

// Writer makes sessions of ROS 2 messages as they come. What is no camera's and no arm's is left out. Where the mapping
// says what of a recording is an episode, the rest is left out, too, and each episode is a take if the session is a
// Splitter.
type Writer struct {
	session  Session
	m        *Mapping
	byNames  bool
	topics   *topics
	boundary *boundary
	began    bool // an episode
	split    bool // the next message is in another episode
	task     string
	cameras  []*episode.Camera
	arms     []*episode.Arm
	seen     codec.Info // channels, where names and types say what is what
}

var _ codec.Writer = (*Writer)(nil)

// NewWriter returns a writer to a session, which it owns. With a nil mapping, names and types of topics say what is
// what, and cameras and arms that are not named themselves are counted as they come.
func NewWriter(s Session, m *Mapping) *Writer {
	w := &Writer{session: s, m: m, byNames: m == nil}
	if m == nil {
		w.m = &Mapping{}
	}
	w.boundary = newBoundary(w.m.Episodes)
	w.topics = newTopics(w.m)
	w.prepare()
	return w
}

// prepare has the cameras and arms that the mapping has by now.
func (w *Writer) prepare() {
	for _, c := range w.m.Cameras[len(w.cameras):] {
		w.cameras = append(w.cameras, c.empty())
	}
	for i := len(w.arms); i < len(w.m.Arms); i++ {
		w.arms = append(w.arms, w.m.Arms[i].empty())
	}
}

// Declare adds a channel. The error says why nothing of the channel can be in a session though it is mapped.
func (w *Writer) Declare(c *codec.Channel) error {
	_, err := w.topic(c)
	return err
}

// topic returns what is taken of the messages of a channel, nil if that is nothing.
func (w *Writer) topic(c *codec.Channel) (*topic, error) {
	if t, ok := w.topics.known[c]; ok {
		return t, nil
	}
	if w.byNames {
		w.seen.Topics = append(w.seen.Topics, codec.TopicInfo{Channel: c, MessageCount: 1})
		if w.m.extend(Default(&w.seen)) {
			w.topics.extend()
			w.prepare()
		}
	}
	return w.topics.of(c)
}

// Mapping returns what is what by now.
func (w *Writer) Mapping() *Mapping { return w.m }

func (w *Writer) Write(m *codec.Message) error {
	t, err := w.topic(m.Channel)
	if err != nil || t == nil {
		return err
	}
	if t.triggers {
		ended, task, err := w.boundary.trigger(t, m)
		if err != nil {
			return w.of(m, err)
		}
		if ended {
			w.split, w.task = w.began || task != "", task
		}
	}
	if t.cameras == nil && t.vectors == nil {
		return nil
	}
	if w.boundary.pause(m.LogTime) {
		w.split = w.began
	}
	if !w.boundary.active {
		return nil
	}
	if splitter, ok := w.session.(Splitter); ok && w.split {
		if err := splitter.Split(w.task); err != nil {
			return err
		}
	}
	w.began, w.split = true, false
	return w.write(t, m)
}

func (w *Writer) write(t *topic, m *codec.Message) error {
	stamp, _ := t.stamp(m)
	if t.cameras != nil {
		f, err := t.picture.frame(m.Data)
		if err != nil {
			return w.of(m, err)
		}
		for _, i := range t.cameras {
			if err := w.session.Frame(w.cameras[i], stamp, f); err != nil {
				return err
			}
		}
	}
	for _, p := range t.vectors {
		values, err := p.sample(p.fields, m.Data)
		if err != nil {
			return w.of(m, err)
		}
		if values == nil {
			continue
		}
		a := w.arms[p.arm]
		v := *p.role.of(a)
		if v == nil {
			v = &align.Vector{Name: a.Name + "/" + roleNames[p.role], Topic: p.stream.Topic}
			*p.role.of(a) = v
		}
		v.Columns = p.columns
		if err := w.session.Sample(a, v, stamp, values); err != nil {
			return err
		}
	}
	return nil
}

// of says which message an error is about.
func (w *Writer) of(m *codec.Message, err error) error {
	return fmt.Errorf("%s [%s] at %d ns: %w", m.Channel.Topic, m.Channel.Type, m.LogTime, err)
}

// Sync puts the samples written so far on the disk.
func (w *Writer) Sync() error { return w.session.Sync() }

// Close completes the session.
func (w *Writer) Close() error { return w.session.Close() }

// Session is a take that is being written, as it happens.
type Session interface {
	// Frame adds what a camera saw at a time, in ns since the Unix epoch. The frame is the caller's again when Frame
	// returns.
	Frame(c *episode.Camera, stamp int64, f episode.Frame) error
	// Sample adds a sample of a vector, which is one of the arm's. values are as many as the vector has columns now;
	// there may be more behind them later. Values that align.IsMissing reports are not known. They are the caller's
	// again when Sample returns.
	Sample(a *episode.Arm, v *align.Vector, stamp int64, values []float64) error
	// Sync puts everything so far on the disk. It may be called beside Frame and Sample.
	Sync() error
	// Close completes the session.
	Close() error
}
