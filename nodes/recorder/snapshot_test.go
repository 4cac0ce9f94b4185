package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	_ "tapedeck/codec/record"
	_ "tapedeck/codec/rosbag2"
	"tapedeck/msgs/tapedeck"
)

// TestWriteSnapshot asks for snapshots of ten messages, received 100 ms apart, the last one 50 ms ago.
func TestWriteSnapshot(t *testing.T) {
	now := time.Unix(1700000000, 0)
	for _, c := range []struct {
		name     string
		storage  string
		request  tapedeck.TakeSnapshot_Request
		path     string
		messages int
	}{
		{"all", "record", tapedeck.TakeSnapshot_Request{}, "drive_snapshot_" + now.Format("2006_01_02-15_04_05") + ".record.00000", 10},
		{"the last ones", "record", tapedeck.TakeSnapshot_Request{Before: 0.27, Path: "crash"}, "crash.record.00000", 3},
		{"what was received just then counts", "record", tapedeck.TakeSnapshot_Request{Before: 0.25, Path: "crash"}, "crash.record.00000", 3},
		{"none", "record", tapedeck.TakeSnapshot_Request{Before: 0.01, Path: "crash"}, "crash.record.00000", 0},
		{"more than there is", "mcap", tapedeck.TakeSnapshot_Request{Before: 1e9, Path: "crash", Cause: "emergency stop"}, "crash", 10},
		{"more than can be", "mcap", tapedeck.TakeSnapshot_Request{Before: math.Inf(1), Path: "crash/", Cause: "emergency stop"}, "crash", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			r := recorderWithRing(c.storage, now)
			s, err := r.writeSnapshot(&c.request, now)
			require.NoError(t, err)
			want := snapshot{path: c.path, messages: uint64(c.messages)}
			if c.messages > 0 {
				want.start = now.UnixNano() - 50e6 - int64(c.messages-1)*100e6
				want.end = now.UnixNano() - 50e6
			}
			require.Equal(t, want, s)

			reader, err := codec.Open(c.path)
			require.NoError(t, err)
			defer reader.Close()
			info, err := reader.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			require.Equal(t, []any{want.messages, want.start, want.end}, []any{info.MessageCount, info.StartTime, info.EndTime})
			require.Len(t, info.Topics, 1, "a topic is in the snapshot without messages too")
			if c.storage == "mcap" {
				require.Equal(t, c.request.Cause, info.Metadata["cause"])
			}
			require.Len(t, r.ring.snapshot(nil), 10, "the ring keeps what it has")
		})
	}
}

func TestWriteSnapshotRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Unix(1700000000, 0)
	r := recorderWithRing("record", now)
	r.options.Overwrite = true
	require.NoError(t, os.WriteFile("drive.record.00000", []byte("the recording"), 0o644))
	for want, request := range map[string]tapedeck.TakeSnapshot_Request{
		"before is -1, want seconds":               {Before: -1},
		"before is NaN, want seconds":              {Before: math.NaN()},
		"create drive.record.00000: file already":  {Path: "drive"},
		"create no/folder.record.00000: no such f": {Path: "no/folder"},
	} {
		_, err := r.writeSnapshot(&request, now)
		require.ErrorContains(t, err, want)
	}
	text, err := os.ReadFile("drive.record.00000")
	require.NoError(t, err)
	require.Equal(t, "the recording", string(text))
	found, err := filepath.Glob("*")
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func recorderWithRing(storage string, now time.Time) *recorder {
	o := defaultOptions()
	o.Storage = storage
	r := &recorder{options: o, name: "drive", ring: newQueue(1<<20, 0), streams: map[streamKey]*recording{}}
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	s := newStream(c, nil, r.ring, new(bridge.SimTime))
	r.streams[streamKey{c.Topic, c.Type}] = &recording{stream: s}
	for i := range int64(10) {
		feed(s, now.UnixNano()-50e6-(9-i)*100e6)
	}
	return r
}
