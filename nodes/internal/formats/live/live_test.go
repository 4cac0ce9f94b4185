package live

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct{ storage, name, format, path string }{
		{"auto", "", "record", ".record.00000"},
		{"auto", "drive", "record", "drive.record.00000"},
		{"auto", "drive.1", "record", "drive.1.record.00000"},
		{"auto", "out/drive.record", "record", "out/drive.record.00000"},
		{"auto", "drive.record.00000", "record", "drive.record.00000"},
		{"auto", "drive.mcap", "mcap", "drive.mcap"},
		{"auto", "drive.log", "carla", "drive.log"},
		{"record", "drive", "record", "drive.record.00000"},
		{"mcap", "drive", "rosbag2", "drive"},
		{"mcap", "drive.1/", "rosbag2", "drive.1"},
		{"mcap", "drive.mcap", "mcap", "drive.mcap"},
		{"mcap-file", "drive", "mcap", "drive.mcap"},
		{"rosbag2", "drive", "rosbag2", "drive"},
		{"session", "take", "session", "take"},
		{"carla", "drive", "carla", "drive.log"},
	} {
		f, err := Choose(c.storage, c.name)
		require.NoError(t, err, c)
		require.Equal(t, c.format, f.Name, c)
		require.Equal(t, c.path, f.Path(c.name), c)
	}
	for _, c := range []struct{ storage, name, want string }{
		{"auto", "drive.bag", "drive.bag cannot be written while recording; record to another storage, such as mcap, " +
			"and convert it: converter NAME --to bag OUT"},
		{"auto", "drive.db3", "converter NAME --to rosbag2 -s sqlite3 OUT"},
		{"auto", "drive.csv", "converter NAME --to csv OUT"},
		{"parquet", "drive", "storage: parquet cannot be written while recording"},
		{"bag", "drive", "storage: bag cannot be written while recording"},
		{"sqlite3", "", "converter NAME --to rosbag2 -s sqlite3 OUT"},
		{"hdf5", "", "storage: hdf5 cannot be written while recording; record to another storage, such as mcap, and " +
			"convert it: converter NAME OUT.hdf5"},
		{"auto", "drive.hdf5", "drive.hdf5 cannot be written while recording"},
		{"zip", "", `storage: "zip" is unknown, want one of auto, carla, mcap, mcap-file, record, rosbag2, session`},
		{"record", "drive.mcap", "storage, output: drive.mcap is the name of a recording of the format mcap, not " +
			"record"},
		{"rosbag2", "drive.bag", "drive.bag is the name of a recording of the format bag, not rosbag2"},
	} {
		_, err := Choose(c.storage, c.name)
		require.ErrorIs(t, err, config.ErrUsage, c)
		require.ErrorContains(t, err, c.want)
	}
}
