package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tapedeck/bridge/v4l2"
)

// pictures are those of a folder or a file, in their order.
type pictures interface {
	// next sets f to the next picture that can be used, which is valid until the call after, and returns how long after
	// the one before it was taken; 0 if that is not known. The error is io.EOF behind the last one.
	next(f *v4l2.Frame) (time.Duration, error)

	// rewind begins again.
	rewind() error

	carries() (jpegs, pixels bool)
	close()
}

const (
	defaultRate = 30       // pictures a second
	maxPicture  = 64 << 20 // bytes
	maxPeriod   = time.Hour
	catchUp     = time.Second // who is later than that gives up to catch up
)

// file is a source that plays pictures.
type file struct {
	pictures
	period time.Duration
	fixed  bool // the period holds, whatever the pictures say
	loop   bool

	mu     sync.Mutex
	status v4l2.Status
	stats  v4l2.Stats
	since  time.Time // when the window began
}

// newFile returns the source of pictures that open opens. warn is told of the first one that cannot be used.
func newFile(path string, rate float64, loop bool, warn func(error),
	open func(string, func(error)) (pictures, error)) (*file, error) {
	s := &file{fixed: rate > 0, loop: loop, since: time.Now()}
	if rate == 0 {
		rate = defaultRate
	}
	s.period = time.Duration(min(float64(time.Second)/rate, float64(maxPeriod)))
	s.status = v4l2.Status{Path: path, Rate: rate}
	var err error
	s.pictures, err = open(path, func(err error) {
		var first bool
		s.set(func() {
			first = s.stats.Damaged == 0
			s.stats.Damaged++
		})
		if first {
			warn(err)
		}
	})
	return s, err
}

func (s *file) run(ctx context.Context, give func(*v4l2.Frame)) error {
	s.set(func() { s.status.Streaming, s.stats.Opened = true, 1 })
	defer s.set(func() { s.status.Streaming = false })
	timer := time.NewTimer(0)
	defer timer.Stop()
	var f v4l2.Frame
	due := time.Now()
	for ctx.Err() == nil {
		after, err := s.follow(&f)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", s.status.Path, err)
		}
		if f.Sequence > 0 {
			due = due.Add(after)
		}
		if late := time.Since(due); late > catchUp {
			due = due.Add(late)
		}
		timer.Reset(time.Until(due))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		f.Stamp = time.Now().UnixNano()
		f.Received = f.Stamp
		give(&f)
		f.Sequence++
		s.set(func() {
			s.status.Format = f.Format
			s.stats.Frames++
			s.stats.Window.Frames++
		})
	}
	return nil
}

// follow sets f to the next picture, which at the end of a loop is the first one, and returns how long after the one
// before it is.
func (s *file) follow(f *v4l2.Frame) (time.Duration, error) {
	after, err := s.next(f)
	if errors.Is(err, io.EOF) && f.Sequence == 0 {
		return 0, errors.New("there is no picture that can be used")
	}
	if errors.Is(err, io.EOF) && s.loop {
		if err := s.rewind(); err != nil {
			return 0, err
		}
		after, err = s.next(f)
	}
	if s.fixed || after <= 0 {
		after = s.period
	}
	return after, err
}

func (s *file) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *file) Status() (status v4l2.Status) {
	s.set(func() { status = s.status })
	return status
}

func (s *file) Stats() (stats v4l2.Stats) {
	s.set(func() {
		now := time.Now()
		stats = s.stats
		stats.Window.Duration = now.Sub(s.since)
		stats.Window.Rate = float64(stats.Window.Frames) / max(stats.Window.Duration.Seconds(), 1e-9)
		s.stats.Window, s.since = v4l2.Window{}, now
	})
	return stats
}
