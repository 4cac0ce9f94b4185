package ulog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

func openLog(t *testing.T, log []byte) *reader {
	path := filepath.Join(t.TempDir(), "flight.ulg")
	require.NoError(t, os.WriteFile(path, log, 0o666))
	r, err := Format.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r.(*reader)
}

// received is a message of a log.
type received struct {
	topic           string
	time, published int64
	data            []byte
	channel         *codec.Channel
}

func (m *received) decode(t *testing.T) *cdr.Struct {
	schema, err := cdr.NewSchema(m.channel.Library(nil), m.channel.Type)
	require.NoError(t, err)
	s, err := schema.Decode(m.data)
	require.NoError(t, err)
	return s
}

// readAll returns the messages of a log by topic, and the damage.
func readAll(t *testing.T, r codec.Reader) (all map[string][]received, damage []error) {
	it, err := r.Read(codec.Query{Damaged: func(err error) { damage = append(damage, err) }})
	require.NoError(t, err)
	defer it.Close()
	all = map[string][]received{}
	for last := int64(0); ; {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return all, damage
		}
		require.NoError(t, err)
		require.GreaterOrEqual(t, m.LogTime, last)
		last = m.LogTime
		all[m.Channel.Topic] = append(all[m.Channel.Topic],
			received{m.Channel.Topic, m.LogTime, m.PublishTime, bytes.Clone(m.Data), m.Channel})
	}
}

func TestFlight(t *testing.T) {
	r := openLog(t, generate.Flight())
	info, err := r.Info()
	require.NoError(t, err)
	// The receiver has its first fix at i = 35, at 5.645 s since boot.
	const offset = int64(1_700_000_000_700_000-5_645_000) * 1e3
	require.True(t, info.Complete)
	require.Equal(t, Details{Version: 1, System: "PX4", UTC: true, UTCOffset: offset, Dropouts: 1, DropoutTime: 0.04,
		Parameters: 2, Changes: 1, Px4Msgs: 1}, info.Extra)
	require.Equal(t, 5_000_000_000+offset, info.StartTime)
	require.Equal(t, 5_980_000_000+offset, info.EndTime)
	require.Equal(t, []codec.Event{{Kind: codec.EventDrop, Time: 5_500_000_000 + offset, Until: 5_540_000_000 + offset,
		Text: "PX4's logger dropped messages"}}, info.Events)
	require.Equal(t, []codec.MetadataRecord{
		{Name: "ulog.info", Values: map[string]string{"sys_name": "PX4", "ver_sw_release": "17694720"}},
		{Name: "ulog.multi_info", Values: map[string]string{"boot": "hello world"}},
		{Name: "ulog.default_parameters", Values: map[string]string{"system": "MPC_XY_P=0.5\n"}},
	}, info.Records)
	require.Len(t, info.Attachments, 1)
	b, err := io.ReadAll(info.Attachments[0].Open(nil))
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3}, b)

	all, damage := readAll(t, r)
	require.Empty(t, damage)
	counts := map[string]uint64{}
	for _, topic := range info.Topics {
		require.Len(t, all[topic.Channel.Topic], int(topic.MessageCount))
		counts[topic.Channel.Topic+" "+topic.Channel.Type] = topic.MessageCount
	}
	require.Equal(t, map[string]uint64{
		"/px4/vehicle_attitude px4_msgs/msg/VehicleAttitude":      50,
		"/px4/vehicle_gps_position ulog/msg/VehicleGpsPosition":   5,
		"/px4/battery_status ulog/msg/BatteryStatus":              1,
		"/px4/battery_status_1 ulog/msg/BatteryStatus":            5,
		"/px4/own_topic ulog/msg/OwnTopic":                        5,
		"/px4/log rcl_interfaces/msg/Log":                         2,
		"/px4/parameter_events rcl_interfaces/msg/ParameterEvent": 2,
		"/tapedeck/events tapedeck/msg/RecordingEvent":            1,
	}, counts)

	attitude := all["/px4/vehicle_attitude"][10]
	require.Equal(t, 5_200_000_000+offset, attitude.time)
	s := attitude.decode(t)
	require.Equal(t, uint64(5_200_000), s.Get("timestamp"))
	require.InDelta(t, 0.09983, s.Get("q").([]float32)[3], 1e-5)

	battery := all["/px4/battery_status"][0]
	require.Equal(t, 5_000_000_000+offset, battery.time, "a message published before the log began")
	require.Equal(t, 4_000_000_000+offset, battery.published)
	require.Equal(t, true, battery.decode(t).Get("connected"))
	second := all["/px4/battery_status_1"][1]
	require.Equal(t, 5_270_000_000+offset, second.time, "time of the previous message")
	require.Zero(t, second.published)

	own := all["/px4/own_topic"][2]
	require.Contains(t, string(own.channel.Schema.Data), "Inner[2] parts\nuint64 timestamp\nchar[8] name\n")
	parts := own.decode(t).Get("parts").([]*cdr.Struct)
	require.Equal(t, []any{25.0, uint8(1)}, []any{parts[0].Get("value"), parts[0].Get("kind")})
	require.Equal(t, []any{-1.0, uint8(2)}, []any{parts[1].Get("value"), parts[1].Get("kind")})

	var event rcl_interfaces.ParameterEvent
	require.NoError(t, cdr.Unmarshal(all[ParameterTopic][0].data, &event))
	require.Len(t, event.NewParameters, 2)
	require.Equal(t, int64(4001), event.NewParameters[0].Value.IntegerValue)
	require.NoError(t, cdr.Unmarshal(all[ParameterTopic][1].data, &event))
	require.Equal(t, 1.25, event.ChangedParameters[0].Value.DoubleValue)
	var line rcl_interfaces.Log
	require.NoError(t, cdr.Unmarshal(all[LogTopic][1].data, &line))
	require.Equal(t, rcl_interfaces.Log{Stamp: line.Stamp, Level: rcl_interfaces.Log_ERROR, Name: "px4.tag_7",
		Msg: "[ekf2] tagged"}, line)
}

// TestDamage damages a log in many places: undamaged messages are read, and the damage is reported.
func TestDamage(t *testing.T) {
	whole := generate.Flight()
	at := func(part string) int { return bytes.Index(whole, []byte(part)) }
	first := bytes.Index(whole, append([]byte{51, 0, 'D', 0, 0}, binary.LittleEndian.AppendUint64(nil, 5_100_000)...))
	cut := func(from, to int) []byte { return append(bytes.Clone(whole[:from]), whole[to:]...) }
	patch := func(from int, with ...byte) []byte {
		b := bytes.Clone(whole)
		copy(b[from:], with)
		return b
	}
	for name, test := range map[string]struct {
		log       []byte
		attitudes int
		damage    string // "": none, but the log is not complete
	}{
		"end missing":      {whole[:len(whole)-10], 49, ""},
		"zeros at the end": {append(bytes.Clone(whole[:len(whole)-54]), make([]byte, 5000)...), 49, ""},
		"bytes missing":    {cut(first+3, first+13), 49, "no whole record in 44 bytes"},
		"bytes added":      {slices.Insert(bytes.Clone(whole), first, []byte("noise, noise")...), 50, "12 bytes"},
		"size too large":   {patch(first, 0xff, 0xff), 49, "no whole record in 54 bytes"},
		"unknown id":       {patch(first+3, 99, 0), 49, "left out 1 message with the id 99"},
		"not of its size":  {patch(first+3, 3, 0), 49, "left out 1 message with the id 3"},
		"zeros":            {patch(first, make([]byte, 54*3)...), 49, "no whole record in 183 bytes"},
		"impossible time":  {patch(first+12, 0xff), 49, "a time of 18374686479676723680 µs"},
		"no format":        {patch(at("vehicle_attitude:"), 'X'), 0, `does not define the format "vehicle_attitude"`},
		"head":             {patch(0, 'X'), 50, "the beginning of the file is missing or damaged"},
		"start":            {patch(12, 1, 1), 50, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := openLog(t, test.log)
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			all, damage := readAll(t, r)
			require.Equal(t, test.attitudes, len(all["/px4/vehicle_attitude"]))
			if test.damage == "" {
				require.Empty(t, damage)
				require.NotEmpty(t, info.Events)
				return
			}
			require.NotEmpty(t, damage)
			require.ErrorContains(t, damage[0], test.damage)
			it, err := r.Read(codec.Query{})
			require.NoError(t, err)
			defer it.Close()
			for err == nil {
				_, err = it.Next()
			}
			require.Equal(t, damage[0].Error(), err.Error(), "without Damaged the damage ends the reading")
		})
	}
}

func TestAppended(t *testing.T) {
	l := generate.NewULog(1000)
	flags := make([]byte, 40)
	flags[8] = 1
	l.Add('B', flags).Add('F', "a:uint64_t timestamp;").Add('A', uint8(0), uint16(0), "a")
	l.Add('D', uint16(0), uint64(2000)).Add('D', uint16(0), uint64(3000))
	log := l.Bytes()
	log = log[:len(log)-4] // the logger did not finish the message
	binary.LittleEndian.PutUint64(log[16+3+16:], uint64(len(log)))
	end := generate.NewULog(0).Add('D', uint16(0), uint64(4000)).Keyed('M', "\x00", "char[1] x", "y").Bytes()
	r := openLog(t, append(log, end[16:]...))
	all, damage := readAll(t, r)
	require.Empty(t, damage)
	require.Len(t, all["/px4/a"], 2)
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, 1, info.Extra.(Details).Appended)
	require.Equal(t, "y", info.Records[0].Values["x"])
}

func TestRefused(t *testing.T) {
	flags := make([]byte, 40)
	flags[8] = 4
	for name, test := range map[string]struct {
		log  string
		want string
	}{
		"encrypted": {"ULogEnc\x01" + string(make([]byte, 100)), "the log is encrypted; decrypt it with decrypt_logs"},
		"key":       {"ULogKey\x01" + string(make([]byte, 100)), "the log is encrypted"},
		"flags": {string(generate.NewULog(0).Add('B', flags).Bytes()),
			"the log needs features that this program does not know: incompatible flags 0400000000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.ulg")
			require.NoError(t, os.WriteFile(path, []byte(test.log), 0o666))
			r, err := codec.Formats{Format}.Open(path)
			if err == nil {
				defer r.Close()
				_, err = r.Info()
			}
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestHugeFormats defines formats that are much larger than the log.
func TestHugeFormats(t *testing.T) {
	l := generate.NewULog(0)
	l.Add('F', "a:uint8_t x;uint16_t y;").Add('F', "b:uint64_t timestamp;a[20000] all;").Add('F', "loop:loop[2] x;")
	l.Add('F', "wide:uint64_t timestamp;a[40000] all;")
	for i := range 500 {
		name := "b" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		l.Add('F', name+":uint64_t timestamp;a[20000] all;").Add('A', uint8(0), uint16(i), name)
	}
	l.Add('A', uint8(0), uint16(600), "loop").Add('A', uint8(0), uint16(601), "wide")
	r := openLog(t, l.Bytes())
	info, err := r.Info()
	require.NoError(t, err)
	texts := ""
	for _, e := range info.Events {
		texts += e.Text + "\n"
	}
	require.Contains(t, texts, "the formats of all topics have too many fields")
	require.Contains(t, texts, `format "loop" is nested too deeply`)
	require.Contains(t, texts, `format "wide" is larger than a message`)
}

// TestTwoStrays reads a log in which two messages have times far ahead. All messages keep their times.
func TestTwoStrays(t *testing.T) {
	l := generate.NewULog(0).Add('F', "a:uint64_t timestamp;").Add('A', uint8(0), uint16(0), "a")
	const ahead = 9_000_000_000 // µs
	var want []int64
	for i := range 200 {
		at := uint64(1_000_000 + 10_000*i)
		want = append(want, int64(at)*1e3)
		l.Add('D', uint16(0), at)
		if i == 50 || i == 120 {
			l.Add('D', uint16(0), uint64(ahead+i))
		}
	}
	want = append(want, (ahead+50)*1e3, (ahead+120)*1e3)
	r := openLog(t, l.Bytes())
	all, damage := readAll(t, r)
	require.Empty(t, damage)
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Len(t, info.Events, 1)
	require.Contains(t, info.Events[0].Text, "2 messages, the first at 0x")
	require.Contains(t, info.Events[0].Text, "more than 60 s ahead of the others")
	var got []int64
	for _, m := range all["/px4/a"] {
		got = append(got, m.time)
	}
	require.Equal(t, want, got)
}

// TestFailingTopic announces one topic with an unusable format 20000 times, and then 20000 unknown topics. One event
// counts the repeats of the topic. Only the first 1000 unknown topics are reported one by one.
func TestFailingTopic(t *testing.T) {
	l := generate.NewULog(0)
	l.Add('F', "a:"+strings.Repeat("uint8_t x;", 6000)).Add('F', "wide:a all;a[10] more;")
	for i := range 20000 {
		l.Add('A', uint8(0), uint16(i), "wide")
	}
	l.Add('F', "late:uint8_t x;b y;").Add('A', uint8(0), uint16(20000), "late")
	l.Add('F', "late:uint64_t timestamp;").Add('A', uint8(0), uint16(20000), "late")
	l.Add('D', uint16(20000), uint64(1000))
	info, err := openLog(t, l.Bytes()).Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.Len(t, info.Events, 3)
	require.Contains(t, info.Events[0].Text+info.Events[1].Text+info.Events[2].Text, "is announced 19999 times more")
	require.Equal(t, "/px4/late", info.Topics[0].Channel.Topic, "the second format of the topic can be used")

	l = generate.NewULog(0)
	for i := range 20000 {
		l.Add('A', uint8(0), uint16(i), "unknown"+strconv.Itoa(i))
	}
	info, err = openLog(t, l.Bytes()).Info()
	require.NoError(t, err)
	require.Len(t, info.Events, shownDamage+1)
	require.Contains(t, info.Events[shownDamage].Text, "and at 19000 places more")
}

// TestManyValues continues information in so many messages that copying the text for each would take minutes.
func TestManyValues(t *testing.T) {
	l := generate.NewULog(0)
	const n = 20000
	for range n {
		l.Keyed('M', "\x01", "char[200] boot", strings.Repeat("x", 200)).Keyed('Q', "\x01", "float P", float32(0.5))
	}
	r := openLog(t, l.Bytes())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	info, err := r.Info()
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, info.Records[0].Values["boot"], 200*n)
	require.Len(t, info.Records[1].Values["system"], len("P=0.5\n")*n)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20))
}

// TestSeveralValuesOfAName checks that each of several binary values of a name is an attachment.
func TestSeveralValuesOfAName(t *testing.T) {
	l := generate.NewULog(0).Keyed('M', "\x00", "uint8_t[2] dump", "ab").Keyed('M', "\x01", "uint8_t[1] dump", "c")
	l.Keyed('M', "\x00", "uint8_t[2] dump", "de").Keyed('I', "", "uint8_t[1] dump", "f")
	info, err := openLog(t, l.Bytes()).Info()
	require.NoError(t, err)
	got := map[string]string{}
	for _, a := range info.Attachments {
		b, err := io.ReadAll(a.Open(nil))
		require.NoError(t, err)
		got[a.Name] = string(b)
	}
	require.Equal(t, map[string]string{"dump": "abc", "dump (2)": "de", "dump (3)": "f"}, got)
}

func TestParseFormat(t *testing.T) {
	for _, text := range []string{"", "a", "a:", "a:;", "a:int8_t", "a:int8_t[0] x;", "a:int8_t[70000] x;",
		"a:int8_t[x] y;", "int8_t:int8_t x;", "a b:int8_t x;", "a:int8_t x y;", "a:int8_t x;;"} {
		_, _, err := parseFormat(text)
		require.Error(t, err, text)
	}
	name, fields, err := parseFormat("a-b/c:int8_t x;b[3] y")
	require.NoError(t, err)
	require.Equal(t, "a-b/c", name)
	require.Equal(t, []field{{"x", "int8_t", 0}, {"y", "b", 3}}, fields)
}

// TestPx4Msgs checks that all types of px4_msgs can be found by their topics.
func TestPx4Msgs(t *testing.T) {
	for topic, name := range px4().topicTypes {
		require.Contains(t, px4().types, name, topic)
	}
	for name, versions := range px4().types {
		require.Regexp(t, `^[A-Z][A-Za-z0-9]*$`, name)
		for _, v := range versions {
			for _, f := range v.fields {
				if _, nested := px4().types[f.kind]; !nested {
					require.Regexp(t, `^(u?int(8|16|32|64)|float(32|64)|bool|char)$`, f.kind, name)
				}
			}
		}
	}
}

// TestSamples reads the logs of pyulog's tests. The counts come from another parser, which keeps pyulog's rules. All
// values were compared with that parser when the test was written.
func TestSamples(t *testing.T) {
	for name, want := range map[string]struct {
		messages, topics, texts, drops int
		counts                         map[string]int
		start, end                     int64 // µs since boot
	}{
		"sample.ulg": {64542, 15, 4, 4, map[string]int{"sensor_combined": 17070, "sensor_preflight": 17072,
			"vehicle_attitude": 6461, "vehicle_local_position": 678}, 112500176, 181493506},
		"sample_appended_multiple.ulg": {6852, 20, 1, 0, map[string]int{"ekf2_timestamps": 2373,
			"actuator_outputs_1": 96}, 12100461, 21880422},
		"sample_log_small.ulg": {14604, 70, 3, 1, map[string]int{"actuator_controls_0": 1812}, 20309082, 1194367328},
		"sample_logging_tagged_and_default_params.ulg": {21229, 96, 7, 0, map[string]int{"ekf2_timestamps": 2693},
			280000, 11052000},
		"sample_px4_events.ulg": {29480, 69, 18, 0, map[string]int{"sensor_combined": 7783}, 1710773350346000,
			1710773381482000},
		"sample_unordered.ulg": {64543, 15, 4, 4, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Format.Open(samples.Path(t, filepath.Join("ulog", name)))
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			offset := info.Extra.(Details).UTCOffset
			if want.end != 0 {
				require.Equal(t, want.start*1000+offset, info.StartTime)
				require.Equal(t, want.end*1000+offset, info.EndTime)
			}
			all, damage := readAll(t, r)
			require.Empty(t, damage)
			topics, messages := 0, 0
			for topic, list := range all {
				if topic != LogTopic && topic != ParameterTopic && topic != codec.EventTopic {
					topics++
					messages += len(list)
				}
			}
			drops := 0
			for _, e := range info.Events {
				if e.Kind == codec.EventDrop {
					drops++
				}
			}
			require.Equal(t, []int{want.messages, want.topics, want.texts, want.drops}, []int{messages, topics,
				len(all[LogTopic]), drops})
			for topic, n := range want.counts {
				require.Len(t, all[namespace+topic], n)
			}
		})
	}
}

// TestUntimed reads messages without times between messages of two sensors that alternate, one of them late. Each topic
// keeps its order.
func TestUntimed(t *testing.T) {
	l := generate.NewULog(1_000_000).Add('F', "a:uint64_t timestamp;").Add('F', "zero:uint64_t timestamp;uint32_t n;")
	l.Add('A', uint8(0), uint16(0), "a").Add('A', uint8(0), uint16(1), "zero")
	const n = 60_000 // enough for several segments
	for i := range n {
		l.Add('D', uint16(0), uint64(1_000_000+1000*i-5000*(i%2)))
		timestamp := uint64(0)
		if i%7 == 3 { // a message with a time, earlier than the last message without a time
			timestamp = uint64(1_000_000 + 1000*i - 3000)
		}
		l.Add('D', uint16(1), timestamp, uint32(i))
		if i%10 == 0 {
			l.Keyed('P', "", "int32_t P", int32(i))
		}
	}
	r := openLog(t, l.Bytes())
	all, damage := readAll(t, r)
	require.Empty(t, damage)
	for i, m := range all["/px4/zero"] {
		require.EqualValues(t, i, binary.LittleEndian.Uint32(m.data[12:]))
	}
	require.Len(t, all["/px4/zero"], n)
	require.Greater(t, len(r.Contents.Segments), 1)
	last := int64(0)
	for i, m := range all["/px4/parameter_events"] {
		var e rcl_interfaces.ParameterEvent
		require.NoError(t, cdr.Unmarshal(m.data, &e))
		require.EqualValues(t, 10*i, e.ChangedParameters[0].Value.IntegerValue)
		require.LessOrEqual(t, last, m.time)
		last = m.time
	}
}

// TestLinesOfInformation checks that each message that continues performance counters is a line. Other text continues
// without a break.
func TestLinesOfInformation(t *testing.T) {
	l := generate.NewULog(0)
	for i, line := range []string{"rate: 1", "load: 2", "time: 3"} {
		l.Keyed('M', string([]byte{byte(min(i, 1))}), "char[7] perf_counter_preflight", line)
		l.Keyed('M', string([]byte{byte(min(i, 1))}), "char[7] boot_console_output", line)
	}
	info, err := openLog(t, l.Bytes()).Info()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"perf_counter_preflight": "rate: 1\nload: 2\ntime: 3",
		"boot_console_output": "rate: 1load: 2time: 3"}, info.Records[0].Values)
}

// TestNamesNotUTF8 checks that a name that is not UTF-8 is no damage.
func TestNamesNotUTF8(t *testing.T) {
	l := generate.NewULog(0).Keyed('P', "", "int32_t P\xff\xfe", int32(1)).Keyed('I', "", "char[1] K\xff", "v")
	l.Keyed('Q', "\x01", "int32_t Q\xff", int32(2))
	r := openLog(t, l.Bytes())
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, "v", info.Records[0].Values["K�"])
	require.Equal(t, "Q�=2\n", info.Records[1].Values["system"])
	all, _ := readAll(t, r)
	var e rcl_interfaces.ParameterEvent
	require.NoError(t, cdr.Unmarshal(all["/px4/parameter_events"][0].data, &e))
	require.Equal(t, "P�", e.NewParameters[0].Name)
}
