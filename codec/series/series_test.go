package series_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/series"
	"tapedeck/codec/store/storetest"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag.Format}

const second = int64(1e9)

// file is a file of a test, with a message each 100 ms from one second to another.
type file struct {
	name     string
	from, to int64
	metadata string
	before   string // name of the file that it says it continues
}

func (f file) write(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, f.name)
	o := codec.CreateOptions{}
	if f.metadata != "" {
		o.Metadata = map[string]string{"car": f.metadata}
	}
	w, err := formats.Create(path, o)
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	if strings.HasSuffix(path, ".bag") {
		c = &codec.Channel{Topic: "/n", Type: "std_msgs/UInt32", Encoding: codec.EncodingROS1,
			Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("uint32 data\n")}}
	}
	for i := f.from * 10; i < f.to*10; i++ {
		ns := 1000*second + i*second/10
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: ns, PublishTime: ns, Data: make([]byte, 8)}))
	}
	if f.before != "" {
		m, err := codec.EventMessage(codec.Event{Kind: codec.EventSplit, Time: 1000*second + f.from*second,
			Text: "continues old/" + f.before})
		require.NoError(t, err)
		require.NoError(t, w.Write(m))
	}
	require.NoError(t, w.Close())
}

func TestOpen(t *testing.T) {
	plain := func(names ...string) (files []file) {
		for i, name := range names {
			files = append(files, file{name: name, from: int64(i), to: int64(i + 1)})
		}
		return files
	}
	for name, test := range map[string]struct {
		files []file
		open  string
		want  string // numbers of the seconds that are read
		note  string
		event string
	}{
		"mcap":                 {plain("d.mcap", "d_1.mcap", "d_2.mcap"), "d.mcap", "012", "", ""},
		"ten files":            {plain("d.bag", "d_1.bag", "d_2.bag", "d_3.bag"), "d.bag", "0123", "", ""},
		"record without zero":  {plain("d.record", "d.record.00001"), "d.record", "01", "", ""},
		"record by its name":   {plain("d.record.00000", "d.record.00001"), "d.record", "01", "", ""},
		"record by first file": {plain("d.record.00000", "d.record.00001"), "d.record.00000", "01", "", ""},
		"rosbag record":        {plain("x_0.bag", "x_1.bag", "x_2.bag"), "x_0.bag", "012", "", ""},
		"dated rosbag": {plain("x_2026-01-31-08-15-00_0.bag", "x_2026-01-31-08-15-01_1.bag"),
			"x_2026-01-31-08-15-00_0.bag", "01", "", ""},
		"time in front": {plain("0_d_2026_01_31-08_15_00.mcap", "1_d_2026_01_31-08_15_01.mcap"),
			"0_d_2026_01_31-08_15_00.mcap", "01", "", ""},
		"time in front, by the name": {plain("0_d_2026_01_31-08_15_00.mcap", "0_d_2026_01_31-09_15_00.mcap",
			"1_d_2026_01_31-09_15_01.mcap"), "d.mcap", "12", "", ""},
		"time in front, again": {plain("0_d_2026_01_31-08_15_00.mcap", "1_d_2026_01_31-08_15_01.mcap",
			"0_d_2026_01_31-09_15_00.mcap", "1_d_2026_01_31-09_15_01.mcap"),
			"0_d_2026_01_31-08_15_00.mcap", "01", "", ""},
		"first deleted": {plain("d_3.mcap", "d_4.mcap"), "d.mcap", "01", "", ""},
		"a later file": {plain("d.mcap", "d_1.mcap"), "d_1.mcap", "1", "d_1.mcap is a part of the recording " +
			"DIR/d.mcap, which was not read whole", ""},
		"a later file of records": {plain("d.record.00000", "d.record.00001"), "d.record.00001", "1",
			"is a part of the recording", ""},
		"one is missing": {append(plain("d.mcap"), file{name: "d_2.mcap", from: 2, to: 3}), "d.mcap", "02", "",
			"file number 1 of the recording, before d_2.mcap, is missing"},
		"two are missing": {[]file{{name: "d.mcap", to: 1}, {name: "d_3.mcap", from: 3, to: 4, before: "d_2.mcap"}},
			"d.mcap", "03", "", "files number 1 to 2 of the recording, before d_3.mcap, are missing"},
		"another recording": {[]file{{name: "d.mcap", to: 1}, {name: "d_1.mcap", from: 9, to: 10},
			{name: "d_2.mcap", from: 10, to: 11}}, "d.mcap", "0", "d_1.mcap and 1 file behind it are not read: it " +
			"begins 8.1s after the file in front of it ends", ""},
		"at the same time": {[]file{{name: "d.mcap", to: 2}, {name: "d_1.mcap", from: 1, to: 3}}, "d.mcap", "01",
			"d_1.mcap is not read: it begins 900ms before the file in front of it ends", ""},
		"another car": {[]file{{name: "d.mcap", to: 1, metadata: "1"},
			{name: "d_1.mcap", from: 1, to: 2, metadata: "2"}}, "d.mcap", "0",
			`d_1.mcap is not read: it has other metadata: car is "2", not "1"`, ""},
		"a pause": {[]file{{name: "d.mcap", to: 1}, {name: "d_1.mcap", from: 9, to: 10, before: "d.mcap"}}, "d.mcap",
			"09", "", ""},
		"renamed": {[]file{{name: "d.mcap", to: 1}, {name: "d_1.mcap", from: 9, to: 10, before: "c.mcap"}}, "d.mcap",
			"09", "", ""},
		"numbered by a person": {[]file{{name: "run_0.mcap", to: 1}, {name: "run_1.mcap", from: 9, to: 10}},
			"run_1.mcap", "9", "", ""},
		"orig": {plain("x.bag", "x.orig.bag"), "x.bag", "0", "", ""},
		"snapshot": {plain("snapshot_d_2026_01_31-08_15_00.mcap", "snapshot_d_2026_01_31-08_15_01.mcap"),
			"snapshot_d_2026_01_31-08_15_00.mcap", "0", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range test.files {
				f.write(t, dir)
			}
			r, err := series.Open(nil, filepath.Join(dir, test.open), formats.Open)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, test.want, seconds(t, r))
			require.EqualValues(t, 10*len(test.want), messages(info), "none is there twice")
			notes := strings.ReplaceAll(strings.Join(info.Notes, "\n"), dir, "DIR")
			require.Contains(t, notes, test.note)
			require.Equal(t, test.note == "", notes == "", notes)
			require.Equal(t, test.event == "", info.Complete)
			if test.event != "" {
				require.Equal(t, codec.EventMissing, info.Events[0].Kind)
				require.Equal(t, test.event, info.Events[0].Text)
			}
		})
	}
}

// messages returns the number of the tests' messages.
func messages(info *codec.Info) (n uint64) {
	for _, t := range info.Topics {
		if !codec.IsEvents(t.Channel) {
			n += t.MessageCount
		}
	}
	return n
}

// seconds returns the last digits of the seconds in which a recording has messages.
func seconds(t *testing.T, r codec.Reader) string {
	t.Helper()
	it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return !codec.IsEvents(c) }})
	require.NoError(t, err)
	defer it.Close()
	var digits []byte
	last := int64(-1)
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return string(digits)
		}
		require.NoError(t, err)
		if now := m.LogTime / second; now != last {
			digits, last = append(digits, '0'+byte(now%10)), now
		}
	}
}

// A damaged file of a series does not end it.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"d.mcap", "d_2.mcap"} {
		file{name: name, from: int64(2 * i), to: int64(2*i + 1)}.write(t, dir)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d_1.mcap"), []byte("no recording"), 0o666))
	r, err := series.Open(nil, filepath.Join(dir, "d.mcap"), formats.Open)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, "02", seconds(t, r))
	info, err := r.Info()
	require.NoError(t, err)
	require.Contains(t, info.Events[0].Text, "not a recording of a known format")
}

// All files are also found in a store, and on a server that cannot list folders.
func TestURLs(t *testing.T) {
	dir := t.TempDir()
	bucket := storetest.New(t)
	files := bucket.Files()
	open := func(path string) (codec.Reader, error) {
		r, _, err := formats.OpenFrom(files, path)
		return r, err
	}
	for i, name := range []string{"d.mcap", "d_1.mcap", "d_2.mcap", "e.mcap"} {
		file{name: name, from: int64(i), to: int64(i + 1)}.write(t, dir)
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		bucket.Put("drives/"+name, content)
	}
	serve := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
	}
	web := httptest.NewServer(http.HandlerFunc(serve))
	defer web.Close()
	lax := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(filepath.Join(dir, filepath.Base(r.URL.Path))); err != nil {
			r.URL.Path = "/e.mcap"
		}
		serve(w, r)
	}))
	defer lax.Close()
	for url, want := range map[string]string{bucket.URL("drives/d.mcap"): "012", web.URL + "/d.mcap": "012",
		lax.URL + "/d.mcap": "0", bucket.URL("drives/e.mcap"): "3", bucket.URL("drives/d_1.mcap"): "1"} {
		r, err := series.Open(files, url, open)
		require.NoError(t, err)
		require.Equal(t, want, seconds(t, r), url)
		require.NoError(t, r.Close())
	}
}

func TestRecordings(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for i, name := range []string{"d.mcap", "d_1.mcap", "d_2.mcap"} {
		file{name: name, from: int64(i), to: int64(i + 1)}.write(t, dir)
	}
	file{name: "e.mcap", to: 1}.write(t, dir)
	file{name: "e_1.mcap", from: 50, to: 51}.write(t, dir)
	require.Equal(t, []string{"./d.mcap", "e.mcap", "e_1.mcap"}, series.Recordings(nil,
		[]string{"./d.mcap", "d_1.mcap", "./d_2.mcap", "e.mcap", "e_1.mcap"}, formats.Open))
	require.Equal(t, []string{"d_1.mcap", "d_2.mcap"}, series.Recordings(nil, []string{"d_1.mcap", "d_2.mcap"},
		formats.Open))
}

func TestParse(t *testing.T) {
	for name, want := range map[string]series.Name{
		"a_7.mcap":                            {Base: "a.mcap", Number: 7},
		"a_b_12.db3":                          {Base: "a_b.db3", Number: 12},
		"a_0.bag.active":                      {Base: "a.bag"},
		"7_a_2026_01_31-08_15_00.mcap":        {Base: "a.mcap", Number: 7, Time: "2026_01_31-08_15_00"},
		"10_a_b_2026-01-31T08-15-00.db3":      {Base: "a_b.db3", Number: 10, Time: "2026-01-31T08-15-00"},
		"a_2026-01-31-08-15-00_3.bag":         {Base: "a.bag", Number: 3, Time: "2026-01-31-08-15-00"},
		"a.record.00004":                      {Base: "a.record", Number: 4},
		"a.record.00004.20260131081500":       {Base: "a.record", Number: 4},
		"a_07.mcap":                           {Base: "a_07.mcap"},
		"a.mcap":                              {Base: "a.mcap"},
		"7_a_2026_01_31-08_15_00.txt":         {Base: "7_a_2026_01_31-08_15_00.txt"},
		"snapshot_a_2026_01_31-08_15_00.mcap": {Base: "snapshot_a_2026_01_31-08_15_00.mcap"},
	} {
		got, ok := series.Parse(name)
		require.Equal(t, want, got, name)
		require.Equal(t, want.Base != name, ok, name)
	}
}
