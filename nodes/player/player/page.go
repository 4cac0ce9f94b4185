package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/recordings"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/page/livepage"
	"tapedeck/nodes/internal/page/report"
)

const (
	pageData  = 5 << 20               // limit of bytes of the page's data for each recording
	pageBurst = 10 * time.Millisecond // of reading, before a pause of equal length
)

// page shows the played recordings and the position of the player.
type page struct {
	player    *player
	server    *livepage.Server
	recording *recordings.Recording // read in the background, while the player reads its own

	mu     sync.Mutex // guards the fields below
	note   string     // why the recordings are not shown
	data   []byte     // JSON of a list of report.Data; nil until they are read
	starts []int64    // starts of the recordings, ns since the Unix epoch
}

// servePage serves the page and reads its recordings, until close is called.
func (p *player) servePage(ctx context.Context, paths []string) (close func() error, err error) {
	if p.options.Page == "" {
		return func() error { return nil }, nil
	}
	listener, err := livepage.Listen(p.options.Page)
	if err != nil {
		return nil, err
	}
	g := &page{player: p}
	g.recording, err = recordings.Open(paths, p.recordings.options)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	g.server, err = livepage.Serve(listener, "player", g)
	if err != nil {
		return nil, errors.Join(err, g.recording.Close())
	}
	fmt.Fprintf(p.line.Above(human.Stdout), "page: %s\n", g.server.URL) // not logged: others may read the log
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		if err := g.read(ctx); err != nil && ctx.Err() == nil {
			p.node.Log(bridge.Warn, "page: %v", err)
			g.say("cannot be shown: " + err.Error())
		}
	})
	return func() error {
		cancel()
		err := g.server.Close()
		reading.Wait()
		return errors.Join(err, g.recording.Close())
	}, nil
}

func (g *page) say(note string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note = note
}

// read reads the recordings. It uses at most half of a processor, because playing needs it more.
func (g *page) read(ctx context.Context) error {
	var all []*report.Data
	var starts []int64
	for i, p := range g.recording.Parts {
		worked := time.Now()
		last := int64(-1)
		data, err := report.Build(ctx, p.Reader, nil, report.Options{MaxSize: pageData, Reading: func(ns int64) {
			if d := time.Since(worked); d > pageBurst {
				time.Sleep(d)
				worked = time.Now()
			}
			if done := 100 * (ns - p.Info.StartTime) / max(1, p.Info.EndTime-p.Info.StartTime); done != last {
				last = done
				g.say(fmt.Sprintf("reading %d of %d: %d %%", i+1, len(g.recording.Parts), done))
			}
		}})
		if err != nil {
			return err
		}
		all, starts = append(all, data), append(starts, data.Start.UnixNano())
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.data, g.starts, g.note = text, starts, ""
	return nil
}

// Update returns the position of the player, and the recordings once they are read.
func (g *page) Update(version string) (*livepage.Update, error) {
	s := g.player.state()
	g.mu.Lock()
	defer g.mu.Unlock()
	u := &livepage.Update{Version: strconv.Itoa(len(g.data)), State: livepage.State{Word: s.word, Paused: s.paused,
		Rate: s.rate, Text: human.Count(s.played, "message") + " played", Alert: g.note}}
	if s.rate == immediate {
		u.State.Rate = 0
	}
	for _, start := range g.starts {
		u.State.At = append(u.State.At, float64(s.position-start)/1e9)
	}
	if u.Version != version {
		u.Recordings = g.data
	}
	return u, nil
}

// Do executes the command of a button.
func (g *page) Do(_ context.Context, c livepage.Command) error {
	e, done := g.player.engine, true
	switch c.Name {
	case "pause", "resume":
		done = e.do(func() { e.setPaused(c.Name == "pause") })
	case "rate":
		valid := true
		done = e.do(func() { valid = e.setRate(c.Value) })
		if !valid {
			return errors.New("the rate must be " + rateRange)
		}
	case "next":
		if g.player.playBursts(1) == 0 {
			return errors.New("the player is not paused, or nothing is left to play")
		}
	case "seek":
		g.mu.Lock()
		known := c.Recording >= 0 && c.Recording < len(g.starts)
		var t int64
		if known {
			t = g.starts[c.Recording] + int64(min(max(c.Value*1e9, -longest), longest))
		}
		g.mu.Unlock()
		if !known {
			return errors.New("the recordings are not read yet")
		}
		ok := true
		done = e.do(func() { ok = e.seek(t) })
		if !ok {
			return errors.New("seeking failed")
		}
	default:
		return livepage.ErrUnknown
	}
	if !done {
		return errOver
	}
	return nil
}

var _ livepage.Backend = (*page)(nil)
