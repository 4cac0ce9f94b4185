package carla

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
	"tapedeck/test/samples"
)

func TestSamples(t *testing.T) {
	for _, test := range []struct {
		name     string
		frames   uint64
		profile  string
		date     string
		duration string // Elapsed of the last frame, in s
		packets  map[string]uint64
		actors   map[string]uint64
	}{
		{realLogs[0], 432, "ue4-0.9.15", "2021-11-23T12:39:25Z", "12.5282", map[string]uint64{
			"FrameStart": 432, "FrameEnd": 432, "EventAdd": 432, "EventDel": 432, "EventParent": 432, "Collision": 432,
			"Position": 432, "State": 432,
			"AnimVehicle": 432, "AnimWalker": 432, "VehicleLight": 432, "BoundingBox": 432, "PlatformTime": 432,
			"Kinematics":     431,
			"PhysicsControl": 1, "TrafficLightTime": 1,
		}, map[string]uint64{"vehicle": 1, "traffic light": 36, "traffic sign": 21, "sensor": 6, "other": 119}},
		{realLogs[1], 461, "ue4-0.9.11", "2020-09-03T07:37:39Z", "15.8809", map[string]uint64{
			"FrameStart": 461, "FrameEnd": 461, "EventAdd": 461, "EventDel": 461, "EventParent": 461, "Collision": 461,
			"Position": 461, "State": 461,
			"AnimVehicle": 461, "AnimWalker": 461, "VehicleLight": 461, "SceneLight": 1, "BoundingBox": 461,
			"PlatformTime": 461,
			"Kinematics":   460, "PhysicsControl": 1, "TrafficLightTime": 1,
		}, map[string]uint64{"vehicle": 1, "traffic light": 36, "traffic sign": 21, "other": 125}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := samplePath(t, test.name)
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			opened, err := codec.Formats{Format}.Open(path)
			require.NoError(t, err)
			defer opened.Close()
			r := opened.(*Reader)
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, test.frames, info.MessageCount)
			require.True(t, info.Complete)
			require.Empty(t, info.Events)
			details := info.Extra.(Details)
			require.Equal(t, test.profile, details.Profile)
			require.Equal(t, "Town01", details.Map)
			require.Equal(t, test.packets, details.Packets)
			require.Equal(t, test.actors, details.Actors)
			require.Equal(t, test.date, time.Unix(details.Date, 0).UTC().Format(time.RFC3339))
			require.Equal(t, test.duration, fmt.Sprintf("%g", math.Round(details.Duration*1e4)/1e4))
			messages, end := readAll(t, r, codec.Query{})
			require.Equal(t, io.EOF, end)
			require.Len(t, messages, int(test.frames))
			require.Equal(t, source[r.begin:], joinData(messages))
			require.Equal(t, details.Date*1e9, messages[0].time)
			require.Equal(t, info.StartTime, messages[0].time)
			require.Equal(t, info.EndTime, messages[len(messages)-1].time)

			// All packets are known, and decoding and encoding does not change them.
			d := Decoder{Profile: r.Profile()}
			before := FrameStart{}
			for i, m := range messages {
				start := startOf(m.data)
				require.EqualValues(t, i+1, start.Frame)
				require.InDelta(t, before.Elapsed+before.Duration, start.Elapsed, 1e-6)
				before = start
				var again []byte
				for rest := m.data; len(rest) > 0; {
					var k Packet
					k, rest, err = NextPacket(rest)
					require.NoError(t, err)
					b, err := d.Decode(k)
					require.NoError(t, err)
					require.NotNil(t, b)
					again, err = AppendPacket(again, d.Profile, b)
					require.NoError(t, err)
				}
				require.Equal(t, m.data, again)
			}
			require.EqualValues(t, -1, before.Duration)
		})
	}
}

func TestProfiles(t *testing.T) {
	for _, p := range Profiles() {
		for _, empty := range []bool{false, true} {
			l := newLog(t, p)
			bodies := []Body{}
			for _, id := range []uint8{IDEventAdd, p.DoorsID, IDPosition, p.WheelsID, p.BikersID, IDPhysicsControl} {
				switch {
				case id == 0:
				case empty && (id == p.DoorsID || id == p.WheelsID || id == p.BikersID):
					bodies = append(bodies, p.newBody(id))
				default:
					bodies = append(bodies, fullBody(p, id))
				}
			}
			l.frame(1, &EventAddList{}, &PositionList{}).frame(2, bodies...)
			r := openLog(t, l.data)
			require.Equal(t, p, r.Profile())
			h, got, err := ParseChannel(r.channel)
			require.NoError(t, err)
			require.Equal(t, p, got)
			require.Equal(t, r.Header(), h)
		}
	}
	// The order of empty packets identifies a profile, except UE5, which has the order of UE4Dev.
	for _, p := range []Profile{UE4, UE4Dev, UE4Mid, UE4New} {
		l := newLog(t, p)
		for i := range 3 {
			bodies := []Body{&EventAddList{}, &CollisionList{}, &PositionList{}, &StateList{}, &AnimVehicleWheelsList{},
				&AnimBikerList{}}
			if p.DoorsID != 0 {
				bodies = slices.Insert(bodies, 2, Body(&VehicleDoorList{}))
			}
			l.frame(uint64(i+1), bodies...)
		}
		require.Equal(t, p, openLog(t, l.data).Profile())
	}
	// Vectors of 8 bytes are also detected if a log has no positions.
	require.Equal(t, UE5, openLog(t, newLog(t, UE5).frame(1, fullBody(UE5, IDEventAdd)).data).Profile())
	// A build of UE5 wrote vectors of 4 bytes in EventAdd, and of 8 bytes in Position.
	l := newLog(t, UE4).frame(1, fullBody(UE4, IDEventAdd))
	l.profile = UE5
	r := openLog(t, l.frame(2, fullBody(UE5, IDPosition)).data)
	require.Equal(t, UE5, r.Profile())
	require.Len(t, stateAt(t, r, math.MaxInt64).Actors, 2)
	// The size of doors identifies a profile without positions.
	require.Equal(t, UE4Dev, openLog(t, newLog(t, UE4Dev).frame(1, fullBody(UE4Dev, 21)).data).Profile())
	for key, value := range map[string]string{KeyDate: "x", KeyVersion: "-1", KeyProfile: "ue6"} {
		c := newChannel(header, UE4)
		c.Metadata[key] = value
		_, _, err := ParseChannel(c)
		require.ErrorContains(t, err, "metadata "+key+": ")
	}
	_, _, err := ParseChannel(&codec.Channel{Encoding: codec.EncodingCDR})
	require.EqualError(t, err, "the encoding is cdr, not carla")
	_, err = ProfileNamed("ue6")
	require.ErrorContains(t, err, `unknown CARLA profile "ue6": want one of ue4-0.9.11, ue4-0.9.15`)
}

// TestCut checks that a log that is cut off at any byte has all complete frames, and no error. Real logs are cut at
// some bytes only.
func TestCut(t *testing.T) {
	for _, name := range append([]string{""}, realLogs...) {
		t.Run(name, func(t *testing.T) {
			var log []byte
			step := int64(1)
			if name == "" {
				log = newLog(t, UE4).addTraffic(10).data
			} else {
				var err error
				step = 37
				log, err = os.ReadFile(samplePath(t, name))
				require.NoError(t, err)
			}
			whole := openLog(t, log)
			x, err := whole.loadIndex()
			require.NoError(t, err)
			const frame = 5
			first, last := x.frames[frame-1].pos, x.frames[frame].pos
			for end := first; end <= last; end = max(end+1, min(end+step, last-1)) {
				r := openLog(t, log[:end])
				messages, err := readAll(t, r, codec.Query{})
				require.Equal(t, io.EOF, err)
				want := frame - 1
				if end == x.frames[frame].pos {
					want = frame
				}
				require.Len(t, messages, want, end)
				require.Equal(t, log[r.begin:x.frames[want].pos], joinData(messages))
				info, err := r.Info()
				require.NoError(t, err)
				require.EqualValues(t, want, info.MessageCount)
				require.Equal(t, end == x.frames[want].pos, info.Complete)
				if !info.Complete {
					require.Len(t, info.Events, 1)
					require.Equal(t, codec.EventUnfinished, info.Events[0].Kind)
				}
			}
		})
	}
	// After a crash, blocks that the file system had not written are zero.
	log := newLog(t, UE4).addTraffic(10).data
	messages, err := readAll(t, openLog(t, append(log, make([]byte, 5000)...)), codec.Query{})
	require.Equal(t, io.EOF, err)
	require.Len(t, messages, 10)
	// A header that is cut off at any byte is an error.
	for end := range int(openLog(t, log).begin) {
		_, err := newReader(codectest.NewFile(log[:end]), int64(end), "a.log")
		require.ErrorContains(t, err, "open a.log: cannot read the header of a CARLA log")
	}
	r := openLog(t, log[:openLog(t, log).begin])
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Zero(t, info.MessageCount)
}

func TestDamage(t *testing.T) {
	log := newLog(t, UE4).addTraffic(50).data
	x, err := openLog(t, log).loadIndex()
	require.NoError(t, err)
	// packet returns the offset of the n-th packet of a frame.
	packet := func(frame, n int) int64 {
		pos := x.frames[frame].pos
		for range n {
			pos += packetHead + int64(binary.LittleEndian.Uint32(log[pos+1:]))
		}
		return pos
	}
	for _, test := range []struct {
		name   string
		change func([]byte)
		lost   []int // numbers of the lost frames
	}{
		{"a size that is too large", func(b []byte) { b[packet(10, 2)+4] = 0x70 }, []int{10}},
		{"a size that covers other frames", func(b []byte) { b[packet(10, 2)+2]++ }, []int{10}},
		{"FrameStart", func(b []byte) { b[x.frames[10].pos+1]++ }, []int{10}},
		{"the first frame", func(b []byte) { b[x.frames[0].pos+3]++ }, []int{0}},
		{"zeros over several", func(b []byte) { clear(b[packet(10, 1):packet(13, 1)]) }, []int{10, 11, 12, 13}},
	} {
		t.Run(test.name, func(t *testing.T) {
			broken := bytes.Clone(log)
			test.change(broken)
			r := openLog(t, broken)
			var reports []error
			messages, end := readAll(t, r, codec.Query{Damaged: func(err error) { reports = append(reports, err) }})
			require.Equal(t, io.EOF, end)
			require.Len(t, reports, 1)
			require.ErrorIs(t, reports[0], ErrDamaged)
			require.ErrorContains(t, reports[0], fmt.Sprintf("read a.log: damaged from %#x to %#x: ",
				x.frames[test.lost[0]].pos,
				x.frames[test.lost[len(test.lost)-1]+1].pos))
			var want []message
			whole, _ := readAll(t, openLog(t, log), codec.Query{})
			want = append(want, whole[:test.lost[0]]...)
			want = append(want, whole[test.lost[len(test.lost)-1]+1:]...)
			require.Equal(t, want, messages)

			messages, end = readAll(t, r, codec.Query{})
			require.ErrorIs(t, end, ErrDamaged)
			require.Len(t, messages, test.lost[0])
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			require.Len(t, info.Events, 1)
			require.Equal(t, codec.EventDamage, info.Events[0].Kind)
		})
	}
	// Packets that cannot be decoded are in the messages, and Info has an event.
	broken := newLog(t, UE4).frame(1)
	broken.data = Packet{IDEventAdd, []byte("\x05\x00few")}.Append(broken.data)
	r := openLog(t, broken.frame(2).data)
	messages, end := readAll(t, r, codec.Query{})
	require.Equal(t, io.EOF, end)
	require.Equal(t, broken.data[r.begin:], joinData(messages))
	info, err := r.Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.Len(t, info.Events, 1)
}

// TestSeek checks that a reader that begins at any frame gets the state that a reader from the beginning has after the
// frame. In long logs, it begins only at some frames.
func TestSeek(t *testing.T) {
	logs := map[string][]byte{"made": newLog(t, UE4).addTraffic(300).data}
	for _, p := range Profiles() {
		logs["made, "+p.Name] = newLog(t, p).changeAll(30).data
	}
	for _, name := range realLogs {
		for _, log := range samples.Seeds(t, "carla/"+name) {
			logs[name] = log
		}
	}
	for name, log := range logs {
		t.Run(name, func(t *testing.T) {
			r := openLog(t, log)
			if profile, made := strings.CutPrefix(name, "made, "); made {
				require.Equal(t, profile, r.Profile().Name)
			}
			messages, _ := readAll(t, r, codec.Query{})
			testSeekStates(t, r, messages)
			testSeekLast(t, r, messages)
			from, _ := readAll(t, r, codec.Query{Start: messages[20].time})
			require.Equal(t, messages[21:], from[1:])
			for _, q := range []codec.Query{
				{Start: messages[len(messages)-1].time + 1}, {End: 1},
				{Start: messages[3].time + 1, End: messages[3].time + 2},
				{Topics: func(*codec.Channel) bool { return false }},
			} {
				none, end := readAll(t, r, q)
				require.Equal(t, io.EOF, end)
				require.Empty(t, none)
			}
		})
	}
}

// testSeekStates reads single messages of r, and compares the states before and after them with the states that all
// messages give.
func testSeekStates(t *testing.T, r *Reader, messages []message) {
	state := NewState(r.Profile())
	for i, m := range messages {
		if len(messages) > 100 && i > 10 && i%7 != 0 && i < len(messages)-1 {
			_, err := state.Apply(m.data)
			require.NoError(t, err)
			continue
		}
		before, err := state.AppendPackets(nil)
		require.NoError(t, err)
		_, err = state.Apply(m.data)
		require.NoError(t, err)
		again, err := stateAt(t, r, m.time).AppendPackets(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(before, again))
		got, end := readAll(t, r, codec.Query{Start: m.time - 1, End: m.time + 1})
		require.Equal(t, io.EOF, end)
		require.Len(t, got, 1)
		require.Equal(t, m.time, got[0].time)
		require.Equal(t, startOf(m.data), startOf(got[0].data))
		fresh := NewState(r.Profile())
		_, err = fresh.Apply(got[0].data)
		require.NoError(t, err)
		requireEqualStates(t, state, fresh)
	}
}

// testSeekLast checks that queries with Last return one message of r, which also has the state before its frame, or no
// message if the time range has no frame.
func testSeekLast(t *testing.T, r *Reader, messages []message) {
	for _, n := range []int{0, 7, len(messages) - 1} {
		q := codec.Query{End: messages[n].time + 1, Last: func(*codec.Channel) int { return codec.All }}
		it, err := r.Read(q)
		require.NoError(t, err)
		m, err := it.Next()
		require.NoError(t, err)
		require.Equal(t, messages[n].time, m.LogTime)
		if n == 0 {
			require.Equal(t, messages[n].data, m.Data)
		} else {
			require.Greater(t, len(m.Data), len(messages[n].data))
		}
		_, err = it.Next()
		require.Equal(t, io.EOF, err)
	}
	for _, q := range []codec.Query{{End: 1}, {Start: messages[3].time + 1, End: messages[3].time + 2}} {
		q.Last = func(*codec.Channel) int { return 1 }
		it, err := r.Read(q)
		require.NoError(t, err)
		_, err = it.Next()
		require.Equal(t, io.EOF, err)
	}
}

// requireEqualStates compares the packets of states.
func requireEqualStates(t *testing.T, want, got *State) {
	t.Helper()
	a, err := want.AppendPackets(nil)
	require.NoError(t, err)
	b, err := got.AppendPackets(nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(a, b))
}

// TestCheckpoints checks that the index of a large log has checkpoints, but not too many.
func TestCheckpoints(t *testing.T) {
	l := newLog(t, UE4)
	for i := range 200 {
		add := EventAddList{{Actor: uint32(i), BlueprintID: string(bytes.Repeat([]byte("x"), 30000))}}
		del := EventDelList{EventDel(i - 2)}
		l.frame(uint64(i+1), &add, &del)
	}
	r := openLog(t, l.data)
	for i := range 200 {
		s := stateAt(t, r, header.Date*1e9+int64(i)*1e8)
		require.Len(t, s.Actors, min(i, 2))
		if i > 0 {
			require.Contains(t, s.Actors, uint32(i-1))
		}
	}
	require.Greater(t, len(r.index.checkpoints), 2)
	require.Less(t, len(r.index.checkpoints), 10)
}

// TestManyActors checks that a state with more actors than a packet can hold is written to several packets.
func TestManyActors(t *testing.T) {
	s := NewState(UE4)
	for i := range 70000 {
		s.apply(&EventAddList{{Actor: uint32(i)}})
	}
	packets, err := s.AppendPackets(nil)
	require.NoError(t, err)
	again := NewState(UE4)
	_, err = again.Apply(packets)
	require.NoError(t, err)
	require.Len(t, again.Actors, 70000)
}

func TestState(t *testing.T) {
	for _, p := range []Profile{UE4New, UE5, UE4Old} {
		s := NewState(p)
		bodies := []Body{
			&EventAddList{{Actor: 1}, {Actor: 2}, {Actor: 3}},
			&EventParentList{{Actor: 2, Parent: 1}, {Actor: 9, Parent: 1}},
			&SceneLightList{{Light: -1}, {Light: 4}}, &SceneLightList{{Light: 4, On: true}},
			&WeatherList{{Wetness: 1}, {Wetness: 2}},
			&BoundingBoxList{{Actor: 1, Extension: Vector{1, 2, 3}}, {Actor: 3}},
			&TriggerVolumeList{{Actor: 2}},
			&TrafficLightTimeList{{Actor: 2, Green: 5}}, fullBody(p, IDPhysicsControl), &EventDelList{3},
		}
		if p.DoorsID != 0 {
			bodies = append(bodies, &VehicleDoorList{{1, DoorHood, true}, {1, DoorTrunk, true}, {1, DoorHood, false},
				{2, DoorHood, true}, {2, DoorAll, false}})
		}
		var frame []byte
		var err error
		for _, b := range bodies {
			frame, err = AppendPacket(frame, p, b)
			require.NoError(t, err)
		}
		changed, err := s.Apply(frame)
		require.NoError(t, err)
		require.True(t, changed)
		sorted := s.Sorted()
		require.Len(t, sorted, 2)
		require.EqualValues(t, 1, sorted[0].Actor)
		require.EqualValues(t, 1, sorted[1].Parent)
		require.Equal(t, Vector{1, 2, 3}, sorted[0].BoundingBox.Extension)
		require.EqualValues(t, 5, sorted[1].LightTime.Green)
		require.NotNil(t, sorted[1].TriggerVolume)
		require.Equal(t, map[int32]SceneLight{-1: {Light: -1}, 4: {Light: 4, On: true}}, s.SceneLights)
		require.EqualValues(t, 2, s.Weather.Wetness)
		if p.DoorsID != 0 {
			require.Equal(t, []VehicleDoor{{1, DoorTrunk, true}, {1, DoorHood, false}}, sorted[0].Doors)
			require.Equal(t, []VehicleDoor{{2, DoorAll, false}}, sorted[1].Doors)
		}
		packets, err := s.AppendPackets(nil)
		require.NoError(t, err)
		again := NewState(p)
		_, err = again.Apply(packets)
		require.NoError(t, err)
		requireEqualStates(t, s, again)
		changed, err = s.Apply(newLog(t, p).frame(1, &EventAddList{}, &PositionList{{}}).data[34:])
		require.NoError(t, err)
		require.False(t, changed)
	}
}

// TestTimes checks that LogTime never decreases, even if times of a log decrease or are invalid.
func TestTimes(t *testing.T) {
	l := newLog(t, UE4)
	for i, elapsed := range []float64{0, 1, 0.5, math.NaN(), math.Inf(1), -5, 2} {
		l.add(&FrameStart{uint64(i + 1), -1, elapsed}, &FrameEnd{})
	}
	messages, end := readAll(t, openLog(t, l.data), codec.Query{})
	require.Equal(t, io.EOF, end)
	var got []int64
	for _, m := range messages {
		got = append(got, m.time-header.Date*1e9)
	}
	require.Equal(t, []int64{0, 1e9, 1e9, 1e9, 1e9, 1e9, 2e9}, got)
}

// TestPacketsBetweenFrames checks that packets before the first frame and between frames are in messages.
func TestPacketsBetweenFrames(t *testing.T) {
	l := newLog(t, UE4).add(&unknownBody{}).frame(1).add(&unknownBody{Open: true}).frame(2).add(&unknownBody{})
	r := openLog(t, l.data)
	messages, _ := readAll(t, r, codec.Query{})
	require.Len(t, messages, 2)
	require.Equal(t, l.data[r.begin:], joinData(messages))
	require.EqualValues(t, 2, startOf(messages[1].data).Frame)
	from, _ := readAll(t, r, codec.Query{Start: messages[1].time})
	require.Equal(t, messages[1:], from)
}

func TestOpenErrors(t *testing.T) {
	_, err := Open(nil, "missing.log")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.EqualError(t, err, "open missing.log: no such file or directory")
	r := openLog(t, newLog(t, UE4).frame(1).data)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	require.NoError(t, it.Close())
	_, err = it.Next()
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, r.Close())
}

// shrinkingFile is a file that is cut off after its first read.
type shrinkingFile struct{ codectest.File }

func (s shrinkingFile) ReadAt(b []byte, pos int64) (int, error) {
	if pos > 0 {
		return 0, io.EOF
	}
	return s.File.ReadAt(b, pos)
}

func TestShrinkingFile(t *testing.T) {
	log := newLog(t, UE4).addTraffic(3000).data
	_, err := newReader(shrinkingFile{codectest.NewFile(log)}, int64(len(log)), "a.log")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// FuzzRead checks that reading any log ends, that Info counts the messages that reading returns, and that reading from
// the middle returns the messages from there on.
func FuzzRead(f *testing.F) {
	for _, p := range Profiles() {
		l := newLog(f, p).addTraffic(4)
		for id := range 25 {
			if b := fullBody(p, uint8(id)); b != nil && id > 1 {
				l.frame(uint64(5+id), b)
			}
		}
		f.Add(l.data)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		r, err := newReader(codectest.NewFile(log), int64(len(log)), "fuzz.log")
		if err != nil {
			return
		}
		plain, end := readAll(t, r, codec.Query{})
		require.True(t, end == io.EOF || errors.Is(end, ErrDamaged), end)
		damaged := 0
		saved, end := readAll(t, r, codec.Query{Damaged: func(error) { damaged++ }})
		require.Equal(t, io.EOF, end)
		info, err := r.Info()
		require.NoError(t, err)
		require.EqualValues(t, len(saved), info.MessageCount)
		if damaged == 0 {
			require.Equal(t, plain, saved)
		}
		d := Decoder{Profile: r.Profile()}
		for _, m := range saved {
			require.True(t, bytes.Contains(log, m.data))
			for rest := m.data; len(rest) > 0; {
				var k Packet
				k, rest, err = NextPacket(rest)
				require.NoError(t, err)
				if b, err := d.Decode(k); err == nil && b != nil {
					_, err := AppendPacket(nil, d.Profile, b)
					require.True(t, err == nil || bytes.Contains([]byte(err.Error()), []byte("bytes; CARLA reads")) ||
						bytes.Contains([]byte(err.Error()), []byte("has none for")), err)
				}
			}
		}
		half := info.StartTime + (info.EndTime-info.StartTime)/2
		from, end := readAll(t, r, codec.Query{Start: half, Damaged: func(error) {}})
		require.Equal(t, io.EOF, end)
		if damaged == 0 {
			want := 0
			for _, m := range saved {
				if m.time >= half {
					want++
				}
			}
			require.Len(t, from, want)
		}
	})
}

// stateAt returns the state before the first frame at or after a time.
func stateAt(t testing.TB, r *Reader, at int64) *State {
	x, err := r.loadIndex()
	require.NoError(t, err)
	s, err := x.state(r.walker(), r.profile, x.seek(at))
	require.NoError(t, err)
	return s
}
