package tlog

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog/tlogtest"
	"tapedeck/test/samples"
)

func newScanner(t testing.TB) *Scanner {
	known := knownFormats(t)
	return &Scanner{Formats: known, edge: -1}
}

// scanAll returns the sequence numbers of the frames in data, which it writes in pieces of size bytes.
func scanAll(s *Scanner, data []byte, size int) []uint8 {
	var found []uint8
	for chunk := range slices.Chunk(data, size) {
		s.Write(chunk)
		for _, h, ok := s.Next(false); ok; _, h, ok = s.Next(false) {
			found = append(found, h.Sequence)
		}
	}
	for _, h, ok := s.Next(true); ok; _, h, ok = s.Next(true) {
		found = append(found, h.Sequence)
	}
	return found
}

func TestScanner(t *testing.T) {
	e1, e2 := tlogtest.NewEncoder(t, 1, streamwriter.V1), tlogtest.NewEncoder(t, 1, streamwriter.V2)
	var v1, v2 [][]byte
	for i := range uint32(4) {
		v1 = append(v1, e1.Encode(t, attitude(i+1)))
		v2 = append(v2, e2.Encode(t, attitude(i+1)))
	}
	join := slices.Concat[[]byte]
	broken := func(frame []byte, at int) []byte {
		b := bytes.Clone(frame)
		b[at] ^= 0x55
		return b
	}
	without := func(frame []byte, at int) []byte { return slices.Delete(bytes.Clone(frame), at, at+1) }
	unknown := []byte{0xfd, 3, 0, 0, 9, 1, 1, 0xff, 0xff, 0xff, 1, 2, 3, 0, 0}
	badFlags := broken(v2[1], 2)
	for _, test := range []struct {
		name    string
		data    []byte
		frames  []uint8
		bad     uint64
		garbage int
	}{
		{"nothing", nil, nil, 0, 0},
		{"whole frames", join(v1...), []uint8{0, 1, 2, 3}, 0, 0},
		{"whole frames of MAVLink 2", join(v2...), []uint8{0, 1, 2, 3}, 0, 0},
		{"both versions", join(v1[0], v2[1], v1[2], v2[3]), []uint8{0, 1, 2, 3}, 0, 0},
		{"garbage first", join([]byte("hello, world"), v1[0], v1[1]), []uint8{0, 1}, 0, 12},
		{"garbage between", join(v1[0], []byte("$GPGGA,*47\r\n"), v1[1]), []uint8{0, 1}, 0, 12},
		{"garbage of magic bytes", join(bytes.Repeat([]byte{0xfe}, 300), v1[0], bytes.Repeat([]byte{0xfd}, 300), v2[1]),
			[]uint8{0, 1}, 0, 600},
		{"from the middle of a frame", join(v1[0][9:], v1[1], v1[2]), []uint8{1, 2}, 0, len(v1[0]) - 9},
		{"bad payload", join(v1[0], broken(v1[1], 12), v1[2]), []uint8{0, 2}, 1, 0},
		{"bad payload of MAVLink 2", join(v2[0], broken(v2[1], 20), v2[2]), []uint8{0, 2}, 1, 0},
		{"bad checksum", join(v1[0], broken(v1[1], len(v1[1])-1), v1[2]), []uint8{0, 2}, 1, 0},
		{"two bad frames", join(v1[0], broken(v1[1], 12), broken(v1[2], 13), v1[3]), []uint8{0, 3}, 2, 0},
		{"a byte lost", join(v1[0], without(v1[1], 12), v1[2], v1[3]), []uint8{0, 2, 3}, 1, 0},
		{"a byte too many", join(v1[0], slices.Insert(bytes.Clone(v1[1]), 12, 7), v1[2]), []uint8{0, 2}, 1, 1},
		{"claims to be longer", join(v2[0], append([]byte{0xfd, 250}, v2[1][2:]...), v2[2], v2[3]), []uint8{0, 2, 3}, 0,
			len(v2[1])},
		{"claims to be longer, and ends in a frame", join(v2[0], append([]byte{0xfd, 60}, v2[1][2:]...), v2[2], v2[3]),
			[]uint8{0, 2, 3}, 1, 0},
		{"unknown flags", join(v2[0], badFlags, v2[2]), []uint8{0, 2}, 0, len(badFlags)},
		{"unknown id", join(v2[0], unknown, v2[1]), []uint8{0, 9, 1}, 0, 0},
		{"unknown id among garbage", join(v2[0], []byte{1}, unknown, v2[1]), []uint8{0, 1}, 0, 1 + len(unknown)},
		{"cut at the end", join(v1[0], v1[1][:20]), []uint8{0}, 0, 20},
		{"frame in a frame that is cut", join(v1[0], v1[1][:20], v1[2]), []uint8{0, 2}, 1, 0},
		{"header cut", join(v1[0], v1[1][:3]), []uint8{0}, 0, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 4096} {
				s := newScanner(t)
				require.Equal(t, test.frames, scanAll(s, test.data, size))
				require.Equal(t, test.bad, s.Found.BadChecksum)
				require.EqualValues(t, test.garbage, s.Found.Garbage)
			}
		})
	}
}

// TestScannerDoesNotWait checks that a frame is returned once its last byte is written, even after bytes that look like
// the header of another frame.
func TestScannerDoesNotWait(t *testing.T) {
	e := tlogtest.NewEncoder(t, 1, streamwriter.V1)
	s := newScanner(t)
	s.Write([]byte{0xfe, 0xff, 0xfe, 0x20, 0xfd, 0x40, 0, 0, 1, 1, 1, 0x77, 0x77, 0x77, 0xfe})
	for i := range uint32(3) {
		s.Write(e.Encode(t, attitude(i)))
		_, h, ok := s.Next(false)
		require.True(t, ok)
		require.EqualValues(t, i, h.Sequence)
	}
}

func FuzzScanner(f *testing.F) {
	for _, name := range []string{"dronekit_flight.tlog", "synthetic_px4_v2.tlog"} {
		for _, data := range samples.Seeds(f, "mavlink/"+name) {
			f.Add(data[:min(4096, len(data))], uint16(64))
			f.Add(data[max(0, len(data)-1000):], uint16(9))
		}
	}
	e1, e2 := tlogtest.NewEncoder(f, 1, streamwriter.V1), tlogtest.NewEncoder(f, 2, streamwriter.V2)
	f.Add(append(e1.Encode(f, attitude(1)), e2.Encode(f, heartbeat())...), uint16(1))
	f.Add(bytes.Repeat([]byte{0xfe, 0xfd, 0, 30}, 100), uint16(1000))
	known := knownFormats(f)
	f.Fuzz(func(t *testing.T, data []byte, size uint16) {
		for _, prefix := range []int{0, StampSize} {
			s := newLogScanner(known, binary.BigEndian)
			s.Prefix, s.edge = prefix, -1
			frames := uint64(0)
			for chunk := range slices.Chunk(data, int(size)+1) {
				s.Write(chunk)
				for record, _, ok := s.Next(false); ok; record, _, ok = s.Next(false) {
					frames += uint64(len(record))
				}
			}
			for record, _, ok := s.Next(true); ok; record, _, ok = s.Next(true) {
				frames += uint64(len(record))
			}
			require.LessOrEqual(t, frames+s.Found.Garbage, uint64(len(data)))
			require.Equal(t, len(s.buffer), s.begin, "bytes that were never judged")
			if s.Found.BadChecksum == 0 {
				require.EqualValues(t, len(data), frames+s.Found.Garbage)
			}
		}
	})
}
