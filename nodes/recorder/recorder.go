package main

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/schedule"
	"tapedeck/nodes/recorder/internal/selection"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// recorder subscribes to the selected topics of a node's graph and writes what they carry.
type recorder struct {
	options   options
	node      bridge.Node
	line      *progress.Line
	out       io.Writer // for what a recording came to
	selection *selection.Selection
	overrides map[string]codec.QoS
	library   *rosidl.Library
	name      string // of the first recording, without the endings that the storage adds
	clock     *bridge.SimTime

	backlog *queue.Queue // nil in snapshot mode
	latches *intake.LatchedCache
	disk    diskguard.Disk

	settings

	// onSplit are called when a file was closed and another one opened, "" at the end of a recording. They are added before
	// run, and called from the goroutine that writes: they return at once.
	onSplit []func(closed, opened string)

	snapshots *snapshot.Set // nil: there are none
	limits    []topicLimit  // of the ring

	announcer   *announcer
	definitions definitions
	resumption  atomic.Pointer[schedule.Deadline] // when a pause ends by a message; nil: never

	session   atomic.Pointer[session]
	lifecycle sync.Mutex         // held while a recording starts or stops
	over      bool               // none may start any more
	failed    error              // what recordings that were stopped failed with
	quit      context.CancelFunc // ends run
	lookAgain chan struct{}      // wakes follow

	replacements sync.WaitGroup // of subscriptions, while both listen

	mu         sync.Mutex
	active     bool // update may subscribe
	pausing    bool
	pausedAt   int64     // ns since the Unix epoch
	discovery  bool      // to topics that are not recorded yet
	discovered time.Time // until when it may even without discovery
	recorders  map[topicKey]*topicRecorder
	watches    map[topicKey]*topicRecorder // of topics with conditions that are not recorded
	unfit      selection.Names             // topics that the storage cannot hold

	warning sync.Mutex
	warned  map[string]bool // what was said already
}

type topicKey struct{ topic, typeName string }

// run records until ctx ends, a limit is reached or the disk fails. Everything received by then is in the file when it
// returns.
func (r *recorder) run(ctx context.Context) error {
	ctx, r.quit = context.WithCancel(ctx)
	defer r.quit()
	var err error
	if r.snapshots != nil {
		stop := make(chan struct{})
		defer close(stop)
		go r.snapshots.Run(stop)
	}
	if r.awaitTime(ctx) == nil {
		r.beginFirst()
		if r.snapshots != nil {
			err = r.serveSnapshots()
		}
		if err == nil {
			r.serveControl(ctx)
			r.follow(ctx)
		}
	}
	r.line.Clear()
	r.finish()
	r.announcer.end()
	if r.snapshots != nil {
		err = errors.Join(err, r.snapshots.End())
	}
	return errors.Join(err, r.failed)
}

// awaitTime waits until there is a time to stamp messages with: at once, or with use_sim_time when /clock is heard.
func (r *recorder) awaitTime(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); r.clock.Now() == 0; {
		if time.Since(start) > 2*time.Second {
			r.warn("clock", "use_sim_time is set and nothing was heard on /clock yet; recording begins then")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// latchedBytes is how much is kept of latched topics beside what waits or is kept for snapshots.
const latchedBytes = 64 << 20

// latched returns what a late subscriber would have got of all recorded topics at the receive time t: the last messages
// of each latched publisher, in the order of reception, with references.
func (r *recorder) latched(t int64) []*queue.Item {
	var list []*queue.Item
	for _, rec := range r.recorded() {
		list = rec.Latched(t, list)
	}
	queue.Sort(list, 0)
	return list
}

// neededSince returns the receive time before which latched messages are not asked for any more.
func (r *recorder) neededSince() int64 {
	since := int64(math.MaxInt64)
	if s := r.session.Load(); s.writer != nil {
		since = s.writer.Position()
	}
	if r.snapshots != nil {
		since = min(since, r.snapshots.Ring.Since())
	}
	return since
}

// newRecorder checks the options and sets up what run needs. Nothing is created when they are wrong.
func newRecorder(o options, chosen *selection.Selection, node bridge.Node, line *progress.Line) (*recorder, error) {
	r := &recorder{
		options: o, selection: chosen, node: node, line: line, out: line.Above(os.Stdout),
		name: recordingName(&o, time.Now()), library: msgs.Library(o.DefinitionPaths...),
		lookAgain: make(chan struct{}, 1), discovery: !o.NoDiscovery, disk: diskguard.System{},
		recorders: map[topicKey]*topicRecorder{}, watches: map[topicKey]*topicRecorder{}, unfit: selection.Names{}, warned: map[string]bool{},
		definitions: definitions{node: node, fetched: map[string]*definition{}},
	}
	var err error
	if r.clock, err = bridge.NewSimTime(node); err != nil {
		return nil, err
	}
	if r.overrides, err = graph.QoSOverrides(o.QoSOverrides); err != nil {
		return nil, err
	}
	if o.Snapshot || o.SnapshotMode {
		if err = r.newSnapshots(); err != nil {
			return nil, err
		}
	}
	if r.settings, err = o.settle(); err != nil {
		return nil, err
	}
	r.pausing, r.pausedAt = o.StartPaused, time.Now().UnixNano()
	if !o.SnapshotMode {
		r.backlog = queue.New(int64(o.QueueSize))
	}
	r.latches = &intake.LatchedCache{MaxBytes: latchedBytes, Since: r.neededSince, OnFull: func(t *queue.Topic) {
		topic := t.Name()
		r.warn("latched "+topic, "%s: not all of its latched messages can be kept to be repeated, they are too large", topic)
	}}
	s, err := r.newSession(r.name)
	if err != nil {
		return nil, err
	}
	r.session.Store(s)
	r.announcer = newAnnouncer(r)
	return r, nil
}
