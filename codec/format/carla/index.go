package carla

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"tapedeck/codec"
)

// leastBetweenKeys is the least number of bytes between two keys, of frames that change the state.
const leastBetweenKeys = 1 << 20

// index lists the frames of a log. One pass over the log makes it.
type index struct {
	frames  []frameEntry
	changes []int // numbers of the frames that change the state
	keys    []key
	packets [256]uint64 // by id, the number of packets
	actors  [256]uint64 // by ActorType, the number of actors that appeared

	last     frame // the last frame, without data
	complete bool
	events   []codec.Event
}

// frameEntry has the offset and the LogTime of a frame.
type frameEntry struct{ pos, time int64 }

// key is the state before a frame, as packets.
type key struct {
	frame   int
	packets []byte
}

// newIndex indexes the frames of w.
func newIndex(w *walker, p Profile) (*index, error) {
	x := &index{complete: true}
	state, between := NewState(p), 0
	for {
		f, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return x, nil
		case errors.Is(err, errCut):
			x.problem(codec.EventUnfinished, x.last.time, err.Error())
			return x, nil
		case errors.Is(err, ErrDamaged):
			x.problem(codec.EventDamage, x.last.time, err.Error())
			continue
		case err != nil:
			return nil, err
		}
		if between > leastBetweenKeys {
			packets, err := state.AppendPackets(nil)
			if err != nil {
				return nil, fmt.Errorf("read %s: state at %#x: %w", w.path, f.pos, err)
			}
			x.keys = append(x.keys, key{len(x.frames), packets})
			between = -8 * len(packets) // states take little memory compared with the frames
		}
		changed, err := state.Apply(f.data)
		if err != nil {
			x.problem(codec.EventDamage, f.time, fmt.Sprintf("read %s: frame %d at %#x: %v", w.path, f.Frame, f.pos,
				err))
		}
		if changed {
			between += len(f.data)
			x.changes = append(x.changes, len(x.frames))
		}
		x.count(p, f.data)
		x.frames = append(x.frames, frameEntry{f.pos, f.time})
		f.data = nil
		x.last = f
	}
}

func (x *index) problem(kind string, time int64, text string) {
	x.complete = false
	x.events = append(x.events, codec.Event{Kind: kind, Time: time, Text: text})
}

func (x *index) count(p Profile, frame []byte) {
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

// seek returns the number of the first frame at or after t.
func (x *index) seek(t int64) int {
	return sort.Search(len(x.frames), func(i int) bool { return x.frames[i].time >= t })
}

// state returns the state before the n-th frame. It moves w.
func (x *index) state(w *walker, p Profile, n int) (*State, error) {
	s, from := NewState(p), 0
	if i := sort.Search(len(x.keys), func(i int) bool { return x.keys[i].frame > n }); i > 0 {
		from = x.keys[i-1].frame
		if _, err := s.Apply(x.keys[i-1].packets); err != nil {
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

// place moves w to the n-th frame.
func (x *index) place(w *walker, n int) {
	w.pos = x.frames[n].pos
	w.before = frame{}
	if n > 0 {
		w.before.time = x.frames[n-1].time
	}
}
