package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/fleet/catalogue"
	"tapedeck/test/samples"
)

// drive writes an MCAP file with /n [Float64], a message every 100 ms, and before that a latched message on /map.
func drive(t *testing.T, path string, values ...float64) { driveAt(t, path, 1.7e18, values...) }

func driveAt(t *testing.T, path string, start int64, values ...float64) {
	number, err := cdr.NewSchema(msgs.Library(), "std_msgs/msg/Float64")
	require.NoError(t, err)
	latched := codec.DefaultQoS()
	latched.Durability, latched.Depth = codec.TransientLocal, 1
	n := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/Float64", Encoding: codec.EncodingCDR,
		QoS: []codec.QoS{codec.DefaultQoS()}}
	m := &codec.Channel{Topic: "/map", Type: "std_msgs/msg/Empty", Encoding: codec.EncodingCDR,
		QoS: []codec.QoS{latched}}
	messages := []codec.Message{{Channel: m, LogTime: start, Data: []byte{0, 1, 0, 0, 0}}}
	for i, v := range values {
		data, err := number.Encode(&cdr.Struct{Fields: []cdr.Field{{Name: "data", Value: v}}})
		require.NoError(t, err)
		messages = append(messages, codec.Message{Channel: n, LogTime: start + int64(i)*1e8, Data: data})
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	_, stderr, err := run(t, writeLines(t, "a.lines", messages), path, "--overwrite")
	require.NoError(t, err, stderr)
}

// fleet writes three recordings into folder and a catalogue of them, and returns its path. In one of them /n is 10 from
// 20 s to 20.4 s and at 30 s.
func fleet(t *testing.T, folder string) string {
	values := make([]float64, 600)
	drive(t, filepath.Join(folder, "logs/car1/a.mcap"), values...)
	drive(t, filepath.Join(folder, "logs/b.mcap"), 1, 2, 3)
	for _, i := range []int{200, 201, 202, 203, 204, 300} {
		values[i] = 10
	}
	drive(t, filepath.Join(folder, "logs/car2/a.mcap"), values...)
	catalog := filepath.Join(folder, "catalog")
	stdout, stderr, err := run(t, "index", filepath.Join(folder, "logs"), "-o", catalog)
	require.NoError(t, err, stderr)
	require.Equal(t, 3, strings.Count(stdout, "\n"), stdout)
	require.Contains(t, stdout, "logs/b.mcap: 4 messages, 0.200000000 s\n")
	return catalog
}

func TestFind(t *testing.T) {
	folder := t.TempDir()
	catalog := fleet(t, folder)
	a := filepath.Join(folder, "logs/car2/a.mcap")
	find := func(args ...string) string {
		stdout, stderr, err := run(t, append([]string{"find", catalog}, args...)...)
		require.NoError(t, err, stderr)
		require.Empty(t, stderr)
		return stdout
	}
	require.Equal(t, a+": 2023-11-14 22:13:40 to 2023-11-14 22:13:40.4 (0.400 s, 5 messages): data = 10\n"+
		a+": 2023-11-14 22:13:50 to 2023-11-14 22:13:50 (0.000 s, 1 message): data = 10\n"+
		"found 2 times in 1 of 3 recordings; 1 of them had to be read\n", find("/n data > 5"))
	require.Equal(t, "found 0 times in 0 of 3 recordings; 0 of them had to be read\n", find("/n data > 10"))

	// A clip has the latched message from before it. Times that are near each other share a clip.
	clips := filepath.Join(folder, "clips")
	args := []string{"n data == 10", "--clip", clips, "--json", "--before", "1s", "--after", "500ms"}
	var lines []foundLine
	for text := range strings.Lines(find(args...)) {
		var line foundLine
		require.NoError(t, json.Unmarshal([]byte(text), &line))
		lines = append(lines, line)
	}
	const start = int64(1.7e18)
	first := filepath.Join(clips, "car2/a_20231114T221340.000000Z.mcap")
	second := filepath.Join(clips, "car2/a_20231114T221350.000000Z.mcap")
	require.Equal(t, []foundLine{{a, "/n", start + 20e9, start + 20.4e9, 5, "data = 10", first},
		{a, "/n", start + 30e9, start + 30e9, 1, "data = 10", second}}, lines)
	_, messages := readAll(t, first)
	require.Len(t, messages, 1+20)
	require.Equal(t, "/map", messages[0].Channel.Topic)
	require.Equal(t, []int64{start + 19e9, start + 20.9e9}, []int64{messages[0].LogTime, messages[20].LogTime})
	stat, err := os.Stat(second)
	require.NoError(t, err)
	find(args...)
	again, err := os.Stat(second)
	require.NoError(t, err)
	require.True(t, os.SameFile(stat, again), "an existing clip is kept")

	stdout := find("/n data == 10", "--clip", filepath.Join(folder, "one"), "--to", "record", "--after", "10s")
	require.Equal(t, 2, strings.Count(stdout, "; "+filepath.Join(folder, "one/car2/a_20231114T221340.000000Z.record")))

	_, stderr, code := execute(t, "find", catalog, "/n data == 10", "--clip", filepath.Join(folder, "one"),
		"--to", "record")
	require.Equal(t, someFailed, code)
	require.Contains(t, stderr, "was converted with other options; use --overwrite\n")
	require.Contains(t, stderr, "not searched and clipped: ")

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	require.ErrorIs(t, config.Execute(t.Context(), newCommand(printable.Writer(full), full),
		[]string{"find", catalog, "/n data == 10"}), syscall.ENOSPC)

	// A changed recording is read whole, and so is a recording whose field the tables lack.
	drive(t, filepath.Join(folder, "logs/b.mcap"), 1, 2, 30)
	stdout, stderr, err = run(t, "find", catalog, "/n data > 20")
	require.NoError(t, err)
	require.Contains(t, stderr, "b.mcap: it has changed since it was indexed, and is read whole")
	require.Contains(t, stdout, "found 1 time in 1 of 3 recordings; 1 of them had to be read\n")
	stdout, stderr, err = run(t, "index", filepath.Join(folder, "logs"), "-o", catalog, "--json")
	require.NoError(t, err, stderr)
	require.Equal(t, []int{2, 1}, []int{strings.Count(stdout, "skipped"), strings.Count(stdout, "indexed")})
	require.Contains(t, find("/n data > 20"), "found 1 time in 1 of 3 recordings; 1 of them had to be read\n")
	require.Contains(t, find("/n data < -20"), "; 0 of them had to be read\n")
	_, stderr, err = run(t, "index", filepath.Join(folder, "logs"), "-o", catalog, "--fields", "/m data")
	require.NoError(t, err, stderr)
	require.Contains(t, stderr, "warning: --fields: no recording has numbers of /m data; did you mean /n?")
	require.Contains(t, find("/n data > 20"), "found 1 time in 1 of 3 recordings; 3 of them had to be read\n")

	// A field that cannot be compared is a warning. A recording that cannot be read is a failure.
	stdout, stderr, err = run(t, "find", catalog, "/n speed > 20")
	require.Error(t, err)
	require.Contains(t, stderr, `car1/a.mcap: condition "/n speed > 20": `)
	require.Contains(t, stdout, "found 0 times in 0 of 3")
	require.NoError(t, os.Remove(a))
	_, stderr, code = execute(t, "find", catalog, "/n data > 20")
	require.Equal(t, someFailed, code)
	require.Contains(t, stderr, "not searched: 1 of 3 recordings")
	for _, args := range [][]string{{"find", catalog, "/n data"}, {"index", folder}, {"find", catalog},
		{"index", folder, "-o", catalog, "--fields", "/n"}} {
		_, _, code := execute(t, args...)
		require.Equal(t, 2, code, "%v", args)
	}
}

// Times do not overflow near the latest possible time.
func TestFindAtTheEndOfTime(t *testing.T) {
	folder := t.TempDir()
	const start = math.MaxInt64 - 3e9
	driveAt(t, filepath.Join(folder, "logs/a.mcap"), start, 0, 0, 10, 0, 10, 0)
	catalog, clips := filepath.Join(folder, "catalog"), filepath.Join(folder, "clips")
	_, stderr, err := run(t, "index", filepath.Join(folder, "logs"), "-o", catalog)
	require.NoError(t, err, stderr)
	stdout, stderr, err := run(t, "find", catalog, "/n data > 5", "--clip", clips, "--before", "100ms")
	require.NoError(t, err, stderr)
	require.Empty(t, stderr)
	clip := filepath.Join(clips, "a_22620411T234714.054775Z.mcap")
	require.Equal(t, 2, strings.Count(stdout, "; "+clip), stdout)
	_, messages := readAll(t, clip)
	require.Equal(t, []int64{start + 1e8, start + 5e8}, []int64{messages[1].LogTime, messages[5].LogTime})
}

// Processes may index the same recordings at once. A recording that fails does not stop the others.
func TestIndexAtOnce(t *testing.T) {
	folder := t.TempDir()
	catalog := filepath.Join(folder, "catalog")
	const recordings = 6
	for i := range recordings {
		drive(t, filepath.Join(folder, "logs", string(rune('a'+i))+".mcap"), float64(i), 1, 2)
	}
	broken := filepath.Join(folder, "logs/broken.mcap")
	require.NoError(t, os.WriteFile(broken, []byte("no recording"), 0o666))
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			_, stderr, code := spawn(t, "index", filepath.Join(folder, "logs"), "-o", catalog)
			if code != someFailed || !strings.Contains(stderr, broken) {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
	running.Wait()
	c, err := catalogue.Open(nil, catalog)
	require.NoError(t, err)
	rows, err := c.Recordings()
	require.NoError(t, err)
	require.Len(t, rows, recordings)
	for _, table := range []string{"recordings", "topics", "events", "signals"} {
		entries, err := os.ReadDir(filepath.Join(catalog, table))
		require.NoError(t, err)
		require.Len(t, entries, recordings, table)
		for _, e := range entries {
			rows, err := parquet.ReadFile[struct {
				Recording string `parquet:"recording"`
			}](filepath.Join(catalog, table, e.Name()))
			require.NoError(t, err)
			require.Len(t, rows, map[string]int{"recordings": 1, "topics": 2, "events": 0, "signals": 1}[table], table)
		}
	}
	// Each shard adds its recordings.
	other := filepath.Join(folder, "other")
	for _, part := range []string{"0/2", "1/2"} {
		_, _, code := execute(t, "index", filepath.Join(folder, "logs"), "-o", other, "--shard", part, "--jobs", "1")
		require.Contains(t, []int{0, someFailed}, code)
	}
	entries, err := os.ReadDir(filepath.Join(other, "recordings"))
	require.NoError(t, err)
	require.Len(t, entries, recordings)
}

// A condition on an unknown topic or field is an error, whether the tables show that or a recording is read.
func TestFindWhatIsNowhere(t *testing.T) {
	folder := t.TempDir()
	catalog := fleet(t, folder)
	for condition, want := range map[string]string{
		"/nosuch x > 1":                "no recording has the topic /nosuch; there are /map, /n",
		"/mapp *":                      "no recording has the topic /mapp; did you mean /map?",
		"/n speed > 1":                 `std_msgs/msg/Float64 has no field "speed"; it has data`,
		"/n data > 1e9 and speed > 1":  `std_msgs/msg/Float64 has no field "speed"; it has data`,
		"/n data > 1e9 and data.x > 1": "data has no fields",
		"/n data > 1e9":                "",
		"n data > 1e9":                 "",
		"/map *":                       "",
	} {
		_, _, err := run(t, "find", catalog, condition)
		if want == "" {
			require.NoError(t, err, condition)
		} else {
			require.ErrorContains(t, err, want, condition)
		}
	}
	wide := filepath.Join(folder, "more")
	require.NoError(t, os.Mkdir(wide, 0o777))
	drive(t, filepath.Join(wide, "c.mcap"), 1)
	_, stderr, err := run(t, "index", wide, "-o", catalog, "--fields", "/n data", "--fields", "/map x")
	require.NoError(t, err)
	require.Equal(t, "warning: --fields: no recording has numbers of /map x\n", stderr)
}

// index and report warn of damage, unfinished files and wrong labels.
func TestWarningsOfIndexAndReport(t *testing.T) {
	folder := t.TempDir()
	sound, cut := filepath.Join(folder, "sound.mcap"), filepath.Join(folder, "cut.mcap")
	drive(t, sound, 1, 2)
	drive(t, cut, 1, 2)
	stat, err := os.Stat(cut)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(cut, stat.Size()-20))
	cases := map[string]string{sound: "", cut: "the file was not closed by its writer"}
	for name, want := range map[string]string{
		"orphan_rows.db3":                     "1 message of topic id 7",
		"one_bad_time.tlog":                   "1 message are 19676 days before",
		"time_beyond_int64.mcap":              "beyond 2262",
		"zero_tail.tlog":                      "the log ends in zeros",
		"empty_ros2msg_definition.mcap":       "the definition of std_msgs/msg/Int8 is empty",
		"reindex_msgzstd_db3":                 "are called cdr and are compressed",
		"hdf5_one_camera_without_images.hdf5": "/observations/images/cam_low is skipped",
		"lerobot_stale_file_index":            "whose rows are in data/chunk-000/file-001.parquet",
	} {
		if path, ok := samples.Find("faults/" + name); ok {
			cases[path] = want
		}
	}
	for path, want := range cases {
		catalog, page := filepath.Join(t.TempDir(), "catalog"), filepath.Join(t.TempDir(), "page.html")
		for _, args := range [][]string{{"index", path, "-o", catalog}, {"report", path, "-o", page}} {
			_, stderr, err := run(t, args...)
			require.NoError(t, err, stderr)
			if want == "" {
				require.Empty(t, stderr)
				continue
			}
			require.Regexp(t, `(?m)^warning: .*`+regexp.QuoteMeta(want), stderr, path)
		}
	}
	stdout, _, err := run(t, "index", cut, "-o", filepath.Join(folder, "json"), "--json")
	require.NoError(t, err)
	require.Contains(t, stdout, `"warnings":["`)
}
