package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
)

// infoOptions are the options of info.
type infoOptions struct {
	JSON    bool `param:"json" group:"Output" help:"print one JSON object for each recording; times are ns since 1970"`
	Verbose bool `param:"verbose" short:"v" group:"Output" help:"read all messages, and show the bytes of each topic, its share of the recording, its longest gap, and of ROS 2 messages the latency from stamp to receipt"`
	ROS2    bool `param:"ros2" group:"Output" help:"list the topics as ROS 2 messages, as the player publishes them"`
	formats.InfoOptions
}

func defaultInfoOptions() *infoOptions {
	return &infoOptions{InfoOptions: formats.DefaultInfoOptions()}
}

// check refuses options that contradict each other.
func (o *infoOptions) check() error { return o.Check(o.JSON, o.ROS2) }

// info describes the recordings at paths. It continues after one that cannot be read.
func (o *infoOptions) info(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	failed, damaged := 0, 0
	for i, path := range paths {
		w := separated{Writer: stdout, pending: i > 0 && !o.JSON}
		err := o.describe(ctx, path, &w, stderr)
		if err != nil && len(paths) == 1 {
			return err
		}
		if errors.Is(err, errDamaged) || errors.Is(err, errUnfinished) {
			damaged++
		} else if err != nil {
			failed++
		}
		if err != nil {
			fmt.Fprintln(stderr, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d recordings cannot be read", failed, len(paths))
	}
	if damaged > 0 {
		return fmt.Errorf("damaged or not finished: %d of %s", damaged, human.Count(len(paths), "recording"))
	}
	return nil
}

// One of these is returned after the description of a recording that is not complete.
var (
	errDamaged    = errors.New("is damaged")
	errUnfinished = errors.New("was not finished")
)

// checkComplete returns an error if damage was found in a recording, if files of it are missing or if it was not
// finished.
func checkComplete(path string, info *codec.Info) error {
	if slices.ContainsFunc(info.Events, func(e codec.Event) bool {
		return e.Kind == codec.EventDamage || e.Kind == codec.EventMissing
	}) {
		return fmt.Errorf("%s %w", path, errDamaged)
	}
	if !info.Complete {
		return fmt.Errorf("%s %w", path, errUnfinished)
	}
	return nil
}

// separated writes a blank line before the first output.
type separated struct {
	io.Writer
	pending bool
}

func (s *separated) Write(b []byte) (int, error) {
	if s.pending {
		s.pending = false
		if _, err := io.WriteString(s.Writer, "\n"); err != nil {
			return 0, err
		}
	}
	return s.Writer.Write(b)
}

// describe writes the description of the recording at path.
func (o *infoOptions) describe(ctx context.Context, path string, stdout, stderr io.Writer) error {
	if o.Wanted() {
		return o.Write(known, path, o.JSON, stdout, stderr)
	}
	r, err := o.open(path, stderr)
	if err != nil {
		return err
	}
	in, err := newInput(path, r)
	if err != nil {
		return err
	}
	defer in.Close()
	measured, info := (*measures)(nil), in.info
	if o.Verbose {
		if measured, info, err = in.measure(ctx); err != nil {
			return err
		}
	}
	write := func() error { return writeInfoText(stdout, path, info, measured) }
	if o.JSON {
		write = func() error { return writeInfoJSON(stdout, info, measured) }
	}
	if err := write(); err != nil {
		return err
	}
	return checkComplete(path, info)
}

func (o *infoOptions) open(path string, stderr io.Writer) (codec.Reader, error) {
	if !o.ROS2 {
		return known.Open(path)
	}
	r, left, err := known.OpenROS2(path, formats.ReadOptions{})
	for _, err := range left {
		fmt.Fprintln(stderr, "warning: not translated to ROS 2:", err)
	}
	return r, err
}

// frequency returns the messages per second, 0 if it is unknown.
func frequency(info *codec.Info, t codec.TopicInfo) float64 {
	d := span(info).Seconds()
	if d == 0 || t.MessageCount < 2 {
		return 0
	}
	return float64(t.MessageCount) / d
}

func sortedTopics(info *codec.Info) []codec.TopicInfo {
	topics := slices.Clone(info.Topics)
	slices.SortStableFunc(topics, func(a, b codec.TopicInfo) int {
		return strings.Compare(a.Channel.Topic,
			b.Channel.Topic)
	})
	return topics
}

// The JSON form of info. Quality of service is written as rosbag2's override files have it.
type (
	infoJSON struct {
		Format       string            `json:"format"`
		Path         string            `json:"path"`
		Files        []fileJSON        `json:"files"`
		Size         int64             `json:"size"`
		MessageCount uint64            `json:"message_count"`
		Bytes        *int64            `json:"payload_bytes,omitempty"` // this and those of topics with --verbose
		StartTime    int64             `json:"start_time"`
		EndTime      int64             `json:"end_time"`
		Duration     float64           `json:"duration"`
		Complete     bool              `json:"complete"`
		Checked      bool              `json:"contents_checked"`
		Topics       []topicJSON       `json:"topics"`
		Services     []serviceJSON     `json:"services,omitempty"`
		Actions      []actionJSON      `json:"actions,omitempty"`
		Events       []eventJSON       `json:"events"`
		Metadata     map[string]string `json:"metadata,omitempty"`
		Attachments  []attachmentJSON  `json:"attachments,omitempty"`
		Extra        any               `json:"extra,omitempty"`
	}
	attachmentJSON struct {
		Name       string `json:"name"`
		MediaType  string `json:"media_type"`
		Size       int64  `json:"size"`
		LogTime    int64  `json:"log_time"`
		CreateTime int64  `json:"create_time"`
	}
	fileJSON struct {
		Path         string `json:"path"`
		Size         int64  `json:"size"`
		MessageCount uint64 `json:"message_count"`
		StartTime    int64  `json:"start_time"`
		EndTime      int64  `json:"end_time"`
	}
	topicJSON struct {
		Name         string            `json:"name"`
		Type         string            `json:"type"`
		Encoding     string            `json:"encoding"`
		MessageCount uint64            `json:"message_count"`
		Bytes        *int64            `json:"bytes,omitempty"`
		Share        *float64          `json:"share,omitempty"`
		WorstGap     *gapJSON          `json:"worst_gap,omitempty"`
		Latency      *latencyJSON      `json:"latency,omitempty"`
		Totals       *totalsJSON       `json:"totals,omitempty"`
		Frequency    float64           `json:"frequency"`
		QoS          []human.QoSJSON   `json:"qos"`
		TypeHash     string            `json:"type_hash,omitempty"`
		Schema       string            `json:"schema_encoding,omitempty"`
		Metadata     map[string]string `json:"metadata,omitempty"`
	}
	gapJSON struct {
		Time     int64   `json:"time"`
		Duration float64 `json:"duration"`
	}
	// latencyJSON holds times from stamp to receipt, s.
	latencyJSON struct {
		Median float64 `json:"median"`
		Most   float64 `json:"p99"`
	}
	// totalsJSON holds the recorder's counts for the files that were read.
	totalsJSON struct {
		Received uint64 `json:"received"`
		Written  uint64 `json:"written"`
		Dropped  uint64 `json:"dropped"`
		Lost     uint64 `json:"lost"`
	}
	eventJSON struct {
		Kind  string `json:"kind"`
		Topic string `json:"topic,omitempty"`
		Time  int64  `json:"time,omitempty"`
		Until int64  `json:"until,omitempty"`
		Count uint64 `json:"count,omitempty"`
		Text  string `json:"text"`
	}
)

// writeInfoJSON writes info, with measures unless they are nil.
func writeInfoJSON(w io.Writer, info *codec.Info, measured *measures) error {
	out := infoJSON{
		Format: info.Format, Path: info.Path, Files: []fileJSON{}, Size: info.Size, MessageCount: info.MessageCount,
		StartTime: info.StartTime, EndTime: info.EndTime, Duration: span(info).Seconds(),
		Complete: info.Complete, Checked: measured != nil,
		Topics: []topicJSON{}, Events: []eventJSON{}, Metadata: info.AllMetadata(), Extra: info.Extra,
	}
	for _, a := range info.Attachments {
		out.Attachments = append(out.Attachments, attachmentJSON{a.Name, a.MediaType, a.Size, a.LogTime, a.CreateTime})
	}
	if measured != nil {
		out.Bytes = &measured.total
	}
	for _, f := range info.Files {
		out.Files = append(out.Files, fileJSON(f))
	}
	totals, _ := totalsOf(info)
	for _, t := range sortedTopics(info) {
		c := t.Channel
		topic := topicJSON{
			Name: c.Topic, Type: c.Type, Encoding: c.Encoding, MessageCount: t.MessageCount,
			Frequency: frequency(info, t),
			QoS:       human.NewQoSJSON(c.QoS), TypeHash: c.TypeHash, Schema: c.Schema.Encoding, Metadata: c.Metadata,
		}
		if measured != nil {
			m := measured.channels[c]
			share := measured.share(m)
			topic.Bytes, topic.Share = &m.bytes, &share
			if m.gap > 0 {
				topic.WorstGap = &gapJSON{m.gapAt, float64(m.gap) / 1e9}
			}
			if l := &m.latencies; l.Count() > 0 {
				topic.Latency = &latencyJSON{float64(l.Quantile(0.5)) / 1e9, float64(l.Quantile(0.99)) / 1e9}
			}
		}
		if t, ok := totals[c.Topic]; ok {
			counted := totalsJSON(t)
			topic.Totals = &counted
		}
		out.Topics = append(out.Topics, topic)
	}
	out.Services, out.Actions = servicesOf(info, measured)
	for _, e := range info.Events {
		out.Events = append(out.Events, eventJSON(e))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
