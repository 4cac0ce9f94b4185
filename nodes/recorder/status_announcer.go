package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/rosbag2compat"
)

// announcer tells other nodes what happens to a recording: on events/write_split and events/rosbag2_messages_lost, as
// rosbag2 does, and on begin_write, as ROS 1's recorder does. They are published from a goroutine of their own, for
// which nobody waits.
type announcer struct {
	recorder           *recorder
	split, lost, begin *teller

	wake chan struct{} // has a value when there is something to publish
	done chan struct{} // closed when all is published

	mu       sync.Mutex
	said     []told
	over     bool              // nothing more will be said
	opened   map[string]string // after files that are not complete yet: the next one
	complete map[string]bool   // files of which the next one is not known yet
	session  *session          // whose losses are these:
	losses   map[string]losses // of which was told, by topic
}

// teller publishes messages of one type. A nil one does not.
type teller struct {
	publisher bridge.Publisher
	forms     rosbag2compat.Forms
}

// told is a message that is to be published.
type told struct {
	by      *teller
	message msgs.Message
}

// flushTime is how long subscribers may take to receive the last events.
const flushTime = time.Second

// newAnnouncer begins to tell what happens to the recordings of r.
func newAnnouncer(r *recorder) *announcer {
	a := &announcer{
		recorder: r, wake: make(chan struct{}, 1), done: make(chan struct{}),
		opened: map[string]string{}, complete: map[string]bool{},
	}
	a.split = a.newTeller("events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent", codec.DefaultQoS())
	var pace <-chan time.Time
	if rate := r.options.StatsMaxPublishingRate; rate > 0 {
		a.lost = a.newTeller("events/rosbag2_messages_lost", "rosbag2_interfaces/msg/MessagesLostEvent", codec.DefaultQoS())
		pace = time.Tick(time.Duration(float64(time.Second) / rate))
	}
	if r.options.Publish {
		a.begin = a.newTeller("begin_write", "std_msgs/msg/String", bridge.LatchedQoS())
	}
	r.onSplit = append(r.onSplit, a.goesOn)
	go a.run(pace)
	return a
}

// newTeller returns nil, and says why, where the topic cannot be published.
func (a *announcer) newTeller(topic, typeName string, qos codec.QoS) *teller {
	r := a.recorder
	t := &teller{}
	var err error
	if t.forms, err = rosbag2compat.NewForms(r.library, typeName); err == nil {
		t.publisher, err = r.node.Advertise(topic, typeName, qos)
	}
	switch {
	case errors.Is(err, rosidl.ErrUnknownType):
		r.node.Log(bridge.Info, "nothing is told on %s: %v", topic, err)
		return nil
	case err != nil:
		r.node.Log(bridge.Warn, "nothing is told on %s: %v", topic, err)
		return nil
	}
	r.selection.Own[t.publisher.Topic()] = true
	return t
}

// run publishes what is said, and looks for losses at each tick of pace, until end.
func (a *announcer) run(pace <-chan time.Time) {
	defer close(a.done)
	for {
		select {
		case <-pace:
			a.look()
		case <-a.wake:
		}
		a.mu.Lock()
		said, over := a.said, a.over
		a.said = nil
		a.mu.Unlock()
		for _, t := range said {
			data, err := t.by.forms.Marshal(t.message)
			if err == nil {
				err = t.by.publisher.Publish(data)
			}
			if err != nil {
				a.recorder.warn("event "+t.message.TypeName(), "publish on %s: %v", t.by.publisher.Topic(), err)
			}
		}
		if over {
			return
		}
	}
}

// say has a message published. a.mu is locked.
func (a *announcer) say(by *teller, m msgs.Message) {
	if by == nil {
		return
	}
	a.said = append(a.said, told{by, m})
	a.notify()
}

func (a *announcer) notify() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// begins is told of each file that is begun, "" in snapshot mode.
func (a *announcer) begins(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if path != "" {
		a.say(a.begin, &std_msgs.String{Data: path})
	}
}

// goesOn is told of the file in which a recording goes on after another one, "" at its end, when all files are
// complete.
func (a *announcer) goesOn(closed, opened string) {
	if opened == "" {
		a.look()
	} else {
		a.begins(opened)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if opened != "" && !a.complete[closed] {
		a.opened[closed] = opened
		return
	}
	delete(a.complete, closed)
	a.sayClosed(closed, opened)
}

// completed is told of each file that is complete, or could not be completed.
func (a *announcer) completed(path string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	opened, known := a.opened[path]
	delete(a.opened, path)
	switch {
	case err != nil:
	case known:
		a.sayClosed(path, opened)
	default:
		a.complete[path] = true
	}
}

func (a *announcer) sayClosed(closed, opened string) {
	a.say(a.split, &rosbag2.WriteSplitEvent{ClosedFile: closed, OpenedFile: opened, NodeName: a.recorder.node.Name()})
}

// look tells of what was lost since it was called last.
func (a *announcer) look() {
	if a.lost == nil {
		return
	}
	r := a.recorder
	s, list := r.session.Load(), r.losses()
	a.mu.Lock()
	defer a.mu.Unlock()
	if s != a.session {
		a.session, a.losses = s, map[string]losses{}
	}
	message := &rosbag2.MessagesLostEvent{NodeName: r.node.Name()}
	for _, l := range list {
		before := a.losses[l.topic]
		// While a subscription is replaced its count may be missing for a moment.
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
		a.say(a.lost, message)
	}
}

// end publishes what is left, and waits a moment for subscribers to receive it.
func (a *announcer) end() {
	a.look()
	a.mu.Lock()
	a.over = true
	a.notify()
	a.mu.Unlock()
	<-a.done
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	for _, t := range []*teller{a.split, a.lost, a.begin} {
		if t != nil {
			_ = t.publisher.Flush(ctx) // who does not receive it in time goes without
		}
	}
}

// losses is how much was lost of a topic since the recording began.
type losses struct {
	topic     string
	transport uint64 // messages between a publisher and the recorder
	recorder  uint64 // messages that were received and not written
}

// losses returns what was lost of each topic, by topic.
func (r *recorder) losses() []losses {
	var list []losses
	for _, rec := range r.recorded() {
		l := losses{rec.Channel.Load().Topic, rec.missed(), rec.Dropped.Load()}
		if n := len(list); n > 0 && list[n-1].topic == l.topic { // with another type
			list[n-1].transport += l.transport
			list[n-1].recorder += l.recorder
		} else {
			list = append(list, l)
		}
	}
	return list
}
