package report

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rcl_interfaces"
)

// A page that gets all Growths has the same data as one that gets all data at the end, and the data stay bounded.
func TestLive(t *testing.T) {
	channel := func(m msgs.Message, topic string) *codec.Channel {
		text, err := msgs.Library().Concatenated(m.TypeName())
		require.NoError(t, err)
		return &codec.Channel{Topic: topic, Type: m.TypeName(), Encoding: codec.EncodingCDR,
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}}
	}
	var odom nav_msgs.Odometry
	line := rcl_interfaces.Log{Level: rcl_interfaces.Log_ERROR, Name: "driver", Msg: "late"}
	places, lines := channel(&odom, "/odom"), channel(&line, "/rosout")
	l := NewLive("drive", "mcap", begin)
	put := func(c *codec.Channel, m msgs.Message, at int64) {
		data, err := cdr.Marshal(m)
		require.NoError(t, err)
		l.Add(&codec.Message{Channel: c, LogTime: at, Data: data})
	}
	page, version := &Data{}, ""
	const ticks = 4 * 600
	for i := range int64(ticks) {
		at := begin + (i+1)*int64(250*time.Millisecond)
		l.Advance(at)
		n := uint64(5 * (i + 1))
		if i < ticks/2 {
			n = 0 // the topic begins later
		}
		l.Count("/odom", "nav_msgs/msg/Odometry", "", Counts{Messages: 10 * uint64(i+1), Lost: uint64(i) / 100})
		l.Count("/rosout", "rcl_interfaces/msg/Log", "", Counts{Messages: n})
		odom.Pose.Pose.Position.X = float64(i)
		odom.Twist.Twist.Linear.X = float64(i % 7)
		put(places, &odom, at-1e6)
		put(lines, &line, at-1e6)
		if i%10 == 0 {
			l.Note(codec.Event{Kind: codec.EventGap, Topic: "/odom", Time: at - 3e9, Until: at})
		}
		if i%11 == 0 || i == ticks-1 {
			page = applyGrowth(t, page, l.Grown(version))
			version = l.Version()
		}
	}
	whole := applyGrowth(t, &Data{}, l.Grown(""))
	require.Equal(t, whole, page)
	require.InDelta(t, 600, page.Duration, 1)
	require.Len(t, page.Topics, 2)
	n := len(page.Topics[0].Density)
	require.Less(t, n, Bins)
	require.Greater(t, n, Bins/2)
	for i, rate := range page.Topics[0].Density {
		require.InDelta(t, 40, rate, 0.1, i)
	}
	require.Equal(t, uint64(23), page.Topics[0].Lost)
	require.InDelta(t, 3, page.Topics[0].Gap, 1e-9)
	require.LessOrEqual(t, len(page.LogLines), mostLogLines)
	require.Equal(t, "late", page.LogLines[0].Text)
	require.LessOrEqual(t, len(page.Events), mostEvents)
	require.Len(t, page.Signals, 6)
	require.Len(t, page.Signals[0].Low, n)
	require.Equal(t, []float32{0, 1, 2, 3}, []float32{page.Signals[0].Low[0], page.Signals[0].High[0],
		page.Signals[0].Low[1], page.Signals[0].High[1]})
	require.Len(t, page.Tracks, 1)
	require.LessOrEqual(t, len(page.Tracks[0].Points), Bins)
	require.Greater(t, len(page.Tracks[0].Points), Bins/4)
	require.False(t, page.Good)

	l.Advance(begin + int64(300*24*time.Hour))
	require.Less(t, len(l.Grown(version).Data.Topics[0].Density), Bins)
}

// applyGrowth adds a Growth to the data of a page, as page_live.js does.
func applyGrowth(t *testing.T, page *Data, g *Growth) *Data {
	text, err := json.Marshal(g.Data) // makes a copy
	require.NoError(t, err)
	next := &Data{}
	require.NoError(t, json.Unmarshal(text, next))
	if g.Whole {
		return next
	}
	require.LessOrEqual(t, len(next.Topics), 2)
	old := map[string]Topic{}
	for _, topic := range page.Topics {
		old[topic.Name] = topic
	}
	for i := range next.Topics {
		topic := &next.Topics[i]
		before := append(old[topic.Name].Density, make([]float32, Bins)...)
		topic.Density = append(before[:g.From:g.From], topic.Density...)
	}
	signals := map[string]Signal{}
	for _, s := range page.Signals {
		signals[s.Topic+s.Path] = s
	}
	for i := range next.Signals {
		s := &next.Signals[i]
		o := signals[s.Topic+s.Path]
		s.Low = append(append(o.Low, noNumbers(Bins)...)[:g.From:g.From], s.Low...)
		s.High = append(append(o.High, noNumbers(Bins)...)[:g.From:g.From], s.High...)
	}
	for i := range next.Tracks {
		if i >= len(page.Tracks) {
			continue
		}
		o, track := page.Tracks[i], &next.Tracks[i]
		keep := len(o.Points)
		for keep > 0 && len(track.Points) > 0 && o.Points[keep-1][0] >= track.Points[0][0] {
			keep--
		}
		track.Points = append(o.Points[:keep:keep], track.Points...)
		track.Speed = append(o.Speed[:keep:keep], track.Speed...)
	}
	next.Events = append(page.Events, next.Events...)
	next.LogLines = append(page.LogLines, next.LogLines...)
	if next.Fields == nil {
		next.Fields = page.Fields
	}
	return next
}

func TestLiveTopics(t *testing.T) {
	l := NewLive("drive", "mcap", begin)
	l.Advance(begin + 1e9)
	for i := range mostTopics + 5 {
		l.Count(fmt.Sprint("/", i), "x/msg/Y", "", Counts{Messages: 1})
	}
	d := l.Grown("").Data
	require.Len(t, d.Topics, mostTopics)
	require.Equal(t, []string{"topics beyond the first 1000"}, d.Omitted)
	require.True(t, l.Grown("1.2.3").Whole)
	require.True(t, l.Grown("-9223372036854775808.99999999999999999999.x.").Whole)
	require.False(t, l.Grown(l.Version()).Whole)
}
