package episode

import (
	"errors"
	"fmt"
	"sync"
)

// Limits of the frames that Encode keeps in memory.
const (
	framesPerWorker = 16
	framesBytes     = 16 << 20 // if the frames have more bytes, at most two frames more than workers
)

// Encoder returns the bytes to store for a frame: the frame's data, or data appended to dst. f is nil for index -1.
// again reports whether the previous position has an equal index.
type Encoder func(dst []byte, f *Frame, again bool) ([]byte, error)

// slot is a frame in memory.
type slot struct {
	index        int
	again        bool          // the previous position has an equal index
	frame        *Frame        // nil for index -1; its data is in data
	size         int           // bytes of data and buffer that Encode has counted
	data, buffer []byte        // data of the frame, and memory for the encoder; both are reused
	out          []byte        // result of the encoder, in data or in buffer
	err          error         // error of reading or encoding
	done         chan struct{} // receives a value when out is set
}

// Encode reads the frames at the indices, encodes them on several workers, and calls write with the results in order,
// several at a time. at is the position of items[0] in indices. At most 16 frames per worker are in memory. If frames
// are large, at most two frames more than workers are in memory.
func (c *Camera) Encode(indices []int, workers int, encode Encoder, write func(at int, items [][]byte) error) error {
	frames, err := c.Open()
	if err != nil {
		return err
	}
	free, tasks := make(chan *slot, framesPerWorker*workers), make(chan *slot, framesPerWorker*workers)
	ordered, stop := make(chan *slot, framesPerWorker*workers), make(chan struct{})
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for s := range tasks {
				if s.err == nil {
					s.out, s.err = encode(s.buffer[:0], s.frame, s.again)
				}
				if len(s.out) > 0 && (len(s.data) == 0 || &s.out[0] != &s.data[0]) {
					s.buffer = s.out
				}
				s.done <- struct{}{}
			}
		})
	}
	group.Go(func() {
		defer close(tasks)
		defer close(ordered)
		slots, bytes := 0, 0
		for i, index := range indices {
			if len(free) == 0 && (slots < workers+2 || bytes < framesBytes && slots < cap(free)) {
				free <- &slot{done: make(chan struct{}, 1)}
				slots++
			}
			select {
			case s := <-free:
				bytes -= s.size
				s.read(frames, index)
				s.again = i > 0 && indices[i-1] == index
				s.size = cap(s.data) + cap(s.buffer)
				bytes += s.size
				ordered <- s
				tasks <- s
			case <-stop:
				return
			}
		}
	})
	err = collect(ordered, free, workers, write)
	close(stop)
	group.Wait()
	return errors.Join(err, frames.Close())
}

// read copies a frame into the slot.
func (s *slot) read(frames Frames, index int) {
	s.index, s.frame, s.err = index, nil, nil
	if index < 0 {
		return
	}
	f, err := frames.Frame(index)
	s.data = append(s.data[:0], f.Data...)
	f.Data = s.data
	s.frame, s.err = &f, err
}

// collect calls write with the encoded frames in order, and then frees the slots. Each call of write gets all frames
// that are ready.
func collect(ordered <-chan *slot, free chan<- *slot, workers int, write func(at int, items [][]byte) error) error {
	var batch []*slot
	var items [][]byte
	at := 0
	for s := range ordered {
		batch = append(batch, s)
		if len(ordered) > 0 && len(batch) < framesPerWorker*workers/2 {
			continue
		}
		for _, s := range batch {
			<-s.done
			if s.err != nil {
				return fmt.Errorf("frame %d: %w", s.index, s.err)
			}
			items = append(items, s.out)
		}
		if err := write(at, items); err != nil {
			return err
		}
		at += len(items)
		for _, s := range batch {
			free <- s
		}
		batch, items = batch[:0], items[:0]
	}
	return nil
}
