package recorder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/test/internal/process"
)

// publisherArgument is the first argument of this executable when it publishes. The second one is the load as JSON.
const publisherArgument = "publisher"

// load describes the messages that a publisherProcess publishes, until the span is over or its standard input ends.
type load struct {
	Topics []topic
	Span   time.Duration
}

// topic has several publishers, which are reliable and keep all messages.
type topic struct {
	Name       string
	Publishers int
	Rate       int // messages per second of each publisher
	Size       int // bytes of a message
}

// report is a line that a publisherProcess prints.
type report struct {
	At    time.Time // when the report was printed
	Ready bool      `json:",omitzero"` // all topics have a subscriber: publishing begins
	Sent  []int     `json:",omitzero"` // number of published messages, by publisher
	Acked []int     `json:",omitzero"` // number of messages that the recorder has acknowledged, by publisher
	Split string    `json:",omitzero"` // result of a requested split: "done" or an error
	Done  bool      `json:",omitzero"` // the last report: the recorder has acknowledged all messages
}

const messageType = "test_msgs/msg/Numbered"

// headSize is the number of bytes before a message's filling: the encapsulation header, the publisher's number and the
// message's number. All bytes of the filling are the publisher's number plus 1.
const headSize = 16

// message returns a message with number 0.
func message(size, publisher int) []byte {
	data := bytes.Repeat([]byte{byte(publisher + 1)}, max(size, headSize))
	copy(data, []byte{0, 1, 0, 0})
	binary.LittleEndian.PutUint32(data[4:], uint32(publisher))
	return data
}

// setNumber sets the number of a message.
func setNumber(data []byte, n int) { binary.LittleEndian.PutUint64(data[8:], uint64(n)) }

// parse returns the numbers in a message. intact reports whether the message is as it was sent.
func parse(data []byte) (publisher, n int, intact bool) {
	if len(data) < headSize {
		return 0, 0, false
	}
	publisher, n = int(binary.LittleEndian.Uint32(data[4:])), int(binary.LittleEndian.Uint64(data[8:]))
	filling := data[headSize:]
	return publisher, n, bytes.Count(filling, []byte{byte(publisher + 1)}) == len(filling)
}

// publishLoad publishes a load, which text describes as JSON, and prints reports. For each line of standard input it
// asks the recorder for a split.
func publishLoad(text string) error {
	var l load
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return err
	}
	node, err := dds.Open(bridge.Options{Name: "publisher", Domain: -1})
	if err != nil {
		return err
	}
	qos := codec.DefaultQoS()
	qos.History, qos.Depth = codec.KeepAll, 0
	var all []*publisher
	for _, topic := range l.Topics {
		for range topic.Publishers {
			p, err := node.Advertise(topic.Name, messageType, qos)
			if err != nil {
				return err
			}
			all = append(all, &publisher{Publisher: p, topic: topic, number: len(all)})
		}
	}
	for _, p := range all {
		for began := time.Now(); p.Subscribers() == 0; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > process.Patience {
				return fmt.Errorf("%s has no subscriber", p.topic.Name)
			}
		}
	}
	printReport := reportPrinter()
	printReport(report{Ready: true})
	ctx, stop := context.WithTimeout(context.Background(), l.Span)
	go func() {
		defer stop()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			go func() { printReport(report{Split: requestSplit(ctx, node)}) }()
		}
	}()
	start := time.Now()
	var publishing, watching sync.WaitGroup
	for _, p := range all {
		publishing.Go(func() { p.run(ctx, start) })
	}
	watching.Go(func() {
		for ctx.Err() == nil {
			printReport(report{Sent: sent(all)})
			time.Sleep(5 * time.Millisecond)
		}
	})
	watching.Go(func() {
		for ctx.Err() == nil {
			acked := sent(all)
			if flush(all) == nil {
				printReport(report{Acked: acked})
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	publishing.Wait()
	last := report{Done: true, Sent: sent(all)}
	for _, p := range all {
		if p.err != nil {
			return p.err
		}
	}
	stop() // ends watching
	watching.Wait()
	if err := flush(all); err != nil {
		return err
	}
	printReport(last)
	return node.Close()
}

// reportPrinter returns a function that prints reports with the current time.
func reportPrinter() func(report) {
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	return func(r report) {
		mu.Lock()
		defer mu.Unlock()
		r.At = time.Now()
		_ = out.Encode(r)
	}
}

// sent returns the number of published messages, by publisher.
func sent(all []*publisher) (counts []int) {
	for _, p := range all {
		counts = append(counts, int(p.sent.Load()))
	}
	return counts
}

// flush waits until the recorder has acknowledged all messages.
func flush(all []*publisher) error {
	for _, p := range all {
		if err := p.Flush(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// requestSplit asks the recorder for a split. It returns "done" or an error's text.
func requestSplit(ctx context.Context, node bridge.Node) string {
	const name, typeName = "/recorder/split_bagfile", "rosbag2_interfaces/srv/SplitBagfile"
	request, err := cdr.Marshal(&rosbag2_interfaces.SplitBagfile_Request{})
	if err != nil {
		return err.Error()
	}
	reply, err := node.Call(ctx, name, typeName, request)
	if err != nil {
		return err.Error()
	}
	var answer rosbag2_interfaces.SplitBagfile_Response
	if err := cdr.Unmarshal(reply, &answer); err != nil {
		return err.Error()
	}
	if answer.ErrorString != "" {
		return answer.ErrorString
	}
	return "done"
}

// publisher is one publisher of a publisherProcess.
type publisher struct {
	bridge.Publisher
	topic  topic
	number int          // of this publisher, from 0
	sent   atomic.Int64 // published messages
	err    error        // of run, which ends with it
}

// run publishes at the topic's rate until ctx ends or publishing fails.
func (p *publisher) run(ctx context.Context, start time.Time) {
	data := message(p.topic.Size, p.number)
	for n := 0; ctx.Err() == nil; n++ {
		due := time.Duration(n) * time.Second / time.Duration(p.topic.Rate)
		if early := due - time.Since(start); early > 0 {
			time.Sleep(max(early, time.Millisecond)) // shorter naps take more time than the messages
		}
		setNumber(data, n)
		p.err = p.Publish(data)
		if p.err != nil {
			return
		}
		p.sent.Add(1)
	}
}

// publisherProcess is a process that runs publishLoad.
type publisherProcess struct {
	*process.Process
	t  *testing.T
	in io.WriteCloser
}

// startPublishers starts a process that publishes a load.
func (g *graph) startPublishers(l load) *publisherProcess {
	g.t.Helper()
	text, err := json.Marshal(l)
	require.NoError(g.t, err)
	cmd := g.command(self, publisherArgument, string(text))
	in, err := cmd.StdinPipe()
	require.NoError(g.t, err)
	return &publisherProcess{Process: process.Start(g.t, cmd), t: g.t, in: in}
}

// reports returns the reports so far.
func (p *publisherProcess) reports() (list []report) {
	for line := range strings.Lines(p.Output()) {
		var r report
		if json.Unmarshal([]byte(line), &r) == nil {
			list = append(list, r)
		}
	}
	return list
}

// waitUntilPublishing waits until the process publishes.
func (p *publisherProcess) waitUntilPublishing() {
	p.t.Helper()
	p.Prints(`"Ready":true`)
}

// split lets the process ask the recorder for a split.
func (p *publisherProcess) split() {
	p.t.Helper()
	_, err := io.WriteString(p.in, "split\n")
	require.NoError(p.t, err)
}

// splits returns the results of the requested splits.
func (p *publisherProcess) splits() (list []string) {
	for _, r := range p.reports() {
		if r.Split != "" {
			list = append(list, r.Split)
		}
	}
	return list
}

// acked returns how many messages of a publisher the recorder has acknowledged, by the last report.
func (p *publisherProcess) acked(publisher int) (n int) {
	for _, r := range p.reports() {
		if r.Acked != nil {
			n = r.Acked[publisher]
		}
	}
	return n
}

// finish ends publishing and returns the last report. The recorder has acknowledged all messages then.
func (p *publisherProcess) finish() report {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	return p.lastReport()
}

// lastReport waits for the end of the process and returns the last report.
func (p *publisherProcess) lastReport() report {
	p.t.Helper()
	p.Wait(0)
	list := p.reports()
	last := list[len(list)-1]
	require.True(p.t, last.Done, "the last report is not Done: %v", last)
	return last
}

// waitBeyondSync waits so long that oldestMissing would fail for a recorder that has synced nothing.
func waitBeyondSync(recorder *process.Process) {
	for began := time.Now(); time.Since(began) < 2*(syncInterval+allowedDelay)+recorder.Delayed(); {
		time.Sleep(10 * time.Millisecond)
	}
}

// oldestMissing returns how long before at the oldest message was sent that kept misses. It requires that the recorder
// had not received any missing message earlier than syncInterval and allowedDelay before at. delayed is how long the
// machine had delayed the recorder.
func (p *publisherProcess) oldestMissing(kept contents, at time.Time, delayed time.Duration) (oldest time.Duration) {
	p.t.Helper()
	reports := p.reports()
	// The longest time without a report. The machine may have delayed the recorder as long.
	pause := time.Duration(0)
	for i, r := range reports[1:] {
		if r.At.Before(at) {
			pause = max(pause, r.At.Sub(reports[i].At))
		} else {
			pause = max(pause, at.Sub(reports[i].At))
			break
		}
	}
	for publisher, missing := range kept.complete {
		var sent, acked time.Time // of the first missing message, at the latest
		for _, r := range reports {
			if sent.IsZero() && r.Sent != nil && r.Sent[publisher] > missing {
				sent = r.At
			}
			if acked.IsZero() && r.Acked != nil && r.Acked[publisher] > missing {
				acked = r.At
			}
		}
		if !sent.IsZero() {
			oldest = max(oldest, at.Sub(sent))
		}
		if !acked.IsZero() {
			require.Less(p.t, at.Sub(acked), syncInterval+allowedDelay+3*pause+delayed,
				"publisher %d: message %d is missing", publisher, missing)
		}
	}
	return oldest
}
