package recorder

import (
	"context"
	"errors"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/graph/rosbag2compat"
)

// announcer publishes events of recordings: on events/write_split and events/rosbag2_messages_lost, as rosbag2 does,
// and on begin_write, as ROS 1's recorder does. It belongs to the owner of the recorder.
type announcer struct {
	recorder           *recorder
	split, lost, begin *eventTopic   // nil: not published
	pace               time.Duration // time between events of losses; 0: they are not published

	opened   map[string]string // next file by path of a file that is not complete yet
	complete map[string]bool   // paths of complete files whose next file is not known yet
	session  *session          // session that losses belongs to
	losses   map[string]losses // losses that were published, by topic
}

// eventTopic publishes messages of one type.
type eventTopic struct {
	publisher bridge.Publisher
	forms     rosbag2compat.Forms
}

// flushTime is the time limit for subscribers to receive the last events.
const flushTime = time.Second

// newAnnouncer returns an announcer of the recordings of r.
func newAnnouncer(r *recorder) *announcer {
	a := &announcer{
		recorder: r,
		opened:   map[string]string{}, complete: map[string]bool{},
	}
	a.split = a.advertise("events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent", codec.DefaultQoS())
	if rate := r.options.StatsMaxPublishingRate; rate > 0 {
		a.lost = a.advertise("events/rosbag2_messages_lost", "rosbag2_interfaces/msg/MessagesLostEvent",
			codec.DefaultQoS())
		a.pace = time.Duration(float64(time.Second) / rate)
	}
	if r.options.Publish {
		a.begin = a.advertise("begin_write", "std_msgs/msg/String", bridge.LatchedQoS())
	}
	r.onSplit = append(r.onSplit, a.fileSplit)
	return a
}

// advertise returns a topic for events. If the topic cannot be published, it logs why and returns nil.
func (a *announcer) advertise(topic, typeName string, qos codec.QoS) *eventTopic {
	r := a.recorder
	t := &eventTopic{}
	var err error
	t.forms, err = rosbag2compat.NewForms(r.library, typeName)
	if err == nil {
		t.publisher, err = r.node.Advertise(topic, typeName, qos)
	}
	if err != nil {
		level := bridge.Warn
		if errors.Is(err, rosidl.ErrUnknownType) {
			level = bridge.Info
		}
		r.node.Log(level, "no events are published on %s: %v", topic, err)
		return nil
	}
	r.selection.Own[t.publisher.Topic()] = true
	return t
}

// watchLosses publishes losses regularly until ctx ends.
func (a *announcer) watchLosses(ctx context.Context) {
	tick := time.NewTicker(a.pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.recorder.owner.Post(a.addLosses)
		}
	}
}

// publish publishes a message, unless t is nil.
func (a *announcer) publish(t *eventTopic, m msgs.Message) {
	if t == nil {
		return
	}
	data, err := t.forms.Marshal(m)
	if err == nil {
		err = t.publisher.Publish(data)
	}
	if err != nil {
		a.recorder.warn("event "+m.TypeName(), "publish on %s: %v", t.publisher.Topic(), err)
	}
}

// fileOpened announces that a file is begun. The path is "" in snapshot mode.
func (a *announcer) fileOpened(path string) {
	if path != "" {
		a.publish(a.begin, &std_msgs.String{Data: path})
	}
}

// fileSplit announces that a recording continues in another file, once the closed file is complete. opened is "" at the
// end of the recording, when all files are complete.
func (a *announcer) fileSplit(closed, opened string) {
	if opened == "" {
		a.addLosses()
	} else {
		a.fileOpened(opened)
	}
	if opened != "" && !a.complete[closed] {
		a.opened[closed] = opened
		return
	}
	delete(a.complete, closed)
	a.addSplit(closed, opened)
}

// fileCompleted is called when a file is complete, or could not be completed because of err.
func (a *announcer) fileCompleted(path string, err error) {
	opened, known := a.opened[path]
	delete(a.opened, path)
	switch {
	case err != nil:
	case known:
		a.addSplit(path, opened)
	default:
		a.complete[path] = true
	}
}

// addSplit publishes the event of a split.
func (a *announcer) addSplit(closed, opened string) {
	a.publish(a.split, &rosbag2.WriteSplitEvent{ClosedFile: closed, OpenedFile: opened,
		NodeName: a.recorder.node.Name()})
}

// addLosses publishes the messages lost since the last call.
func (a *announcer) addLosses() {
	if a.lost == nil {
		return
	}
	r := a.recorder
	s, list := r.session.Load(), r.losses()
	if s != a.session {
		a.session, a.losses = s, map[string]losses{}
	}
	message := &rosbag2.MessagesLostEvent{NodeName: r.node.Name()}
	for _, l := range list {
		before := a.losses[l.topic]
		// While a subscription is replaced, its count may be missing for a moment.
		l.transport, l.recorder = max(l.transport, before.transport), max(l.recorder, before.recorder)
		if l == before || l.transport+l.recorder == 0 {
			continue
		}
		a.losses[l.topic] = l
		message.MessagesLostStatistics = append(message.MessagesLostStatistics, rosbag2.MessagesLostEventTopicStat{
			TopicName: l.topic, MessagesLostInTransport: l.transport - before.transport,
			MessagesLostInRecorder: l.recorder - before.recorder,
		})
	}
	if message.MessagesLostStatistics != nil {
		a.publish(a.lost, message)
	}
}

// end publishes the last losses, and waits up to flushTime for subscribers to receive all events. The owner must not
// call it.
func (a *announcer) end() {
	a.recorder.do(a.addLosses)
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	for _, t := range []*eventTopic{a.split, a.lost, a.begin} {
		if t != nil {
			_ = t.publisher.Flush(ctx) // slow subscribers miss the event
		}
	}
}

// losses are the numbers of messages of a topic that were lost since the recording began.
type losses struct {
	topic     string
	transport uint64 // lost between a publisher and the recorder
	recorder  uint64 // received and not written
}

// losses returns the losses of each topic, in the order of their names.
func (r *recorder) losses() []losses {
	var list []losses
	for _, rec := range r.topics.Topics() {
		c := rec.Counts()
		l := losses{rec.Channel.Load().Topic, c.Lost, c.Dropped}
		if n := len(list); n > 0 && list[n-1].topic == l.topic { // the topic has several types
			list[n-1].transport += l.transport
			list[n-1].recorder += l.recorder
		} else {
			list = append(list, l)
		}
	}
	return list
}
