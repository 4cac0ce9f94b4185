package picture

import (
	"bytes"
	"flag"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	time.Local = time.UTC
	flag.Parse()
	os.Exit(m.Run())
}

const begin = 1764000000_000000000

func at(s float64) int64 { return begin + int64(math.Round(s*1e9)) }

// drive is a recording of 100 s.
type drive struct {
	info    *codec.Info
	density *Density
}

func newDrive() *drive {
	info := &codec.Info{Format: "record", Path: "/data/drive.record", Size: 5 << 20, StartTime: at(0), EndTime: at(100),
		Complete: true}
	return &drive{info, NewDensity(info.StartTime, info.EndTime)}
}

// add has a topic send as often as hz, but while it is silent.
func (d *drive) add(topic string, hz float64, silent func(s float64) bool) {
	c := &codec.Channel{Topic: topic, Type: "std_msgs/msg/Header"}
	d.info.Topics = append(d.info.Topics, codec.TopicInfo{Channel: c})
	for i := 0; float64(i)/hz <= 100; i++ {
		if s := float64(i) / hz; silent == nil || !silent(s) {
			d.density.Add(&codec.Message{Channel: c, LogTime: at(s)})
			d.info.MessageCount++
		}
	}
}

func golden(t *testing.T, name string, d *Drawing) {
	path := "testdata/" + name + ".golden"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(d.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), d.String(), "go test -update, if that is right")
}

func TestRecording(t *testing.T) {
	d := newDrive()
	d.add("/imu", 100, func(s float64) bool { return s > 20 && s < 30 })
	d.add("/camera", 30, func(s float64) bool { return s > 60 })
	d.add("/map", 0.05, nil)
	d.info.Topics = append(d.info.Topics, codec.TopicInfo{Channel: &codec.Channel{Topic: "/silent",
		Type: "std_msgs/msg/Empty"}})
	d.info.Events = []codec.Event{
		{Kind: codec.EventPause, Time: at(20), Until: at(30)},
		{Kind: codec.EventSplit, Time: at(50)},
		{Kind: codec.EventDrop, Topic: "/imu", Time: at(70), Until: at(72), Count: 1200},
		{Kind: codec.EventDamage, Time: at(90)},
		{Kind: codec.EventTotals, Topic: "/imu"},
	}
	page, err := Recording(d.info, d.density, Size{Width: 900})
	require.NoError(t, err)
	golden(t, "recording", page)
	text := page.String()
	require.Contains(t, text, "damaged in 1 place  ·  1 200 messages dropped  ·  1 gap, the longest 40 s in /camera  "+
		"·  1 pause")
	require.NotContains(t, text, "longest 10 s", "a pause is no gap")
}

// The page has the colour of gaps where there are gaps, and that of messages elsewhere.
func TestPixelsOfGaps(t *testing.T) {
	d := newDrive()
	d.add("/a", 50, func(s float64) bool { return s > 40 && s < 60 })
	page, err := Recording(d.info, d.density, DefaultSize)
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, page.WritePNG(&file))
	picture, err := png.Decode(&file)
	require.NoError(t, err)
	require.Equal(t, page.Width, picture.Bounds().Dx())
	var bar Heat
	for _, s := range page.Shapes {
		if h, ok := s.(Heat); ok && h.W > 160 {
			bar = h
		}
	}
	for s := 1.0; s < 100; s++ {
		x, y := bar.X+int(s/100*float64(bar.W)), bar.Y+3
		r, g, b, _ := picture.At(x, y).RGBA()
		got := color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
		if s > 40 && s < 60 {
			require.Equal(t, rgb(0xfff4d6), got, "%v s", s)
		} else if s < 40 || s > 60 {
			require.Equal(t, palette[bar.Levels[x-bar.X]], got, "%v s", s)
			require.NotZero(t, bar.Levels[x-bar.X], "%v s", s)
		}
	}
}

func TestOddRecordings(t *testing.T) {
	one := &codec.Channel{Topic: "/one"}
	for name, test := range map[string]struct {
		info  codec.Info
		times []int64
		says  string
	}{
		"empty":      {codec.Info{Complete: true}, nil, "complete, and empty"},
		"one":        {codec.Info{Complete: true, StartTime: begin, EndTime: begin}, []int64{begin}, "1 message"},
		"unfinished": {codec.Info{StartTime: begin, EndTime: begin + 1}, []int64{begin, begin + 1}, "not complete"},
		"all times": {codec.Info{Complete: true, StartTime: math.MinInt64, EndTime: math.MaxInt64},
			[]int64{math.MinInt64, 0, math.MaxInt64}, "213504 days"},
		"no order": {codec.Info{Complete: true, StartTime: 9, EndTime: 1}, []int64{9, 1, 5}, "at times far from these"},
		"odd name": {codec.Info{Complete: true, Path: strings.Repeat("x", 5000) + "\n\x00"}, nil, "x…x"},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDensity(test.info.StartTime, test.info.EndTime)
			for _, ns := range test.times {
				d.Add(&codec.Message{Channel: one, LogTime: ns})
				test.info.MessageCount++
			}
			for _, size := range []Size{{600, 0}, {600, 300}, {2000, 1000}} {
				page, err := Recording(&test.info, d, size)
				require.NoError(t, err)
				require.Contains(t, page.String(), test.says)
				require.Equal(t, size.Width, page.Image().Bounds().Dx())
			}
		})
	}
	_, err := Recording(&codec.Info{}, NewDensity(0, 0), Size{Width: 1 << 20})
	require.ErrorContains(t, err, "a page is from 600×300 to 16384×16384 pixels large")
}

// What has something to see has a place on a page that is too small.
func TestManyTopics(t *testing.T) {
	d := newDrive()
	for i := range 150 {
		d.add(fmt.Sprintf("/topic_%03d", i), 1+float64(i%3), nil)
	}
	d.add("/slow", 0.2, func(s float64) bool { return s > 65 && s < 99 })
	d.info.Events = []codec.Event{{Kind: codec.EventLost, Topic: "/slow", Time: at(65), Until: at(99), Count: 6}}
	page, err := Recording(d.info, d.density, Size{1200, 600})
	require.NoError(t, err)
	text := page.String()
	require.Contains(t, text, `"/slow"`)
	require.Regexp(t, `"and 1[0-9]{2} more topics"`, text)
	require.Equal(t, 600, page.Height)
}

// A few messages at the beginning of all times do not hide the others.
func TestAbsurdTimes(t *testing.T) {
	c := &codec.Channel{Topic: "/a"}
	fill := func(d *Density) {
		d.Add(&codec.Message{Channel: c, LogTime: 1})
		for i := range 1000 {
			d.Add(&codec.Message{Channel: c, LogTime: at(float64(i))})
		}
	}
	d := NewDensity(1, at(999))
	fill(d)
	start, end, absurd := d.Absurd()
	require.True(t, absurd)
	require.Equal(t, at(999), end)
	require.Greater(t, start, int64(begin)/10*9)
	near := NewDensity(start, end)
	fill(near)
	page, err := Recording(&codec.Info{StartTime: 1, EndTime: at(999), MessageCount: 1001, Complete: true}, near,
		DefaultSize)
	require.NoError(t, err)
	require.Contains(t, page.String(), "1 message at times far from these")
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		seconds     float64
		width       int
		first, last string
		count       int
	}{
		{10, 1000, "0 s", "10 s", 11}, {0.05, 500, "0.00 s", "0.05 s", 6}, {3600, 1000, "0", "1:00:00 h", 7},
		{86400 * 365, 1000, "0", "350 days", 8}, {0, 1000, "0 s", "0 s", 1},
	} {
		a := axis{begin, at(test.seconds), 0, test.width}
		ticks := a.ticks()
		require.Len(t, ticks, test.count, "%v s", test.seconds)
		require.Equal(t, test.first, ticks[0].seconds)
		require.Equal(t, test.last, ticks[len(ticks)-1].seconds)
		require.NotEmpty(t, ticks[0].clock)
	}
}
