package player

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/msgs/std_msgs"
)

var formats = codec.Formats{carla.Format, mcap.Format, record.Format, rosbag.Format, rosbag2.Format}

const epoch = int64(1_700_000_000e9)

// track is a topic of a recording, whose messages have numbers from 0 on.
type track struct {
	topic  string
	qos    codec.QoS
	begin  time.Duration // after epoch
	period time.Duration
	count  int
	size   int // least size of a message, in bytes
}

// at returns the log time of a message.
func (r track) at(number int) int64 { return epoch + int64(r.begin) + int64(number)*int64(r.period) }

// from returns the number of the first message at t or later.
func (r track) from(t int64) int {
	first := t - epoch - int64(r.begin)
	return int(max(0, (first+int64(r.period)-1)/int64(r.period)))
}

// record writes a recording, in the format of the name's extension. Without an extension, it writes a rosbag2 bag.
func (g *graph) record(name string, tracks ...track) string {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	options := codec.CreateOptions{ChunkSize: 64 << 10}
	if filepath.Ext(name) == "" {
		options.Format = "rosbag2"
	}
	w, err := formats.Create(path, options)
	require.NoError(g.t, err)
	var all []codec.Message
	for _, r := range tracks {
		c := &codec.Channel{Topic: r.topic, Type: numberType, Encoding: codec.EncodingCDR, QoS: []codec.QoS{r.qos}}
		for i := range r.count {
			data, err := cdr.Marshal(&std_msgs.UInt32{Data: uint32(i)})
			require.NoError(g.t, err)
			if r.size > len(data) {
				data = append(data, make([]byte, r.size-len(data))...)
			}
			all = append(all, codec.Message{Channel: c, LogTime: r.at(i), PublishTime: r.at(i), Data: data})
		}
	}
	slices.SortStableFunc(all, func(a, b codec.Message) int { return cmp.Compare(a.LogTime, b.LogTime) })
	for i := range all {
		require.NoError(g.t, w.Write(&all[i]))
	}
	require.NoError(g.t, w.Close())
	return path
}

// count returns the numbers from from to to-1.
func count(from, to int) []int {
	list := []int{}
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
