package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph/remote"
	"tapedeck/nodes/recorder/internal/subscription"
)

// unchanged is how long the graph must stay unchanged before it is taken for known.
const unchanged = time.Second

// topicsOptions are the options of the command topics.
type topicsOptions struct {
	Verbose  bool          `param:"verbose" short:"v" group:"Output"`
	Hz       bool          `param:"hz" group:"Output"`
	Duration time.Duration `param:"duration" group:"Output" min:"1ms"`
	JSON     bool          `param:"json" group:"Output"`

	IncludeHiddenTopics bool          `param:"include_hidden_topics" group:"Topics"`
	Timeout             time.Duration `param:"timeout" group:"Topics" min:"1ms"`

	onGraph
}

func (*topicsOptions) OptionTexts() string { return optionTexts }

func defaultTopicsOptions() *topicsOptions {
	return &topicsOptions{Duration: 5 * time.Second, Timeout: 5 * time.Second}
}

func newTopics() *cobra.Command {
	o := defaultTopicsOptions()
	return remote.Command("recorder", "topics [TOPIC...]", "List topics with types, QoS and rates",
		`Lists the topics of the graph, or those that are named, with their types and
the QoS of their publishers; with --hz their rates, too.`,
		0, 1<<16, o, func(ctx context.Context, in *config.Input, node bridge.Node) error {
			named, err := expand(in)
			if err != nil {
				return err
			}
			return o.list(ctx, node, named, human.Stdout)
		})
}

// topicRow is a topic of the list.
type topicRow struct {
	Name        string         `json:"name"`
	Types       []string       `json:"types"`
	Publishers  []endpointJSON `json:"publishers"`
	Subscribers []endpointJSON `json:"subscribers"`
	*meter

	topic bridge.Topic // has only endpoints of other nodes
}

type endpointJSON struct {
	Node     string        `json:"node,omitempty"`
	Type     string        `json:"type"`
	TypeHash string        `json:"type_hash,omitempty"`
	QoS      human.QoSJSON `json:"qos"`
}

// list prints the named topics, or all topics if none are named.
func (o *topicsOptions) list(ctx context.Context, node bridge.Node, named []string, w io.Writer) error {
	o.settle(ctx, node, named)
	rows, err := o.rows(node, named)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if o.Hz {
		if err := o.measure(ctx, node, rows); err != nil {
			return err
		}
	}
	return o.print(w, rows)
}

func (o *topicsOptions) print(w io.Writer, rows []*topicRow) error {
	if o.JSON {
		text, err := json.MarshalIndent(map[string]any{"topics": rows}, "", "  ")
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, printable.Escape(string(text), "\n")+"\n")
		return err
	}
	var b strings.Builder
	if o.Verbose {
		o.describe(&b, rows)
	} else {
		o.table(&b, rows)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// settle waits until the graph stays unchanged and nothing is missing, at most for the time limit.
func (o *topicsOptions) settle(ctx context.Context, node bridge.Node, named []string) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	changes := node.Watch(ctx)
	quiet := time.NewTimer(unchanged)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-changes:
			if !open { // ctx ended or the node was closed
				return
			}
			quiet.Reset(unchanged)
		case <-quiet.C:
			if o.complete(node, named) {
				return
			}
		}
	}
}

// complete reports whether the graph has the named topics, or any topic if none are named, and the names of all nodes.
func (o *topicsOptions) complete(node bridge.Node, named []string) bool {
	rows, err := o.rows(node, named)
	for _, row := range rows {
		for _, e := range slices.Concat(row.topic.Publishers, row.topic.Subscribers) {
			if e.Node == "" {
				return false
			}
		}
	}
	return err == nil
}

// rows returns the named topics, or all topics if none are named, without this node's endpoints, sorted by name.
func (o *topicsOptions) rows(node bridge.Node, named []string) (rows []*topicRow, err error) {
	missing := slices.Clone(named)
	var others []string
	for _, t := range node.Topics() {
		t.Publishers, t.Subscribers = foreign(t.Publishers), foreign(t.Subscribers)
		if len(t.Publishers)+len(t.Subscribers) == 0 {
			continue
		}
		if !slices.Contains(named, t.Name) && (named != nil || bridge.IsHidden(t.Name) && !o.IncludeHiddenTopics) {
			others = append(others, human.Printable(t.Name))
			continue
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == t.Name })
		rows = append(rows, &topicRow{Name: t.Name, Types: t.Types, Publishers: endpointsJSON(t.Publishers),
			Subscribers: endpointsJSON(t.Subscribers), topic: t})
	}
	if len(missing) > 0 {
		return rows, fmt.Errorf("nobody publishes or subscribes to %s%s", human.Printable(missing[0]),
			human.DidYouMean(missing[0], others))
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no topics were found within %v; is a node running with the same ROS_DOMAIN_ID "+
			"(here %s)?", o.Timeout, cmp.Or(os.Getenv("ROS_DOMAIN_ID"), "0"))
	}
	return rows, nil
}

// foreign returns the endpoints of other nodes.
func foreign(list []bridge.Endpoint) []bridge.Endpoint {
	return slices.DeleteFunc(slices.Clone(list), func(e bridge.Endpoint) bool { return e.Own })
}

// nodesOf returns the names of the nodes of endpoints.
func nodesOf(list []bridge.Endpoint) string {
	var names []string
	for _, e := range list {
		names = append(names, cmp.Or(human.Printable(e.Node), "a node without a name"))
	}
	slices.Sort(names)
	return human.List(slices.Compact(names))
}

func endpointsJSON(list []bridge.Endpoint) []endpointJSON {
	out := []endpointJSON{}
	for _, e := range list {
		out = append(out, endpointJSON{e.Node, e.Type, e.TypeHash, human.NewQoSJSON([]codec.QoS{e.QoS})[0]})
	}
	return out
}

// meter counts the messages of a topic.
type meter struct {
	Count     uint64  `json:"message_count"`
	Frequency float64 `json:"frequency"`        // messages per second; 0: unknown
	Bandwidth float64 `json:"bytes_per_second"` // 0: unknown
	Lost      uint64  `json:"lost"`             // messages lost in transport

	bytes       int
	first, last int64 // receive times, by the clock of bridge.Monotonic
}

// take is the handler of a subscription.
func (m *meter) take(samples []bridge.Sample) {
	for i := range samples {
		if m.Count == 0 {
			m.first = samples[i].Received
		}
		m.Count++
		m.bytes += len(samples[i].Data)
		m.last = max(m.last, samples[i].Received)
	}
}

// add adds the counts of another meter, of the same topic with another type.
func (m *meter) add(other *meter) {
	if m.Count == 0 || other.Count > 0 && other.first < m.first {
		m.first = other.first
	}
	m.last = max(m.last, other.last)
	m.Count += other.Count
	m.bytes += other.bytes
	m.Lost += other.Lost
}

// finish computes the rates between the first message and the last one.
func (m *meter) finish() {
	if span := float64(m.last-m.first) / 1e9; m.Count > 1 && span > 0 {
		m.Frequency = float64(m.Count-1) / span
		m.Bandwidth = m.Frequency * float64(m.bytes) / float64(m.Count)
	}
}

// measure counts the messages of the topics for the duration of the options, without latched messages.
func (o *topicsOptions) measure(ctx context.Context, node bridge.Node, rows []*topicRow) (err error) {
	type measured struct {
		bridge.Subscription
		row   *topicRow
		meter *meter
	}
	var subscriptions []measured
	for _, row := range rows {
		row.meter = &meter{}
		for _, typeName := range row.Types {
			offers := subscription.OffersOf(&row.topic, typeName)
			if len(offers) == 0 {
				continue
			}
			qos, _ := bridge.AdaptQoS(offers)
			qos.Durability = codec.Volatile
			m := &meter{}
			s, failed := node.Subscribe(row.Name, typeName, qos, m.take)
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("cannot measure %s: %w", human.Printable(row.Name), failed))
				continue
			}
			subscriptions = append(subscriptions, measured{s, row, m})
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(o.Duration):
	}
	for _, s := range subscriptions {
		err = errors.Join(err, s.Close())
		s.meter.Lost = s.Lost()
		s.row.add(s.meter)
	}
	for _, row := range rows {
		row.finish()
	}
	return err
}

// rates returns the table cells of the measured rates.
func (m *meter) rates() []string {
	if m.Frequency == 0 {
		return []string{"-", "-", fmt.Sprint(m.Lost)}
	}
	return []string{fmt.Sprintf("%.2f", m.Frequency), human.Bytes(int64(m.Bandwidth)) + "/s", fmt.Sprint(m.Lost)}
}

// table writes a line for each topic.
func (o *topicsOptions) table(b *strings.Builder, rows []*topicRow) {
	cells := [][]string{{"Topic", "Type", "Publishers", "Subscribers", "QoS"}}
	if o.Hz {
		cells[0] = slices.Insert(cells[0], 4, "Hz", "Bandwidth", "Lost")
	}
	for _, row := range rows {
		var offers []codec.QoS
		for _, p := range row.topic.Publishers {
			if !slices.Contains(offers, p.QoS) {
				offers = append(offers, p.QoS)
			}
		}
		line := []string{human.Printable(row.Name), human.Printable(strings.Join(row.Types, " + ")),
			fmt.Sprint(len(row.Publishers)), fmt.Sprint(len(row.Subscribers)), human.QoS(offers)}
		if o.Hz {
			line = slices.Insert(line, 4, row.rates()...)
		}
		cells = append(cells, line)
	}
	right := map[int]bool{2: true, 3: true}
	for i := 4; i < len(cells[0])-1; i++ {
		right[i] = true
	}
	human.Table(b, cells, right)
}

// describe writes a block for each topic.
func (o *topicsOptions) describe(b *strings.Builder, rows []*topicRow) {
	for _, row := range rows {
		fmt.Fprintf(b, "%s [%s]", human.Printable(row.Name), human.Printable(strings.Join(row.Types, ", ")))
		if o.Hz {
			r := row.rates()
			fmt.Fprintf(b, "  %s Hz, %s, %s lost", r[0], r[1], r[2])
		}
		b.WriteByte('\n')
		var cells [][]string
		for _, list := range []struct {
			word      string
			endpoints []bridge.Endpoint
		}{{"publisher", row.topic.Publishers}, {"subscriber", row.topic.Subscribers}} {
			for _, e := range list.endpoints {
				line := []string{"  " + list.word, human.OrDash(e.Node), human.QoS([]codec.QoS{e.QoS})}
				if len(row.Types) > 1 {
					line = slices.Insert(line, 2, human.Printable(e.Type))
				}
				cells = append(cells, line)
			}
		}
		human.Table(b, cells, nil)
	}
}
