package robot

import (
	"errors"
	"fmt"
	"io"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/episode"
)

// frameList locates the frames of one camera in one episode.
type frameList struct {
	*Recording
	topic  string
	places []place // by frame
}

// place is the place of a frame in the recording.
type place struct {
	logTime int64 // ns since the Unix epoch
	before  int   // number of the camera's frames with this LogTime before the frame, in any episode or none
}

// open returns a reader of the frames.
func (l *frameList) open() (episode.Frames, error) {
	return &frames{frameList: l, pictures: map[*codec.Channel]*pixel.Locator{}}, nil
}

// frames reads the frames of a camera.
type frames struct {
	*frameList
	pictures map[*codec.Channel]*pixel.Locator
	it       codec.Iterator
	next     int // index of the next frame; negative before the first frame of the episode
}

// maxSkipped limits the frames that are read and skipped to reach a later frame; beyond it, seeking is faster.
const maxSkipped = 32

func (f *frames) Frame(i int) (episode.Frame, error) {
	frame, err := f.frame(i)
	if err != nil {
		return frame, fmt.Errorf("read frame %d of %s in %s: %w", i, f.topic, f.info.Path, err)
	}
	return frame, nil
}

func (f *frames) frame(i int) (frame episode.Frame, err error) {
	if i < 0 || i >= len(f.places) {
		return frame, fmt.Errorf("the episode has %d", len(f.places))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.it == nil || i < f.next || i > f.next+maxSkipped {
		if err := f.seek(i); err != nil {
			return frame, err
		}
	}
	for {
		m, err := f.it.Next()
		if errors.Is(err, io.EOF) {
			return frame, errors.New("the recording ends earlier; was it changed?")
		}
		if err != nil {
			return frame, err
		}
		p := f.pictures[m.Channel]
		if p == nil {
			t, err := f.topics.topicOf(m.Channel)
			if err != nil {
				return frame, err
			}
			p = t.picture
			f.pictures[m.Channel] = p
		}
		frame, err = p.Whole(m.Data)
		if err != nil {
			continue // damaged frames are not in the list
		}
		f.next++
		if f.next == i+1 {
			return frame, nil
		}
	}
}

// seek moves to the first frame that has the LogTime of frame i.
func (f *frames) seek(i int) error {
	if f.it != nil {
		f.it.Close()
		f.it = nil
	}
	p := f.places[i]
	f.next = i - p.before
	var err error
	f.it, err = f.reader.Read(f.query(p.logTime, func(c *codec.Channel) bool { return c.Topic == f.topic }))
	return err
}

func (f *frames) Close() error {
	if f.it == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.it.Close()
}
