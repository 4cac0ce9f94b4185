// Package remote controls running nodes from the command line. It finds a node of a kind and calls its services.
package remote

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/msgs"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/graph/rosbag2compat"
)

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// ErrLacks is returned if a node does not offer a service.
var ErrLacks = errors.New("the node does not offer it")

// Options are the options of commands that control a node.
type Options struct {
	Node    string        `param:"node" group:"Node" value:"NODE"`
	Timeout time.Duration `param:"timeout" group:"Node" min:"1ms"`

	graph.Options
}

// OptionTexts returns the help texts of the options.
func (*Options) OptionTexts() string { return optionTexts }

// DefaultOptions suit nodes that answer at once.
func DefaultOptions() Options { return Options{Timeout: 10 * time.Second} }

// Kind is a kind of node.
type Kind struct {
	Name      string // "player"
	Publishes string // type of a topic that only nodes of the kind publish
}

// Kinds of nodes that have commands. Nodes of rosbag2 are found, too.
var (
	Recorder  = Kind{"recorder", "rosbag2_interfaces/msg/WriteSplitEvent"}
	Player    = Kind{"player", "rosbag2_interfaces/msg/ReadSplitEvent"}
	Converter = Kind{"converter", "tapedeck/msg/ConversionProgress"}
)

// Peer is a running node.
type Peer struct {
	bridge.Node               // node of the command
	Name        string        // full name of the peer, such as "/robot/player"
	Timeout     time.Duration // time limit for answers; 0: none while the peer runs
	Advice      string        // advice in the error if no answer comes in time; "": a general one

	kind     Kind
	patience time.Duration // the peer is not running if the graph lacks it and is unchanged for so long
}

// Command returns a command with least to most arguments. It runs for the node that o names, or else for the only node
// of the kind. opts has o embedded.
func (k Kind) Command(use, short, long string, least, most int, opts any, o *Options,
	run func(ctx context.Context, args []string, p *Peer) error) *cobra.Command {
	return Command(k.Name, use, short, long, least, most, opts,
		func(ctx context.Context, in *config.Input, node bridge.Node) error {
			p, err := k.Find(ctx, node, o)
			if err != nil {
				word, _, _ := strings.Cut(use, " ")
				if _, missing := os.Stat(word); missing == nil {
					err = fmt.Errorf("%w; to name the file %s, write ./%[2]s", err, word)
				}
				return err
			}
			return run(ctx, in.Args, p)
		})
}

// Command returns a command of an executable with least to most arguments. It runs with a hidden node of its own.
func Command(executable, use, short, long string, least, most int, opts any,
	run func(ctx context.Context, in *config.Input, node bridge.Node) error) *cobra.Command {
	word, _, _ := strings.Cut(use, " ")
	name := executable + "_" + strings.ReplaceAll(word, "-", "_")
	cmd := config.New(use, short, long, opts, func(ctx context.Context, in *config.Input) (err error) {
		if in.ROS.LogLevel == "" {
			in.ROS.LogLevel = "error" // the outcome is printed
		}
		node, err := graph.Open("_"+name, in, opts, os.Stderr)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, node.Close()) }()
		return run(ctx, in, node)
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return config.Usagef("got %s; the usage is: %s", human.Count(len(args), "argument"), cmd.UseLine())
		}
		return nil
	}
	cmd.Annotations = map[string]string{config.NodeName: name}
	graph.ShowMiddleware(cmd)
	return cmd
}

// Call calls a service of the node, such as "pause". request and response have the service's type.
func (p *Peer) Call(ctx context.Context, service string, request, response msgs.Message) error {
	if p.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, p.Timeout)
		defer cancel()
		ctx = limited
	} else {
		limited, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go p.awaitEnd(limited, cancel)
		ctx = limited
	}
	ctx, cancel := p.Offering(ctx, service, strings.TrimSuffix(request.TypeName(), "_Request"))
	defer cancel()
	advice := cmp.Or(p.Advice,
		fmt.Sprintf("is a %s with this name running, and does it offer this service?", p.kind.Name))
	return Call(ctx, p.Node, p.Name+"/"+service, request, response, advice)
}

// Offering returns a context that ends once the graph shows that the node is missing or does not offer the service. The
// cause is the reason.
func (p *Peer) Offering(ctx context.Context, service, typeName string) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	if client, err := p.Client(p.Name+"/"+service, typeName); err == nil { // else calls fail
		began := time.Now()
		go func() {
			err := await(ctx, p.Node, client.Available, func(unchanged time.Duration) error {
				there := slices.Contains(p.kind.nodeNames(p.Node), p.Name)
				switch {
				case there && unchanged > max(lacking, p.patience):
					return fmt.Errorf("no service %s: %w", client.Service(), ErrLacks)
				case !there && unchanged > p.patience:
					return p.kind.missing(p.kind.Name+" "+p.Name, time.Since(began))
				}
				return nil
			})
			if err != nil {
				end(err)
			}
		}()
	}
	return ctx, func() { end(nil) }
}

// await waits until there returns true. It calls lacks with the time for which the graph has not changed, and returns
// its error, or the cause when ctx ends.
func await(ctx context.Context, node bridge.Node, there func() bool, lacks func(unchanged time.Duration) error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for timer := newGraphTimer(node); !there(); {
		if err := lacks(timer.unchanged()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

var errAbsent = errors.New("it is not there")

// Await waits until there returns true. It returns an error once the graph has not changed for 3 s, or for patience if
// that is longer, or when ctx ends.
func Await(ctx context.Context, node bridge.Node, patience time.Duration, there func() bool) error {
	return await(ctx, node, there, func(unchanged time.Duration) error {
		if unchanged > max(absent, patience) {
			return errAbsent
		}
		return nil
	})
}

// awaitEnd calls ended if the node leaves the graph before ctx is done.
func (p *Peer) awaitEnd(ctx context.Context, ended context.CancelCauseFunc) {
	for present := false; ctx.Err() == nil; {
		was := present
		present = slices.Contains(p.kind.nodeNames(p.Node), p.Name)
		if was && !present {
			ended(fmt.Errorf("%s ended before it answered", p.Name))
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// Call calls a service of any node. If nobody answers until ctx is done, the error contains the advice.
func Call(ctx context.Context, node bridge.Node, name string, request, response msgs.Message, advice string) error {
	began := time.Now()
	err := rosbag2compat.Call(ctx, node, name, request, response)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer on %s within %v; %s", name, time.Since(began).Round(time.Millisecond), advice)
	case cause != nil && !errors.Is(ctx.Err(), cause):
		return cause
	}
	return fmt.Errorf("call %s: %w", name, err)
}

// Done prints a text about the node.
func (p *Peer) Done(format string, args ...any) error {
	_, err := fmt.Fprintln(human.Stdout, printable.Line(p.Name+": "+fmt.Sprintf(format, args...)))
	return err
}

// Conclude prints the text done after success. Otherwise it returns an error with the reason.
func (p *Peer) Conclude(success bool, reason, done string) error {
	if !success {
		return fmt.Errorf("%s refused: %s", p.Name, cmp.Or(reason, "it gave no reason"))
	}
	return p.Done("%s", done)
}

// Pause pauses a recorder or player, as rosbag2's service does.
func Pause(ctx context.Context, _ []string, p *Peer) error {
	if err := p.Call(ctx, "pause", &srv.Pause_Request{}, &srv.Pause_Response{}); err != nil {
		return err
	}
	return p.Done("paused")
}

// Resume resumes a paused recorder or player.
func Resume(ctx context.Context, _ []string, p *Peer) error {
	var response srv.Resume_Response
	if err := p.Call(ctx, "resume", &srv.Resume_Request{}, &response); err != nil {
		return err
	}
	return p.Conclude(response.ReturnCode == 0, response.ErrorString, "resumed")
}

// Stop ends a recording or playback.
func Stop(ctx context.Context, _ []string, p *Peer) error {
	var response srv.Stop_Response
	if err := p.Call(ctx, "stop", &srv.Stop_Request{}, &response); err != nil {
		return err
	}
	return p.Conclude(response.ReturnCode == 0, response.ErrorString, "stopped")
}
