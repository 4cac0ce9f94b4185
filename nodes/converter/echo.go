package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/echo"
	"tapedeck/nodes/internal/filter/timerange"
)

// echoOptions are the options of echo.
type echoOptions struct {
	timerange.Range
	echo.Options
	readOptions
}

func defaultEchoOptions() *echoOptions { return &echoOptions{Options: echo.DefaultOptions()} }

// echo prints messages of the topic args[1] in the recording at args[0].
func (o *echoOptions) echo(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	out := bufio.NewWriter(stdout)
	defer func() { err = errors.Join(err, out.Flush()) }()
	if err := o.CheckTimes(); err != nil {
		return err
	}
	printer, err := echo.NewPrinter(o.Options, out)
	if err != nil {
		return err
	}
	in, err := o.openROS2(args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	printNotes(stderr, in.info)
	channels, err := in.topic(args[1])
	if err != nil {
		return err
	}
	for _, c := range channels {
		if err := printer.Prepare(c); err != nil {
			return err
		}
	}
	var q codec.Query
	var outside string
	q.Start, q.End, outside, err = o.Select(in.info.StartTime, in.info.EndTime)
	if err != nil {
		return err
	} else if outside != "" {
		fmt.Fprintln(stderr, "warning:", outside)
	}
	q.Topics = func(c *codec.Channel) bool { return c.Topic == channels[0].Topic }
	damaged := 0
	q.Damaged = func(err error) {
		damaged++
		if damaged <= shownDamage {
			fmt.Fprintln(stderr, "damaged:", err)
		}
	}
	q.Mislabelled = func(err error) { fmt.Fprintln(stderr, "note:", err) }
	q.Context = ctx
	for m, err := range codec.Messages(in.reader, q) {
		if err != nil {
			return err
		}
		var payload *echo.PayloadError
		if err := printer.Print(m); errors.As(err, &payload) {
			_ = q.Damage(err)
		} else if err != nil {
			return err
		}
		if printer.Done() {
			break
		}
	}
	switch {
	case damaged > 0:
		return fmt.Errorf("%s is damaged at %s; what is there is not shown", args[0], human.Count(damaged, "place"))
	case printer.Printed() == 0:
		where := ""
		if o.Range != (timerange.Range{}) {
			where = " in the selected time"
		}
		return fmt.Errorf("%s has no message on %s%s", args[0], human.Printable(channels[0].Topic), where)
	}
	return nil
}

// topic returns the channels of a topic. name may lack the leading '/'.
func (i *input) topic(name string) ([]*codec.Channel, error) {
	bare := func(topic string) string { return strings.TrimPrefix(topic, "/") }
	var exact, found []*codec.Channel
	var names []string
	for _, t := range i.info.Topics {
		topic := t.Channel.Topic
		if topic == name {
			exact = append(exact, t.Channel)
		}
		if bare(topic) == bare(name) {
			found = append(found, t.Channel)
		}
		names = append(names, human.Printable(topic))
	}
	if exact != nil {
		found = exact
	}
	for _, c := range found {
		if err := i.reader.Parts[0].Untranslated(c); err != nil {
			return nil, fmt.Errorf("%s: messages of %s cannot be shown: %w", i.path, human.Printable(name), err)
		}
	}
	switch {
	case found != nil:
		return found, nil
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no topics", i.path)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if hint := human.DidYouMean(name, names); hint != "" {
		return nil, fmt.Errorf("%s has no topic %s%s", i.path, human.Printable(name), hint)
	}
	return nil, fmt.Errorf("%s has no topic %s; there are %s", i.path, human.Printable(name), human.List(names))
}
