package mcap

import (
	"testing"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/internal/codectest"
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
		})
	}
}
