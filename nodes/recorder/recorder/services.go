package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/human"
	"tapedeck/msgs"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/graph/remote"
	"tapedeck/nodes/internal/graph/rosbag2compat"
	"tapedeck/nodes/recorder/internal/queue"
)

// control implements the services of rosbag2's recorder.
type control struct {
	*recorder
	later *schedule // requests for a later time
}

// serveControl offers the services that control the recorder. Requests for a later time are dropped when ctx ends.
func (r *recorder) serveControl(ctx context.Context) {
	c := control{r, &schedule{ctx: ctx, clock: r.clock}}
	rosbag2compat.Services{
		"pause": rosbag2compat.Reply(func() msgs.Message {
			c.pause()
			return &srv.Pause_Response{}
		}),
		"is_paused": rosbag2compat.Reply(func() msgs.Message {
			return &srv.IsPaused_Response{Paused: c.topics.Paused()}
		}),
		"resume":        rosbag2compat.Answer(c.onResume),
		"split_bagfile": rosbag2compat.Answer(c.onSplitBagfile),
		"record":        rosbag2compat.Answer(c.onRecord),
		"stop":          rosbag2compat.Reply(c.onStop),
		"is_recording": rosbag2compat.Reply(func() msgs.Message {
			return &srv.IsRecording_Response{Recording: c.recording()}
		}),
		"get_uri": rosbag2compat.Reply(func() msgs.Message {
			if !c.recording() {
				return &srv.GetUri_Response{}
			}
			return &srv.GetUri_Response{Uri: c.path()}
		}),
		"start_discovery": rosbag2compat.Reply(c.onStartDiscovery),
		"stop_discovery":  rosbag2compat.Reply(c.onStopDiscovery),
		"is_discovery_running": rosbag2compat.Reply(func() msgs.Message {
			return &srv.IsDiscoveryRunning_Response{Running: c.recording() && c.topics.Discovering()}
		}),
		"subscribe_to_topics": rosbag2compat.Answer(c.onSubscribeToTopics),
		"get_subscribed_topics": rosbag2compat.Reply(func() msgs.Message {
			return &srv.GetSubscribedTopics_Response{Topics: c.subscribedTopics()}
		}),
	}.Serve(r.node, r.library)
	r.serveUploads()
	r.serveDiscard()
	remote.ServeStatus(r.node, r.remoteStatus)
	_, err := r.node.Serve("~/split", "tapedeck/srv/Split", func(_ context.Context, payload []byte) ([]byte, error) {
		response, err := rosbag2compat.Answer(c.onSplit)(payload)
		if err != nil {
			return nil, err
		}
		return cdr.Marshal(response)
	})
	if err != nil {
		r.node.Log(bridge.Warn, "no service split: %v", err)
	}
}

// serveDiscard offers the service that discards an episode.
func (r *recorder) serveDiscard() {
	_, err := r.node.Serve("~/discard", "std_srvs/srv/Trigger", func(context.Context, []byte) ([]byte, error) {
		what, err := r.discard()
		if err != nil {
			return cdr.Marshal(&std_srvs.Trigger_Response{Message: err.Error()})
		}
		return cdr.Marshal(&std_srvs.Trigger_Response{Success: true, Message: "discarded " + what})
	})
	if err != nil {
		r.node.Log(bridge.Warn, "no service discard: %v", err)
	}
}

// outcome returns the fields of a service's response for an error, which may be nil.
func outcome(err error) (code int32, text string) {
	if err != nil {
		return 1, err.Error()
	}
	return 0, ""
}

func (c control) onResume(request *srv.Resume_Request) msgs.Message {
	refuse := func(code int32, err error) msgs.Message {
		return &srv.Resume_Response{ReturnCode: code, ErrorString: err.Error()}
	}
	m, err := newDeadline(request.ResumeTime, request.ResumeMode)
	if err != nil {
		return refuse(srv.Resume_Response_RETURN_CODE_INVALID_RESUME_MODE, err)
	}
	m.Topic, err = c.fullName(request.TrackingTopicName)
	if err != nil {
		return refuse(srv.Resume_Response_RETURN_CODE_INVALID_TRACKING_TOPIC, err)
	}
	c.later.cancel("resume")
	c.resumption.Store(nil)
	switch {
	case m.Reached(c.clock.Now()):
		c.resume()
	case c.later.ended():
		return refuse(srv.Resume_Response_RETURN_CODE_RESUME_FAILED, errEnds)
	case m.Mode == queue.ByClock:
		c.later.set("resume", m.Time, c.resume)
	default:
		c.resumption.Store(&m)
	}
	return &srv.Resume_Response{}
}

func (c control) onSplitBagfile(request *srv.SplitBagfile_Request) msgs.Message {
	refuse := func(code int32, err error) msgs.Message {
		return &srv.SplitBagfile_Response{ReturnCode: code, ErrorString: err.Error()}
	}
	m, err := newDeadline(request.SplitTime, request.SplitMode)
	if err != nil {
		return refuse(srv.SplitBagfile_Response_RETURN_CODE_INVALID_SPLIT_MODE, err)
	}
	m.Topic, err = c.fullName(request.TrackingTopicName)
	if err != nil {
		return refuse(srv.SplitBagfile_Response_RETURN_CODE_INVALID_TRACKING_TOPIC, err)
	}
	switch err := c.splitAt(m); {
	case errors.Is(err, errNotRecording):
		return refuse(srv.SplitBagfile_Response_RETURN_CODE_NOT_RECORDING, err)
	case err != nil:
		return refuse(srv.SplitBagfile_Response_RETURN_CODE_SPLIT_FAILED, err)
	}
	return &srv.SplitBagfile_Response{}
}

func (c control) onSplit(request *tapedeck.Split_Request) msgs.Message {
	name, err := c.recordingPath(request.Output)
	var closed, opened string
	if err == nil {
		closed, opened, err = c.continueIn(name)
	}
	if err != nil {
		return &tapedeck.Split_Response{Message: err.Error()}
	}
	return &tapedeck.Split_Response{Success: true, ClosedFile: absolute(closed), OpenedFile: absolute(opened)}
}

// splitAt splits the recording at a deadline. It replaces the deadline of an earlier request.
func (c control) splitAt(m queue.Deadline) error {
	s := c.session.Load()
	if !c.recording() || s.writer == nil {
		return errNotRecording
	}
	c.later.cancel("split")
	s.writer.SplitAt(nil)
	switch {
	case m.Reached(c.clock.Now()):
		_, _, err := c.split()
		return err
	case m.Mode == queue.ByClock:
		c.later.set("split", m.Time, func() {
			now := time.Now()
			until := now.UnixNano()
			if c.clock.Stamp(until) == until { // the time is not simulated
				until = m.Time - 1
			}
			if _, _, err := s.writer.Split(s.ctx, bridge.MonotonicOf(until, now), nil); err != nil {
				c.node.Log(bridge.Error, "split: %v", err)
			}
		})
	default:
		s.writer.SplitAt(&m)
	}
	return nil
}

// fullName returns the full name of a topic, "" for none.
func (c control) fullName(topic string) (string, error) {
	if topic == "" {
		return "", nil
	}
	return c.selection.Expand(topic)
}

// recordingPath returns the path of a recording that a request names, "" for none.
func (c control) recordingPath(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return c.root.Path(context.Background(), name)
}

func (c control) onRecord(request *srv.Record_Request) msgs.Message {
	c.later.cancel("record")
	m, err := newDeadline(request.StartTime, queue.ByClock)
	name, nameErr := c.recordingPath(request.Uri)
	err = cmp.Or(err, nameErr)
	switch {
	case err != nil:
	case m.Reached(c.clock.Now()):
		err = c.start(name)
	case c.later.ended():
		err = errEnds
	default:
		c.later.set("record", m.Time, func() {
			if err := c.start(name); err != nil {
				c.node.Log(bridge.Error, "record: %v", err)
			}
		})
	}
	code, text := outcome(err)
	return &srv.Record_Response{ReturnCode: code, ErrorString: text}
}

func (c control) onStop() msgs.Message {
	for _, request := range []string{"record", "resume", "split"} {
		c.later.cancel(request)
	}
	c.resumption.Store(nil)
	code, text := outcome(c.stop("by the service stop"))
	return &srv.Stop_Response{ReturnCode: code, ErrorString: text}
}

func (c control) onStartDiscovery() msgs.Message {
	var err error
	switch {
	case !c.recording():
		err = errNotRecording
	case c.topics.Discovering():
		err = errors.New("discovery is running")
	default:
		c.do(func() { c.topics.Discover(true) })
	}
	code, text := outcome(err)
	return &srv.StartDiscovery_Response{ReturnCode: code, ErrorString: text}
}

func (c control) onStopDiscovery() msgs.Message {
	var err error
	if c.recording() && c.topics.Discovering() {
		c.do(func() { c.topics.Discover(false) })
	} else {
		err = errors.New("discovery is not running")
	}
	code, text := outcome(err)
	return &srv.StopDiscovery_Response{ReturnCode: code, ErrorString: text}
}

func (c control) onSubscribeToTopics(request *srv.SubscribeToTopics_Request) msgs.Message {
	response := &srv.SubscribeToTopics_Response{}
	err := errNotRecording
	if n := len(request.TopicTypes); n != 0 && n != len(request.Topics) {
		err = fmt.Errorf("got %s but %s", human.Count(len(request.Topics), "topic"), human.Count(n, "type"))
	} else {
		c.do(func() {
			response.SubscribedTopics, response.UnavailableTopics, err = c.topics.Subscribe(request.Topics,
				request.TopicTypes)
		})
	}
	if err != nil {
		response.UnavailableTopics = request.Topics
	} else if len(response.SubscribedTopics) == 0 {
		err = errors.New("no topic has a type that can be recorded now; the topics are recorded when they appear")
	}
	response.ReturnCode, response.ErrorString = outcome(err)
	return response
}
