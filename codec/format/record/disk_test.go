package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
)

// diskFormat describes the format for tests on a simulated disk. Files are read in the folder dir.
func diskFormat(dir string) disktest.Format {
	return disktest.Format{
		First: "drive.record.00000",
		Channels: []*codec.Channel{
			{Topic: "/a", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
				Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")}},
			{Topic: "/b", Type: "x.B", Encoding: codec.EncodingProtobuf},
		},
		Silent: &codec.Channel{Topic: "/silent", Type: "x.C", Encoding: codec.EncodingProtobuf},
		Create: createOn,
		Open: func(t testing.TB, name string, content []byte) (codec.Reader, error) {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, content, 0o666))
			return codec.Formats{Format}.Open(path)
		},
		Uncertain: true,
	}
}

func TestDiskErrors(t *testing.T) {
	stride := int64(1)
	if testing.Short() {
		stride = 5
	}
	disktest.Pieces(t, func(t *testing.T) { diskFormat(t.TempDir()).TestErrors(t, stride) })
}

func TestCrash(t *testing.T) {
	step, stride := 31, 1
	if testing.Short() {
		step, stride = 610, 7
	}
	disktest.Pieces(t, func(t *testing.T) {
		diskFormat(t.TempDir()).TestCrashes(t, step, stride, codec.CreateOptions{})
	})
}
