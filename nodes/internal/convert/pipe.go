package convert

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tapedeck/codec"
)

// So many bytes of payload are handed from the goroutine that reads to the one that writes at a time, unless a message is larger, and
// so many times this may be on its way.
const (
	batchSize = 1 << 20
	batches   = 4
)

// batch is some messages with their payloads.
type batch struct {
	messages []codec.Message
	payloads []byte
	err      error // that comes behind them
}

// room says whether a message fits into the batch, for which an empty one grows.
func (b *batch) room(size int) bool {
	if len(b.payloads)+size <= cap(b.payloads) {
		return true
	}
	if len(b.messages) > 0 {
		return false
	}
	b.payloads = make([]byte, 0, max(size, batchSize))
	return true
}

// add copies a message for which there is room.
func (b *batch) add(m *codec.Message) {
	start := len(b.payloads)
	b.payloads = append(b.payloads, m.Data...)
	b.messages = append(b.messages, *m)
	b.messages[len(b.messages)-1].Data = b.payloads[start:len(b.payloads):len(b.payloads)]
}

// pipe reads messages in a goroutine of its own and has them written in this one. It closes it.
func pipe(ctx context.Context, it codec.Iterator, write func(*codec.Message) error) error {
	full, empty := make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		empty <- &batch{}
	}
	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		read(it, full, empty, stop)
	}()
	err := drain(ctx, full, empty, write)
	close(stop)
	<-done
	return errors.Join(err, it.Close())
}

// read fills batches until an error, which may be io.EOF, or until it is to stop.
func read(it codec.Iterator, full chan<- *batch, empty <-chan *batch, stop <-chan struct{}) {
	var m *codec.Message // that did not fit
	var err error
	for err == nil {
		var b *batch
		select {
		case b = <-empty:
		case <-stop:
			return
		}
		b.messages, b.payloads = b.messages[:0], b.payloads[:0]
		for {
			if m == nil {
				if m, err = it.Next(); err != nil {
					b.err = err
					break
				}
			}
			if !b.room(len(m.Data)) {
				break
			}
			b.add(m)
			m = nil
			if len(b.payloads) == cap(b.payloads) || len(b.messages) == cap(b.messages) && len(b.messages) >= batchSize/64 {
				break
			}
		}
		select {
		case full <- b:
		case <-stop:
			return
		}
	}
}

// drain writes what comes in batches.
func drain(ctx context.Context, full <-chan *batch, empty chan<- *batch, write func(*codec.Message) error) error {
	for b := range full {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range b.messages {
			if err := write(&b.messages[i]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(b.err, io.EOF):
			return nil
		case b.err != nil:
			return fmt.Errorf("%w; 'converter recover' saves what is behind the damage", b.err)
		}
		empty <- b
	}
	return nil
}
