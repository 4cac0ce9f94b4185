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

// newScanner returns a scanner of bytes that may begin with garbage.
func newScanner(t testing.TB) *Scanner {
	return NewScanner(dialectFormats(t))
}

// scanAll writes data in chunks of size bytes, and returns the sequence numbers of the frames that the scanner finds.
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

// TestScanner checks the found frames and the counted damage, for chunks of different sizes.
func TestScanner(t *testing.T) {
	e1, e2 := tlogtest.NewEncoder(t, 1, streamwriter.V1), tlogtest.NewEncoder(t, 1, streamwriter.V2)
	var v1, v2 [][]byte
	for i := range uint32(4) {
		v1 = append(v1, e1.Encode(t, attitude(i+1)))
		v2 = append(v2, e2.Encode(t, attitude(i+1)))
	}
	join := slices.Concat[[]byte]
	withBadByte := func(frame []byte, at int) []byte {
		b := bytes.Clone(frame)
		b[at] ^= 0x55
		return b
	}
	withoutByte := func(frame []byte, at int) []byte { return slices.Delete(bytes.Clone(frame), at, at+1) }
	unknown := []byte{0xfd, 3, 0, 0, 9, 1, 1, 0xff, 0xff, 0xff, 1, 2, 3, 0, 0}
	badFlags := withBadByte(v2[1], 2)
	for _, test := range []struct {
		name    string
		data    []byte
		frames  []uint8 // sequence numbers
		bad     uint64  // frames with a bad checksum
		garbage int     // bytes
	}{
		{"nothing", nil, nil, 0, 0},
		{"whole frames", join(v1...), []uint8{0, 1, 2, 3}, 0, 0},
		{"whole frames of MAVLink 2", join(v2...), []uint8{0, 1, 2, 3}, 0, 0},
		{"both versions", join(v1[0], v2[1], v1[2], v2[3]), []uint8{0, 1, 2, 3}, 0, 0},
		{"garbage first", join([]byte("hello, world"), v1[0], v1[1]), []uint8{0, 1}, 0, 12},
		{"garbage between", join(v1[0], []byte("$GPGGA,*47\r\n"), v1[1]), []uint8{0, 1}, 0, 12},
		{"garbage of magic bytes", join(bytes.Repeat([]byte{0xfe}, 300), v1[0], bytes.Repeat([]byte{0xfd}, 300), v2[1]),
			[]uint8{0, 1}, 0, 600},
		{"beginning in a frame", join(v1[0][9:], v1[1], v1[2]), []uint8{1, 2}, 0, len(v1[0]) - 9},
		{"bad payload", join(v1[0], withBadByte(v1[1], 12), v1[2]), []uint8{0, 2}, 1, 0},
		{"bad payload of MAVLink 2", join(v2[0], withBadByte(v2[1], 20), v2[2]), []uint8{0, 2}, 1, 0},
		{"bad checksum", join(v1[0], withBadByte(v1[1], len(v1[1])-1), v1[2]), []uint8{0, 2}, 1, 0},
		{"two bad frames", join(v1[0], withBadByte(v1[1], 12), withBadByte(v1[2], 13), v1[3]), []uint8{0, 3}, 2, 0},
		{"a missing byte", join(v1[0], withoutByte(v1[1], 12), v1[2], v1[3]), []uint8{0, 2, 3}, 1, 0},
		{"an extra byte", join(v1[0], slices.Insert(bytes.Clone(v1[1]), 12, 7), v1[2]), []uint8{0, 2}, 1, 1},
		{"too great a length", join(v2[0], append([]byte{0xfd, 250}, v2[1][2:]...), v2[2], v2[3]), []uint8{0, 2, 3}, 0,
			len(v2[1])},
		{"too great a length that ends in another frame",
			join(v2[0], append([]byte{0xfd, 60}, v2[1][2:]...), v2[2], v2[3]), []uint8{0, 2, 3}, 1, 0},
		{"unknown flags", join(v2[0], badFlags, v2[2]), []uint8{0, 2}, 0, len(badFlags)},
		{"unknown id", join(v2[0], unknown, v2[1]), []uint8{0, 9, 1}, 0, 0},
		{"unknown id among garbage", join(v2[0], []byte{1}, unknown, v2[1]), []uint8{0, 1}, 0, 1 + len(unknown)},
		{"cut at the end", join(v1[0], v1[1][:20]), []uint8{0}, 0, 20},
		{"frame after a cut frame", join(v1[0], v1[1][:20], v1[2]), []uint8{0, 2}, 1, 0},
		{"header cut", join(v1[0], v1[1][:3]), []uint8{0}, 0, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 4096} {
				s := newScanner(t)
				require.Equal(t, test.frames, scanAll(s, test.data, size))
				require.Equal(t, test.bad, s.Damage.BadChecksum)
				require.EqualValues(t, test.garbage, s.Damage.Garbage)
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

// FuzzScanner checks that the scanner accounts for each byte: as a frame, as a bad frame or as garbage.
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
	formats := dialectFormats(f)
	f.Fuzz(func(t *testing.T, data []byte, size uint16) {
		for _, prefix := range []int{0, StampSize} {
			s := newLogScanner(formats, binary.BigEndian)
			s.Prefix, s.edge = prefix, -1
			frames := uint64(0) // bytes
			for chunk := range slices.Chunk(data, int(size)+1) {
				s.Write(chunk)
				for record, _, ok := s.Next(false); ok; record, _, ok = s.Next(false) {
					frames += uint64(len(record))
				}
			}
			for record, _, ok := s.Next(true); ok; record, _, ok = s.Next(true) {
				frames += uint64(len(record))
			}
			require.LessOrEqual(t, frames+s.Damage.Garbage, uint64(len(data)))
			require.Equal(t, len(s.buffer), s.start, "bytes in the buffer after the end")
			if s.Damage.BadChecksum == 0 {
				require.EqualValues(t, len(data), frames+s.Damage.Garbage)
			}
		}
	})
}
