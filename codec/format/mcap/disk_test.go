package mcap

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/internal/output"
)

// diskFormat describes the format for tests on a simulated disk.
func diskFormat() disktest.Format {
	channels := testChannels()
	return disktest.Format{
		First: "drive_0.mcap", Channels: channels[:3],
		Silent: &codec.Channel{Topic: "/silent", Encoding: codec.EncodingCDR},
		Create: createOn,
		Open: func(_ testing.TB, name string, content []byte) (codec.Reader, error) {
			return NewReader(codectest.NewFile(content), int64(len(content)), name)
		},
	}
}

func TestDiskErrors(t *testing.T) {
	stride := int64(1)
	if testing.Short() {
		stride = 5
	}
	disktest.Pieces(t, func(t *testing.T) { diskFormat().TestErrors(t, stride) })
	disktest.Pieces(t, func(t *testing.T) { grouped(diskFormat()).TestErrors(t, stride) })
}

// grouped returns f with a group for each channel, except that the first channel shares a group with events.
func grouped(f disktest.Format) disktest.Format {
	first := f.Channels[0].Topic
	f.Create = func(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error) {
		o.ChunkGroups = func(c *codec.Channel, _ int) string { return strings.TrimPrefix(c.Topic, first) }
		return createOn(s, path, o)
	}
	for i := range 40 {
		f.Messages = append(f.Messages, codec.Message{Channel: f.Channels[i*i%len(f.Channels)], LogTime: int64(i + 1),
			Data: make([]byte, 10+20*(i%3))})
	}
	return f
}

// TestSumAfterErrors makes the disk fail once, at each operation, while chunks change the profile in the header. No
// complete file may have a wrong checksum of its data section.
func TestSumAfterErrors(t *testing.T) {
	channels := testChannels()
	channels[0].Encoding = codec.EncodingROS1
	for at, failed := 1, true; failed; at++ {
		calls := 0
		disk := &disktest.Disk{Fail: func(_ string, n int) (int, error) {
			calls++
			if calls == at {
				return max(n, 0) / 2, syscall.EIO
			}
			return 0, nil
		}}
		w, err := createOn(disk, "a.mcap", codec.CreateOptions{ChunkSize: 1})
		if err != nil {
			continue
		}
		for i, c := range channels {
			_ = w.Write(&codec.Message{Channel: c, LogTime: int64(i + 1), Data: make([]byte, 100)})
		}
		_ = w.Close()
		failed = calls >= at
		for name, content := range disk.Files() {
			r, err := NewReader(codectest.NewFile(content), int64(len(content)), name)
			require.NoError(t, err)
			require.NoError(t, r.Load())
			require.NoError(t, r.Layout.(*reader).Verify(), "failed at operation %d", at)
		}
	}
}

func TestCrash(t *testing.T) {
	step, stride := 61, 1
	if testing.Short() {
		step, stride = 610, 7
	}
	for _, compression := range []string{"none", "zstd"} {
		t.Run(compression, func(t *testing.T) {
			disktest.Pieces(t, func(t *testing.T) {
				diskFormat().TestCrashes(t, step, stride, codec.CreateOptions{Compression: compression})
			})
			disktest.Pieces(t, func(t *testing.T) {
				grouped(diskFormat()).TestCrashes(t, step, stride, codec.CreateOptions{Compression: compression})
			})
		})
	}
}
