package tlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/tlog/tlogtest"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// openLog writes a log to a file and opens the file.
func openLog(t *testing.T, name string, log []byte) codec.Reader {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, log, 0o666))
	r, err := codec.Formats{Format}.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// readFrames returns the times and frames that match a query, and the damage.
func readFrames(t *testing.T, r codec.Reader, q codec.Query) (times []int64, data [][]byte, damage []error) {
	q.Damaged = func(err error) { damage = append(damage, err) }
	it, err := r.Read(q)
	require.NoError(t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return times, data, damage
		}
		require.NoError(t, err)
		times, data = append(times, m.LogTime), append(data, bytes.Clone(m.Data))
	}
}

// newRecords returns messages, one every 100 ms, as the records of a log, as a log, and as a log without times.
func newRecords(t *testing.T, messages ...message.Message) (records [][]byte, log, untimed []byte) {
	e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
	for i, m := range messages {
		record := e.Record(t, someTime+int64(i)*1e8, m)
		records = append(records, record)
		log, untimed = append(log, record...), append(untimed, record[StampSize:]...)
	}
	return records, log, untimed
}

// TestLog reads a log with big-endian times, and with little-endian times.
func TestLog(t *testing.T) {
	path := generate.Path(t, "mavlink/synthetic_px4_v2.tlog")
	log, err := os.ReadFile(path)
	require.NoError(t, err)
	littleEndian := bytes.Clone(log)
	for at := 0; at < len(log); {
		slices.Reverse(littleEndian[at : at+StampSize])
		h, _, _ := parseHeader(log[at+StampSize:])
		at += StampSize + h.Size
	}
	for name, content := range map[string][]byte{"big-endian": log, "little-endian": littleEndian} {
		t.Run(name, func(t *testing.T) {
			r := openLog(t, "any.name", content)
			info, err := r.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			require.EqualValues(t, 1660, info.MessageCount)
			require.Equal(t, []int64{someTime, someTime + 499*20e6}, []int64{info.StartTime, info.EndTime})
			details := info.Extra.(Details)
			require.Equal(t, map[string]uint64{"1/1": 1660}, details.Components)
			require.EqualValues(t, 500, details.Messages["HIGHRES_IMU"])
			details.Components, details.Messages = nil, nil
			require.Equal(t, Details{Stamped: true, V2: 1660}, details)
			times, data, damage := readFrames(t, r, codec.Query{})
			require.Empty(t, damage)
			var got []byte // the log again, made of times and frames
			for i, frame := range data {
				got = append(binary.BigEndian.AppendUint64(got, uint64(times[i]/1e3)), frame...)
			}
			require.Equal(t, log, got)
			times, _, _ = readFrames(t, r, codec.Query{Start: someTime + 1e9, End: someTime + 2e9})
			require.Equal(t, []int64{someTime + 1e9, someTime + 1.98e9}, []int64{times[0], times[len(times)-1]})
		})
	}
}

// TestTimesBackwards reads a log whose clock was set back. Messages are sorted by time.
func TestTimesBackwards(t *testing.T) {
	records, _, _ := newRecords(t, attitude(1), attitude(2), attitude(3), attitude(4))
	log := slices.Concat(records[2], records[3], records[0], records[1])
	times, _, _ := readFrames(t, openLog(t, "x.tlog", log), codec.Query{})
	require.Equal(t, []int64{someTime, someTime + 1e8, someTime + 2e8, someTime + 3e8}, times)
}

// TestLogWithoutTimes reads logs without times before the frames.
func TestLogWithoutTimes(t *testing.T) {
	utc := &common.MessageSystemTime{TimeUnixUsec: 1_700_000_000_000_000, TimeBootMs: 2000}
	const boot = int64(1_700_000_000e9 - 2e9)
	for name, test := range map[string]struct {
		messages []message.Message
		want     []int64 // LogTime
	}{
		"times since boot": {[]message.Message{heartbeat(), attitude(1000), heartbeat(), attitude(1500)},
			[]int64{0, 1e9, 1e9, 1.5e9}},
		"shifted to UTC": {[]message.Message{attitude(1000), utc, attitude(3000)},
			[]int64{boot + 1e9, boot + 2e9, boot + 3e9}},
		"times in UTC": {[]message.Message{&common.MessageRawImu{TimeUsec: 1_700_000_000_000_000},
			&common.MessageRawImu{TimeUsec: 1_700_000_000_500_000}}, []int64{1_700_000_000e9, 1_700_000_000.5e9}},
		"reboot": {[]message.Message{attitude(60000), attitude(61000), attitude(100), attitude(600)},
			[]int64{60e9, 61e9, 61e9, 61.5e9}},
		"message out of order": {[]message.Message{attitude(1000), attitude(900), attitude(1100)},
			[]int64{1e9, 1e9, 1.1e9}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, log := newRecords(t, test.messages...)
			r := openLog(t, "captured.bin", log)
			times, data, damage := readFrames(t, r, codec.Query{})
			require.Empty(t, damage)
			require.Equal(t, test.want, times)
			require.Equal(t, log, slices.Concat(data...))
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Extra.(Details).Stamped)
		})
	}
	t.Run("text at the beginning", func(t *testing.T) {
		_, _, log := newRecords(t, attitude(1000), attitude(2000))
		for _, name := range []string{"port.rlog", "mav.tlog.raw", "port"} {
			r := openLog(t, name, append([]byte("\n\nBoot\r\n"), log...))
			times, _, damage := readFrames(t, r, codec.Query{})
			require.Len(t, times, 2)
			require.Empty(t, damage)
			info, err := r.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			require.EqualValues(t, 8, info.Extra.(Details).Text)
			require.Zero(t, info.Extra.(Details).Garbage)
		}
	})
}

// TestInvalidTime checks that a frame with an invalid time gets the time of the previous frame, or of the first frame
// with a valid time.
func TestInvalidTime(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		for i, want := range [][]int64{{1e8, 1e8, 2e8, 3e8}, {0, 0, 2e8, 3e8}, {0, 1e8, 2e8, 2e8}} {
			invalid := []int{0, 1, 3}[i] // index of the record with an invalid time
			var log []byte
			records, _, _ := newRecords(t, attitude(1), attitude(2), attitude(3), attitude(4))
			for k, record := range records {
				order.PutUint64(record, binary.BigEndian.Uint64(record))
				if k == invalid {
					copy(record, bytes.Repeat([]byte{0xff}, StampSize))
				}
				log = append(log, record...)
			}
			r := openLog(t, "x.tlog", log)
			times, _, damage := readFrames(t, r, codec.Query{})
			require.Empty(t, damage)
			for k := range want {
				want[k] += someTime
			}
			require.Equal(t, want, times)
			info, err := r.Info()
			require.NoError(t, err)
			require.EqualValues(t, 1, info.Extra.(Details).BadTime)
			require.Equal(t, codec.EventTimes, info.Events[0].Kind)
		}
	}
}

// TestLongTime reads a frame after a time with an extra byte. The frame is read with the time of the previous frame.
func TestLongTime(t *testing.T) {
	records, _, _ := newRecords(t, attitude(1), attitude(2), attitude(3), attitude(4))
	records[2] = slices.Insert(records[2], 6, '\r')
	times, _, damage := readFrames(t, openLog(t, "x.tlog", slices.Concat(records...)), codec.Query{})
	require.Equal(t, []int64{someTime, someTime + 1e8, someTime + 1e8, someTime + 3e8}, times)
	require.ErrorContains(t, damage[0], "no whole record in 1 byte")
}

// TestDamagedLog checks which frames of a damaged log are read, and how the damage is reported. Without an error, an
// event reports that the log is unfinished.
func TestDamagedLog(t *testing.T) {
	records, log, _ := newRecords(t, attitude(1), attitude(2), attitude(3), attitude(4))
	badChecksum := slices.Clone(records)
	badChecksum[1] = bytes.Clone(records[1])
	badChecksum[1][StampSize+12] ^= 0x55
	for name, test := range map[string]struct {
		log    []byte
		frames int
		damage string // part of the error; "": an event instead
	}{
		"cut in a frame":  {log[:len(log)-3], 3, ""},
		"cut in the time": {log[:len(log)-len(records[3])+5], 3, ""},
		"bytes missing":   {slices.Delete(bytes.Clone(log), len(records[0])+12, len(records[0])+15), 3, "0x"},
		"noise": {slices.Insert(bytes.Clone(log), len(records[0]), []byte("noise noise noise")...), 4,
			"in 17 bytes"},
		"bad checksum": {slices.Concat(badChecksum...), 3, "skipped 1 frame with a bad checksum"},
		"noise at the end": {append(bytes.Clone(log), bytes.Repeat([]byte{1}, 5000)...), 4,
			"no whole record in 5000 bytes"},
		"zeros at the end":          {append(bytes.Clone(log), make([]byte, 5000)...), 4, ""},
		"cut in a frame, and zeros": {append(bytes.Clone(log[:len(log)-3]), make([]byte, 5000)...), 3, ""},
		"cut in a time, and zeros": {append(bytes.Clone(log[:len(log)-len(records[3])+5]), make([]byte, 5000)...),
			3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := openLog(t, "x.tlog", test.log)
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			times, _, damage := readFrames(t, r, codec.Query{})
			require.Equal(t, test.frames, len(times))
			if test.damage == "" {
				require.Empty(t, damage)
				require.Equal(t, codec.EventUnfinished, info.Events[0].Kind)
				return
			}
			require.Len(t, damage, 1)
			require.ErrorContains(t, damage[0], test.damage)
		})
	}
}

// TestManyGaps checks that the reader lists the first of many damaged places and only counts the others. Frames with a
// bad checksum are counted separately.
func TestManyGaps(t *testing.T) {
	records, _, _ := newRecords(t, attitude(1))
	bad := bytes.Clone(records[0])
	bad[StampSize+12] ^= 0x55
	log := bytes.Clone(records[0])
	for i := range maxGaps + 100 {
		log = slices.Concat(log, []byte("noise"), records[0], records[0])
		if i%2 == 0 {
			log = slices.Concat(log, bad, records[0])
		}
	}
	_, _, damage := readFrames(t, openLog(t, "x.tlog", log), codec.Query{})
	require.Len(t, damage, maxGaps+1)
	text := fmt.Sprint(damage)
	require.Contains(t, text, fmt.Sprintf("skipped %d frames with a bad checksum, the first at ", maxGaps/2+50))
	require.Contains(t, text, "damaged at 101 places more, the first at ")
}

// TestNoLog checks that files without frames are refused.
func TestNoLog(t *testing.T) {
	for _, text := range []string{"", "text", "\xfe\xfd", "\xfd\x01\x00\x00 more"} {
		path := filepath.Join(t.TempDir(), "x.tlog")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		_, err := codec.Formats{Format}.Open(path)
		require.ErrorIs(t, err, codec.ErrUnknownFormat)
		if text != "" {
			_, err = Format.Open(path)
			require.ErrorContains(t, err, "no MAVLink frame found: not a telemetry log")
		}
	}
}

// TestSamples reads logs of UAVLogViewer, of a student and of DroneKit. Another parser returned the expected counts.
// All frames and times agreed with those of the other parser when this test was written.
func TestSamples(t *testing.T) {
	for name, want := range map[string]struct {
		v1, v2, signed, bad uint64
		start, end          int64 // µs
	}{
		"vtol.tlog":            {23894, 0, 0, 0, 1533737161905000, 1533737369513000},
		"test.tlog":            {1393, 8884, 1, 0, 1723830339059771, 1723830475886326},
		"dronekit_flight.tlog": {75477, 0, 0, 1314, 1436056003484195, 1436057380512972},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Format.Open(samples.Path(t, filepath.Join("mavlink", name)))
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			d := info.Extra.(Details)
			require.Equal(t, []uint64{want.v1, want.v2, want.signed, want.bad}, []uint64{d.V1, d.V2, d.Signed,
				d.BadChecksum})
			require.Equal(t, []int64{want.start * 1000, want.end * 1000}, []int64{info.StartTime, info.EndTime})
			times, _, _ := readFrames(t, r, codec.Query{})
			require.EqualValues(t, want.v1+want.v2, len(times))
		})
	}
}
