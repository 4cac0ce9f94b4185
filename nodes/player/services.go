package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/std_srvs"
	"tapedeck/nodes/internal/rosbag2compat"
	"tapedeck/nodes/internal/timerange"
)

// control implements the services of rosbag2's player.
type control struct {
	*engine
	timeRange func(offset, duration time.Duration, until int64) (start, end int64, err error)
}

// serve offers the services of rosbag2's player, and ~/step.
func (c control) serve(node bridge.Node, library *rosidl.Library) {
	rosbag2compat.Services{
		"pause":         c.onPause,
		"resume":        c.onResume,
		"toggle_paused": c.onTogglePaused,
		"is_paused":     c.onIsPaused,
		"get_rate":      c.onGetRate,
		"set_rate":      c.onSetRate,
		"play":          c.onPlay,
		"play_next":     c.onPlayNext,
		"burst":         c.onBurst,
		"seek":          c.onSeek,
		"stop":          c.onStop,
	}.Serve(node, library)
	if _, err := node.Serve("~/step", "std_srvs/srv/Trigger", c.onStep); err != nil {
		node.Log(bridge.Warn, "no service step: %v", err)
	}
}

func (c control) onPause([]byte) (msgs.Message, error) {
	c.do(func() { c.setPaused(true) })
	return &srv.Pause_Response{}, nil
}

// onResume resumes at once and ignores the request's times, which are for recorders.
func (c control) onResume([]byte) (msgs.Message, error) {
	if !c.do(func() { c.setPaused(false) }) {
		return &srv.Resume_Response{ReturnCode: srv.Resume_Response_RETURN_CODE_RESUME_FAILED,
				ErrorString: errOver.Error()},
			nil
	}
	return &srv.Resume_Response{}, nil
}

func (c control) onTogglePaused([]byte) (msgs.Message, error) {
	c.do(func() { c.setPaused(!c.paused) })
	return &srv.TogglePaused_Response{}, nil
}

func (c control) onIsPaused([]byte) (msgs.Message, error) {
	return &srv.IsPaused_Response{Paused: c.state().paused}, nil
}

func (c control) onGetRate([]byte) (msgs.Message, error) {
	return &srv.GetRate_Response{Rate: c.state().rate}, nil
}

func (c control) onSetRate(payload []byte) (msgs.Message, error) {
	var request srv.SetRate_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	response := &srv.SetRate_Response{}
	c.do(func() { response.Success = c.setRate(request.Rate) })
	return response, nil
}

func (c control) onPlay(payload []byte) (msgs.Message, error) {
	var request srv.Play_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	offset, duration, until := request.StartOffset, request.PlaybackDuration, request.PlaybackUntilTimestamp
	start, end, err := c.timeRange(time.Duration(nanosecondsOf(offset)),
		time.Duration(int64(duration.Sec)*1e9+int64(duration.Nanosec)), nanosecondsOf(until))
	response := &srv.Play_Response{}
	if err == nil { // else there is no such part
		c.do(func() { response.Success = c.again(start, end) })
	}
	return response, nil
}

func (c control) onPlayNext([]byte) (msgs.Message, error) {
	return &srv.PlayNext_Response{Success: c.playBursts(1) == 1}, nil
}

func (c control) onBurst(payload []byte) (msgs.Message, error) {
	var request srv.Burst_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	return &srv.Burst_Response{ActuallyBurst: c.playBursts(request.NumMessages)}, nil
}

// playBursts plays count messages, 0 for all, and returns how many were played.
func (c control) playBursts(count uint64) uint64 {
	reply := make(chan uint64, 1)
	if !c.do(func() { c.burst(count, reply) }) {
		return 0
	}
	return <-reply
}

func (c control) onSeek(payload []byte) (msgs.Message, error) {
	var request srv.Seek_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	response := &srv.Seek_Response{}
	c.do(func() { response.Success = c.seek(nanosecondsOf(request.Time)) })
	return response, nil
}

func (c control) onStop([]byte) (msgs.Message, error) {
	stopped := false
	if c.do(func() { stopped = c.stop() }); !stopped {
		return &srv.Stop_Response{ReturnCode: 1, ErrorString: errOver.Error()}, nil
	}
	return &srv.Stop_Response{}, nil
}

// onStep plays the next step of lock-step, without lock-step the next message while paused.
func (c control) onStep(context.Context, []byte) ([]byte, error) {
	var complete bool
	response := &std_srvs.Trigger_Response{Message: errOver.Error()}
	if c.step > 0 {
		reply := make(chan bool, 1)
		complete = c.do(func() { c.askStep(reply) }) && <-reply
	} else if complete = c.playBursts(1) == 1; !complete {
		response.Message = "the player is not paused, or nothing is left to play"
	}
	response.Success = complete
	if complete {
		response.Message = fmt.Sprint("played up to ", timerange.Text(c.state().position))
	}
	return cdr.Marshal(response)
}

var errOver = errors.New("the playback is over")

func nanosecondsOf(t builtin_interfaces.Time) int64 { return int64(t.Sec)*1e9 + int64(t.Nanosec) }
