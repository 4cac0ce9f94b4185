package carla

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// iterator implements codec.Iterator.
type iterator struct {
	walker   walker
	query    codec.Query
	channel  *codec.Channel
	state    []byte // packets to insert into the first message; nil: none
	repeated []byte // packets to remove from the first message; nil: none
	message  codec.Message
	err      error
}

func (it *iterator) Next() (*codec.Message, error) {
	for it.err == nil {
		f, err := it.walker.next()
		switch {
		case errors.Is(err, errCut):
			it.err = io.EOF
		case errors.Is(err, ErrDamaged):
			it.err = it.query.Damage(err)
		case err != nil:
			it.err = err
		case it.query.End != 0 && f.time >= it.query.End:
			it.err = io.EOF
		case f.time >= it.query.Start:
			if it.state != nil {
				f.data = slices.Insert(slices.Clone(f.data), afterStart(f.data), it.state...)
				it.state = nil
			}
			if it.repeated != nil {
				at := afterStart(f.data)
				if bytes.HasPrefix(f.data[at:], it.repeated) {
					f.data = slices.Delete(slices.Clone(f.data), at, at+len(it.repeated))
				}
				it.repeated = nil
			}
			it.message = codec.Message{Channel: it.channel, LogTime: f.time, Data: f.data}
			return &it.message, nil
		}
	}
	return nil, it.err
}

// afterStart returns the offset in a frame at which packets of the state belong: after FrameStart and VisualTime.
func afterStart(data []byte) int {
	pos := 0
	for started := false; pos < len(data); {
		k, _, err := NextPacket(data[pos:])
		if err != nil || started && k.ID != IDVisualTime {
			break
		}
		started = started || k.ID == IDFrameStart
		pos += packetHead + len(k.Data)
	}
	return pos
}

func (it *iterator) Close() error {
	it.state, it.walker.Window = nil, chunked.Window{}
	it.err = fmt.Errorf("read %s: %w", it.walker.path, os.ErrClosed)
	return nil
}
