package carla

import (
	"errors"
	"io"

	"tapedeck/codec"
	"tapedeck/msgs/carla_msgs"
)

// Write writes a log of what the ROS 2 messages of a recording tell, with a Writer that knows beforehand what Expect finds. left are
// the topics that tell nothing. w is not closed.
func Write(w codec.Writer, r codec.Reader, o WriteOptions) (left []string, err error) {
	author := NewWriter(w, o)
	if err := author.Expect(r); err != nil {
		return nil, err
	}
	err = readAll(r, func(*codec.Channel) bool { return true }, author.Write)
	return author.Left(), errors.Join(err, author.finish())
}

// Expect goes through a recording that is to be written, for the actors that there ever are, the name of the map, and whether there
// is a /clock. Without it they are known when they are heard of.
func (w *Writer) Expect(r codec.Reader) error {
	info, err := r.Info()
	if err != nil {
		return err
	}
	for _, t := range info.Topics {
		s := w.source(t.Channel)
		w.clocked = w.clocked || s.tells && t.Channel.Topic == clockTopic && t.MessageCount > 0
	}
	w.patience = 0
	defer w.rename()
	wanted := func(c *codec.Channel) bool {
		switch w.source(c).message.(type) {
		case *carla_msgs.CarlaActorList, *carla_msgs.CarlaWorldInfo:
			return true
		}
		return false
	}
	return readAll(r, wanted, func(m *codec.Message) error {
		s := w.source(m.Channel)
		if err := s.decode(m); err != nil {
			return err
		}
		switch v := s.message.(type) {
		case *carla_msgs.CarlaActorList:
			w.expect(v.Actors)
		case *carla_msgs.CarlaWorldInfo:
			w.world(m.Channel.Topic, v)
		}
		return nil
	})
}

// readAll calls f with all messages of the channels.
func readAll(r codec.Reader, topics func(*codec.Channel) bool, f func(*codec.Message) error) error {
	it, err := r.Read(codec.Query{Topics: topics})
	if err != nil {
		return err
	}
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(m)
		}
		if err != nil {
			return err
		}
	}
}
