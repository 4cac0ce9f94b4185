package robot

import (
	"errors"
	"fmt"

	"tapedeck/codec"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/episode"
)

// Writer writes ROS 2 messages into sessions while they are received. It ignores topics that the mapping does not name.
// Without a mapping, a topic that belongs to no camera or arm is an error. Topics with images are no error, because
// another topic may have the images compressed. If the mapping has Boundaries, each episode is a session, and Writer
// omits messages between episodes.
type Writer struct {
	*session.Recording
	m        *Mapping
	byNames  bool // the names and types of topics decide; m grows with the topics
	topics   *topics
	boundary *boundary
	split    bool              // the next message begins another episode
	task     string            // task of the next episode
	cameras  []*episode.Camera // in the order of Mapping.Cameras
	arms     []*episode.Arm    // in the order of Mapping.Arms
	seen     codec.Info        // with byNames: the declared channels
}

var _ codec.Writer = (*Writer)(nil)

// NewWriter returns a writer to r, and owns r. With a nil mapping, the names and types of topics decide. A camera or an
// arm whose topic does not name it gets the next number when its topic is declared.
func NewWriter(r *session.Recording, m *Mapping) *Writer {
	w := &Writer{Recording: r, m: m, byNames: m == nil}
	if m == nil {
		w.m = &Mapping{}
	}
	w.boundary = newBoundary(w.m.Episodes)
	w.topics = newTopics(w.m)
	w.prepare()
	return w
}

// prepare adds cameras and arms that are new in the mapping.
func (w *Writer) prepare() {
	for _, c := range w.m.Cameras[len(w.cameras):] {
		w.cameras = append(w.cameras, c.empty())
	}
	for i := len(w.arms); i < len(w.m.Arms); i++ {
		w.arms = append(w.arms, w.m.Arms[i].empty())
	}
}

// Declare adds a channel. It returns an error if the channel is mapped, but its messages do not fit.
func (w *Writer) Declare(c *codec.Channel) error {
	_, err := w.topic(c)
	return err
}

// topic returns the binding of a channel, or nil if the mapping does not name the channel's topic.
func (w *Writer) topic(c *codec.Channel) (*topic, error) {
	if t, ok := w.topics.byChannel[c]; ok {
		return t, nil
	}
	if err := w.Recording.Declare(c); err != nil {
		return nil, err
	}
	if w.byNames {
		w.seen.Topics = append(w.seen.Topics, codec.TopicInfo{Channel: c, MessageCount: 1})
		if w.m.extend(Default(&w.seen)) {
			w.topics.extend()
			w.prepare()
		}
	}
	return w.topics.topicOf(c)
}

// Write implements codec.Writer.
func (w *Writer) Write(m *codec.Message) error {
	if m.Channel.Topic == codec.EventTopic {
		return w.Recording.Write(m)
	}
	t, err := w.topic(m.Channel)
	switch {
	case err != nil:
		return err
	case t == nil && w.byNames && !isPicture(m.Channel): // another topic may have the images compressed
		return fmt.Errorf("%s [%s] is not recorded: it belongs to no arm, which needs a %s in the same namespace; "+
			"robot_mapping can map it", m.Channel.Topic, m.Channel.Type, typeJointState)
	case t == nil:
		return nil
	}
	if t.trigger != nil {
		effect, err := w.boundary.handleTrigger(t.trigger, m)
		if err != nil {
			return w.annotate(m, err)
		}
		if effect.ended {
			w.split, w.task = w.boundary.hasBegun || effect.task != "", effect.task
		}
		if effect.discarded {
			if _, err := w.Recording.Discard(); err != nil {
				return w.annotate(m, err)
			}
		}
	}
	if t.cameras == nil && t.samplers == nil {
		return nil
	}
	if w.boundary.followsPause(m.LogTime) {
		w.split = w.boundary.hasBegun
	}
	if !w.boundary.active {
		return nil
	}
	if w.split {
		if err := w.SplitTask(w.task); err != nil {
			return err
		}
	}
	w.split = false
	if w.boundary.addSample() {
		if _, err := w.Recording.Discard(); err != nil {
			return w.annotate(m, err)
		}
	}
	return w.write(t, m)
}

// Split implements codec.Writer. The current episode continues in another session. Without Boundaries, Split begins
// another episode.
func (w *Writer) Split() error {
	if w.m.Episodes == (Boundaries{}) {
		return w.SplitTask("")
	}
	return w.Recording.Split()
}

// Close implements codec.Writer. Discard may be called after Close.
func (w *Writer) Close() error {
	w.boundary.active = false
	return w.Recording.Close()
}

// Discard marks the episode that is being recorded, or else the episode that ended last, as discarded. description
// names the episode in words; paths are the episode's sessions. The mark is on the disk when Discard returns. Discard
// may be called after Close.
func (w *Writer) Discard() (description string, paths []string, err error) {
	switch err := w.boundary.discard(); {
	case errors.Is(err, errDiscardPending):
		return "the episode that has begun; nothing of it is recorded yet", nil, nil
	case errors.Is(err, errNotBegun) && w.m.Episodes.Topic != "":
		return "", nil, fmt.Errorf("%w; a message on %s begins one", err, w.m.Episodes.Topic)
	case err != nil:
		return "", nil, err
	}
	paths, err = w.Recording.Discard()
	if err != nil {
		return "", nil, err
	}
	if w.boundary.active {
		return "the episode that is being recorded", paths, nil
	}
	return "the episode that ended last", paths, nil
}

// write writes the frames and samples of a message into the current session.
func (w *Writer) write(t *topic, m *codec.Message) error {
	stamp, _ := t.stampOf(m)
	if t.cameras != nil {
		f, err := t.picture.Image(m.Data)
		if err != nil {
			return w.annotate(m, err)
		}
		for _, i := range t.cameras {
			if err := w.Frame(w.cameras[i], stamp, f); err != nil {
				return err
			}
		}
	}
	for _, p := range t.samplers {
		values, err := p.sample(p.fields, m.Data)
		if err != nil {
			return w.annotate(m, err)
		}
		if values == nil {
			continue
		}
		a := w.arms[p.arm]
		p.vector(w.arms).Columns = p.columns
		if err := w.Sample(a, p.role, stamp, values); err != nil {
			return err
		}
	}
	return nil
}

// annotate adds the topic, type and time of a message to an error about the message.
func (w *Writer) annotate(m *codec.Message, err error) error {
	return fmt.Errorf("%s [%s] at %d ns: %w", m.Channel.Topic, m.Channel.Type, m.LogTime, err)
}
