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

// sourceArgument is what the test's own executable is told to be a source by. The load follows as JSON.
const sourceArgument = "source"

// load is what a source publishes, until the time is over or its standard input ends. For each line of that it asks the
// recorder for a split.
type load struct {
	Topics []topic
	Span   time.Duration
}

// topic has several publishers, which are reliable and keep all.
type topic struct {
	Name       string
	Publishers int
	Rate       int // messages per second, of each
	Size       int // bytes
}

// report is a line that a source prints.
type report struct {
	Ready bool      `json:",omitzero"` // all topics have a subscriber: publishing begins
	At    time.Time // when that was so
	Sent  []int     `json:",omitzero"` // how many messages were published, by publisher
	Acked []int     `json:",omitzero"` // how many messages the recorder has acknowledged to have received, by publisher
	Split string    `json:",omitzero"` // result of a requested split: "done"
	Done  bool      `json:",omitzero"` // that is all, and the recorder has received all
}

const messageType = "test_msgs/msg/Numbered"

// leastSize is that of a message: the encapsulation header and the numbers of its publisher and of itself. What follows
// is all the same.
const leastSize = 16

func message(size, publisher int) []byte {
	data := bytes.Repeat([]byte{byte(publisher + 1)}, max(size, leastSize))
	copy(data, []byte{0, 1, 0, 0})
	binary.LittleEndian.PutUint32(data[4:], uint32(publisher))
	return data
}

func setNumber(data []byte, n int) { binary.LittleEndian.PutUint64(data[8:], uint64(n)) }

// parse is the reverse of both. It says whether the message is as it was sent.
func parse(data []byte) (publisher, n int, whole bool) {
	if len(data) < leastSize {
		return 0, 0, false
	}
	publisher, n = int(binary.LittleEndian.Uint32(data[4:])), int(binary.LittleEndian.Uint64(data[8:]))
	rest := data[leastSize:]
	return publisher, n, bytes.Count(rest, []byte{byte(publisher + 1)}) == len(rest)
}

// source is a process that publishes.
func source(text string) error {
	var l load
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return err
	}
	node, err := dds.Open(bridge.Options{Name: "source", Domain: -1})
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
				return fmt.Errorf("nobody subscribes to %s", p.topic.Name)
			}
		}
	}
	say := speaker()
	say(report{Ready: true})
	ctx, stop := context.WithTimeout(context.Background(), l.Span)
	go func() {
		defer stop()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			go func() { say(report{Split: split(ctx, node)}) }()
		}
	}()
	start := time.Now()
	var publishing, watching sync.WaitGroup
	for _, p := range all {
		publishing.Go(func() { p.run(ctx, start) })
	}
	watching.Go(func() {
		for ctx.Err() == nil {
			say(report{Sent: sent(all)})
			time.Sleep(5 * time.Millisecond)
		}
	})
	watching.Go(func() {
		for ctx.Err() == nil {
			acked := sent(all)
			if flush(all) == nil {
				say(report{Acked: acked})
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
	stop() // where they did
	watching.Wait()
	if err := flush(all); err != nil {
		return err
	}
	say(last)
	return node.Close()
}

// speaker returns a function that prints reports.
func speaker() func(report) {
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	return func(r report) {
		mu.Lock()
		defer mu.Unlock()
		r.At = time.Now()
		_ = out.Encode(r)
	}
}

func sent(all []*publisher) (counts []int) {
	for _, p := range all {
		counts = append(counts, int(p.sent.Load()))
	}
	return counts
}

// flush waits until the recorder has acknowledged everything.
func flush(all []*publisher) error {
	for _, p := range all {
		if err := p.Flush(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// split has the recorder go on in another file.
func split(ctx context.Context, node bridge.Node) string {
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

// publisher is one of a source's.
type publisher struct {
	bridge.Publisher
	topic  topic
	number int
	sent   atomic.Int64
	err    error
}

// run publishes at the topic's rate until ctx ends.
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

// sourceProcess is a source as a process of its own.
type sourceProcess struct {
	*process.Process
	t  *testing.T
	in io.WriteCloser
}

// publish starts a source.
func (g *graph) publish(l load) *sourceProcess {
	g.t.Helper()
	text, err := json.Marshal(l)
	require.NoError(g.t, err)
	cmd := g.command(self, sourceArgument, string(text))
	in, err := cmd.StdinPipe()
	require.NoError(g.t, err)
	return &sourceProcess{Process: process.Start(g.t, cmd), t: g.t, in: in}
}

// reports returns the reports of the source until now.
func (s *sourceProcess) reports() (list []report) {
	for line := range strings.Lines(s.Output()) {
		var r report
		if json.Unmarshal([]byte(line), &r) == nil {
			list = append(list, r)
		}
	}
	return list
}

// begun waits until the source publishes.
func (s *sourceProcess) begun() {
	s.t.Helper()
	s.Prints(`"Ready":true`)
}

// split asks the recorder for a split.
func (s *sourceProcess) split() {
	s.t.Helper()
	_, err := io.WriteString(s.in, "split\n")
	require.NoError(s.t, err)
}

// splits returns the results of the requested splits.
func (s *sourceProcess) splits() (list []string) {
	for _, r := range s.reports() {
		if r.Split != "" {
			list = append(list, r.Split)
		}
	}
	return list
}

// acked returns how many messages of a publisher the recorder has received, as far as is known.
func (s *sourceProcess) acked(publisher int) (n int) {
	for _, r := range s.reports() {
		if r.Acked != nil {
			n = r.Acked[publisher]
		}
	}
	return n
}

// finish ends the source and returns its last report. Everything was acknowledged then.
func (s *sourceProcess) finish() report {
	s.t.Helper()
	require.NoError(s.t, s.in.Close())
	return s.last()
}

// last waits until the source's time is over and returns its last report.
func (s *sourceProcess) last() report {
	s.t.Helper()
	s.Wait(0)
	list := s.reports()
	last := list[len(list)-1]
	require.True(s.t, last.Done)
	return last
}

// outlast waits until, if nothing were synced, more would be missing than may be.
func outlast(recorder *process.Process) {
	for began := time.Now(); time.Since(began) < 2*(syncInterval+late)+recorder.Delayed(); {
		time.Sleep(10 * time.Millisecond)
	}
}

// age says how long before a time the first messages that a recording misses were sent. Those that were received must
// not have been there for longer than the recorder may let them wait, which the machine had delayed by so much.
func (s *sourceProcess) age(kept contents, at time.Time, delayed time.Duration) (oldest time.Duration) {
	s.t.Helper()
	reports := s.reports()
	pause := time.Duration(0) // the longest in what it said; meanwhile the recorder may have had to wait, too
	for i, r := range reports[1:] {
		if r.At.Before(at) {
			pause = max(pause, r.At.Sub(reports[i].At))
		} else {
			pause = max(pause, at.Sub(reports[i].At))
			break
		}
	}
	for publisher, missing := range kept.whole {
		var sent, acked time.Time // at the latest
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
			require.Less(s.t, at.Sub(acked), syncInterval+late+3*pause+delayed, "publisher %d: message %d", publisher,
				missing)
		}
	}
	return oldest
}
