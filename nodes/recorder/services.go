package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/nodes/internal/rosbag2compat"
	"tapedeck/nodes/recorder/internal/schedule"
)

// control is what the services of rosbag2's recorder do.
type control struct {
	*recorder
	plans *schedule.Schedule
}

// serveControl offers the services of rosbag2's recorder. What was asked for at a time to come ends with ctx.
func (r *recorder) serveControl(ctx context.Context) {
	c := control{r, schedule.New(ctx, r.clock)}
	rosbag2compat.Services{
		"pause":                 c.onPause,
		"resume":                c.onResume,
		"is_paused":             c.onIsPaused,
		"split_bagfile":         c.onSplitBagfile,
		"record":                c.onRecord,
		"stop":                  c.onStop,
		"is_recording":          c.onIsRecording,
		"get_uri":               c.onGetURI,
		"start_discovery":       c.onStartDiscovery,
		"stop_discovery":        c.onStopDiscovery,
		"is_discovery_running":  c.onIsDiscoveryRunning,
		"subscribe_to_topics":   c.onSubscribeToTopics,
		"get_subscribed_topics": c.onGetSubscribedTopics,
	}.Serve(r.node, r.library)
}

// outcome returns what services answer with for an error, or for none.
func outcome(err error) (code int32, text string) {
	if err != nil {
		return 1, err.Error()
	}
	return 0, ""
}

func (c control) onPause([]byte) (msgs.Message, error) {
	c.pause()
	return &srv.Pause_Response{}, nil
}

func (c control) onIsPaused([]byte) (msgs.Message, error) {
	return &srv.IsPaused_Response{Paused: c.topics.Paused()}, nil
}

func (c control) onResume(payload []byte) (msgs.Message, error) {
	var request srv.Resume_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	m, err := schedule.NewDeadline(request.ResumeTime, request.ResumeMode)
	if err != nil {
		return &srv.Resume_Response{ReturnCode: srv.Resume_Response_RETURN_CODE_INVALID_RESUME_MODE,
			ErrorString: err.Error()}, nil
	}
	if m.Topic, err = c.tracked(request.TrackingTopicName); err != nil {
		return &srv.Resume_Response{ReturnCode: srv.Resume_Response_RETURN_CODE_INVALID_TRACKING_TOPIC,
			ErrorString: err.Error()}, nil
	}
	c.plans.Cancel("resume")
	c.resumption.Store(nil)
	switch {
	case m.Reached(c.clock.Now()):
		c.resume()
	case c.plans.Ended():
		return &srv.Resume_Response{
			ReturnCode: srv.Resume_Response_RETURN_CODE_RESUME_FAILED, ErrorString: errEnds.Error(),
		}, nil
	case m.Mode == schedule.ByClock:
		c.plans.Set("resume", m.Time, c.resume)
	default:
		c.resumption.Store(&m)
	}
	return &srv.Resume_Response{}, nil
}

func (c control) onSplitBagfile(payload []byte) (msgs.Message, error) {
	var request srv.SplitBagfile_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	m, err := schedule.NewDeadline(request.SplitTime, request.SplitMode)
	if err != nil {
		return &srv.SplitBagfile_Response{ReturnCode: srv.SplitBagfile_Response_RETURN_CODE_INVALID_SPLIT_MODE,
			ErrorString: err.Error()}, nil
	}
	if m.Topic, err = c.tracked(request.TrackingTopicName); err != nil {
		return &srv.SplitBagfile_Response{ReturnCode: srv.SplitBagfile_Response_RETURN_CODE_INVALID_TRACKING_TOPIC,
			ErrorString: err.Error()}, nil
	}
	switch err := c.splitAt(m); {
	case errors.Is(err, errNotRecording):
		return &srv.SplitBagfile_Response{ReturnCode: srv.SplitBagfile_Response_RETURN_CODE_NOT_RECORDING,
			ErrorString: err.Error()}, nil
	case err != nil:
		return &srv.SplitBagfile_Response{ReturnCode: srv.SplitBagfile_Response_RETURN_CODE_SPLIT_FAILED,
			ErrorString: err.Error()}, nil
	}
	return &srv.SplitBagfile_Response{}, nil
}

// splitAt has the recording go on in another file at that moment, in place of one that it was asked for before.
func (c control) splitAt(m schedule.Deadline) error {
	s := c.session.Load()
	if !c.recording() || s.writer == nil {
		return errNotRecording
	}
	c.plans.Cancel("split")
	s.writer.SplitAt(nil)
	switch {
	case m.Reached(c.clock.Now()):
		_, _, err := c.split()
		return err
	case m.Mode == schedule.ByClock:
		c.plans.Set("split", m.Time, func() {
			until := time.Now().UnixNano()
			if c.clock.Stamp(until) == until { // the clock is no simulated one
				until = m.Time - 1
			}
			if _, _, err := s.writer.Split(s.ctx, until); err != nil {
				c.node.Log(bridge.Error, "split: %v", err)
			}
		})
	default:
		s.writer.SplitAt(&m)
	}
	return nil
}

// tracked returns the full name of a topic, "" for none.
func (c control) tracked(topic string) (string, error) {
	if topic == "" {
		return "", nil
	}
	return c.selection.Expand(topic)
}

func (c control) onRecord(payload []byte) (msgs.Message, error) {
	var request srv.Record_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	c.plans.Cancel("record")
	m, err := schedule.NewDeadline(request.StartTime, schedule.ByClock)
	switch {
	case err != nil:
	case m.Reached(c.clock.Now()):
		err = c.start(request.Uri)
	case c.plans.Ended():
		err = errEnds
	default:
		c.plans.Set("record", m.Time, func() {
			if err := c.start(request.Uri); err != nil {
				c.node.Log(bridge.Error, "record: %v", err)
			}
		})
	}
	code, text := outcome(err)
	return &srv.Record_Response{ReturnCode: code, ErrorString: text}, nil
}

func (c control) onStop([]byte) (msgs.Message, error) {
	for _, plan := range []string{"record", "resume", "split"} {
		c.plans.Cancel(plan)
	}
	c.resumption.Store(nil)
	code, text := outcome(c.stop("by the service stop"))
	return &srv.Stop_Response{ReturnCode: code, ErrorString: text}, nil
}

func (c control) onIsRecording([]byte) (msgs.Message, error) {
	return &srv.IsRecording_Response{Recording: c.recording()}, nil
}

func (c control) onGetURI([]byte) (msgs.Message, error) {
	response := &srv.GetUri_Response{}
	if c.recording() {
		response.Uri = c.path()
	}
	return response, nil
}

func (c control) onStartDiscovery([]byte) (msgs.Message, error) {
	var err error
	switch {
	case !c.recording():
		err = errNotRecording
	case c.topics.Discovering():
		err = errors.New("discovery is running")
	default:
		c.topics.Discover(true)
	}
	code, text := outcome(err)
	return &srv.StartDiscovery_Response{ReturnCode: code, ErrorString: text}, nil
}

func (c control) onStopDiscovery([]byte) (msgs.Message, error) {
	var err error
	if c.recording() && c.topics.Discovering() {
		c.topics.Discover(false)
	} else {
		err = errors.New("discovery is not running")
	}
	code, text := outcome(err)
	return &srv.StopDiscovery_Response{ReturnCode: code, ErrorString: text}, nil
}

func (c control) onIsDiscoveryRunning([]byte) (msgs.Message, error) {
	return &srv.IsDiscoveryRunning_Response{Running: c.recording() && c.topics.Discovering()}, nil
}

func (c control) onSubscribeToTopics(payload []byte) (msgs.Message, error) {
	var request srv.SubscribeToTopics_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	response := &srv.SubscribeToTopics_Response{}
	var err error
	if n := len(request.TopicTypes); n != 0 && n != len(request.Topics) {
		err = fmt.Errorf("there are %d topics and %d types", len(request.Topics), n)
	} else {
		response.SubscribedTopics, response.UnavailableTopics, err = c.topics.Subscribe(request.Topics, request.TopicTypes)
	}
	if err != nil {
		response.UnavailableTopics = request.Topics
	} else if len(response.SubscribedTopics) == 0 {
		err = errors.New("none of the topics is there, or has a type that can be recorded; they are recorded when they " +
			"appear")
	}
	response.ReturnCode, response.ErrorString = outcome(err)
	return response, nil
}

func (c control) onGetSubscribedTopics([]byte) (msgs.Message, error) {
	return &srv.GetSubscribedTopics_Response{Topics: c.subscribedTopics()}, nil
}
