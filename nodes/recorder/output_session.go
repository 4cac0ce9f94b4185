package main

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"sync"

	"tapedeck/bridge/robot"
	"tapedeck/codec"
	format "tapedeck/codec/session"
)

// takes writes sessions of a robot. Each is one of the files of a recording.
type takes struct {
	*robot.Writer
	series *format.Series

	mu       sync.Mutex
	channels map[string]*codec.Channel // by topic
}

var _ codec.Splitter = (*takes)(nil)

// newTakes begins a recording in the folder path. With a nil mapping, names and types of topics tell what is what.
func newTakes(path string, overwrite bool, m *robot.Mapping, metadata map[string]string,
	completed func(codec.FileInfo, error)) (*takes, error) {
	o := format.Options{Overwrite: overwrite}
	if m != nil {
		o.Task = m.Task
	}
	if len(metadata) > 0 {
		var err error
		if o.Metadata, err = json.Marshal(metadata); err != nil {
			return nil, err
		}
	}
	series, err := format.CreateSeries(path, o, completed)
	if err != nil {
		return nil, err
	}
	return &takes{Writer: robot.NewWriter(series, m), series: series, channels: map[string]*codec.Channel{}}, nil
}

// Declare implements codec.Writer.
func (t *takes) Declare(c *codec.Channel) error {
	t.know(c)
	return t.Writer.Declare(c)
}

func (t *takes) know(c *codec.Channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.channels[c.Topic] = c
}

// Write implements codec.Writer. Events are kept in metadata.json.
func (t *takes) Write(m *codec.Message) error {
	if e, ok := codec.ParseEvent(m); ok {
		t.series.Note(e)
		return nil
	}
	t.know(m.Channel)
	return t.name(t.Writer.Write(m))
}

// Sync implements codec.Writer.
func (t *takes) Sync() error { return t.name(t.Writer.Sync()) }

// Close implements codec.Writer.
func (t *takes) Close() error { return t.name(t.Writer.Close()) }

// File implements codec.Splitter.
func (t *takes) File() string { return t.series.File() }

// Split implements codec.Splitter.
func (t *takes) Split() error { return t.series.Split("") }

// Remove implements codec.Splitter.
func (t *takes) Remove(path string) error { return t.series.Remove(path) }

// Size returns how many bytes were written.
func (t *takes) Size() int64 { return t.series.Size() }

// name has the channels in an error that a session knows by their topics alone.
func (t *takes) name(err error) error {
	var missing *codec.MissingError
	if errors.As(err, &missing) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for i := range missing.Topics {
			if c := t.channels[missing.Topics[i].Channel.Topic]; c != nil {
				missing.Topics[i].Channel = c
			}
		}
	}
	return err
}

// inSession says whether a session has a place for a topic.
func inSession(m *robot.Mapping, topic, typeName string) bool {
	if m != nil {
		return slices.Contains(m.Topics(), topic)
	}
	channel := func(topic, typeName string) codec.TopicInfo {
		return codec.TopicInfo{Channel: &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR},
			MessageCount: 1}
	}
	// The joints, which an arm is known by, may come later. There may be some on a topic behind all others.
	space, joints := path.Dir(topic), "sensor_msgs/msg/JointState"
	info := codec.Info{Topics: []codec.TopicInfo{channel(topic, typeName), channel(path.Join(space, "~joints"), joints),
		channel(path.Join(path.Dir(space), "~joints"), joints)}}
	return slices.Contains(robot.Default(&info).Topics(), topic)
}

// slow says what cannot keep up.
func (r *recorder) slow() string {
	if s := r.session.Load(); s != nil && s.sink != nil && s.sink.late() {
		return "PNGs cannot be made as fast as pictures come, whose topics had better be compressed"
	}
	return "the disk does not keep up"
}

// late says whether making pictures held up who writes them.
func (s *sink) late() bool {
	t, ok := s.writer.(*takes)
	return ok && t.series.Late() > 0
}
