package session

import (
	"slices"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/training/episode"
)

// pictures encodes frames as PNG in a pool of workers. With n workers, at most 2n+1 frames wait or are encoded. If
// there are as many, take blocks.
type pictures struct {
	disk    codec.Disk
	free    chan *picture // pictures without a frame
	tasks   chan *picture // pictures that wait for a worker
	workers sync.WaitGroup
	done    func(p *picture, size int64, err error) // called after each picture, by any worker

	mu      sync.Mutex
	written sync.Cond // signals that pending has changed
	taken   uint64    // number of the last picture taken
	pending []uint64  // numbers of pictures that were taken and are not yet written
}

// picture is a frame to be written.
type picture struct {
	number uint64
	topic  string // topic of the camera
	path   string
	stamp  int64              // ns since the Unix epoch
	frame  episode.Frame      // Data belongs to the picture
	lost   *pixel.LossCounter // losses of the camera
}

// newPictures starts workers goroutines. The caller must call close.
func newPictures(d codec.Disk, workers int, done func(*picture, int64, error)) *pictures {
	p := &pictures{disk: d, free: make(chan *picture, 2*workers+1), tasks: make(chan *picture, 2*workers+1), done: done}
	p.written.L = &p.mu
	for range cap(p.free) {
		p.free <- &picture{}
	}
	for range workers {
		p.workers.Go(p.work)
	}
	return p
}

// take copies a frame of a camera. A worker then writes the copy to path. take reports whether it had to wait for a
// free picture.
func (p *pictures) take(c *cameraWriter, path string, stamp int64, f *episode.Frame) (late bool) {
	var next *picture
	select {
	case next = <-p.free:
	default:
		late = true
		next = <-p.free
	}
	data := append(next.frame.Data[:0], f.Data...)
	p.mu.Lock()
	p.taken++
	p.pending = append(p.pending, p.taken)
	*next = picture{number: p.taken, topic: c.topic, path: path, stamp: stamp, frame: *f, lost: &c.lost}
	p.mu.Unlock()
	next.frame.Data = data
	p.tasks <- next
	return late
}

// work writes pictures until close. It runs on each worker's goroutine.
func (p *pictures) work() {
	var e pixel.PNGEncoder
	for next := range p.tasks {
		data, err := e.Encode(&next.frame)
		if err == nil {
			next.lost.Add(next.frame.PNGLosses())
			err = writePicture(p.disk, next.path, data)
		}
		p.done(next, int64(len(data)), err)
		p.mu.Lock()
		p.pending = slices.DeleteFunc(p.pending, func(n uint64) bool { return n == next.number })
		p.mu.Unlock()
		p.written.Broadcast()
		p.free <- next
	}
}

// wait waits until all frames that take accepted before the call are written. It may be called concurrently with take.
func (p *pictures) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for last := p.taken; len(p.pending) > 0 && slices.Min(p.pending) <= last; {
		p.written.Wait()
	}
}

// close waits until all frames are written, and ends the workers.
func (p *pictures) close() {
	close(p.tasks)
	p.workers.Wait()
}

// writePicture writes a file. The file has another name until it is complete.
func writePicture(d codec.Disk, path string, data []byte) error {
	temp := path + tempSuffix
	err := output.WriteFile(d, temp, data, false)
	if err == nil {
		err = d.Rename(temp, path)
	}
	if err != nil {
		_ = d.Remove(temp)
	}
	return err
}
