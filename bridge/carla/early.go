package carla

import (
	"time"

	"tapedeck/codec"
)

// maxEarly is how many bytes of messages are kept until the clock goes on, far more than there are in a frame.
const maxEarly = 64 << 20

// early keeps messages of the frame behind the one that is collected.
type early struct {
	begun bool
	at    time.Duration // since the log began
	list  []codec.Message
	ends  []int // of their payloads, in data
	data  []byte
}

func (e *early) add(m *codec.Message) {
	e.list = append(e.list, *m)
	e.data = append(e.data, m.Data...)
	e.ends = append(e.ends, len(e.data))
}

// messages returns what was added, and keeps it no more. It is valid until the next add.
func (e *early) messages() []codec.Message {
	list, from := e.list, 0
	for i, to := range e.ends {
		list[i].Data = e.data[from:to]
		from = to
	}
	e.list, e.ends, e.data = e.list[:0], e.ends[:0], e.data[:0]
	return list
}
