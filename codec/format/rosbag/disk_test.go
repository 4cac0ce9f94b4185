package rosbag

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/internal/codectest"
)

// diskFormat returns the description of the format for tests on a simulated disk.
func diskFormat() disktest.Format {
	channels := testChannels()
	return disktest.Format{
		First: "drive.bag", Channels: channels[:3], Silent: channels[3],
		Create: createOn,
		Open: func(_ testing.TB, name string, content []byte) (codec.Reader, error) {
			return newReader(codectest.NewFile(content), int64(len(content)), name)
		},
	}
}

func TestDiskErrors(t *testing.T) { diskFormat().TestErrors(t, 1) }

// TestLossIsAnEvent checks that a bag has an event about messages that could not be written.
func TestLossIsAnEvent(t *testing.T) {
	writes := 0
	disk := &disktest.Disk{Fail: func(_ string, n int) (int, error) {
		if n < 0 {
			return 0, nil
		}
		writes++
		if writes == 3 {
			return 0, syscall.EIO
		}
		return n, nil
	}}
	w, err := createOn(disk, "a.bag", codec.CreateOptions{ChunkSize: 300})
	require.NoError(t, err)
	for i := int64(1); i <= 40; i++ {
		err = w.Write(&codec.Message{Channel: testChannels()[0], LogTime: i, Data: make([]byte, 50)})
		if err != nil {
			break
		}
	}
	require.Error(t, err)
	require.ErrorIs(t, w.Close(), syscall.EIO)
	r := openMemory(t, disk.Files()["a.bag"])
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Len(t, info.Events, 1)
	require.Equal(t, codec.EventDisk, info.Events[0].Kind)
	require.Contains(t, info.Events[0].Text, "messages")
	require.Positive(t, info.Events[0].Count)
}

// TestCrash checks that a bag can be read after a crash at any time.
func TestCrash(t *testing.T) {
	factor, stride := 1, 1
	if testing.Short() {
		factor, stride = 10, 7
	}
	for compression, step := range map[string]int{"none": 61, "lz4": 307} { // LZ4 is slow to start
		t.Run(compression, func(t *testing.T) {
			diskFormat().TestCrashes(t, factor*step, stride, codec.CreateOptions{Compression: compression})
		})
	}
}
