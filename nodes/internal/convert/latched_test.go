package convert

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/formats"
)

// latchedDrive returns messages: two static transforms, one of them twice; three maps, whose publishers keep one; and a
// number in each second from 1000 s to 1009 s.
func latchedDrive(t *testing.T) []codec.Message {
	latched := codec.DefaultQoS()
	latched.Durability, latched.Depth = codec.TransientLocal, 1
	static, plan := channel(t, "/tf_static", "std_msgs/msg/String"), channel(t, "/map", "std_msgs/msg/String")
	plan.QoS = []codec.QoS{latched}
	all := numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 10)
	for i, m := range []struct {
		c    *codec.Channel
		text string
		time int64
	}{{static, "laser", 1000}, {static, "camera", 1001}, {static, "laser", 1002}, {plan, "old", 1000},
		{plan, "new", 1003},
		{plan, "late", 1007}} {
		all = append(all, codec.Message{Channel: m.c, LogTime: m.time*second + int64(i+1), PublishTime: m.time * second,
			Data: payload(t, &std_msgs.String{Data: m.text})})
	}
	slices.SortStableFunc(all, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
	return all
}

// lines returns messages as "topic seconds payload". Numbers have one digit.
func lines(messages []codec.Message) (all []string) {
	for _, m := range messages {
		text := fmt.Sprint(m.Data[4])
		if m.Channel.Topic != "/n" {
			text = string(m.Data[8 : len(m.Data)-1])
		}
		all = append(all, fmt.Sprintf("%s %v %s", m.Channel.Topic, float64(m.LogTime/1e6)/1e3, text))
	}
	return all
}

// Clips and further files begin with the messages that a new subscriber would have received, with the time of their
// first message.
func TestLatched(t *testing.T) {
	state := func(second string) []string {
		return []string{"/tf_static " + second + " camera", "/tf_static " + second + " laser",
			"/map " + second + " new"}
	}
	clip := slices.Concat(state("1006"), []string{"/n 1006 6", "/n 1007 7", "/map 1007 late"})
	const left = "latched messages that each file would begin with, because of --latched=false"
	for name, c := range map[string]struct {
		change   func(*Options)
		output   string
		want     []string
		repeated uint64
		lost     string
	}{
		"clip":           {func(o *Options) { o.Begin, o.End = "5.5", "7.5" }, "out.mcap", clip, 3, ""},
		"clip of record": {func(o *Options) { o.Begin, o.End = "5.5", "7.5" }, "out.record", clip, 3, ""},
		"clip of bag":    {func(o *Options) { o.Begin, o.End = "5.5", "7.5" }, "out.bag", nil, 3, "publish times"},
		"nothing latched before": {func(o *Options) { o.Begin, o.Topics = "5.5", []string{"/n"} }, "out.mcap",
			[]string{"/n 1006 6", "/n 1007 7", "/n 1008 8", "/n 1009 9"}, 0, ""},
		"shifted": {func(o *Options) { o.Begin, o.Topics, o.Offset = "9", []string{"/map", "/n"}, 2e9 }, "out.mcap",
			[]string{"/map 1011 late", "/n 1011 9"}, 1, ""},
		"repeat": {func(o *Options) { o.Begin, o.Topics, o.Repeat = "8", []string{"/n"}, []string{"/n=2"} }, "out.mcap",
			[]string{"/n 1008 6", "/n 1008 7", "/n 1008 8", "/n 1009 9"}, 2, ""},
		"renamed": {func(o *Options) { o.Begin, o.Topics, o.Prefix = "7", []string{"/map"}, "/r" }, "out.mcap",
			[]string{"/r/map 1007 new", "/r/map 1007 late"}, 1, ""},
		"left out": {func(o *Options) { o.Begin, o.End, o.Latched = "5.5", "7.5", false }, "out.mcap",
			[]string{"/n 1006 6", "/n 1007 7", "/map 1007 late"}, 0, left + " (3 messages on /tf_static, /map)"},
	} {
		t.Run(name, func(t *testing.T) {
			in := write(t, "in.mcap", latchedDrive(t)...)
			o := DefaultOptions()
			c.change(&o)
			out := filepath.Join(t.TempDir(), c.output)
			result, err := run(t, o, out, in)
			require.NoError(t, err)
			messages, info := readAll(t, out)
			require.Equal(t, result.Messages, info.MessageCount)
			if c.want != nil {
				require.Equal(t, c.want, lines(messages))
			}
			require.Equal(t, c.repeated, result.Repeated.Messages)
			if c.lost == "" {
				require.Empty(t, result.Losses)
			} else {
				require.Contains(t, texts(result.Losses), c.lost)
			}
			if c.lost == "" && c.repeated > 0 {
				require.NotZero(t, messages[0].PublishTime)
				require.Less(t, messages[0].PublishTime, messages[0].LogTime+1)
			}
		})
	}
}

// Each further file begins with the latched messages. They count neither for its size nor for its messages.
func TestLatchedInSplits(t *testing.T) {
	in := write(t, "in.mcap", latchedDrive(t)...)
	o := DefaultOptions()
	o.MaxBagMessages = 9
	result, err := run(t, o, filepath.Join(t.TempDir(), "out.mcap"), in)
	require.NoError(t, err)
	require.Len(t, result.Files, 2)
	messages, _ := readAll(t, result.Files[1])
	require.Equal(t, []string{"/tf_static 1004 camera", "/tf_static 1004 laser", "/map 1004 new", "/n 1004 4"},
		lines(messages)[:4])
	require.Len(t, messages, 3+7)
	require.Equal(t, "latched messages at the start of files (3 messages on /tf_static, /map)",
		result.Repeated.String())

	// All files together have the messages of the input.
	r, err := formats.All().Open(nil, result.Path)
	require.NoError(t, err)
	defer r.Close()
	whole, err := r.Info()
	require.NoError(t, err)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	var together []codec.Message
	for m, err := it.Next(); err == nil; m, err = it.Next() {
		kept := *m
		kept.Data = slices.Clone(m.Data)
		together = append(together, kept)
	}
	require.NoError(t, it.Close())
	require.Equal(t, lines(latchedDrive(t)), lines(together))
	require.Len(t, together, int(whole.MessageCount))

	// The repeated messages are larger than max_bag_size.
	var warnings []string
	o.MaxBagMessages, o.MaxBagSize = 0, 4*(48+8+2)
	o.Repeat = []string{"/n=20"}
	job := Job{Formats: formats.All(), Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out.mcap"),
		Options: o, Warn: func(text string) { warnings = append(warnings, text) }}
	result, err = job.Run(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, len(result.Files), 6)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "repeated latched messages, more than a tenth of --max-bag-size")
	o.MaxBagMessages, o.MaxBagSize, o.Repeat = 9, 0, nil

	o.Latched = false
	result, err = run(t, o, filepath.Join(t.TempDir(), "out.mcap"), in)
	require.NoError(t, err)
	messages, _ = readAll(t, result.Files[1])
	require.Len(t, messages, 7)
	require.Contains(t, texts(result.Losses), "--latched=false (3 messages on /tf_static, /map)")
	o.Strict = true
	_, err = run(t, o, filepath.Join(t.TempDir(), "out.mcap"), in)
	require.ErrorContains(t, err, "--strict")
}

// slow is a recording without an index. Reading it cancels a context.
type slow struct {
	codec.Reader
	cancel func()
	read   *int
}

func (r slow) Read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		return codec.ReadLast(q, r.Read)
	}
	it, err := r.Reader.Read(q)
	return &slowIterator{it, r, nil}, err
}

// slowIterator repeats the first message.
type slowIterator struct {
	codec.Iterator
	of    slow
	first *codec.Message
}

func (it *slowIterator) Next() (_ *codec.Message, err error) {
	*it.of.read++
	if *it.of.read == 100 {
		it.of.cancel()
	}
	if it.first == nil {
		it.first, err = it.Iterator.Next()
	}
	if err == nil && *it.of.read > 100_000 {
		err = io.EOF
	}
	return it.first, err
}

// The search for latched messages ends with the context. With --restamp it also uses the index.
func TestLatchedSearch(t *testing.T) {
	for name, restamp := range map[string]bool{"": false, "restamp": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			read := 0
			o := DefaultOptions()
			o.Begin = "5"
			if restamp {
				o.Restamp, o.Offset = true, time.Second
			}
			j := Job{Formats: formats.All(), Inputs: []string{write(t, "in.mcap", latchedDrive(t)...)},
				Output: filepath.Join(t.TempDir(), "out.mcap"), Options: o}
			j.Open = func(path string) (codec.Reader, error) {
				r, err := j.Formats.Open(nil, path)
				return slow{r, cancel, &read}, err
			}
			_, err := j.Run(ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.Less(t, read, 200)
		})
	}
}
