package player

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
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
		"pause": rosbag2compat.Reply(func() msgs.Message {
			c.do(func() { c.setPaused(true) })
			return &srv.Pause_Response{}
		}),
		"resume": rosbag2compat.Reply(c.onResume),
		"toggle_paused": rosbag2compat.Reply(func() msgs.Message {
			c.do(func() { c.setPaused(!c.paused) })
			return &srv.TogglePaused_Response{}
		}),
		"is_paused": rosbag2compat.Reply(func() msgs.Message {
			return &srv.IsPaused_Response{Paused: c.state().paused}
		}),
		"get_rate": rosbag2compat.Reply(func() msgs.Message { return &srv.GetRate_Response{Rate: c.state().rate} }),
		"set_rate": rosbag2compat.Answer(func(request *srv.SetRate_Request) msgs.Message {
			response := &srv.SetRate_Response{}
			c.do(func() { response.Success = c.setRate(request.Rate) })
			return response
		}),
		"play": rosbag2compat.Answer(c.onPlay),
		"play_next": rosbag2compat.Reply(func() msgs.Message {
			return &srv.PlayNext_Response{Success: c.playBursts(1) == 1}
		}),
		"burst": rosbag2compat.Answer(func(request *srv.Burst_Request) msgs.Message {
			return &srv.Burst_Response{ActuallyBurst: c.playBursts(request.NumMessages)}
		}),
		"seek": rosbag2compat.Answer(func(request *srv.Seek_Request) msgs.Message {
			response := &srv.Seek_Response{}
			c.do(func() { response.Success = c.seek(request.Time.Nanoseconds()) })
			return response
		}),
		"stop": rosbag2compat.Reply(c.onStop),
	}.Serve(node, library)
	if _, err := node.Serve("~/step", "std_srvs/srv/Trigger", c.onStep); err != nil {
		node.Log(bridge.Warn, "no service step: %v", err)
	}
}

// onResume resumes at once and ignores the request's times, which are for recorders.
func (c control) onResume() msgs.Message {
	if !c.do(func() { c.setPaused(false) }) {
		return &srv.Resume_Response{ReturnCode: srv.Resume_Response_RETURN_CODE_RESUME_FAILED,
			ErrorString: errOver.Error()}
	}
	return &srv.Resume_Response{}
}

func (c control) onPlay(request *srv.Play_Request) msgs.Message {
	offset, duration, until := request.StartOffset, request.PlaybackDuration, request.PlaybackUntilTimestamp
	start, end, err := c.timeRange(time.Duration(offset.Nanoseconds()),
		time.Duration(duration.Nanoseconds()), until.Nanoseconds())
	response := &srv.Play_Response{}
	if err == nil { // else there is no such part
		c.do(func() { response.Success = c.again(start, end) })
	}
	return response
}

// playBursts plays count messages, 0 for all, and returns how many were played.
func (c control) playBursts(count uint64) uint64 {
	reply := make(chan uint64, 1)
	if !c.do(func() { c.burst(count, reply) }) {
		return 0
	}
	return <-reply
}

func (c control) onStop() msgs.Message {
	stopped := false
	if c.do(func() { stopped = c.stop() }); !stopped {
		return &srv.Stop_Response{ReturnCode: 1, ErrorString: errOver.Error()}
	}
	return &srv.Stop_Response{}
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
