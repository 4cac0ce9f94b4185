package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/confine"
	"tapedeck/nodes/internal/filter/pattern"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/keyboard"
	"tapedeck/nodes/internal/page/livepage"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/selection"
	"tapedeck/nodes/recorder/internal/snapshot"
	"tapedeck/nodes/recorder/internal/subscription"
	"tapedeck/nodes/recorder/internal/upload"
)

// recorder subscribes to the selected topics of a node's graph and writes their messages.
//
// One goroutine owns topics, pause, announcer and status. Other goroutines request changes with do, or with owner.Post
// if they must not wait. The owner waits neither for the disk nor for the file writer.
type recorder struct {
	owner     *owner.Owner
	options   options
	node      bridge.Node
	line      *progress.Line
	out       io.Writer // the summary of each recording goes here
	selection *selection.Selection
	named     selection.Names // topics and actions, at the start
	library   *rosidl.Library
	name      string // name of the first recording, without the endings that the storage adds
	clock     *bridge.SimTime
	root      confine.Folder // folder of the recordings that services name

	queue        *queue.Queue // nil in snapshot mode
	latchedCache *intake.LatchedCache
	disk         codec.Disk // holds all files of recordings

	settings

	// onSplit is called by the owner when a file was closed and another one opened; opened is "" at the end of a
	// recording. Functions are added before run.
	onSplit []func(closed, opened string)

	topics    *subscription.Set
	snapshots *snapshot.Set // nil: no snapshots are taken
	uploads   *upload.Queue // nil: nothing is uploaded
	limits    []topicLimit  // limits of topics in the ring

	announcer  *announcer
	page       *page                          // nil: no page is served
	resumption atomic.Pointer[queue.Deadline] // when a message ends the pause; nil: no message does

	session atomic.Pointer[session] // set by the owner
	serving bool                    // services are offered and the status is shown; belongs to the owner
	quit    context.CancelFunc      // ends run

	lifecycle sync.Mutex // held while a recording starts or stops, which waits for the disk; guards over and failed
	over      bool       // no recording may start any more
	failed    error      // errors of the recordings that were stopped, and topics that they lack

	warned        sync.Map     // first argument of each call of warn
	topicWarnings atomic.Int32 // number of warnings that name a topic or type

	refused  atomic.Uint64 // messages that were dropped because they are too large or do not fit the format
	refusals sync.Map      // by topic: why the latest message was refused, a string
}

// mostWarnings is the number of different warnings about topics and types that are logged. It keeps a graph that
// always causes new warnings from filling memory and log.
const mostWarnings = 1000

// run records until ctx ends, a limit is reached or the disk fails. When run returns, everything received by then is in
// the file.
func (r *recorder) run(ctx context.Context) error {
	insisted := config.Insisted(ctx)
	ctx, r.quit = context.WithCancel(ctx)
	defer r.quit()
	uploaded := r.startUploads(insisted)
	over, owned, drawn := make(chan struct{}), make(chan struct{}), make(chan struct{})
	tables := make(chan *progress.Table, 1)
	go func() {
		defer close(drawn)
		draw(r.line, tables)
	}()
	go func() {
		defer close(owned)
		r.follow(ctx, tables)
		r.owner.Run(over)
	}()
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
		} else {
			r.refuseSnapshots()
		}
		if err == nil {
			err = r.servePage(ctx)
		}
		if err == nil {
			r.serveControl(ctx)
			defer r.listen(ctx)()
			r.do(func() { r.serving = true })
			<-ctx.Done()
			systemd{}.stopping()
		}
	}
	r.quit()
	<-drawn
	r.line.Clear()
	r.page.close()
	r.finish()
	r.announcer.end()
	if r.snapshots != nil {
		err = errors.Join(err, r.snapshots.End())
	}
	close(over)
	<-owned // the owner has logged all warnings
	return errors.Join(err, r.failed, uploaded())
}

// do makes the owner call f and waits for it. It reports false after the end.
func (r *recorder) do(f func()) bool { return r.owner.Do(f) }

// follow keeps the subscriptions in step with the graph, and sends the status to tables, until ctx ends. The owner
// calls it.
func (r *recorder) follow(ctx context.Context, tables chan *progress.Table) {
	status := status{recorder: r, logged: time.Now(), tables: tables}
	defer close(tables)
	if r.options.Diagnostics {
		var err error
		status.diagnostics, err = newDiagnostics(r)
		if err != nil {
			r.warn("diagnostics", "cannot publish diagnostics: %v", err)
		}
	}
	if r.announcer.pace > 0 {
		go r.announcer.watchLosses(ctx)
	}
	var service systemd
	r.topics.Run(ctx, statusPace, func(now time.Time) {
		if !r.serving || ctx.Err() != nil {
			return
		}
		service.alive()
		if r.options.Limit > 0 && r.topics.EndComplete() {
			r.session.Load().endAt(human.Count(r.options.Limit, "message") + " of each topic recorded")
		}
		if r.recording() {
			r.session.Load().checkContract(now)
		}
		status.update(now)
	})
}

// listen lets the space key pause and resume until ctx ends. restore resets the terminal.
func (r *recorder) listen(ctx context.Context) (restore func()) {
	if r.options.KeyboardOff {
		return func() {}
	}
	restore, ok := keyboard.Listen(ctx, func(key string) {
		if key == " " {
			r.do(func() { r.setPaused(!r.topics.Paused()) })
		}
	})
	if !ok {
		return func() {}
	}
	if r.line.Visible() && !r.options.Quiet {
		fmt.Fprintln(r.line, "Space pauses and resumes.")
	}
	return restore
}

// awaitTime waits until messages can be stamped. With use_sim_time that is after the first message on /clock.
func (r *recorder) awaitTime(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); r.clock.Now() == 0; {
		if time.Since(start) > 2*time.Second {
			r.warn("clock", "use_sim_time is set: recording starts with the first message on /clock")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// latchedBytes is the limit of the latched cache. Messages in the queue and in the ring do not count.
const latchedBytes = 64 << 20

// latched returns the messages of all recorded topics that a late subscriber would have got at the receive time t: the
// last messages of each latched publisher, in the order of reception, with references.
func (r *recorder) latched(t int64) []*queue.Item {
	var list []*queue.Item
	for _, rec := range r.topics.Topics() {
		list = rec.Latched(t, list)
	}
	queue.Sort(list, 0)
	return list
}

// neededSince returns the earliest receive time for which latched may still be called.
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

// newReceiver returns a receiver for the messages of a topic, set up by the options.
func (r *recorder) newReceiver(c *codec.Channel) *intake.Receiver {
	o := intake.Options{
		Clock: r.clock, Queue: r.queue, Note: r.session.Load().note, Limit: r.options.Limit,
		Throttle: pattern.ThrottleOf(r.throttles, c.Topic), Resumption: &r.resumption, OnResume: r.resume,
		OnTooLarge: r.onTooLarge,
	}
	o.RepeatDepth, o.Repeat = pattern.NumberOf(r.repeats, c.Topic)
	if o.Repeat || r.options.RepeatLatched {
		o.Cache = r.latchedCache
	}
	if r.snapshots != nil {
		o.Ring = r.snapshots.Ring
	}
	if r.page != nil {
		o.Sample = new(intake.Sample)
	}
	receiver := intake.NewReceiver(c, o)
	if priority, found := pattern.NumberOf(r.priorities, c.Topic); found {
		receiver.Priority = priority
	}
	receiver.Limits = limitsOf(r.limits, c.Topic, queue.Limits{Age: r.options.SnapshotDuration})
	return receiver
}

// onTooLarge counts a message that is larger than the queue.
func (r *recorder) onTooLarge(t *queue.Topic, bytes int64) {
	why := fmt.Sprintf("%s: messages are dropped that are larger than queue_size (%s), such as one of %s", t.Name(),
		human.Bytes(r.queue.MaxBytes), human.Bytes(bytes))
	r.refused.Add(1)
	r.refusals.Store(t.Name(), why)
	r.warn("large "+t.Name(), "%s", why)
}

// unfit returns why the format cannot hold a topic, "" if it can.
func (r *recorder) unfit(topic, typeName string) string {
	if r.composer != nil {
		if err := r.composer.Accepts(topic, typeName); err != nil {
			return err.Error()
		}
	}
	if r.options.format().Robot != nil && !r.robot.Maps(topic, typeName) {
		return fmt.Sprintf("%s [%s] is neither a camera nor an arm; robot_mapping can map it", topic, typeName)
	}
	return ""
}

// declare writes a channel to the file, even if no message follows.
func (r *recorder) declare(c *codec.Channel) {
	if w := r.session.Load().writer; w != nil {
		w.Declare(c)
	}
}

// warnUndefined warns that a topic is recorded without the definition of its type.
func (r *recorder) warnUndefined(c *codec.Channel, err error) {
	r.warn("type "+c.Type, "%s is recorded without the definition of its type, which readers then must know: %v",
		c.Topic, err)
}

// subscribedTopics returns the names of the topics that are recorded, in order.
func (r *recorder) subscribedTopics() (names []string) {
	if r.recording() {
		for _, t := range r.topics.Topics() {
			names = append(names, t.Name())
		}
	}
	return slices.Compact(names)
}

// warn makes the owner log a warning, once for each subject. The subject is a word, or a word and the name of a topic
// or type; of warnings with a name, only the first mostWarnings are logged. Any goroutine may call warn, also a handler
// of messages, which a slow log must not delay.
func (r *recorder) warn(subject, format string, args ...any) {
	_, name, _ := strings.Cut(subject, " ")
	if name != "" && r.topicWarnings.Load() >= mostWarnings {
		return
	}
	if _, logged := r.warned.LoadOrStore(subject, true); logged {
		return
	}
	last := name != "" && r.topicWarnings.Add(1) == mostWarnings
	text := fmt.Sprintf(format, args...)
	r.owner.Post(func() {
		r.node.Log(bridge.Warn, "%s", text)
		if last {
			r.node.Log(bridge.Warn, "%d warnings about topics and types were logged; further ones are not",
				mostWarnings)
		}
	})
}

// newRecorder checks the options and prepares a recorder for run. Invalid options leave no files behind.
func newRecorder(o options, chosen *selection.Selection, node bridge.Node, disk codec.Disk, line *progress.Line,
) (*recorder, error) {
	r := &recorder{
		owner: owner.New(), options: o, selection: chosen, named: maps.Clone(chosen.Topics),
		node: node, line: line, out: line.Above(human.Stdout), name: recordingName(&o, time.Now()),
		library: msgs.Library(o.DefinitionPaths...), disk: disk,
	}
	r.root = o.serviceRoot(r.name)
	maps.Copy(r.named, chosen.Actions)
	var err error
	r.clock, err = bridge.NewSimTime(node)
	if err != nil {
		return nil, err
	}
	overrides, err := graph.QoSOverrides(o.QoSOverrides)
	if err != nil {
		return nil, err
	}
	if o.Snapshot || o.SnapshotMode {
		err = r.newSnapshots()
		if err != nil {
			return nil, err
		}
		for topic := range r.snapshots.Conditions {
			r.named[topic] = true
		}
	}
	r.settings, err = o.settle()
	if err != nil {
		return nil, err
	}
	r.topics = subscription.New(subscription.Options{
		Owner: r.owner, Node: node, Clock: r.clock, Selection: chosen, Library: r.library, Overrides: overrides,
		Discovery: !o.NoDiscovery, Snapshots: r.snapshots,
		NewReceiver: r.newReceiver, Unfit: r.unfit, Declare: r.declare, Undefined: r.warnUndefined,
		Warn: r.warn,
	})
	r.topics.Pause(o.StartPaused)
	if !o.SnapshotMode {
		r.queue = queue.New(int64(o.QueueSize))
		r.queue.MaxAge = o.maxWait()
	}
	if o.Upload != "" {
		r.newUploads()
	}
	r.latchedCache = &intake.LatchedCache{MaxBytes: latchedBytes, Since: r.neededSince, OnFull: func(t *queue.Topic) {
		topic := t.Name()
		r.warn("latched "+topic,
			"%s: its latched messages take too much memory; new files repeat only some of them", topic)
	}}
	if o.Page != "" { // before newSession, so that a port in use leaves no empty recording
		listener, err := livepage.Listen(o.Page)
		if err != nil {
			return nil, err
		}
		r.page = newPage(r, listener)
	}
	s, err := r.newSession(r.name)
	if err != nil {
		r.page.close()
		return nil, err
	}
	r.session.Store(s)
	r.announcer = newAnnouncer(r)
	if text := o.unsplitWarning(); text != "" {
		r.warn("splits", "%s", text)
	}
	return r, nil
}
