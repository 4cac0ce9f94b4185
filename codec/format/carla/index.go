package carla

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"tapedeck/codec"
)

// minCheckpointDistance is the least number of bytes between two checkpoints. Only frames that change
// the state are counted.
const minCheckpointDistance = 1 << 20

// index lists the frames of a log. One pass over the log makes it.
type index struct {
	frames      []frameEntry
	changes     []int // numbers of the frames that change the state, from 0
	checkpoints []checkpoint
	packets     [256]uint64 // by id, the number of packets
	actors      [256]uint64 // by ActorType, the number of actors that appeared

	last     frame         // the last frame, without data
	complete bool          // the log has no damage and no incomplete frame
	events   []codec.Event // damage, and an incomplete last frame
}

// frameEntry has the offset and the LogTime of a frame.
type frameEntry struct{ pos, time int64 }

// checkpoint is the state before a frame.
type checkpoint struct {
	frame   int    // number of the frame, from 0
	packets []byte // the state, from State.AppendPackets
}

// newIndex indexes the frames of w.
func newIndex(w *walker, p Profile) (*index, error) {
	x := &index{complete: true}
	state := NewState(p)
	distance := 0 // bytes of frames that changed the state since the last checkpoint
	for {
		f, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return x, nil
		case errors.Is(err, errCut):
			x.addEvent(codec.EventUnfinished, x.last.time, err.Error())
			return x, nil
		case errors.Is(err, ErrDamaged):
			x.addEvent(codec.EventDamage, x.last.time, err.Error())
			continue
		case err != nil:
			return nil, err
		}
		if distance > minCheckpointDistance {
			packets, err := state.AppendPackets(nil)
			if err != nil {
				return nil, fmt.Errorf("read %s: state at %#x: %w", w.path, f.pos, err)
			}
			x.checkpoints = append(x.checkpoints, checkpoint{len(x.frames), packets})
			distance = -8 * len(packets) // so that checkpoints take little memory compared with the frames
		}
		changed, err := state.Apply(f.data)
		if err != nil {
			x.addEvent(codec.EventDamage, f.time, fmt.Sprintf("read %s: frame %d at %#x: %v", w.path, f.Frame, f.pos,
				err))
		}
		if changed {
			distance += len(f.data)
			x.changes = append(x.changes, len(x.frames))
		}
		x.countPackets(p, f.data)
		x.frames = append(x.frames, frameEntry{f.pos, f.time})
		f.data = nil
		x.last = f
	}
}

// addEvent adds an event about a damaged or incomplete log.
func (x *index) addEvent(kind string, time int64, text string) {
	x.complete = false
	x.events = append(x.events, codec.Event{Kind: kind, Time: time, Text: text})
}

// countPackets counts the packets of a frame and the actors in EventAdd packets.
func (x *index) countPackets(p Profile, frame []byte) {
	for len(frame) > 0 {
		k, rest, err := NextPacket(frame)
		if err != nil {
			return
		}
		frame = rest
		x.packets[k.ID]++
		if k.ID != IDEventAdd || k.Empty() {
			continue
		}
		if b, err := Decode(p, k); err == nil {
			for _, r := range *b.(*EventAddList) {
				x.actors[r.Type]++
			}
		}
	}
}

// seek returns the number of the first frame with LogTime t or later.
func (x *index) seek(t int64) int {
	return sort.Search(len(x.frames), func(i int) bool { return x.frames[i].time >= t })
}

// state returns the state before the n-th frame, counted from 0. It moves w.
func (x *index) state(w *walker, p Profile, n int) (*State, error) {
	s, from := NewState(p), 0
	if i := sort.Search(len(x.checkpoints), func(i int) bool { return x.checkpoints[i].frame > n }); i > 0 {
		from = x.checkpoints[i-1].frame
		if _, err := s.Apply(x.checkpoints[i-1].packets); err != nil {
			return nil, err
		}
	}
	for _, i := range x.changes[sort.SearchInts(x.changes, from):] {
		if i >= n {
			break
		}
		x.place(w, i)
		f, err := w.next()
		if err != nil {
			return nil, err
		}
		_, _ = s.Apply(f.data) // newIndex has reported the error as an event
	}
	return s, nil
}

// place moves w to the n-th frame, counted from 0.
func (x *index) place(w *walker, n int) {
	w.pos = x.frames[n].pos
	w.previous = frame{}
	if n > 0 {
		w.previous.time = x.frames[n-1].time
	}
}
