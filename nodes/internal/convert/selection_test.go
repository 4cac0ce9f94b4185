package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

func TestSelection(t *testing.T) {
	tests := map[string]struct {
		include, exclude []string
		want             []string
	}{
		"all":           {nil, nil, []string{"/imu", "/imu/raw", "/odom"}},
		"whole names":   {[]string{"/imu"}, nil, []string{"/imu"}},
		"two flags":     {[]string{"/imu", "/odom"}, nil, []string{"/imu", "/odom"}},
		"commas":        {[]string{"/imu,/odom"}, nil, []string{"/imu", "/odom"}},
		"expression":    {[]string{"/imu.*"}, nil, []string{"/imu", "/imu/raw"}},
		"alternatives":  {[]string{"/odom|/imu"}, nil, []string{"/imu", "/odom"}},
		"wildcard":      {[]string{"/imu*"}, nil, []string{"/imu", "/imu/raw"}},
		"braces":        {[]string{"/im.{1,2}"}, nil, []string{"/imu"}},
		"exclude":       {nil, []string{"/imu"}, []string{"/imu/raw", "/odom"}},
		"exclude wins":  {[]string{"/imu.*"}, []string{".*/raw"}, []string{"/imu"}},
		"exclude typos": {nil, []string{"/mu"}, []string{"/imu", "/imu/raw", "/odom"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var s Selection
			var err error
			s.Include, err = ParsePatterns("topics", test.include)
			require.NoError(t, err)
			s.Exclude, err = ParsePatterns("exclude", test.exclude)
			require.NoError(t, err)
			var got []string
			for _, topic := range []string{"/imu", "/imu/raw", "/odom"} {
				if s.Wants(&codec.Channel{Topic: topic}) {
					got = append(got, topic)
				}
			}
			require.Equal(t, test.want, got)
		})
	}
}

// Options that name missing topics are errors without --allow-unmatched.
func TestUnmatched(t *testing.T) {
	n := channel(t, "/n", "std_msgs/msg/UInt32")
	in := write(t, "in.mcap", append(numbers(t, n, 3), numbers(t, channel(t, "/face", "std_msgs/msg/Int32"), 3)...)...)
	for name, c := range map[string]struct {
		change func(*Options)
		error  string // "": no error
		topics int
	}{
		"topics":   {func(o *Options) { o.Topics = []string{"/n", "/m"} }, "--topics /m;", 1},
		"exclude":  {func(o *Options) { o.Exclude = []string{"ace"} }, "--exclude ace; there are /face, /n", 2},
		"throttle": {func(o *Options) { o.Throttle = []string{"/nosuch=1Hz"} }, "--throttle /nosuch", 2},
		"remap":    {func(o *Options) { o.Remap = []string{"/nosuch:=/x"} }, "--remap /nosuch:=/x", 2},
		"repeat":   {func(o *Options) { o.Repeat = []string{"/nosuch=1"} }, "--repeat /nosuch", 2},
		"renamed": {func(o *Options) { o.Throttle, o.Remap = []string{"/n=1Hz"}, []string{"/n:=/m"} },
			"no topic matches --throttle /n once topics are renamed; there are /face, /n", 2},
		"type": {func(o *Options) { o.ExcludeTypes = []string{"a/msg/B"} }, "--exclude-topic-types a/msg/B", 2},
		"two": {func(o *Options) { o.Exclude = []string{"ace", "*c"} },
			"no topic matches --exclude *c, --exclude ace", 2},
		"matching": {func(o *Options) {
			o.Exclude, o.Throttle, o.Remap = []string{"*ac*"}, []string{"/r/m=1/1"}, []string{"/n:=/m"}
			o.Prefix, o.Repeat = "/r", []string{"/r/m"}
		}, "", 1},
		"types":         {func(o *Options) { o.Types = []string{"std_msgs/msg/Int32"} }, "", 1},
		"excluded type": {func(o *Options) { o.ExcludeTypes = []string{"*/Int32"} }, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			c.change(&o)
			if c.error != "" {
				folder := t.TempDir()
				_, err := run(t, o, filepath.Join(folder, "out.mcap"), in)
				require.ErrorContains(t, err, c.error)
				require.ErrorContains(t, err, "--allow-unmatched")
				entries, err := os.ReadDir(folder)
				require.NoError(t, err)
				require.Empty(t, entries)
				o.AllowUnmatched = true
			}
			result, err := run(t, o, filepath.Join(t.TempDir(), "out.mcap"), in)
			require.NoError(t, err)
			require.Equal(t, c.topics, result.Topics)
		})
	}
}

// joinedRecordings returns recordings with messages of two publishers on /n. If apart, the second publisher's are in a
// second recording.
func joinedRecordings(t *testing.T, apart bool) []string {
	first := channel(t, "/n", "std_msgs/msg/UInt32")
	second := channel(t, "/n", "std_msgs/msg/UInt32")
	first.Metadata = map[string]string{"callerid": "/first", "car": "7"}
	second.Metadata = map[string]string{"callerid": "/second", "car": "7"}
	if apart {
		return []string{write(t, "1.mcap", numbers(t, first, 2)...), write(t, "2.mcap", numbers(t, second, 2)...)}
	}
	return []string{write(t, "1.mcap", append(numbers(t, first, 2), numbers(t, second, 2)...)...)}
}

// Metadata of a channel must apply to all messages of the channel.
func TestMetadataOfChannelsThatBecomeOne(t *testing.T) {
	both := []string{"map[callerid:/first car:7] 2", "map[callerid:/second car:7] 2"}
	lost := "metadata of topics (/n)\n"
	for _, c := range []struct {
		out  string
		want []string
		lost string
	}{
		{"out.mcap", both, ""},
		{"out", both, ""}, // rosbag2
		{"out.bag", both, "publish times (4 messages on /n)\n"},
		{"out.record", []string{"map[car:7] 4"}, lost},
	} {
		for _, apart := range []bool{false, true} {
			result, err := run(t, DefaultOptions(), filepath.Join(t.TempDir(), c.out), joinedRecordings(t, apart)...)
			require.NoError(t, err)
			require.Equal(t, c.lost, texts(result.Losses), c.out)
			_, info := readAll(t, result.Path)
			var got []string
			for _, topic := range info.Topics {
				delete(topic.Channel.Metadata, "md5sum")
				got = append(got, fmt.Sprint(topic.Channel.Metadata, topic.MessageCount))
			}
			require.ElementsMatch(t, c.want, got, c.out)
		}
	}
}

// The options of a time range mean what they mean to the player.
// --throttle is about topics, which several channels may have.
func TestThrottledChannelsOfOneTopic(t *testing.T) {
	first, second := channel(t, "/n", "std_msgs/msg/UInt32"), channel(t, "/m", "std_msgs/msg/UInt32")
	var inputs []string
	for _, c := range []*codec.Channel{first, second} {
		inputs = append(inputs, write(t, "in.mcap", numbers(t, c, 10)...))
	}
	o := DefaultOptions()
	o.Remap, o.Throttle = []string{"/m:=/n"}, []string{"/n=1/5"}
	result, err := run(t, o, filepath.Join(t.TempDir(), "out.mcap"), inputs...)
	require.NoError(t, err)
	require.EqualValues(t, 4, result.Messages)
	o.Throttle = []string{"/n=1Hz"}
	result, err = run(t, o, filepath.Join(t.TempDir(), "out.mcap"), inputs...)
	require.NoError(t, err)
	require.EqualValues(t, 10, result.Messages)

	// Each Iterator counts from the start.
	o.Throttle = []string{"/n=1/7"}
	p, err := o.parse()
	require.NoError(t, err)
	j := &Job{Formats: formats.All()}
	target := ros2Target(formats.Format{})
	in, err := j.openInputs(t.Context(), inputs[:1], p, target)
	require.NoError(t, err)
	defer in.Close()
	limited := newMessageReader(p, target, in, 0, 0)
	read := func(q codec.Query) []int64 {
		it, err := limited.Read(q)
		require.NoError(t, err)
		var times []int64
		for m, err := it.Next(); err == nil; m, err = it.Next() {
			times = append(times, m.LogTime/int64(time.Second))
		}
		require.NoError(t, it.Close())
		return times
	}
	for range 3 {
		require.Equal(t, []int64{1000, 1007}, read(codec.Query{}))
		last := func(*codec.Channel) int { return 1 }
		require.Equal(t, []int64{1007}, read(codec.Query{Last: last}))
	}
}

func TestTimeRange(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 10)...)
	for name, c := range map[string]struct {
		change      func(*Options)
		first, last int64  // s
		text        string // error or warning
	}{
		"offset":         {func(o *Options) { o.StartOffset = 2 * time.Second }, 1002, 1009, ""},
		"from the end":   {func(o *Options) { o.StartOffset = -3 * time.Second }, 1006, 1009, ""},
		"from the start": {func(o *Options) { o.StartOffset = -9 * time.Second }, 1000, 1009, ""},
		"duration":       {func(o *Options) { o.Duration = 3 * time.Second }, 1000, 1002, ""},
		"all together": {func(o *Options) { o.Begin, o.StartOffset, o.Duration, o.End = "2", 2e9, 3e9, "5" }, 1004,
			1005, ""},
		"shorter":     {func(o *Options) { o.Begin, o.Duration, o.End = "2", 3e9, "9" }, 1002, 1004, ""},
		"no duration": {func(o *Options) { o.Duration = -1 }, 1000, 1009, ""},
		"beyond": {func(o *Options) { o.StartOffset = time.Hour }, 0, 0,
			"--start-offset 1h0m0s is beyond the end of the recording"},
		"end included": {func(o *Options) { o.End = "6" }, 1000, 1006, ""},
		"time of day":  {func(o *Options) { o.Begin, o.End = "00:16:42", "00:16:45" }, 1002, 1005, ""},
		"partly outside": {func(o *Options) { o.Begin, o.End = "8", "00:17:00" }, 1008, 1009,
			"the selected time, from 1970-01-01 00:16:48 to 1970-01-01 00:17:00, is partly outside of the recording, " +
				"from 1970-01-01 00:16:40 to 1970-01-01 00:16:49"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			c.change(&o)
			var warnings []string
			j := Job{Formats: formats.All(), Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out.mcap"),
				Options: o, Warn: func(text string) { warnings = append(warnings, text) }}
			result, err := j.Run(t.Context())
			if c.first == 0 {
				require.ErrorContains(t, err, c.text)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.text, strings.Join(warnings, "\n"))
			require.Equal(t, [2]int64{c.first, c.last}, [2]int64{result.Start / second, result.End / second})
		})
	}
}
