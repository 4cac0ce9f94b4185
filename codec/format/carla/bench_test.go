package carla

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// drivers is the number of vehicles in benchmarks.
const drivers = 100

// benchmarkLog writes a log with 100 vehicles and 20 frames a second, and returns its path. Every second an actor
// appears and another disappears.
func benchmarkLog(b testing.TB, frames int) string {
	path := filepath.Join(b.TempDir(), "a.log")
	out, err := os.Create(path)
	require.NoError(b, err)
	defer out.Close()
	l := newLog(b, UE4)
	positions, controls := make(PositionList, drivers), make(AnimVehicleList, drivers)
	lights, motions := make(VehicleLightList, drivers), make(KinematicsList, drivers)
	var all EventAddList
	for i := range positions {
		actor := uint32(i + 1)
		positions[i].Actor, controls[i].Actor, lights[i].Actor, motions[i].Actor = actor, actor, actor, actor
		all = append(all, EventAdd{Actor: actor, Type: ActorVehicle, BlueprintID: "vehicle.audi.tt",
			Attributes: []Attribute{{AttributeString, "role_name", "autopilot"}}})
	}
	for i := range frames {
		add, del := EventAddList{}, EventDelList{}
		if i == 0 {
			add = all
		} else if i%20 == 0 {
			add = EventAddList{{Actor: uint32(drivers + i), Type: ActorWalker, BlueprintID: "walker.pedestrian.0001"}}
			del = EventDelList{EventDel(drivers + i - 200)}
		}
		l.add(&FrameStart{uint64(i + 1), 0.05, float64(i) / 20}, &add, &del, &EventParentList{}, &CollisionList{},
			&positions,
			&StateList{},
			&controls, &AnimWalkerList{}, &lights, &motions, &FrameEnd{})
		if len(l.data) > 1<<20 || i == frames-1 {
			_, err := out.Write(l.data)
			require.NoError(b, err)
			l.data = l.data[:0]
		}
	}
	return path
}

func BenchmarkRead(b *testing.B) {
	path := benchmarkLog(b, 20_000)
	stat, err := os.Stat(path)
	require.NoError(b, err)
	b.Run("copy", func(b *testing.B) { // copies the bytes of the packets
		b.SetBytes(stat.Size())
		buf := make([]byte, chunked.WindowSize)
		for b.Loop() {
			f, err := os.Open(path)
			require.NoError(b, err)
			for err == nil {
				_, err = f.Read(buf)
			}
			require.Equal(b, io.EOF, err)
			f.Close()
		}
	})
	b.Run("frames", func(b *testing.B) {
		b.SetBytes(stat.Size())
		for b.Loop() {
			r, err := Open(nil, path)
			require.NoError(b, err)
			it, err := r.Read(codec.Query{})
			for err == nil {
				_, err = it.Next()
			}
			require.Equal(b, io.EOF, err)
			require.NoError(b, r.Close())
		}
	})
	b.Run("values", func(b *testing.B) { // decodes all packets
		b.SetBytes(stat.Size())
		for b.Loop() {
			r, err := Open(nil, path)
			require.NoError(b, err)
			d := Decoder{Profile: r.Profile()}
			it, err := r.Read(codec.Query{})
			for err == nil {
				var m *codec.Message
				m, err = it.Next()
				if err != nil {
					break
				}
				for rest := m.Data; len(rest) > 0; {
					var k Packet
					k, rest, err = NextPacket(rest)
					if err != nil {
						break
					}
					_, err = d.Decode(k)
					if err != nil {
						break
					}
				}
			}
			require.Equal(b, io.EOF, err)
			require.NoError(b, r.Close())
		}
	})
	b.Run("index", func(b *testing.B) {
		b.SetBytes(stat.Size())
		for b.Loop() {
			r, err := Open(nil, path)
			require.NoError(b, err)
			_, err = r.Info()
			require.NoError(b, err)
			require.NoError(b, r.Close())
		}
	})
}

// BenchmarkSeek reads the first message at changing times of a log of an hour. The index of the log is made before.
func BenchmarkSeek(b *testing.B) {
	const frames = 3600 * 20
	r, err := Open(nil, benchmarkLog(b, frames))
	require.NoError(b, err)
	_, err = r.Info()
	require.NoError(b, err)
	turn := 0
	for b.Loop() {
		turn++
		it, err := r.Read(codec.Query{Start: header.Date*1e9 + int64(turn*7919%frames)*5e7})
		require.NoError(b, err)
		_, err = it.Next()
		require.NoError(b, err)
	}
	require.NoError(b, r.Close())
}
