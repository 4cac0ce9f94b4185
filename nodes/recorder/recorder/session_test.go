package recorder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/recorder/internal/queue"
)

// events returns the events of a recording as "kind topic count text".
func events(t *testing.T, path string) []string {
	info, err := open(t, path).Info()
	require.NoError(t, err)
	var list []string
	for _, e := range info.Events {
		list = append(list, fmt.Sprintf("%s %s %d %s", e.Kind, e.Topic, e.Count, e.Text))
	}
	return list
}

func TestRecordingIsSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.MaxBagMessages = 3
		d := newTestRecorder(t, o, "/n", "/map")
		var splits []string
		d.onSplit = append(d.onSplit, func(closed, opened string) { splits = append(splits, closed+" "+opened) })
		latched := d.advertise("/map", bridge.LatchedQoS())
		d.publish(latched, 100)
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1, 2, 3, 4, 5)
		d.publish(latched, 200)
		d.publish(p, 6, 7, 8)
		require.NoError(t, d.end())
		require.Equal(t, []string{
			"drive.record.00000 drive.record.00001", "drive.record.00001 drive.record.00002",
			"drive.record.00002 drive.record.00003",
			"drive.record.00003 ",
		}, splits)
		var all []uint32
		for i, maps := range [][]uint32{{100}, {100}, {100, 200}, {200}} {
			path := fmt.Sprintf("drive.record.%05d", i)
			require.Equal(t, maps, numbers(t, path, "/map"), path)
			all = append(all, numbers(t, path, "/n")...)
		}
		require.Equal(t, []uint32{1, 2, 3, 4, 5, 6, 7, 8}, all)
		require.Equal(t, []string{
			"totals /map 1 received 1, written 1, dropped 0, lost 0",
			"totals /n 2 received 2, written 2, dropped 0, lost 0",
		}, events(t, "drive.record.00000"))
		last := events(t, "drive.record.00003")
		require.Contains(t, last, "split  0 continues drive.record.00002")
		require.Contains(t, last, "totals /n 8 whole recording: received 8, written 8, dropped 0, lost 0")
		require.Contains(t, d.printed.String(), "2 topics, 10 messages", "what was repeated does not count")
	})
}

func TestRecordingIsSplitOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1, 2)
		closed, opened, err := d.split()
		require.NoError(t, err)
		require.Equal(t, "drive.record.00000", closed)
		require.Equal(t, "drive.record.00001", opened)
		require.Equal(t, opened, d.file())
		d.publish(p, 3)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{1, 2}, numbers(t, closed, "/n"))
		require.Equal(t, []uint32{3}, numbers(t, opened, "/n"))
	})
}

// Names of files can have the time at which the files are begun, as in ROS 2 Lyrical.
func TestNamesOfFilesWithTime(t *testing.T) {
	for name, c := range map[string]struct {
		storage, output, path string // path is the reported one
		files                 []string
	}{
		"mcap": {"mcap", "drive", "drive",
			[]string{"drive/0_drive_2000_01_01-00_00_00.mcap", "drive/1_drive_2000_01_01-00_00_05.mcap"}},
		"bag with a time": {"mcap", "a_2026_01_31-08_15_00", "a_2026_01_31-08_15_00", []string{
			"a_2026_01_31-08_15_00/0_a_2000_01_01-00_00_00.mcap",
			"a_2026_01_31-08_15_00/1_a_2000_01_01-00_00_05.mcap"}},
		"mcap-file": {"mcap-file", "drive.mcap", "0_drive_2000_01_01-00_00_00.mcap",
			[]string{"0_drive_2000_01_01-00_00_00.mcap", "1_drive_2000_01_01-00_00_05.mcap"}},
		"mcap-file with a time": {"mcap-file", "a_2026_01_31-08_15_00.mcap",
			"0_a_2026_01_31-08_15_00_2000_01_01-00_00_00.mcap", []string{
				"0_a_2026_01_31-08_15_00_2000_01_01-00_00_00.mcap",
				"1_a_2026_01_31-08_15_00_2000_01_01-00_00_05.mcap"}},
		"record": {"record", "drive", "drive.record.00000.20000101000000",
			[]string{"drive.record.00000.20000101000000", "drive.record.00001.20000101000005"}},
	} {
		inBubble(t, name, func(t *testing.T) {
			defer func(local *time.Location) { time.Local = local }(time.Local)
			time.Local = time.UTC
			o := testOptions(c.storage)
			o.Output, o.SplitNames = c.output, namesTime
			d := newTestRecorder(t, o, "/n")
			p := d.advertise("/n", codec.DefaultQoS())
			d.publish(p, 1)
			time.Sleep(5*time.Second - time.Duration(time.Now().UnixNano()%1e9))
			closed, opened, err := d.split()
			require.NoError(t, err)
			require.Equal(t, c.files, []string{closed, opened})
			d.publish(p, 2)
			require.NoError(t, d.end())
			require.Contains(t, d.printed.String(), "recorded "+c.path+": ")
			require.Equal(t, []uint32{1}, numbers(t, closed, "/n"))
			require.Equal(t, []uint32{2}, numbers(t, opened, "/n"))
			require.Equal(t, []uint32{1, 2}, numbers(t, c.output, "/n"))
			if c.storage != "mcap-file" { // else each file is one recording
				_, err = d.session.Load().create(&d.options, c.output)
				require.ErrorIs(t, err, fs.ErrExist)
			}
		})
	}
}

// When a recording continues in another one, no message is lost, and only latched ones are in both. Each recording has
// counts and limits of files of its own.
func TestRecordingContinuesInAnother(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			o := testOptions(storage)
			o.MaxBagFiles = 2
			d := newTestRecorder(t, o, "/n", "/map")
			latched := d.advertise("/map", bridge.LatchedQoS())
			d.publish(latched, 7)
			tr := d.startTraffic("/n", time.Millisecond, 0)
			time.Sleep(time.Second)
			_, _, err := d.continueIn("missing/second")
			require.ErrorContains(t, err, "missing/second")
			_, _, err = d.split()
			require.NoError(t, err)
			first := d.path()
			closed, opened, err := d.continueIn("second")
			require.NoError(t, err)
			require.Equal(t, opened, d.file())
			require.Equal(t, "second", d.baseName(), "that snapshots go by")
			require.NotEqual(t, first, d.path())
			time.Sleep(time.Second)
			d.options.Overwrite = true // applies only to the first recording
			_, _, err = d.continueIn("second")
			require.ErrorIs(t, err, fs.ErrExist)
			d.pause()
			time.Sleep(time.Second)
			_, third, err := d.continueIn("third")
			require.NoError(t, err)
			d.resume()
			time.Sleep(time.Second)
			tr.end()
			require.NoError(t, d.end())
			require.True(t, d.hasWarned("splits"))
			require.Contains(t, d.printed.String(), "recorded "+first+", ")

			var all []uint64
			for _, path := range []string{"drive", "second", "third"} {
				list, _ := contents(t, path)
				require.Equal(t, []uint32{7}, slices.Compact(numbers(t, path, "/map")), path)
				before := len(all)
				for _, m := range list {
					if m.topic == "/n" {
						all = append(all, m.number)
					}
				}
				n := len(all) - before
				if path != "drive" {
					require.Len(t, eventsOf(t, path, codec.EventPause), 1, path)
				} else {
					require.Contains(t, events(t, path),
						fmt.Sprintf("totals /n %d whole recording: received %[1]d, written %[1]d, dropped 0, lost 0",
							n))
				}
			}
			require.NotEmpty(t, numbers(t, closed, "/n"))
			require.NotEmpty(t, numbers(t, third, "/map"))
			skipped := uint64(0)
			for i, n := range all[1:] {
				if n != all[i]+1 {
					require.Zero(t, skipped, "a gap beside the pause, at %d", n)
					skipped = n - all[i]
				}
			}
			require.Greater(t, skipped, uint64(900), "while it was paused")
			require.EqualValues(t, tr.sent.Load(), all[len(all)-1])
		})
	}
}

func TestOldFilesAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.MaxBagMessages, o.MaxBagFiles = 1, 3
		d := newTestRecorder(t, o, "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		for i := range uint32(20) {
			d.publish(p, i)
		}
		require.NoError(t, d.end())
		require.False(t, d.hasWarned("splits"))
		found, err := filepath.Glob("drive.record.*")
		require.NoError(t, err)
		require.Equal(t, []string{"drive.record.00017", "drive.record.00018", "drive.record.00019"}, found)
		require.Equal(t, []uint32{17}, numbers(t, found[0], "/n"))
	})
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(*options)
		a, b   []uint32
		reason string
	}{
		"messages": {func(o *options) { o.MaxRecordingMessages = 3 }, []uint32{1, 2, 3}, nil, "3 messages recorded"},
		"size":     {func(o *options) { o.MaxRecordingSize = 130 }, []uint32{1, 2}, nil, "130 are recorded"},
		"of each topic": {func(o *options) { o.Limit = 4 }, []uint32{1, 2, 3, 4}, []uint32{11, 12, 13, 14},
			"4 messages of each topic"},
		"time is up": {func(o *options) { o.MaxDuration = time.Second }, []uint32{1, 2, 3, 4, 5},
			[]uint32{11, 12, 13, 14, 15}, "1s"},
	} {
		inBubble(t, name, func(t *testing.T) {
			o := testOptions("record")
			c.set(&o)
			d := newTestRecorder(t, o, "/a", "/b")
			a, b := d.advertise("/a", codec.DefaultQoS()), d.advertise("/b", codec.DefaultQoS())
			for i := range uint32(5) {
				for first, p := range map[uint32]bridge.Publisher{1: a, 11: b} {
					data, err := cdr.Marshal(number(first + i))
					require.NoError(t, err)
					require.NoError(t, p.Publish(data))
				}
				if name != "time is up" {
					time.Sleep(time.Millisecond)
				}
			}
			err := <-d.ended
			d.ended <- nil
			require.NoError(t, err)
			got := numbers(t, d.path(), "/a")
			if c.b == nil { // the topics come in any order
				require.Len(t, append(got, numbers(t, d.path(), "/b")...), len(c.a))
			} else {
				require.Equal(t, c.a, got)
				require.Equal(t, c.b, numbers(t, d.path(), "/b"))
			}
			require.Contains(t, *d.session.Load().limit.Load(), c.reason)
		})
	}
}

// A topic that has reached its limit is not waited for.
func TestLimitIsNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.Limit = 20
		d := newTestRecorder(t, o, "/n", "/other")
		tr := d.startTraffic("/n", 10*time.Millisecond, 0)
		time.Sleep(time.Second)
		tr.end()
		time.Sleep(10 * time.Second)
		require.NoError(t, d.end())
		list, info := contents(t, d.path())
		require.Len(t, list, 20)
		for _, e := range info.Events {
			require.NotEqual(t, codec.EventGap, e.Kind, e.Text)
		}
	})
}

func TestLatchedMessagesOfAPauseAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.StartPaused = true
		d := newTestRecorder(t, o, "/map", "/n")
		latched, p := d.advertise("/map", bridge.LatchedQoS()), d.advertise("/n", codec.DefaultQoS())
		d.publish(latched, 1, 2)
		d.publish(p, 10)
		d.resume()
		require.False(t, d.topics.Paused())
		d.publish(p, 20)
		d.pause()
		d.publish(p, 30)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{2}, numbers(t, d.path(), "/map"))
		require.Equal(t, []uint32{20}, numbers(t, d.path(), "/n"))
		var pauses int
		for _, e := range events(t, d.path()) {
			if e == "pause  0 recording was paused" {
				pauses++
			}
		}
		require.Equal(t, 2, pauses)
	})
}

func TestRepeatOptions(t *testing.T) {
	for name, c := range map[string]struct {
		set     func(*options)
		map2, n []uint32
	}{
		"as offered":  {func(*options) {}, []uint32{3}, nil},
		"more":        {func(o *options) { o.RepeatTransientLocal = []string{"/map=2"} }, []uint32{2, 3}, nil},
		"not latched": {func(o *options) { o.RepeatTransientLocal = []string{"/n*"} }, []uint32{3}, []uint32{12}},
		"nothing":     {func(o *options) { o.RepeatLatched = false }, nil, nil},
		"one of them": {func(o *options) { o.RepeatLatched, o.RepeatTransientLocal = false, []string{"/n=3"} }, nil,
			[]uint32{11, 12}},
	} {
		inBubble(t, name, func(t *testing.T) {
			o := testOptions("record")
			c.set(&o)
			d := newTestRecorder(t, o, "/map", "/n")
			latched, p := d.advertise("/map", bridge.LatchedQoS()), d.advertise("/n", codec.DefaultQoS())
			d.publish(latched, 1, 2, 3)
			d.publish(p, 11, 12)
			_, opened, err := d.split()
			require.NoError(t, err)
			require.NoError(t, d.end())
			require.Equal(t, c.map2, numbers(t, opened, "/map"))
			require.Equal(t, c.n, numbers(t, opened, "/n"))
		})
	}
}

// Depth and lifespan of latched messages are respected for each publisher.
func TestLatchedByPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/map")
		deep, brief := bridge.LatchedQoS(), bridge.LatchedQoS()
		deep.Depth = 2
		brief.Lifespan = time.Millisecond
		for i, qos := range []codec.QoS{bridge.LatchedQoS(), deep, brief} {
			d.publish(d.advertise("/map", qos), uint32(10*i+1), uint32(10*i+2), uint32(10*i+3))
		}
		time.Sleep(2 * time.Millisecond) // until all publishers are known
		_, opened, err := d.split()
		require.NoError(t, err)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{3, 12, 13}, numbers(t, opened, "/map"))
	})
}

func TestLatchedMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/map")
		d.latchedCache.MaxBytes = 2 * (8 + queue.Overhead)
		deep := bridge.LatchedQoS()
		deep.Depth = 5
		d.publish(d.advertise("/map", deep), 1, 2, 3, 4, 5)
		list := d.latched(time.Now().UnixNano())
		require.Len(t, list, 2)
		queue.Release(list...)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{1, 2, 3, 4, 5}, numbers(t, d.path(), "/map"))
	})
}

// The memory of the latched messages of a recording is free for the next recording.
func TestLatchedMessagesEndWithTheRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/map")
		d.latchedCache.MaxBytes = 8 + queue.Overhead
		p := d.advertise("/map", bridge.LatchedQoS())
		d.publish(p, 1)
		require.NoError(t, d.stop(""))
		require.NoError(t, d.start("second"))
		d.awaitSubscribers(p)
		d.publish(p, 2)
		_, opened, err := d.split()
		require.NoError(t, err)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{2}, numbers(t, opened, "/map"))
	})
}

// lostMessages is a subscription that has lost messages.
type lostMessages uint64

func (lostMessages) Topic() string  { return "" }
func (n lostMessages) Lost() uint64 { return uint64(n) }
func (lostMessages) Close() error   { return nil }

func TestLossesAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/n")
		d.publish(d.advertise("/n", codec.DefaultQoS()), 1)
		rec := d.topics.Topics()[0]
		rec.Add(lostMessages(3))
		rec.Dropped.Add(2)
		require.Equal(t, []losses{{"/n", 3, 2}}, d.losses())
		require.NoError(t, d.end())
		list := events(t, d.path())
		require.Contains(t, list, "lost /n 3 lost in transport from a publisher")
		require.Contains(t, list, "drop /n 2 dropped, as the disk did not keep up")
		require.Contains(t, list, "totals /n 1 received 3, written 1, dropped 2, lost 3")
	})
}

func TestDiagnostics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.All = true
		d := newTestRecorder(t, o)
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1)
		for _, rec := range d.topics.Topics() {
			if rec.Channel.Load().Topic == "/n" {
				rec.Dropped.Add(5)
			}
		}
		heard := make(chan diag.DiagnosticArray, 100)
		_, err := d.peer.Subscribe("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", codec.DefaultQoS(),
			func(samples []bridge.Sample) {
				for _, s := range samples {
					var m diag.DiagnosticArray
					require.NoError(t, cdr.Unmarshal(s.Data, &m))
					heard <- m
				}
			})
		require.NoError(t, err)
		m := <-heard
		require.Len(t, m.Status, 2)
		require.Equal(t, "/recorder: recording", m.Status[0].Name)
		require.Equal(t, diag.DiagnosticStatus_WARN, m.Status[0].Level)
		require.Contains(t, m.Status[0].Message, "RECORDING, messages are missing on 1 topic")
		require.Contains(t, m.Status[0].Values, diag.KeyValue{Key: "dropped", Value: "5"})
		require.Equal(t, "/recorder: /n", m.Status[1].Name)
		require.Equal(t, "messages are missing: 5 dropped, 0 lost in transport", m.Status[1].Message)
		require.NotContains(t, d.subscribedTopics(), "/diagnostics", "the recorder subscribes to its own topic")
	})
}

func TestOverwriteReplacesAllFiles(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			o := testOptions(storage)
			o.MaxBagMessages, o.Overwrite = 1, true
			d := newTestRecorder(t, o, "/n")
			for _, name := range []string{"drive2.record.00001", "drive.record.1", "drive.record.00001.old",
				"my.drive.record.00001"} {
				require.NoError(t, os.WriteFile(name, nil, 0o644))
			}
			p := d.advertise("/n", codec.DefaultQoS())
			d.publish(p, 1, 2, 3, 4)
			require.NoError(t, d.stop(""))
			require.NoError(t, d.start("drive"))
			d.awaitSubscribers(p)
			d.publish(p, 5, 6)
			require.NoError(t, d.end())
			found, err := filepath.Glob(map[string]string{"record": "drive.record.*", "mcap": "drive/*.mcap"}[storage])
			require.NoError(t, err)
			require.Len(t, slices.DeleteFunc(found, func(path string) bool {
				return path == "drive.record.1" ||
					path == "drive.record.00001.old"
			}), 2)
			for _, name := range []string{"drive2.record.00001", "drive.record.1", "drive.record.00001.old",
				"my.drive.record.00001"} {
				require.FileExists(t, name, "a file of another recording was deleted")
			}
		})
	}
}
