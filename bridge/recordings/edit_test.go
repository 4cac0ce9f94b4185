package recordings

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// editable returns a Recording with a part for each list of messages.
func editable(lists ...[]codec.Message) *Recording {
	r := &Recording{}
	for _, messages := range lists {
		info := &codec.Info{StartTime: math.MaxInt64, MessageCount: uint64(len(messages))}
		counts := map[*codec.Channel]uint64{}
		for _, m := range messages {
			info.StartTime, info.EndTime = min(info.StartTime, m.LogTime), max(info.EndTime, m.LogTime)
			counts[m.Channel]++
		}
		for _, m := range messages {
			if n := counts[m.Channel]; n > 0 {
				info.Topics = append(info.Topics, codec.TopicInfo{Channel: m.Channel, MessageCount: n})
				delete(counts, m.Channel)
			}
		}
		r.Parts = append(r.Parts, &Part{Original: info, Info: info, Reader: &list{info: *info, messages: messages}})
	}
	return r
}

// lines returns a line about each message of an iterator.
func lines(t *testing.T, it codec.Iterator) (all []string) {
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			require.NoError(t, it.Close())
			return all
		}
		require.NoError(t, err)
		all = append(all, fmt.Sprint(m.Channel.Topic, " ", m.LogTime, " ", m.PublishTime))
	}
}

func TestEdit(t *testing.T) {
	a, b := &codec.Channel{Topic: "/a"}, &codec.Channel{Topic: "/b"}
	second := func() func(*codec.Message) bool {
		n := 0
		return func(*codec.Message) bool {
			n++
			return n%2 == 0
		}
	}
	only := func(c *codec.Channel) func(*codec.Channel) bool { return func(o *codec.Channel) bool { return o == c } }
	robot := func(topic string) string { return "/robot" + topic }
	last := func(*codec.Channel) int { return 1 }
	named := func(topic string) func(*codec.Channel) bool {
		return func(c *codec.Channel) bool { return c.Topic == topic }
	}
	all := []string{"/a 10 7", "/b 12 0", "/a 14 11", "/b 16 0"}
	for name, test := range map[string]struct {
		edits Edits
		query codec.Query
		want  []string
	}{
		"nothing":          {Edits{}, codec.Query{}, all},
		"query":            {Edits{}, codec.Query{Start: 12, End: 16, Topics: named("/a")}, []string{"/a 14 11"}},
		"last":             {Edits{Select: only(b)}, codec.Query{Last: last}, []string{"/b 16 0"}},
		"select":           {Edits{Select: only(a)}, codec.Query{}, []string{"/a 10 7", "/a 14 11"}},
		"select and query": {Edits{Select: only(a)}, codec.Query{Topics: named("/b")}, nil},
		"rename": {Edits{Select: only(b), Rename: robot}, codec.Query{},
			[]string{"/robot/b 12 0", "/robot/b 16 0"}},
		"rename and query": {Edits{Rename: robot}, codec.Query{Topics: named("/robot/a"), End: 12},
			[]string{"/robot/a 10 7"}},
		"old name":          {Edits{Rename: robot}, codec.Query{Topics: named("/a")}, nil},
		"filter":            {Edits{Filter: second}, codec.Query{}, []string{"/b 12 0", "/b 16 0"}},
		"filter of a topic": {Edits{Filter: second, Select: only(a)}, codec.Query{}, []string{"/a 14 11"}},
		"filter and last":   {Edits{Filter: second}, codec.Query{Last: last}, []string{"/b 16 0"}},
		"window":            {Edits{Start: 12, End: 16}, codec.Query{}, []string{"/b 12 0", "/a 14 11"}},
		"window and query":  {Edits{Start: 12, End: 16}, codec.Query{Start: 1, End: 14}, []string{"/b 12 0"}},
		"sent":              {Edits{Sent: true}, codec.Query{End: 13}, []string{"/a 7 7", "/b 12 0"}},
		"offset":            {Edits{Offset: -5, Start: 12, End: 16}, codec.Query{}, []string{"/b 7 0", "/a 9 6"}},
		"offset and query": {Edits{Offset: 100, Start: 12}, codec.Query{Start: 111, End: 115},
			[]string{"/b 112 0", "/a 114 111"}},
		"offset and last": {Edits{Offset: 100, Select: only(a)}, codec.Query{End: 114, Last: last},
			[]string{"/a 110 107"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := editable(
				[]codec.Message{{Channel: a, LogTime: 10, PublishTime: 7}, {Channel: a, LogTime: 14, PublishTime: 11}},
				[]codec.Message{{Channel: b, LogTime: 12}, {Channel: b, LogTime: 16}}).Edit(test.edits)
			for range 2 { // each reading begins anew
				it, err := e.Read(test.query)
				require.NoError(t, err)
				require.Equal(t, test.want, lines(t, it))
			}
			info, err := e.Info()
			require.NoError(t, err)
			require.Equal(t, 10+test.edits.Offset, info.StartTime)
			require.Equal(t, 16+test.edits.Offset, info.EndTime)
			messages := uint64(4)
			if test.edits.Select != nil {
				messages = 2
			}
			require.Equal(t, messages, info.MessageCount)
			require.Len(t, info.Topics, int(messages/2))
		})
	}
}

// A message may be on a channel that no Info lists, and a reader may return it without calling Query.Topics.
func TestEditOfFoundChannel(t *testing.T) {
	a, found := &codec.Channel{Topic: "/a"}, &codec.Channel{Topic: "/found"}
	r := editable([]codec.Message{{Channel: a, LogTime: 1}, {Channel: found, LogTime: 2}})
	r.Parts[0].Info.Topics = r.Parts[0].Info.Topics[:1]
	r.Parts[0].Reader = unasked{r.Parts[0].Reader}
	rename := func(topic string) string { return "/robot" + topic }
	it, err := r.Edit(Edits{Rename: rename}).Read(codec.Query{})
	require.NoError(t, err)
	require.Equal(t, []string{"/robot/a 1 0", "/robot/found 2 0"}, lines(t, it))
	it, err = r.Edit(Edits{Rename: rename, Select: func(c *codec.Channel) bool { return c == a }}).Read(codec.Query{})
	require.NoError(t, err)
	require.Equal(t, []string{"/robot/a 1 0"}, lines(t, it))
}

// unasked is a reader that ignores Query.Topics.
type unasked struct{ codec.Reader }

func (r unasked) Read(q codec.Query) (codec.Iterator, error) {
	q.Topics = nil
	return r.Reader.Read(q)
}

func TestEditJoinsEqualChannels(t *testing.T) {
	channel := func(metadata map[string]string) *codec.Channel {
		return &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu", Metadata: metadata}
	}
	hashed, other := channel(map[string]string{"md5sum": "6a62c6daae103f4ff57a132d6f95cec2"}), channel(nil)
	hashed.TypeHash, other.Type = "RIHS01_7", "sensor_msgs/msg/Image"
	unread := channel(map[string]string{codec.UnreadQoS: "?"})
	unread.QoS = []codec.QoS{codec.DefaultQoS()}
	two := []*codec.Channel{channel(nil), channel(nil)}
	var lists [][]codec.Message
	for _, channels := range [][]*codec.Channel{two, {hashed, unread}, {other}} {
		var messages []codec.Message
		for i, c := range channels {
			messages = append(messages, codec.Message{Channel: c, LogTime: int64(10*len(lists) + i)})
		}
		lists = append(lists, messages)
	}
	r := editable(lists...)
	e := r.Edit(Edits{Rename: func(topic string) string { return "/robot" + topic }})
	info, err := e.Info()
	require.NoError(t, err)
	require.Len(t, info.Topics, 3)
	left, right := info.Topics[0], info.Topics[1]
	require.NotSame(t, left.Channel, right.Channel, "channels of one recording stay apart")
	require.Equal(t, []uint64{2, 2, 1}, []uint64{left.MessageCount, right.MessageCount, info.Topics[2].MessageCount})
	for c, want := range map[*codec.Channel]*codec.Channel{two[0]: left.Channel, two[1]: right.Channel,
		hashed: left.Channel, unread: right.Channel, other: info.Topics[2].Channel} {
		require.Same(t, want, e.Channel(c))
		require.Equal(t, "/imu", c.Topic)
	}
	require.Equal(t, "/robot/imu", left.Channel.Topic)
	require.Equal(t, "RIHS01_7", left.Channel.TypeHash)
	require.Equal(t, unread.QoS, right.Channel.QoS)
	whole := r.Edit(Edits{})
	info, err = whole.Info()
	require.NoError(t, err)
	require.Len(t, info.Topics, 5)
	require.Same(t, two[0], whole.Channel(two[0]))
}
