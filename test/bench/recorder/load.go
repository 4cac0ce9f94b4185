package main

import (
	"encoding/binary"
	"fmt"
	"time"
)

// load describes the published messages.
type load struct {
	name   string
	topics int
	rate   int // messages per second, of all topics together; 0: as many as subscribers take
	size   int // bytes of a message, as CDR

	secured bool    // measured also with SROS 2
	goal    float64 // most processor time of tapedeck's recorders, as a multiple of the baseline's; 0: none
}

var loads = []load{
	{"5k/s x 100 B", 1, 5_000, 100, true, 0},
	{"50k/s x 100 B", 1, 50_000, 100, false, 0},
	{"10k/s x 10 kB", 1, 10_000, 10_000, true, 1.6},
	{"200/s x 1 MB", 1, 200, 1_000_000, true, 0},
	{"30/s x 6 MB", 1, 30, 6_000_000, false, 0},
	{"500 topics x 20/s x 100 B", 500, 10_000, 100, false, 1.15},
	{"all that is taken x 100 B", 1, 0, 100, true, 0},
	{"all that is taken x 1 kB", 1, 0, 1000, false, 0},
	{"all that is taken x 10 kB", 1, 0, 10_000, false, 0},
	{"all that is taken x 1 MB", 1, 0, 1_000_000, true, 0},
}

func findLoad(name string) (load, error) {
	for _, l := range loads {
		if l.name == name {
			return l, nil
		}
	}
	return load{}, fmt.Errorf("no load is named %q", name)
}

// prefix begins the names of all topics.
const prefix = "/bench/t"

// topic returns the name of topic i.
func topic(i int) string { return fmt.Sprintf("%s%03d", prefix, i) }

// count returns the number of messages to publish in span. Message n is on topic n modulo topics.
func (l load) count(span time.Duration) int { return int(float64(l.rate) * span.Seconds()) }

// bytes returns how many bytes recorders may write in span: at most 1.5 GB/s.
func (l load) bytes(span time.Duration) int64 {
	if l.rate == 0 {
		return int64(1.5e9 * span.Seconds())
	}
	return int64(l.count(span)) * int64(l.size+100)
}

// depth returns the history depth of publishers, 0 for unlimited. If the load has no rate, subscribers must hold
// publishers back: the depth is unlimited.
func (l load) depth(usual int) int {
	if l.rate == 0 {
		return 0
	}
	return usual
}

// typeName is the type of the messages, which every ROS 2 defines.
const typeName = "std_msgs/msg/UInt8MultiArray"

// numberAt is the offset in CDR of the array's data, which begin with the message's number. The encapsulation header,
// an empty list of dimensions, an offset and a length come before.
const numberAt = 16

// payload returns a message without its number.
func (l load) payload() []byte {
	data := make([]byte, l.size)
	data[1] = 1 // little-endian
	binary.LittleEndian.PutUint32(data[12:], uint32(l.size-numberAt))
	return data
}

// setNumber sets the number of a message.
func setNumber(data []byte, n int) { binary.LittleEndian.PutUint64(data[numberAt:], uint64(n)) }

// tally counts numbered messages.
type tally struct {
	seen     []bool // by number
	distinct int    // different messages
	repeated int    // repetitions
}

// add counts a message. An empty message does not count: rosbag2 records some large messages as empty ones.
func (t *tally) add(data []byte) {
	if len(data) < numberAt+8 {
		return
	}
	n := binary.LittleEndian.Uint64(data[numberAt:])
	switch {
	case n >= uint64(len(t.seen)):
	case t.seen[n]:
		t.repeated++
	default:
		t.seen[n] = true
		t.distinct++
	}
}
