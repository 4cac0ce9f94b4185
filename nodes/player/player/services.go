package player

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/std_srvs"
	"tapedeck/nodes/internal/filter/timerange"
	"tapedeck/nodes/internal/graph/rosbag2compat"
)

// serve offers the services of rosbag2's player, and ~/step.
func (p *player) serve(library *rosidl.Library) {
	rosbag2compat.Services{
		"pause": rosbag2compat.Reply(func() msgs.Message {
			p.do(func() { p.setPaused(true) })
			return &srv.Pause_Response{}
		}),
		"resume": rosbag2compat.Reply(p.onResume),
		"toggle_paused": rosbag2compat.Reply(func() msgs.Message {
			p.do(func() { p.setPaused(!p.paused) })
			return &srv.TogglePaused_Response{}
		}),
		"is_paused": rosbag2compat.Reply(func() msgs.Message {
			return &srv.IsPaused_Response{Paused: p.state().paused}
		}),
		"get_rate": rosbag2compat.Reply(func() msgs.Message { return &srv.GetRate_Response{Rate: p.state().rate} }),
		"set_rate": rosbag2compat.Answer(func(request *srv.SetRate_Request) msgs.Message {
			response := &srv.SetRate_Response{}
			p.do(func() { response.Success = p.setRate(request.Rate) })
			return response
		}),
		"play": rosbag2compat.Answer(p.onPlay),
		"play_next": rosbag2compat.Reply(func() msgs.Message {
			return &srv.PlayNext_Response{Success: p.playBursts(1) == 1}
		}),
		"burst": rosbag2compat.Answer(func(request *srv.Burst_Request) msgs.Message {
			return &srv.Burst_Response{ActuallyBurst: p.playBursts(request.NumMessages)}
		}),
		"seek": rosbag2compat.Answer(func(request *srv.Seek_Request) msgs.Message {
			response := &srv.Seek_Response{}
			p.do(func() { response.Success = p.seek(request.Time.Nanoseconds()) })
			return response
		}),
		"stop": rosbag2compat.Reply(p.onStop),
	}.Serve(p.node, library)
	if _, err := p.node.Serve("~/step", "std_srvs/srv/Trigger", p.onStep); err != nil {
		p.node.Log(bridge.Warn, "no service step: %v", err)
	}
}

// onResume resumes at once and ignores the request's times, which are for recorders.
func (p *player) onResume() msgs.Message {
	if !p.do(func() { p.setPaused(false) }) {
		return &srv.Resume_Response{ReturnCode: srv.Resume_Response_RETURN_CODE_RESUME_FAILED,
			ErrorString: errOver.Error()}
	}
	return &srv.Resume_Response{}
}

func (p *player) onPlay(request *srv.Play_Request) msgs.Message {
	offset, duration, until := request.StartOffset, request.PlaybackDuration, request.PlaybackUntilTimestamp
	start, end, err := p.timeRangeOf(time.Duration(offset.Nanoseconds()),
		time.Duration(duration.Nanoseconds()), until.Nanoseconds())
	response := &srv.Play_Response{}
	if err == nil { // else the recordings have no such time range
		p.do(func() { response.Success = p.playAgain(start, end) })
	}
	return response
}

// playBursts plays count messages, 0 for all. It returns the number of played messages.
func (p *player) playBursts(count uint64) uint64 {
	reply := make(chan uint64, 1)
	if !p.do(func() { p.burst(count, reply) }) {
		return 0
	}
	return <-reply
}

func (p *player) onStop() msgs.Message {
	stopped := false
	p.do(func() { stopped = p.stop() })
	if !stopped {
		return &srv.Stop_Response{ReturnCode: 1, ErrorString: errOver.Error()}
	}
	return &srv.Stop_Response{}
}

// onStep plays the next step. Without lock-step it plays the next message if the player is paused.
func (p *player) onStep(context.Context, []byte) ([]byte, error) {
	var complete bool
	response := &std_srvs.Trigger_Response{Message: errOver.Error()}
	if p.step > 0 {
		reply := make(chan bool, 1)
		complete = p.do(func() { p.askStep(reply) }) && <-reply
	} else {
		complete = p.playBursts(1) == 1
		if !complete {
			response.Message = "the player is not paused, or nothing is left to play"
		}
	}
	response.Success = complete
	if complete {
		response.Message = fmt.Sprint("played up to ", timerange.Text(p.state().position))
	}
	return cdr.Marshal(response)
}

var errOver = errors.New("the playback is over")
