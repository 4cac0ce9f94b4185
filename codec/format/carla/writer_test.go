package carla

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/format/mcap"
	apollo "tapedeck/codec/format/record"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/internal/output"
)

// copyAll writes all messages of r and closes w.
func copyAll(t testing.TB, w codec.Writer, r codec.Reader) {
	codectest.Copy(t, w, r)
	require.NoError(t, w.Close())
}

// rewrite reads a log and writes it.
func rewrite(t testing.TB, log []byte, o codec.CreateOptions) []byte {
	disk := &disktest.Disk{}
	w, err := createOn(disk, "b.log", o)
	require.NoError(t, err)
	copyAll(t, w, openLog(t, log))
	return disk.Files()["b.log"]
}

func TestRewriteSamples(t *testing.T) {
	for _, name := range realLogs {
		t.Run(name, func(t *testing.T) {
			path := samplePath(t, name)
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, size := range []int{0, 1, 10_000} {
				require.True(t, bytes.Equal(want, rewrite(t, want, codec.CreateOptions{ChunkSize: size})))
			}

			// Through files and other formats.
			folder := t.TempDir()
			from := path
			for _, to := range []string{"a.log", "b.mcap", "c.log", "d.record", "e.log"} {
				to = filepath.Join(folder, to)
				convert(t, from, to)
				from = to
				if filepath.Ext(to) == ".log" {
					got, err := os.ReadFile(to)
					require.NoError(t, err)
					require.True(t, bytes.Equal(want, got), to)
				}
			}
		})
	}
}

// convert copies the recording from to a new recording to. The names determine the formats.
func convert(t testing.TB, from, to string) {
	formats := codec.Formats{Format, mcap.Format, apollo.Format}
	r, err := formats.Open(from)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	w, err := formats.Create(to, codec.CreateOptions{Metadata: info.Metadata})
	require.NoError(t, err)
	copyAll(t, w, r)
}

// TestTranscode checks that conversion to another profile and back does not change frames.
func TestTranscode(t *testing.T) {
	bodies := func(p Profile) (all []Body) {
		for id := range 256 {
			if b := fullBody(p, uint8(id)); b != nil && uint8(id) != IDPhysicsControl && uint8(id) != IDFrameStart &&
				uint8(id) != IDFrameEnd {
				all = append(all, b)
			}
		}
		return append(all, &unknownBody{Open: true})
	}
	log := newLog(t, UE4New).frame(1, &EventAddList{}, &VehicleDoorList{}, &PositionList{}).frame(2, bodies(UE4New)...)
	log.data = Packet{200, []byte("unknown")}.Append(log.data)
	d := Decoder{Profile: UE4New}
	messages, _ := readAll(t, openLog(t, log.data), codec.Query{})
	for _, p := range []Profile{UE5, UE4Dev, UE4Mid, UE4New} {
		for _, m := range messages {
			other, lost, err := Transcode(nil, p, &d, m.data)
			require.NoError(t, err)
			require.Empty(t, lost)
			back, lost, err := Transcode(nil, UE4New, &Decoder{Profile: p}, other)
			require.NoError(t, err)
			require.Empty(t, lost)
			require.Equal(t, m.data, back)
		}
	}
}

// TestTranscodeDrops checks that only packets are dropped that the profile does not have or that cannot be decoded.
func TestTranscodeDrops(t *testing.T) {
	frame := newLog(t, UE4New).frame(1, fullBody(UE4New, UE4New.DoorsID), &PositionList{{Actor: 1}},
		fullBody(UE4New, IDPhysicsControl)).data[34:]
	frame = append(frame, Packet{IDState, []byte{9, 0}}.Append(nil)...)
	d := Decoder{Profile: UE4New}
	got, lost, err := Transcode(nil, UE4, &d, frame)
	require.NoError(t, err)
	require.Equal(t, []string{"VehicleDoor, which profile ue4-0.9.15 does not have", "State that cannot be decoded"},
		lost)
	require.Equal(t, newLog(t, UE4).frame(1, &PositionList{{Actor: 1}}, fullBody(UE4, IDPhysicsControl)).data[34:], got)
	got, lost, err = Transcode(nil, UE5, &d, frame)
	require.NoError(t, err)
	require.Equal(t, []string{"physics of vehicles, which differ in profile ue5", "State that cannot be decoded"},
		lost)
	require.Equal(t, newLog(t, UE5).frame(1, fullBody(UE5, UE5.DoorsID), &PositionList{{Actor: 1}}).data[34:], got)
	// Dropping empty lists is not a loss.
	_, lost, err = Transcode(nil, UE4, &d, newLog(t, UE4New).frame(1, &VehicleDoorList{},
		&PhysicsControlList{}).data[34:])
	require.NoError(t, err)
	require.Empty(t, lost)
	_, _, err = Transcode(nil, UE4, &d, frame[:len(frame)-1])
	require.ErrorIs(t, err, ErrDamaged)
}

// TestDurations checks that the next frame determines an unknown duration, whether the frame is already written or not.
func TestDurations(t *testing.T) {
	frames := func(durations ...float64) []byte {
		l := newLog(t, UE4)
		for i, d := range durations {
			l.add(&FrameStart{uint64(i + 1), d, float64(i) / 4}, &PositionList{}, &FrameEnd{})
		}
		return l.data
	}
	cut := frames(-1, 0.125, -1, -1, -1)
	want := frames(0.25, 0.125, 0.25, 0.25, -1)
	for _, size := range []int{0, 1, 60} {
		require.Equal(t, want, rewrite(t, cut, codec.CreateOptions{ChunkSize: size}))
	}
}

// TestSalvaged checks that each duration in a salvaged log leads to the next existing frame, and that the duration of
// the last frame is unknown, as in logs of CARLA.
func TestSalvaged(t *testing.T) {
	frames := func(durations map[float64]float64) []byte {
		l := newLog(t, UE4)
		for i, elapsed := range slices.Sorted(maps.Keys(durations)) {
			l.add(&FrameStart{uint64(i + 1), durations[elapsed], elapsed}, &PositionList{}, &FrameEnd{})
		}
		return l.data
	}
	for _, test := range []struct {
		name      string
		log, want map[float64]float64 // durations by Elapsed
	}{
		{"a duration was not set", map[float64]float64{0: 0.5, 0.5: -1, 1: -1},
			map[float64]float64{0: 0.5, 0.5: 0.5, 1: -1}},
		{"the last duration is set", map[float64]float64{0: 0.5, 0.5: 0.25}, map[float64]float64{0: 0.5, 0.5: -1}},
		{"frames are missing", map[float64]float64{0: 0.5, 2: 0.5, 2.5: -1},
			map[float64]float64{0: 2, 2: 0.5, 2.5: -1}},
		{"wrong durations", map[float64]float64{0: 7, 0.5: math.NaN(), 1: math.Inf(1), 1.5: -3},
			map[float64]float64{0: 0.5, 0.5: 0.5, 1: 0.5, 1.5: -1}},
		{"one frame", map[float64]float64{0: 0.5}, map[float64]float64{0: -1}},
		{"nothing is wrong", map[float64]float64{0: 0.1, 0.1: 0.2, 0.1 + 0.2: -1},
			map[float64]float64{0: 0.1, 0.1: 0.2, 0.1 + 0.2: -1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{0, 1} {
				require.Equal(t, frames(test.want), rewrite(t, frames(test.log),
					codec.CreateOptions{ChunkSize: size, Salvaged: true}))
			}
		})
	}
}

// TestSalvagedSamples checks that salvaging a real log that was cut off gives the log that CARLA would have written up
// to there, and that whole logs stay unchanged.
func TestSalvagedSamples(t *testing.T) {
	for _, name := range realLogs {
		log, err := os.ReadFile(samplePath(t, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(log, rewrite(t, log, codec.CreateOptions{Salvaged: true})))
		x, err := openLog(t, log).loadIndex()
		require.NoError(t, err)
		for _, n := range []int{1, 57, len(x.frames) - 1} {
			end := x.frames[n].pos
			want := bytes.Clone(log[:end])
			start := want[x.frames[n-1].pos+packetHead:]
			binary.LittleEndian.PutUint64(start[8:], math.Float64bits(-1))
			for _, more := range []int64{0, 3, 40} {
				require.True(t, bytes.Equal(want, rewrite(t, log[:end+more], codec.CreateOptions{Salvaged: true})))
			}
		}
	}
}

func TestSplit(t *testing.T) {
	log := newLog(t, UE4).addTraffic(20).data
	messages, _ := readAll(t, openLog(t, log), codec.Query{})
	disk := &disktest.Disk{}
	w, err := createOn(disk, "drive.log", codec.CreateOptions{})
	require.NoError(t, err)
	c := newChannel(header, UE4)
	for i, m := range messages {
		if i == 10 || i == 11 {
			require.NoError(t, w.Split())
		}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: m.time, Data: m.data}))
	}
	require.NoError(t, w.Close())
	files := disk.Files()
	require.Len(t, files, 3)
	state := NewState(UE4)
	for i, path := range []string{"drive.log", "drive_1.log", "drive_2.log"} {
		r := openLog(t, files[path])
		require.Equal(t, header, r.Header())
		frames, _ := readAll(t, r, codec.Query{})
		require.Len(t, frames, []int{10, 1, 9}[i])
		require.Equal(t, messages[[]int{0, 10, 11}[i]].time, frames[0].time)
		fresh := NewState(UE4)
		for _, m := range frames {
			_, err := fresh.Apply(m.data)
			require.NoError(t, err)
		}
		for _, m := range messages[[]int{0, 10, 11}[i]:][:len(frames)] {
			_, err := state.Apply(m.data)
			require.NoError(t, err)
		}
		requireEqualStates(t, state, fresh)
	}
}

// fullDisk is a disk on which no file can be created while it is full.
type fullDisk struct {
	disktest.Disk
	full bool
}

func (d *fullDisk) Create(path string, overwrite bool) (codec.DiskFile, error) {
	if d.full {
		return nil, syscall.ENOSPC
	}
	return d.Disk.Create(path, overwrite)
}

// TestFailedSplit checks that the next file begins with the state even if a split failed before.
func TestFailedSplit(t *testing.T) {
	disk := &fullDisk{}
	w, err := createOn(disk, "drive.log", codec.CreateOptions{})
	require.NoError(t, err)
	disk.full = true
	require.ErrorIs(t, w.Split(), syscall.ENOSPC)
	disk.full = false
	messages, _ := readAll(t, openLog(t, newLog(t, UE4).addTraffic(20).data), codec.Query{})
	c := newChannel(header, UE4)
	whole := NewState(UE4)
	for i, m := range messages {
		if i == 10 {
			require.NoError(t, w.Split())
		}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: m.time, Data: m.data}))
		_, err := whole.Apply(m.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	frames, _ := readAll(t, openLog(t, disk.Files()["drive_1.log"]), codec.Query{})
	require.Len(t, frames, 10)
	state := NewState(UE4)
	for _, m := range frames {
		_, err := state.Apply(m.data)
		require.NoError(t, err)
	}
	requireEqualStates(t, whole, state)
}

func TestWriteErrors(t *testing.T) {
	_, err := createOn(&disktest.Disk{}, "a.log", codec.CreateOptions{Compression: "zstd"})
	require.EqualError(t, err, `create a.log: format carla has no compression "zstd"`)
	_, err = createOn(&disktest.Disk{}, "a.log", codec.CreateOptions{ChunkSize: -1})
	require.ErrorContains(t, err, "must not be negative")

	disk := &disktest.Disk{}
	w, err := createOn(disk, "a.log", codec.CreateOptions{})
	require.NoError(t, err)
	require.EqualError(t, w.Declare(&codec.Channel{Topic: "/imu", Encoding: codec.EncodingCDR}),
		"write a.log: /imu: the encoding is cdr, not carla")
	c := newChannel(header, UE4)
	require.NoError(t, w.Declare(c))
	require.NoError(t, w.Declare(newChannel(header, UE4)))
	require.ErrorContains(t, w.Declare(newChannel(header, UE5)),
		"the log has map Town01, profile ue4-0.9.15 and date")
	later := header
	later.Date++
	require.ErrorContains(t, w.Declare(newChannel(later, UE4)), "write a log for each")
	good := newLog(t, UE4).frame(1).data[34:]
	for _, bad := range [][]byte{nil, good[:len(good)-1], good[29:], append(slices.Clone(good), good...),
		{IDFrameStart, 1, 0, 0, 0, 0}} {
		require.ErrorIs(t, w.Write(&codec.Message{Channel: c, Data: bad}), ErrDamaged)
	}
	require.NoError(t, w.Write(&codec.Message{Channel: c, Data: good}))
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Write(&codec.Message{Channel: c, Data: good}), fs.ErrClosed)
	require.Equal(t, newLog(t, UE4).frame(1).data, disk.Files()["a.log"])

	// A recording without messages is a log without frames.
	disk = &disktest.Disk{}
	w, err = createOn(disk, "a.log", codec.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Zero(t, openLog(t, disk.Files()["a.log"]).Header().Date)

	// If the channel has no date, the first message gives it.
	c = newChannel(header, UE4)
	delete(c.Metadata, KeyDate)
	disk = &disktest.Disk{}
	w, err = createOn(disk, "a.log", codec.CreateOptions{})
	require.NoError(t, err)
	frame := newLog(t, UE4).add(&FrameStart{7, -1, 5.5}, &FrameEnd{}).data[34:]
	require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1_600_000_005_500_000_000, Data: frame}))
	require.NoError(t, w.Close())
	require.EqualValues(t, 1_600_000_000, openLog(t, disk.Files()["a.log"]).Header().Date)
}

func TestDiskErrors(t *testing.T) {
	empty := newLog(t, UE4).data
	f := disktest.Format{
		First: "a.log",
		Create: func(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error) {
			o.ChunkSize = 100
			return createOn(s, path, o)
		},
		Open: func(t testing.TB, _ string, content []byte) (codec.Reader, error) {
			if len(content) < len(empty) { // not even the header could be written
				content = empty
			}
			return openLog(t, content), nil
		},
	}
	c := newChannel(header, UE4)
	messages, _ := readAll(t, openLog(t, newLog(t, UE4).addTraffic(30).data), codec.Query{})
	for _, m := range messages {
		f.Messages = append(f.Messages, codec.Message{Channel: c, LogTime: m.time, Data: m.data})
	}
	f.TestErrors(t, 1)
}

// TestSyncWhileWriting calls Sync and Write concurrently.
func TestSyncWhileWriting(t *testing.T) {
	log := newLog(t, UE4).addTraffic(2000).data
	disk := &disktest.Disk{}
	w, err := createOn(disk, "a.log", codec.CreateOptions{ChunkSize: 2000})
	require.NoError(t, err)
	var done atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for !done.Load() {
			assert.NoError(t, w.Sync())
		}
	})
	codectest.Copy(t, w, openLog(t, log))
	done.Store(true)
	group.Wait()
	require.NoError(t, w.Close())
	require.True(t, bytes.Equal(log, disk.Files()["a.log"]))
}

func BenchmarkWrite(b *testing.B) {
	r, err := Open(nil, benchmarkLog(b, 5000))
	require.NoError(b, err)
	path := filepath.Join(b.TempDir(), "b.log")
	b.SetBytes(r.size)
	for b.Loop() {
		w, err := createOn(codec.OS{}, path, codec.CreateOptions{Overwrite: true})
		require.NoError(b, err)
		copyAll(b, w, r)
	}
}
