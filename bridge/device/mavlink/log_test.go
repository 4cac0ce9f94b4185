package mavlink

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog"
	"tapedeck/codec/format/tlog/tlogtest"
	"tapedeck/test/samples"
)

// readLog returns the frames of a log and the statistics.
func readLog(t testing.TB, data []byte, stamps Stamps) ([]*Frame, Statistics, error) {
	return readLogAt(t, filepath.Join(t.TempDir(), "x.tlog"), data, stamps)
}

// readLogAt is readLog of a log that is written to path.
func readLogAt(t testing.TB, path string, data []byte, stamps Stamps) ([]*Frame, Statistics, error) {
	require.NoError(t, os.WriteFile(path, data, 0o600))
	l, err := Open(path, Options{Stamps: stamps})
	require.NoError(t, err)
	var all []*Frame
	err = l.Run(t.Context(), func(f *Frame) { all = append(all, f) })
	return all, l.Statistics(), err
}

// reference is the result of a simple decoder, which trusts the length that frames claim.
type reference struct {
	good  map[[3]uint32]int // by system, component and message id
	bad   int
	stamp int64 // of the last good frame, in ns
}

func decodeReference(t testing.TB, data []byte) reference {
	known := knownFormats(t)
	r := reference{good: make(map[[3]uint32]int)}
	for len(data) > 10 {
		frame := data[8:]
		system, component, id, size := frame[3], frame[4], uint32(frame[5]), 6+int(frame[1])+2
		if frame[0] == 0xfd {
			system, component, size = frame[5], frame[6], 10+int(frame[1])+2+13*int(frame[2]&1)
			id = binary.LittleEndian.Uint32(frame[7:]) & 0xffffff
		}
		if size > len(frame) {
			break
		}
		crc := uint16(0xffff) // X.25, bit by bit
		for _, b := range append(slices.Clone(frame[1:size-2]), known[id].Codec.CRCExtra()) {
			crc ^= uint16(b)
			for range 8 {
				odd := crc & 1
				crc >>= 1
				if odd != 0 {
					crc ^= 0x8408
				}
			}
		}
		if crc == binary.LittleEndian.Uint16(frame[size-2:]) {
			r.good[[3]uint32{uint32(system), uint32(component), id}]++
			r.stamp = int64(binary.BigEndian.Uint64(data)) * 1e3
		} else {
			r.bad++
		}
		data = frame[size:]
	}
	return r
}

func TestSampleLogs(t *testing.T) {
	for _, test := range []struct {
		name       string
		good, bad  int
		components []address
		v2         bool
	}{
		{name: "dronekit_flight.tlog", good: 75477, bad: 1314, components: []address{{1, 1}, {51, 68}, {255, 0}}},
		{name: "synthetic_px4_v2.tlog", good: 1660, components: []address{{1, 1}}, v2: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, err := os.ReadFile(sample(t, test.name))
			require.NoError(t, err)
			want := decodeReference(t, data)
			frames, s, err := readLog(t, data, StampSync)
			require.NoError(t, err)
			require.Len(t, frames, test.good)
			got := make(map[[3]uint32]int)
			for _, f := range frames {
				if f.V2 != test.v2 {
					require.Equal(t, test.v2, f.V2)
				}
				got[[3]uint32{uint32(f.System), uint32(f.Component), f.Message.GetID()}]++
			}
			require.Equal(t, want.good, got)
			require.Equal(t, want.stamp, frames[len(frames)-1].Received)
			require.EqualValues(t, test.bad, s.BadChecksum)
			require.Equal(t, want.bad, test.bad)
			require.Zero(t, s.Garbage, "a frame that is cut at the end is none")
			require.EqualValues(t, test.good, s.Received)
			require.Zero(t, s.Unknown)
			var components []address
			for _, c := range s.Components {
				components = append(components, address{c.System, c.Component})
			}
			require.Equal(t, test.components, components)
		})
	}
}

// The autopilot of the flight restarts once, and its radio delays messages by more than two seconds at times. Stamps
// still follow the autopilot's clock.
func TestFlightStamps(t *testing.T) {
	link, err := Open(sample(t, "dronekit_flight.tlog"), Options{})
	require.NoError(t, err)
	last := make(map[uint32]*Frame)
	steps, wrong, late := 0, 0, 0
	require.NoError(t, link.Run(t.Context(), func(f *Frame) {
		m, ok := f.Message.(*common.MessageAttitude)
		if f.Stamp > f.Received {
			require.LessOrEqual(t, f.Stamp, f.Received)
		}
		if !ok {
			return
		}
		if before := last[m.GetID()]; before != nil {
			boot := int64(m.TimeBootMs) - int64(before.Message.(*common.MessageAttitude).TimeBootMs)
			require.Greater(t, f.Stamp, before.Stamp)
			if boot > 0 && f.Stamp != f.Received && before.Stamp != before.Received {
				steps++
				if math.Abs(float64(boot*1e6-(f.Stamp-before.Stamp))) > 2e6 {
					wrong++
				}
			}
		}
		if f.Received-f.Stamp > 1e9 {
			late++
		}
		last[m.GetID()] = f
	}))
	require.Greater(t, steps, 2500)
	require.Less(t, wrong, 60) // steps at which a less delayed message lowered the clock offset
	require.Greater(t, late, 20)
	require.Equal(t, 1, link.Vehicles()[0].Clock.Jumps)
}

func TestReadLog(t *testing.T) {
	e1, e2 := tlogtest.NewEncoder(t, 1, streamwriter.V1), tlogtest.NewEncoder(t, 1, streamwriter.V2)
	a, b := e1.Record(t, someTime, heartbeat()), e2.Record(t, someTime+1e6, attitude(7))
	e1.Encode(t, heartbeat())
	c := e1.Record(t, someTime+2e6, heartbeat())
	broken := bytes.Clone(b)
	broken[25]++
	signed := e2.Record(t, someTime, heartbeat())
	signed[8+2] |= 1 // with 13 more bytes, and another checksum
	signed = append(signed, make([]byte, 13)...)
	for _, test := range []struct {
		name   string
		data   [][]byte
		stamps []int64 // ms after someTime
		bad    uint64
		trash  int
	}{
		{"whole", [][]byte{a, b, c}, []int64{0, 1, 2}, 0, 0},
		{"damage", [][]byte{a, broken, c}, []int64{0, 2}, 1, 0},
		{"a stamp that is cut", [][]byte{a, b, b[3:], c, c, c, c}, []int64{0, 1, 2, 2, 2, 2}, 0, len(b) - 3},
		{"a frame that is cut", [][]byte{a, b[:30], c}, []int64{0, 2}, 1, 0},
		{"garbage and text", [][]byte{[]byte("log of a flight"), a, b, {0xfe, 9}, c}, []int64{0, 1, 2}, 0, 2},
		{"the end is cut", [][]byte{a, b, c[:len(c)-1]}, []int64{0, 1}, 0, 0},
		{"stamps go back", [][]byte{c, a}, []int64{0, 2}, 0, 0},
		{"an impossible stamp", [][]byte{a, append(bytes.Repeat([]byte{0xff}, 8), b[8:]...), c}, []int64{0, 0, 2},
			0, 0},
		{"signed, bad", [][]byte{a, signed, c}, []int64{0, 2}, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			frames, s, err := readLog(t, slices.Concat(test.data...), StampReceive)
			require.NoError(t, err)
			var stamps []int64
			for _, f := range frames {
				require.Equal(t, f.Received, f.Stamp)
				stamps = append(stamps, (f.Received-someTime)/1e6)
			}
			require.Equal(t, test.stamps, stamps)
			require.Equal(t, test.bad, s.BadChecksum)
			require.EqualValues(t, test.trash, s.Garbage)
		})
	}
}

func TestUnreadableLog(t *testing.T) {
	e := tlogtest.NewEncoder(t, 1, streamwriter.V1)
	frames := string(e.Encode(t, heartbeat())) + string(e.Encode(t, heartbeat()))
	for name, data := range map[string]string{"empty.tlog": "",
		"text.tlog": "This is no log, however long it may be.", "stream.tlog": frames} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		l, err := Open(path, Options{})
		require.NoError(t, err)
		require.ErrorContains(t, l.Run(t.Context(), func(*Frame) {}), ": not a telemetry log")
	}
	l, err := Open("/nowhere/x.tlog", Options{})
	require.NoError(t, err)
	require.ErrorIs(t, l.Run(t.Context(), func(*Frame) {}), os.ErrNotExist)
}

// writeLog writes a log with one heartbeat at each time, in s after someTime.
func writeLog(t testing.TB, seconds ...float64) string {
	e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
	var data []byte
	for _, s := range seconds {
		data = append(data, e.Record(t, someTime+int64(s*1e9), heartbeat())...)
	}
	path := filepath.Join(t.TempDir(), "x.tlog")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestLogRate(t *testing.T) {
	for _, test := range []struct {
		name    string
		rate    float64
		seconds []float64
		at      []float64 // when each is handed on, in s from the start
	}{
		{"real speed", 1, []float64{0, 1, 3, 3, 3.5}, []float64{0, 1, 3, 3, 3.5}},
		{"twice as fast", 2, []float64{0, 1, 3, 4}, []float64{0, 0.5, 1.5, 2}},
		{"slowly", 0.5, []float64{5, 6, 8}, []float64{0, 2, 6}},
		{"at once", 0, []float64{0, 1, 3, 100}, []float64{0, 0, 0, 0}},
		{"stamps go back", 1, []float64{10, 12, 5, 6}, []float64{0, 1, 5, 7}},
		{"a pause", 1, []float64{0, 59, 60}, []float64{0, 59, 60}},
		{"another day", 1, []float64{0, 1, 86400, 86401}, []float64{0, 1, 1, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, err := Open(writeLog(t, test.seconds...), Options{Rate: test.rate})
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				var at []float64
				began := time.Now()
				require.NoError(t, l.Run(t.Context(), func(*Frame) { at = append(at, time.Since(began).Seconds()) }))
				require.InDeltaSlice(t, test.at, at, 1e-6)
			})
		})
	}
}

func TestLogEndsWithContext(t *testing.T) {
	for _, rate := range []float64{0, 1} {
		ctx, cancel := context.WithCancel(t.Context())
		l, err := Open(writeLog(t, 0, 50, 100), Options{Rate: rate})
		require.NoError(t, err)
		frames := 0
		require.NoError(t, l.Run(ctx, func(*Frame) {
			frames++
			cancel()
		}))
		require.Equal(t, 1, frames)
	}
}

func FuzzLog(f *testing.F) {
	for _, name := range []string{"dronekit_flight.tlog", "synthetic_px4_v2.tlog"} {
		for _, data := range samples.Seeds(f, "mavlink/"+name) {
			f.Add(data[:min(3000, len(data))])
			f.Add(data[max(0, len(data)-700):])
		}
	}
	path := filepath.Join(f.TempDir(), "x.tlog")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, stamps := range []Stamps{StampSync, StampVehicle} {
			frames, s, err := readLogAt(t, path, data, stamps)
			if err != nil {
				require.Empty(t, frames)
				continue
			}
			for _, f := range frames {
				require.NotEmpty(t, tlog.MessageName(f.Message))
			}
			require.EqualValues(t, len(frames), s.Received)
			require.LessOrEqual(t, s.Bytes+s.Garbage, uint64(len(data)))
		}
	})
}

// Some ground stations write times with the lowest byte first.
func TestLittleEndianLog(t *testing.T) {
	var data []byte
	e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
	for i := range 20 {
		data = binary.LittleEndian.AppendUint64(data, uint64(someTime/1e3)+uint64(i))
		data = append(data, e.Encode(t, attitude(uint32(i)))...)
	}
	frames, s, err := readLog(t, data, StampReceive)
	require.NoError(t, err)
	require.Len(t, frames, 20)
	require.Zero(t, s.Garbage)
	require.Equal(t, someTime+19_000, frames[19].Received)
}
