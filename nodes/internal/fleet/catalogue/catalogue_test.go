package catalogue

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings"
	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/series"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/filter/condition"
	"tapedeck/nodes/internal/formats"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

func open(t *testing.T, path string) codec.Reader {
	r, err := recordings.Open([]string{path}, recordings.Options{Formats: all.Formats(), Outlying: true})
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// scan finds runs by reading all messages, with the detector that the recorder uses for snapshots.
func scan(t *testing.T, r codec.Reader, cond *condition.Condition) (runs []Run) {
	it, err := r.Read(codec.Query{Damaged: func(error) {}})
	require.NoError(t, err)
	defer it.Close()
	detectors, current := map[*codec.Channel]*condition.Detector{}, map[*codec.Channel]int{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if m.Channel.Topic != cond.Topic {
			continue
		}
		d, asked := detectors[m.Channel]
		if !asked {
			if schema, err := cdr.NewSchema(m.Channel.Library(msgs.Library()), m.Channel.Type); err == nil {
				d, _ = condition.NewDetector(cond, schema)
			}
			detectors[m.Channel], current[m.Channel] = d, -1
		}
		switch i := current[m.Channel]; {
		case d == nil:
		case d.Fires(m.Data) && (i < 0 || !cond.MatchesAny()):
			current[m.Channel] = len(runs)
			runs = append(runs, Run{Topic: m.Channel.Topic, Start: m.LogTime, End: m.LogTime, Messages: 1,
				Values: d.Values(m.Data)})
		case d.Met(m.Data):
			runs[i].End = m.LogTime
			runs[i].Messages++
		}
	}
	return runs
}

// random writes a recording with numbers, NaN and infinity, bursts and long silences, and truncated payloads.
func random(t *testing.T, random *rand.Rand) string {
	list := formats.All()
	format := []string{"mcap", "record", "mcap"}[random.IntN(3)]
	path := filepath.Join(t.TempDir(), "drive."+format)
	w, err := list.Codecs().Create(path, codec.CreateOptions{ChunkSize: 1000})
	require.NoError(t, err)
	type stream struct {
		channel *codec.Channel
		schema  *cdr.Schema
		make    func(v float64) *cdr.Struct
		level   float64
	}
	var streams []*stream
	add := func(topic, typeName string, message func(v float64) *cdr.Struct) {
		schema, err := cdr.NewSchema(msgs.Library(), typeName)
		require.NoError(t, err)
		streams = append(streams, &stream{schema: schema, make: message,
			channel: &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR}})
	}
	one := func(name string, value any) *cdr.Struct {
		return &cdr.Struct{Fields: []cdr.Field{{Name: name, Value: value}}}
	}
	add("/imu", "sensor_msgs/msg/Imu", func(v float64) *cdr.Struct {
		return one("linear_acceleration",
			&cdr.Struct{Fields: []cdr.Field{{Name: "z", Value: v}, {Name: "x", Value: -v / 2}}})
	})
	add("/narrow", "std_msgs/msg/Float32", func(v float64) *cdr.Struct { return one("data", float32(v)) })
	add("/list", "std_msgs/msg/Float64MultiArray", func(v float64) *cdr.Struct {
		values := []float64{v, v + 1, v + 2}
		return one("data", values[:random.IntN(4)])
	})
	add("/two", "std_msgs/msg/Float32", func(v float64) *cdr.Struct { return one("data", float32(v)) })
	add("/two", "std_msgs/msg/Float64", func(v float64) *cdr.Struct { return one("data", v) })
	now := int64(1.7e18) + random.Int64N(1e9)
	for range 50 + random.IntN(1500) {
		now += []int64{1e6, 1e7, 1e8, 1e9, 3e9, 11e9, 40e9}[min(random.IntN(7), random.IntN(7))]
		s := streams[random.IntN(len(streams))]
		s.level += random.Float64()*2 - 1
		v := s.level
		switch random.IntN(40) {
		case 0:
			v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 0.1}[random.IntN(5)]
		case 1:
			v = math.Round(v)
		}
		data, err := s.schema.Encode(s.make(v))
		require.NoError(t, err)
		if random.IntN(60) == 0 {
			data = data[:random.IntN(len(data)-4)+4]
		}
		require.NoError(t, w.Write(&codec.Message{Channel: s.channel, LogTime: now, Data: data}))
	}
	require.NoError(t, w.Close())
	return path
}

func index(t *testing.T, c *Catalogue, path string, fields Fields) {
	_, _, err := c.Add(t.Context(), Recording{Recording: path, Size: 1, Modified: 1}, fields, open(t, path), nil)
	require.NoError(t, err)
}

// find returns the runs found with the catalogue, and whether the tables ruled out any time.
func find(t *testing.T, c *Catalogue, path string, cond *condition.Condition) (runs []Run, pruned bool) {
	search, err := c.Search(path, cond)
	require.NoError(t, err)
	windows := search.Windows
	if len(windows) == 0 {
		return nil, true
	}
	runs, err = Find(t.Context(), open(t, path), cond, windows, func(error) {})
	require.NoError(t, err)
	return runs, windows[0] != Window{}
}

func TestFindEqualsScan(t *testing.T) {
	seed := rand.Uint64()
	if text := os.Getenv("TAPEDECK_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("TAPEDECK_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	c, err := Create(t.Context(), nil, nil, t.TempDir())
	require.NoError(t, err)
	operands := []string{"/imu linear_acceleration.z", "/imu abs(linear_acceleration.z)", "/imu linear_acceleration.x",
		"/narrow data", "/list data[0]", "/list data[1]", "/list len(data)", "/two data", "/imu header.stamp.sec",
		"/imu orientation.w", "/nothing data"}
	pruned, some, recordings := 0, 0, 15
	if testing.Short() {
		recordings = 3
	}
	for range recordings {
		path := random(t, r)
		fields := []Fields{nil, {"/imu linear_acceleration.z", "list data[]", "/two data"}}[r.IntN(2)]
		index(t, c, path, fields)
		reader := open(t, path)
		for range 30 {
			text := operands[r.IntN(len(operands))] + " " + []string{">", ">=", "<", "<=", "==", "!="}[r.IntN(6)]
			text += " " + []string{"0", "0.1", "3", "-5", "8", "1e300", "inf"}[r.IntN(7)]
			if r.IntN(3) == 0 && text[:4] == "/imu" {
				text += fmt.Sprintf(" and linear_acceleration.z > %d", r.IntN(10)-5)
			}
			if r.IntN(30) == 0 {
				text = "/list *"
			}
			cond, err := condition.Parse(text)
			require.NoError(t, err)
			want := scan(t, reader, cond)
			got, less := find(t, c, path, cond)
			require.Equal(t, want, got, text)
			if less {
				pruned++
			}
			some += len(want)
		}
	}
	require.Greater(t, pruned, 2*recordings, "nothing was ruled out")
	require.Greater(t, some, 4*recordings, "nothing was found")
}

// Conditions on the numbers of all samples, at values that occur.
func TestFindInSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has one goroutine")
	}
	paths := []string{generate.Path(t, "apollo/example.record.00000"), generate.Path(t, "apollo/multichunk.record"),
		generate.Path(t, "apollo/apollo_cpp_sensors.record"), generate.Path(t, "mavlink/synthetic_px4_v2.tlog"),
		generate.Path(t, "rosbag2/rosbags_rs/test_bag_mcap")}
	if found, err := series.Search(nil, all.Formats(), samples.Folder()); err == nil {
		for i, path := range found {
			if i%4 == 0 { // many files have the same contents
				paths = append(paths, path)
			}
		}
	}
	c, err := Create(t.Context(), nil, nil, t.TempDir())
	require.NoError(t, err)
	tried := 0
	for _, path := range paths {
		r, err := recordings.Open([]string{path}, recordings.Options{Formats: all.Formats(), Outlying: true})
		if err != nil {
			continue // some samples are damaged on purpose
		}
		_, _, err = c.Add(t.Context(), Recording{Recording: path}, nil, r, nil)
		if err != nil {
			r.Close()
			continue
		}
		var rows []Signal
		require.NoError(t, read(nil, c.file(signalsTable, path), func(s Signal) {
			if s.Max != nil && (len(rows) == 0 || rows[len(rows)-1].Field != s.Field) {
				rows = append(rows, s)
			}
		}))
		for i, s := range rows[:min(len(rows), 6)] {
			op := []string{">", "<=", "=="}[(i+i/3)%3]
			value := strconv.FormatFloat([]float64{*s.Max, *s.Min, *s.Mean}[i%3], 'g', -1, 64)
			cond, err := condition.Parse(s.Topic + " " + s.Field + " " + op + " " + value)
			require.NoError(t, err)
			got, _ := find(t, c, path, cond)
			require.Equal(t, scan(t, r, cond), got, "%s: %s", path, cond.Text)
			tried++
		}
		r.Close()
	}
	require.Greater(t, tried, 30)
}

// fixed is a reader of given messages.
type fixed []*codec.Message

func (f *fixed) Info() (*codec.Info, error)               { return &codec.Info{}, nil }
func (f *fixed) Read(codec.Query) (codec.Iterator, error) { return f, nil }
func (f *fixed) Close() error                             { return nil }
func (f *fixed) Next() (*codec.Message, error) {
	if len(*f) == 0 {
		return nil, io.EOF
	}
	m := (*f)[0]
	*f = (*f)[1:]
	return m, nil
}

// A recording lasts from its first to its last message, whatever their times are.
func TestSpan(t *testing.T) {
	for name, c := range map[string]struct {
		times      []int64 // log times in ns, one for each topic
		start, end int64
		duration   float64 // s
	}{
		"begins at 0":   {[]int64{0, 5e9}, 0, 5e9, 5},
		"before 1970":   {[]int64{-7e9, -5e9}, -7e9, -5e9, 2},
		"all of time":   {[]int64{math.MinInt64, math.MaxInt64}, math.MinInt64, math.MaxInt64, math.MaxUint64 / 1e9},
		"no message":    {nil, 0, 0, 0},
		"latest before": {[]int64{9e9, 1e9}, 1e9, 9e9, 8},
	} {
		t.Run(name, func(t *testing.T) {
			var r fixed
			for i, at := range c.times {
				r = append(r, &codec.Message{Channel: &codec.Channel{Topic: "/" + strconv.Itoa(i)}, LogTime: at})
			}
			catalog, err := Create(t.Context(), nil, nil, t.TempDir())
			require.NoError(t, err)
			row, _, err := catalog.Add(t.Context(), Recording{Recording: name}, nil, &r, nil)
			require.NoError(t, err)
			require.Equal(t, []int64{c.start, c.end}, []int64{row.Start, row.End})
			require.InDelta(t, c.duration, row.Duration, 1)
		})
	}
}

// The rows of signals agree with the messages of each second.
func TestSignals(t *testing.T) {
	list := formats.All()
	path := filepath.Join(t.TempDir(), "n.mcap")
	w, err := list.Codecs().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	schema, err := cdr.NewSchema(msgs.Library(), "std_msgs/msg/Float64")
	require.NoError(t, err)
	channel := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/Float64", Encoding: codec.EncodingCDR}
	const start = int64(1_700_000_000)
	for i, v := range []float64{1, 2.5, -4, math.NaN(), math.Inf(1), math.NaN()} {
		data, err := schema.Encode(&cdr.Struct{Fields: []cdr.Field{{Name: "data", Value: v}}})
		require.NoError(t, err)
		at := []int64{0, 1, 999_999_999, 500_000_000, 1e9, 7e9}[i]
		if i == 4 {
			data = data[:8]
		}
		require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: start*1e9 + at, Data: data}))
	}
	require.NoError(t, w.Close())
	c, err := Create(t.Context(), nil, nil, t.TempDir())
	require.NoError(t, err)
	index(t, c, path, nil)
	var got []Signal
	require.NoError(t, read(nil, c.file(signalsTable, path), func(s Signal) { got = append(got, s) }))
	number := func(v float64) *float64 { return &v }
	row := Signal{Recording: path, Topic: "/n", Field: "data"}
	first, second, third := row, row, row
	first.Second, first.Count, first.NaN = start*1e9, 3, 1
	first.Min, first.Mean, first.Max = number(-4), got[0].Mean, number(2.5)
	second.Second = (start + 1) * 1e9
	third.Second, third.NaN = (start+7)*1e9, 1
	require.Equal(t, []Signal{first, second, third}, got)
	require.InDelta(t, -1.0/6, *got[0].Mean, 1e-12)

	recording, err := c.Recording(path)
	require.NoError(t, err)
	recording.Metadata = nil
	require.Equal(t, Recording{Recording: path, Format: "mcap", Size: 1, Modified: 1, Start: start * 1e9,
		End: (start + 7) * 1e9, Duration: 7, Messages: 6, Bytes: 5*12 + 8, Complete: true}, recording)
	var topics []Topic
	require.NoError(t, read(nil, c.file(topicsTable, path), func(row Topic) { topics = append(topics, row) }))
	require.Equal(t, []Topic{{Recording: path, Topic: "/n", Type: "std_msgs/msg/Float64", Encoding: "cdr", Messages: 6,
		Bytes: 68, First: start * 1e9, Last: (start + 7) * 1e9, Frequency: 5.0 / 7, Fields: []string{"data"}}}, topics)
}

// Outlying times are among the events.
func TestOutlyingTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drive.mcap")
	w, err := all.Formats().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt8", Encoding: codec.EncodingCDR}
	for i := range int64(10) {
		m := codec.Message{Channel: c, LogTime: 1_700_000_000_000_000_000 + i*1e9, Data: []byte{0, 1, 0, 0, 5}}
		if i == 0 {
			m.LogTime = 1e9
		}
		require.NoError(t, w.Write(&m))
	}
	require.NoError(t, w.Close())
	catalogue, err := Create(t.Context(), nil, nil, t.TempDir())
	require.NoError(t, err)
	index(t, catalogue, path, nil)
	var got []Event
	require.NoError(t, read(nil, catalogue.file(eventsTable, path), func(e Event) { got = append(got, e) }))
	require.Len(t, got, 1)
	require.Equal(t, codec.EventTimes, got[0].Kind)
	require.EqualValues(t, 1, got[0].Count)
}

// Rows are sorted within each row group, and none is lost.
func TestManySignals(t *testing.T) {
	c, err := Create(t.Context(), nil, nil, t.TempDir())
	require.NoError(t, err)
	out, file, err := create[Signal](c, signalsTable, "x")
	require.NoError(t, err)
	defer file.abort(t.Context())
	x := &indexer{out: out}
	t1 := &channel{row: Topic{Topic: "/n"}, columns: []column{{path: "b"}, {path: "a"}}}
	const seconds = groupRows
	for second := range int64(seconds) {
		t1.second = second
		t1.columns[0].statistics.Add(float64(second))
		require.NoError(t, x.endSecond(t1))
	}
	require.NoError(t, x.flush())
	require.NoError(t, file.complete(t.Context()))
	require.NoError(t, file.commit(t.Context()))
	counts := map[string][]int64{}
	require.NoError(t, read(nil, c.file(signalsTable, "x"), func(s Signal) {
		counts[s.Field] = append(counts[s.Field], s.Second)
		if (s.Field == "b") != (s.Count == 1) {
			require.Fail(t, "another count", "%+v", s)
		}
	}))
	for _, field := range []string{"a", "b"} {
		require.Len(t, counts[field], seconds)
		require.True(t, slices.IsSorted(counts[field]))
	}
	entries, err := os.ReadDir(filepath.Join(c.folder, signalsTable))
	require.NoError(t, err)
	require.Len(t, entries, 1, "temporary files stay")
}

func TestFields(t *testing.T) {
	for _, text := range []string{"/imu", "/imu a b", ""} {
		_, err := Parse([]string{text})
		require.ErrorContains(t, err, "want a topic and a field")
	}
	fields, err := Parse([]string{"/imu a", "/n b"})
	require.NoError(t, err)
	require.Equal(t, Fields{"/imu a", "/n b"}, fields)
}

func TestOpen(t *testing.T) {
	_, err := Open(nil, t.TempDir())
	require.ErrorContains(t, err, "is no catalogue; 'converter index' makes one")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	_, err = Create(t.Context(), nil, nil, file)
	require.ErrorContains(t, err, "create the catalogue "+file)
	c, err := Create(t.Context(), nil, nil, filepath.Join(t.TempDir(), "odd [name]"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "..", "n ü.mcap")
	require.NoError(t, os.WriteFile(c.file(recordingsTable, path), []byte("PAR1 damaged"), 0o666))
	_, err = c.Recordings()
	require.ErrorContains(t, err, "read "+c.file(recordingsTable, path))
	_, err = c.Recording("other")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Tables of an index that was killed, and of one with other fields, rule out no time together.
func TestTablesOfDifferentRuns(t *testing.T) {
	c, err := Create(t.Context(), nil, nil, t.TempDir())
	require.NoError(t, err)
	path := random(t, rand.New(rand.NewPCG(1, 1)))
	cond, err := condition.Parse("/imu linear_acceleration.z < 1e300")
	require.NoError(t, err)
	index(t, c, path, Fields{"/imu linear_acceleration.x"})
	other, err := os.ReadFile(c.file(signalsTable, path))
	require.NoError(t, err)
	index(t, c, path, Fields{"/imu linear_acceleration.z"})
	want, pruned := find(t, c, path, cond)
	require.True(t, pruned)
	require.NotEmpty(t, want)
	require.NoError(t, os.WriteFile(c.file(signalsTable, path), other, 0o666))
	got, _ := find(t, c, path, cond)
	require.Equal(t, want, got)
}
