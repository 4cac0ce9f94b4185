package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tapedeck/bridge/device/v4l2"
)

// pictures are the images of a folder or a file, in order.
type pictures interface {
	// next sets f to the next usable image, which is valid until the following call. It returns the time since the
	// previous image, 0 if unknown. The error is io.EOF after the last image.
	next(f *v4l2.Frame) (time.Duration, error)

	// rewind starts over.
	rewind() error

	carries() (jpegs, pixels bool)
	close()
}

const (
	defaultRate = 30       // images per second
	maxPicture  = 64 << 20 // bytes
	maxPeriod   = time.Hour
	maxGap      = time.Minute // longer times between images are not waited for: the images are of another day
	catchUp     = time.Second // longer delays are not made up for
)

// playback plays images from a folder or file. It implements capture.
type playback struct {
	pictures
	period time.Duration // time between images without times
	fixed  bool          // use period even if the images have times
	loop   bool
	count  v4l2.Counter

	mu     sync.Mutex
	status v4l2.Status
}

// newPlayback returns a playback of the images that open opens. It calls warn with the error of the first unusable one.
func newPlayback(path string, rate float64, loop bool, warn func(error),
	open func(string, func(error)) (pictures, error)) (*playback, error) {
	s := &playback{fixed: rate > 0, loop: loop}
	s.count.Begin(time.Now())
	if rate == 0 {
		rate = defaultRate
	}
	s.period = time.Duration(min(float64(time.Second)/rate, float64(maxPeriod)))
	s.status = v4l2.Status{Path: path, Rate: rate}
	var err error
	s.pictures, err = open(path, func(err error) {
		var first bool
		s.count.Change(func(n *v4l2.Stats) {
			first = n.Damaged == 0
			n.Damaged++
		})
		if first {
			warn(err)
		}
	})
	return s, err
}

func (s *playback) run(ctx context.Context, give func(*v4l2.Frame)) error {
	s.count.Change(func(n *v4l2.Stats) { n.Opened = 1 })
	s.set(func(status *v4l2.Status) { status.Streaming = true })
	defer s.set(func(status *v4l2.Status) { status.Streaming = false })
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
		s.count.Frame(&f, 0)
		s.set(func(status *v4l2.Status) { status.Format = f.Format })
	}
	return nil
}

// follow sets f to the next image, and returns the time since the previous one. In a loop, the first image follows the
// last one.
func (s *playback) follow(f *v4l2.Frame) (time.Duration, error) {
	after, err := s.next(f)
	if errors.Is(err, io.EOF) && f.Sequence == 0 {
		return 0, errors.New("no usable image")
	}
	if errors.Is(err, io.EOF) && s.loop {
		if err := s.rewind(); err != nil {
			return 0, err
		}
		after, err = s.next(f)
	}
	if s.fixed || after <= 0 || after > maxGap {
		after = s.period
	}
	return after, err
}

// set changes the status.
func (s *playback) set(change func(*v4l2.Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}

func (s *playback) Status() v4l2.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *playback) Stats() v4l2.Stats { return s.count.Take(time.Now()) }
