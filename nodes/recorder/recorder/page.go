package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/page/livepage"
	"tapedeck/nodes/internal/page/report"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/snapshot"
	"tapedeck/nodes/recorder/internal/subscription"
)

const (
	pagePace   = 250 * time.Millisecond // time between updates, at least
	pageShare  = 5                      // the page uses at most 1/pageShare of a processor
	picturePad = time.Second            // time between two pictures of a camera
	watched    = 10 * time.Second       // pictures are made for so long after a browser asked for an update
	pageNice   = 10                     // niceness of the thread of page.run
)

// pageOptions are the options of the live page.
type pageOptions struct {
	Page string `param:"page" group:"Status" value:"ADDRESS"`
}

// page shows the recording while it is made. It reads the recorder's counts, and looks at a message of each topic now
// and then. A nil page does nothing.
type page struct {
	recorder *recorder
	listener net.Listener
	server   *livepage.Server // nil until servePage
	done     chan struct{}    // closed when run has ended

	owner    *owner.Owner // the goroutine of run, which owns the fields up to pictured
	live     *report.Live
	session  *session
	topics   map[*subscription.Topic]*pageTopic
	asked    time.Time // when a browser last asked for an update
	pictured time.Time // when the latest pictures were made

	events chan codec.Event // events written to the recording, for update
}

func newPage(r *recorder, listener net.Listener) *page {
	return &page{recorder: r, listener: listener, owner: owner.New(), events: make(chan codec.Event, mostEvents)}
}

// mostEvents is the number of events that may wait for update. The page does not show events beyond that.
const mostEvents = 1000

// pageTopic is a topic on the page.
type pageTopic struct {
	channel *codec.Channel // nil until the definition of the type is known
	meter   subscription.Rate
}

// servePage serves the page, unless there is none.
func (r *recorder) servePage(ctx context.Context) error {
	if r.page == nil {
		return nil
	}
	kind := "recorder"
	if r.snapshots != nil {
		kind = "snapshots"
	}
	p := r.page
	p.update()
	server, err := livepage.Serve(p.listener, kind, p)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "page: %s\n", server.URL) // not logged: others may read the log
	p.server, p.done = server, make(chan struct{})
	go p.run(ctx)
	return nil
}

// close ends the page.
func (p *page) close() {
	switch {
	case p == nil:
		return
	case p.server == nil:
		_ = p.listener.Close()
		return
	}
	_ = p.server.Close()
	<-p.done
}

// run follows the recording until ctx ends.
func (p *page) run(ctx context.Context) {
	defer close(p.done)
	runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, pageNice)
	for next := time.After(pagePace); ; {
		select {
		case <-ctx.Done():
			p.owner.Run(ctx.Done()) // closes the owner: ctx is done already
			return
		case <-p.owner.Wake():
			p.owner.Turn()
			continue
		case <-next:
		}
		began := time.Now()
		p.update()
		next = time.After(max(pagePace, (pageShare-1)*time.Since(began)))
	}
}

// note shows an event that was written to the recording. The goroutine of the file writer calls it.
func (p *page) note(e codec.Event) {
	if p == nil {
		return
	}
	select {
	case p.events <- e:
	default: // run has ended, or is behind
	}
}

// update takes in the events, counts and messages since the last call.
func (p *page) update() {
	r := p.recorder
	now := time.Now()
	s := r.session.Load()
	if s != p.session {
		began := s.began.Load()
		if began == 0 {
			began = r.clock.Now()
		}
		p.session, p.topics = s, map[*subscription.Topic]*pageTopic{}
		p.live = report.NewLive(filepath.Base(s.name), r.options.format().Name, began)
	}
	var events []codec.Event
	for n := len(p.events); n > 0; n-- {
		events = append(events, <-p.events)
	}
	if !r.recording() {
		return
	}
	p.live.Advance(r.clock.Now())
	for _, e := range events {
		p.live.Note(e)
	}
	pictures := now.Sub(p.asked) < watched && now.Sub(p.pictured) >= picturePad
	p.live.Pictures(pictures)
	if pictures {
		p.pictured = now
	}
	for _, rec := range r.topics.Topics() {
		p.look(rec, now)
	}
}

// look takes in the counts of a topic and its latest sample.
func (p *page) look(rec *subscription.Topic, now time.Time) {
	t := p.topics[rec]
	if t == nil {
		t = &pageTopic{}
		p.topics[rec] = t
	}
	c := rec.Channel.Load()
	if t.channel == nil && c.Schema.Encoding != "" {
		t.channel = c
	}
	counts := rec.Counts()
	bytes := rec.Bytes.Load()
	t.meter.Update(now, counts.Received, bytes)
	qos := ""
	if c.QoS != nil {
		qos = human.QoS(c.QoS)
	}
	p.live.Count(c.Topic, c.Type, qos, report.Counts{Messages: counts.Received, Bytes: bytes, Dropped: counts.Dropped,
		Lost: counts.Lost, Rate: t.meter.Messages})
	item := rec.Sample()
	if item == nil {
		return
	}
	defer queue.Release(item)
	if t.channel != nil {
		p.live.Add(&codec.Message{Channel: t.channel, LogTime: item.LogTime, PublishTime: item.PublishTime,
			Data: item.Payload.Data})
	}
}

// Update implements livepage.Backend.
func (p *page) Update(version string) (*livepage.Update, error) {
	r := p.recorder
	totals, word := r.totals(), r.state()
	missing, _ := r.unheard()
	u := &livepage.Update{State: livepage.State{
		Word: word, Text: totals.progress(), Alert: totals.trouble(missing), Paused: r.topics.Paused(), Rate: 1,
	}}
	err := errEnds
	p.owner.Do(func() {
		p.asked = time.Now()
		u.Growth, err = json.Marshal(p.live.Grown(version))
		u.Version, u.State.At = p.live.Version(), []float64{p.live.At()}
	})
	return u, err
}

// Do implements livepage.Backend.
func (p *page) Do(_ context.Context, c livepage.Command) error {
	r := p.recorder
	switch c.Name {
	case "pause", "resume":
		r.do(func() { r.setPaused(c.Name == "pause") })
		return nil
	case "split":
		_, _, err := r.split()
		return err
	case "snapshot":
		if r.snapshots == nil {
			return errNoSnapshots
		}
		now := time.Now()
		_, err := r.snapshots.Take(snapshot.Trigger{Time: now.UnixNano(), At: bridge.Monotonic(now),
			After: r.options.SnapshotAfter, Cause: "button of the page"})
		return err
	}
	return livepage.ErrUnknown
}

var _ livepage.Backend = (*page)(nil)
