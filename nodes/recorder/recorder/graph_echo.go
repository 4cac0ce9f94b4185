package recorder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/echo"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/graph/remote"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/selection"
	"tapedeck/nodes/recorder/internal/subscription"
)

const (
	echoBytes = 64 << 20         // bytes of messages that may wait to be printed; beyond, the oldest are dropped
	echoBatch = 4 << 20          // bytes of messages that are taken from the queue at once
	echoWait  = 15 * time.Second // time that messages wait for the definition of their type; fetching takes less
	lookPace  = time.Second      // time between checks of why no message comes
)

// echoOptions are the options of the command echo.
type echoOptions struct {
	echo.Options
	Timeout         time.Duration `param:"timeout" group:"Messages" min:"0"`
	DefinitionPaths []string      `param:"definition_paths" group:"Messages" value:"FOLDER"`

	onGraph
}

func (*echoOptions) OptionTexts() string { return optionTexts }

type onGraph = graph.Options

func defaultEchoOptions() *echoOptions { return &echoOptions{Options: echo.DefaultOptions()} }

func newEcho() *cobra.Command {
	o := defaultEchoOptions()
	return remote.Command("recorder", "echo TOPIC", "Print messages of a topic as they come",
		`Prints the messages of a topic as they come, in YAML, as "ros2 topic echo" does,
or as CSV or JSON, until Ctrl-C. 'converter echo' prints those of a recording.`,
		1, 1, o, func(ctx context.Context, in *config.Input, node bridge.Node) error {
			topics, err := expand(in)
			if err != nil {
				return err
			}
			e, err := newEchoer(o, node, topics[0], human.Stdout, human.Stderr)
			if err != nil {
				return err
			}
			return e.run(ctx)
		})
}

// expand returns the full names of the topics in the arguments.
func expand(in *config.Input) (topics []string, err error) {
	names, err := bridge.NewNames(bridge.Options{Name: "recorder", Remaps: in.ROS.Remaps})
	for i := 0; i < len(in.Args) && err == nil; i++ {
		var name string
		name, err = names.Topic(in.Args[i])
		topics = append(topics, name)
	}
	if err != nil {
		return nil, config.Usagef("%w", err)
	}
	return topics, nil
}

// echoer prints the messages of a topic of the graph. It receives messages as the recorder does, and reads them from
// the queue.
type echoer struct {
	options *echoOptions
	node    bridge.Node
	topic   string
	printer *echo.Printer
	out     *bufio.Writer
	stderr  io.Writer
	topics  *subscription.Set
	queue   *queue.Queue

	start   time.Time
	looked  time.Time     // time of the last check why no message comes
	printed string        // text that was last printed about why no message comes
	waiting []*queue.Item // items that were taken from the queue
	broken  uint64        // messages that do not match their definition

	failed error // the definition is unknown, or the topic cannot be subscribed to
}

func newEchoer(o *echoOptions, node bridge.Node, topic string, stdout, stderr io.Writer) (*echoer, error) {
	e := &echoer{options: o, node: node, topic: topic, out: bufio.NewWriter(stdout), stderr: stderr,
		queue: queue.New(echoBytes)}
	var err error
	e.printer, err = echo.NewPrinter(o.Options, e.out)
	if err != nil {
		return nil, err
	}
	clock, err := bridge.NewSimTime(node)
	if err != nil {
		return nil, err
	}
	chosen, err := selection.New(&selection.TopicOptions{}, []string{topic}, func(name string) (string, error) {
		return name, nil
	})
	if err != nil {
		return nil, err
	}
	e.topics = subscription.New(subscription.Options{
		Owner: owner.New(), Node: node, Clock: clock, Selection: chosen, Discovery: true,
		Library: msgs.Library(o.DefinitionPaths...),
		NewReceiver: func(c *codec.Channel) *intake.Receiver {
			return intake.NewReceiver(c, intake.Options{Clock: clock, Queue: e.queue})
		},
		Unfit: func(string, string) string { return "" }, Declare: func(*codec.Channel) {},
		Undefined: func(c *codec.Channel, err error) {
			e.fail(fmt.Errorf("messages of %s cannot be shown, the definition of %s is not known: %w", c.Topic, c.Type,
				err))
		},
		Warn: func(what, format string, args ...any) {
			if strings.HasPrefix(what, "subscribe ") {
				e.fail(fmt.Errorf(format, args...))
			} else {
				e.say("warning: " + fmt.Sprintf(format, args...))
			}
		},
	})
	return e, nil
}

// say prints a line for people.
func (e *echoer) say(text string) { fmt.Fprintln(e.stderr, human.Printable(text)) }

// fail ends run with an error.
func (e *echoer) fail(err error) {
	if e.failed == nil {
		e.failed = errors.New(human.Printable(err.Error())) // other nodes have a say in it
	}
}

// run prints until ctx ends, as many messages came as were asked for, or something fails.
func (e *echoer) run(parent context.Context) (err error) {
	ctx, cancel := context.WithCancel(parent)
	e.start = time.Now()
	e.looked = e.start
	e.topics.Start(ctx)
	e.topics.Run(ctx, filewriter.Pace, func(now time.Time) {
		err = e.update(now)
		if err != nil || e.printer.Done() {
			cancel()
		}
	})
	cancel()
	e.topics.Stop()
	for _, t := range e.topics.Topics() {
		if n := t.Dropped.Load(); n > 0 {
			e.say(fmt.Sprintf("warning: %s of %s dropped: the output does not keep up", human.Count(n, "message"),
				e.topic))
		}
		if n := t.Lost(); n > 0 {
			e.say(fmt.Sprintf("warning: %s of %s lost in transport", human.Count(n, "message"), e.topic))
		}
	}
	if err == nil && e.broken > 0 {
		err = fmt.Errorf("%s of %s did not match the definition and could not be shown",
			human.Count(e.broken, "message"), human.Printable(e.topic))
	}
	return errors.Join(err, e.out.Flush())
}

// update prints the messages that came. While none has come, it prints why.
func (e *echoer) update(now time.Time) (err error) {
	if e.failed != nil {
		return e.failed
	}
	for more := true; more && !e.printer.Done(); {
		more, err = e.print()
		if err != nil {
			return err
		}
	}
	if err := e.out.Flush(); err != nil {
		return err
	}
	if e.printer.Printed()+e.broken > 0 {
		return nil
	}
	if limit := e.options.Timeout; limit > 0 && now.Sub(e.start) > limit {
		return fmt.Errorf("no message came within %v on %s%s", limit, human.Printable(e.topic), e.reason())
	}
	if now.Sub(e.looked) >= lookPace {
		e.looked = now
		if text := "waiting for " + human.Printable(e.topic) + e.reason(); text != e.printed {
			e.printed = text
			fmt.Fprintln(e.stderr, text)
		}
	}
	return nil
}

// print prints a batch of messages, and reports whether there may be more.
func (e *echoer) print() (more bool, err error) {
	if len(e.waiting) == 0 {
		e.waiting = e.queue.Pop(echoBatch, e.waiting)
	}
	for i, item := range e.waiting {
		undefined := item.Topic.AwaitsDefinition() && bridge.Now()-item.ReceiveTime < int64(echoWait)
		if undefined || e.printer.Done() {
			e.waiting = e.waiting[i:]
			return false, nil
		}
		m := codec.Message{Channel: item.Topic.Channel.Load(), LogTime: item.LogTime, PublishTime: item.PublishTime,
			Data: item.Payload.Data}
		err := e.printer.Print(&m)
		e.queue.Done(item.Size())
		queue.Release(item)
		var payload *echo.PayloadError
		switch {
		case errors.As(err, &payload):
			e.broken++
			if e.broken == 1 {
				e.say("damaged: " + err.Error())
			}
		case err != nil:
			e.waiting = e.waiting[i+1:]
			return false, err
		}
	}
	more = len(e.waiting) > 0
	e.waiting = e.waiting[:0]
	return more, nil
}

// reason describes who publishes the topic. It is the end of a sentence about messages that do not come.
func (e *echoer) reason() string {
	var others []string
	for _, t := range e.node.Topics() {
		switch publishers := foreign(t.Publishers); {
		case len(publishers) == 0:
		case t.Name == e.topic:
			return ", published by " + nodesOf(publishers)
		default:
			others = append(others, human.Printable(t.Name))
		}
	}
	return ", which nobody publishes" + human.DidYouMean(e.topic, others)
}
