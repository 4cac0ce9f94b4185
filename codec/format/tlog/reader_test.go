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

// write writes a log to a file and opens it.
func write(t *testing.T, name string, log []byte) codec.Reader {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, log, 0o666))
	r, err := codec.Formats{Format}.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// frames returns times and frames of a log, and the damage.
func frames(t *testing.T, r codec.Reader, q codec.Query) (times []int64, data [][]byte, damage []error) {
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

// records returns messages, one each 100 ms, as a stream without times, as a log, and as the records of the log.
func records(t *testing.T, list ...message.Message) (stream, log []byte, pieces [][]byte) {
	e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
	for i, m := range list {
		record := e.Record(t, someTime+int64(i)*1e8, m)
		stream, log = append(stream, record[StampSize:]...), append(log, record...)
		pieces = append(pieces, record)
	}
	return stream, log, pieces
}

func TestLog(t *testing.T) {
	path := generate.Path(t, "mavlink/synthetic_px4_v2.tlog")
	log, err := os.ReadFile(path)
	require.NoError(t, err)
	swapped := bytes.Clone(log)
	for at := 0; at < len(log); {
		slices.Reverse(swapped[at : at+StampSize])
		h, _, _ := parseHeader(log[at+StampSize:])
		at += StampSize + h.Size
	}
	for name, b := range map[string][]byte{"highest byte first": log, "lowest byte first": swapped} {
		t.Run(name, func(t *testing.T) {
			r := write(t, "any.name", b)
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
			times, data, damage := frames(t, r, codec.Query{})
			require.Empty(t, damage)
			var again []byte
			for i, frame := range data {
				again = append(binary.BigEndian.AppendUint64(again, uint64(times[i]/1e3)), frame...)
			}
			require.Equal(t, log, again)
			times, _, _ = frames(t, r, codec.Query{Start: someTime + 1e9, End: someTime + 2e9})
			require.Equal(t, []int64{someTime + 1e9, someTime + 1.98e9}, []int64{times[0], times[len(times)-1]})
		})
	}
}

// TestTimesBackwards reads a log whose clock was set back.
func TestTimesBackwards(t *testing.T) {
	_, _, parts := records(t, attitude(1), attitude(2), attitude(3), attitude(4))
	times, _, _ := frames(t, write(t, "x.tlog", slices.Concat(parts[2], parts[3], parts[0], parts[1])), codec.Query{})
	require.Equal(t, []int64{someTime, someTime + 1e8, someTime + 2e8, someTime + 3e8}, times)
}

// TestStream reads streams without times.
func TestStream(t *testing.T) {
	utc := &common.MessageSystemTime{TimeUnixUsec: 1_700_000_000_000_000, TimeBootMs: 2000}
	const boot = int64(1_700_000_000e9 - 2e9)
	for name, test := range map[string]struct {
		list []message.Message
		want []int64
	}{
		"since boot": {[]message.Message{heartbeat(), attitude(1000), heartbeat(), attitude(1500)},
			[]int64{0, 1e9, 1e9, 1.5e9}},
		"to UTC": {[]message.Message{attitude(1000), utc, attitude(3000)}, []int64{boot + 1e9, boot + 2e9, boot + 3e9}},
		"Unix only": {[]message.Message{&common.MessageRawImu{TimeUsec: 1_700_000_000_000_000},
			&common.MessageRawImu{TimeUsec: 1_700_000_000_500_000}}, []int64{1_700_000_000e9, 1_700_000_000.5e9}},
		"reboot": {[]message.Message{attitude(60000), attitude(61000), attitude(100), attitude(600)},
			[]int64{60e9, 61e9, 61e9, 61.5e9}},
		"late": {[]message.Message{attitude(1000), attitude(900), attitude(1100)}, []int64{1e9, 1e9, 1.1e9}},
	} {
		t.Run(name, func(t *testing.T) {
			stream, _, _ := records(t, test.list...)
			r := write(t, "captured.bin", stream)
			times, data, damage := frames(t, r, codec.Query{})
			require.Empty(t, damage)
			require.Equal(t, test.want, times)
			require.Equal(t, stream, slices.Concat(data...))
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Extra.(Details).Stamped)
		})
	}
	t.Run("text at the beginning", func(t *testing.T) {
		stream, _, _ := records(t, attitude(1000), attitude(2000))
		for _, name := range []string{"port.rlog", "mav.tlog.raw", "port"} {
			r := write(t, name, append([]byte("\n\nBoot\r\n"), stream...))
			times, _, damage := frames(t, r, codec.Query{})
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

// TestBrokenStamp checks that a frame with an invalid time gets the time of the previous frame, or of the first frame
// with a valid time.
func TestBrokenStamp(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		for i, want := range [][]int64{{1e8, 1e8, 2e8, 3e8}, {0, 0, 2e8, 3e8}, {0, 1e8, 2e8, 2e8}} {
			broken := []int{0, 1, 3}[i]
			var log []byte
			_, _, parts := records(t, attitude(1), attitude(2), attitude(3), attitude(4))
			for k, part := range parts {
				order.PutUint64(part, binary.BigEndian.Uint64(part))
				if k == broken {
					copy(part, bytes.Repeat([]byte{0xff}, StampSize))
				}
				log = append(log, part...)
			}
			r := write(t, "x.tlog", log)
			times, _, damage := frames(t, r, codec.Query{})
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

// TestLongStamp checks that an extra byte in a time costs the time, but not the frame.
func TestLongStamp(t *testing.T) {
	_, _, parts := records(t, attitude(1), attitude(2), attitude(3), attitude(4))
	parts[2] = slices.Insert(parts[2], 6, '\r')
	times, _, damage := frames(t, write(t, "x.tlog", slices.Concat(parts...)), codec.Query{})
	require.Equal(t, []int64{someTime, someTime + 1e8, someTime + 1e8, someTime + 3e8}, times)
	require.ErrorContains(t, damage[0], "no whole record in 1 byte")
}

func TestDamagedLog(t *testing.T) {
	_, log, parts := records(t, attitude(1), attitude(2), attitude(3), attitude(4))
	broken := slices.Clone(parts)
	broken[1] = bytes.Clone(parts[1])
	broken[1][StampSize+12] ^= 0x55
	for name, test := range map[string]struct {
		log    []byte
		frames int
		damage string
	}{
		"cut":             {log[:len(log)-3], 3, ""},
		"cut in the time": {log[:len(log)-len(parts[3])+5], 3, ""},
		"bytes missing":   {slices.Delete(bytes.Clone(log), len(parts[0])+12, len(parts[0])+15), 3, "0x"},
		"noise": {slices.Insert(bytes.Clone(log), len(parts[0]), []byte("noise noise noise")...), 4,
			"in 17 bytes"},
		"bad checksum": {slices.Concat(broken...), 3, "left out 1 frame with a bad checksum"},
		"noise at the end": {append(bytes.Clone(log), bytes.Repeat([]byte{1}, 5000)...), 4,
			"no whole record in 5000 bytes"},
		"zeros at the end":         {append(bytes.Clone(log), make([]byte, 5000)...), 4, ""},
		"cut, with zeros":          {append(bytes.Clone(log[:len(log)-3]), make([]byte, 5000)...), 3, ""},
		"cut in a time, and zeros": {append(bytes.Clone(log[:len(log)-len(parts[3])+5]), make([]byte, 5000)...), 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := write(t, "x.tlog", test.log)
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			times, _, damage := frames(t, r, codec.Query{})
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
// bad checksum have a count of their own.
func TestManyGaps(t *testing.T) {
	_, _, parts := records(t, attitude(1))
	bad := bytes.Clone(parts[0])
	bad[StampSize+12] ^= 0x55
	log := bytes.Clone(parts[0])
	for i := range shownGaps + 100 {
		log = slices.Concat(log, []byte("noise"), parts[0], parts[0])
		if i%2 == 0 {
			log = slices.Concat(log, bad, parts[0])
		}
	}
	_, _, damage := frames(t, write(t, "x.tlog", log), codec.Query{})
	require.Len(t, damage, shownGaps+1)
	text := fmt.Sprint(damage)
	require.Contains(t, text, fmt.Sprintf("left out %d frames with a bad checksum, the first at ", shownGaps/2+50))
	require.Contains(t, text, "damaged at 101 places more, the first at ")
}

func TestNoLog(t *testing.T) {
	for _, text := range []string{"", "text", "\xfe\xfd", "\xfd\x01\x00\x00 more"} {
		path := filepath.Join(t.TempDir(), "x.tlog")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		_, err := codec.Formats{Format}.Open(path)
		require.ErrorIs(t, err, codec.ErrUnknownFormat)
		if text != "" {
			_, err = Format.Open(path)
			require.ErrorContains(t, err, "no frame of MAVLink found: not a telemetry log")
		}
	}
}

// TestSamples reads logs of UAVLogViewer, of a student and of DroneKit. Another parser gave the expected counts; it
// agreed about all frames and times when this test was written.
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
			times, _, _ := frames(t, r, codec.Query{})
			require.EqualValues(t, want.v1+want.v2, len(times))
		})
	}
}
