package rosbag

import (
	"bytes"
	"testing"

	"tapedeck/codec"
	"tapedeck/codec/internal/disktest"
)

// onDisk is the format on a disk that fails and forgets.
func onDisk() disktest.Format {
	channels := testChannels()
	return disktest.Format{
		First: "drive.bag", Channels: channels[:3], Silent: channels[3],
		Create: createOn,
		Open: func(_ testing.TB, name string, content []byte) (codec.Reader, error) {
			return newReader(memory{bytes.NewReader(content)}, int64(len(content)), name)
		},
	}
}

func TestDiskErrors(t *testing.T) { onDisk().TestErrors(t) }

func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow under the race detector and has one goroutine")
	}
	for compression, step := range map[string]int{"none": 61, "lz4": 307} { // LZ4 takes its time to begin
		t.Run(compression, func(t *testing.T) {
			onDisk().TestCrashes(t, step, codec.CreateOptions{Compression: compression})
		})
	}
}
