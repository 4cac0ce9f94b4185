package player

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/msgs/builtin_interfaces"
	diag "tapedeck/msgs/diagnostic_msgs"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/std_srvs"
	"tapedeck/nodes/internal/filter/timerange"
	"tapedeck/nodes/internal/graph/remote"
	"tapedeck/nodes/internal/graph/rospub"
)

// newRemotes returns the commands that control a running player.
func newRemotes() []*cobra.Command {
	command := func(use, short string, least, most int,
		run func(ctx context.Context, args []string, p *remote.Peer) error) *cobra.Command {
		o := remote.DefaultOptions()
		return remote.Player.Command(use, short, short+".", least, most, &o, &o, run)
	}
	return []*cobra.Command{
		remote.Player.NewStatus(),
		command("pause", "Pause a running player", 0, 0, remote.Pause),
		command("resume", "Resume a paused player", 0, 0, remote.Resume),
		command("toggle-paused", "Pause a running player, or resume it", 0, 0, togglePaused),
		command("play-next", "Play the next message of a paused player", 0, 0,
			func(ctx context.Context, _ []string, p *remote.Peer) error { return playBurst(ctx, []string{"1"}, p) }),
		command("burst N", "Play the next N messages of a paused player at once; 0 is all", 1, 1, playBurst),
		command("step", "Play the next step of lock-step; without it, the next message", 0, 0, step),
		command("rate [RATE]", "Show or set the rate of a running player", 0, 1, rate),
		newRemoteSeek(),
		command("stop", "End the playback of a running player", 0, 0, remote.Stop),
	}
}

func togglePaused(ctx context.Context, _ []string, p *remote.Peer) error {
	if err := p.Call(ctx, "toggle_paused", &srv.TogglePaused_Request{}, &srv.TogglePaused_Response{}); err != nil {
		return err
	}
	var response srv.IsPaused_Response
	if err := p.Call(ctx, "is_paused", &srv.IsPaused_Request{}, &response); err != nil {
		return err
	}
	if response.Paused {
		return p.Done("paused")
	}
	return p.Done("resumed")
}

func playBurst(ctx context.Context, args []string, p *remote.Peer) error {
	n, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return config.Usagef("burst: %q is not a number of messages", args[0])
	}
	var response srv.Burst_Response
	if err := p.Call(ctx, "burst", &srv.Burst_Request{NumMessages: n}, &response); err != nil {
		return err
	}
	return p.Conclude(response.ActuallyBurst > 0, "it is not paused, or nothing is left to play",
		"played "+human.Count(response.ActuallyBurst, "message"))
}

func step(ctx context.Context, _ []string, p *remote.Peer) error {
	var response std_srvs.Trigger_Response
	if err := p.Call(ctx, "step", &std_srvs.Trigger_Request{}, &response); err != nil {
		return err
	}
	return p.Conclude(response.Success, response.Message, response.Message)
}

func rate(ctx context.Context, args []string, p *remote.Peer) error {
	if len(args) == 1 {
		wanted, err := strconv.ParseFloat(args[0], 64)
		if err != nil || math.IsNaN(wanted) {
			return config.Usagef("rate: %q is not a number; inf is as fast as possible", args[0])
		}
		var response srv.SetRate_Response
		if err := p.Call(ctx, "set_rate", &srv.SetRate_Request{Rate: wanted}, &response); err != nil {
			return err
		}
		return p.Conclude(response.Success, "the rate must be "+rateRange+", or inf",
			"rate "+rateText(wanted))
	}
	var response srv.GetRate_Response
	if err := p.Call(ctx, "get_rate", &srv.GetRate_Request{}, &response); err != nil {
		return err
	}
	return p.Done("rate %s", rateText(response.Rate))
}

// seekOptions are the options of the command seek.
type seekOptions struct {
	By     time.Duration `param:"by" group:"Time"`
	Offset time.Duration `param:"offset" group:"Time" min:"0"`

	remote.Options
}

func (*seekOptions) OptionTexts() string { return optionTexts }

func newRemoteSeek() *cobra.Command {
	o := &seekOptions{Options: remote.DefaultOptions()}
	var cmd *cobra.Command
	cmd = remote.Player.Command("seek [TIME]", "Let a running player seek to another time",
		`Lets a running player seek to another time of what it plays: to a TIME such as
10:31:05, 2026-11-21 10:31:05.2, or seconds or nanoseconds since 1970, or by
--offset or --by.`, 0, 1, o, &o.Options,
		func(ctx context.Context, args []string, p *remote.Peer) error {
			by, offset := cmd.Flags().Changed("by"), cmd.Flags().Changed("offset")
			if count(by, offset, len(args) == 1) != 1 {
				return config.Usagef("seek: give a TIME, --offset or --by")
			}
			now, err := playback(ctx, p)
			if err != nil {
				return err
			}
			t := now.start + int64(o.Offset)
			switch {
			case by:
				t = min(max(now.position+int64(o.By), now.start), now.end)
			case !offset:
				t, err = timerange.Parse(args[0], now.start, now.end)
				if err != nil {
					return config.Usagef("seek: %w", err)
				}
			}
			if t < now.start || t > now.end {
				return fmt.Errorf("%s is outside of what %s plays: %s to %s", timerange.Text(t), p.Name,
					timerange.Text(now.start), timerange.Text(now.end))
			}
			var response srv.Seek_Response
			request := srv.Seek_Request{Time: builtin_interfaces.TimeAt(t)}
			if err := p.Call(ctx, "seek", &request, &response); err != nil {
				return err
			}
			return p.Conclude(response.Success, errOver.Error(), "at "+timerange.Text(t))
		})
	return cmd
}

func count(list ...bool) (n int) {
	for _, one := range list {
		if one {
			n++
		}
	}
	return n
}

// playback returns the position and the time range of a running player, from its diagnostics.
func playback(ctx context.Context, p *remote.Peer) (s state, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	ctx, end := p.Offering(ctx, "seek", "rosbag2_interfaces/srv/Seek")
	defer end()
	heard := make(chan state, 1)
	_, err = p.Subscribe(rospub.DiagnosticsTopic, "diagnostic_msgs/msg/DiagnosticArray", codec.DefaultQoS(),
		func(batch []bridge.Sample) {
			for i := range batch {
				var list diag.DiagnosticArray
				if cdr.Unmarshal(batch[i].Data, &list) != nil {
					continue
				}
				for _, one := range list.Status {
					if s, ok := readStatus(&one); ok && one.Name == p.Name+": "+statusName {
						select {
						case heard <- s:
						default:
						}
					}
				}
			}
		})
	if err != nil {
		return s, err
	}
	select {
	case s = <-heard:
		return s, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return s, fmt.Errorf("%s published no position on %s within %v; seek needs it, and a player without "+
				"--diagnostics=false publishes it", p.Name, rospub.DiagnosticsTopic, p.Timeout)
		}
		return s, context.Cause(ctx)
	}
}

// readStatus returns the times in a published status.
func readStatus(status *diag.DiagnosticStatus) (s state, ok bool) {
	times := map[string]int64{}
	for _, v := range status.Values {
		if t, err := timerange.Parse(v.Value, 0, 0); err == nil {
			times[v.Key] = t
		}
	}
	s = state{start: times["start"], end: times["end"]}
	s.position = s.start + times["position"]
	return s, s.end > 0
}
