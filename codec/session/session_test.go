package session_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/episode"
	"tapedeck/codec/session"
)

// sample is a session that EasyTeleop wrote.
const sample = "../../../shared/samples/session/easyteleop_reference/temp/20261121_082214"

// read returns the take in a session, in which nothing is damaged.
func read(t *testing.T, path string) *episode.Episode {
	list, damage := readAll(t, path)
	require.Empty(t, damage)
	require.Len(t, list, 1)
	return list[0]
}

func readAll(t *testing.T, path string) ([]*episode.Episode, []error) {
	s, err := session.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	list, err := s.Episodes()
	require.NoError(t, err)
	return list, s.Damage()
}

// content returns all files below a folder.
func content(t *testing.T, path string) map[string]string {
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		relative, _ := filepath.Rel(path, name)
		files[relative] = string(data)
		return err
	}))
	return files
}

func TestSample(t *testing.T) {
	if _, err := os.Stat(sample); err != nil {
		t.Skip("the sample of a session is not here: ", err)
	}
	e := read(t, sample)
	require.Equal(t, "20261121_082214", e.Name)
	require.EqualValues(t, 1795249335139884000, e.End)
	require.Len(t, e.Cameras, 3)
	require.Len(t, e.Arms, 2)
	require.Len(t, e.Cameras[1].Stamps, 28)
	require.EqualValues(t, 1764000000971000000, e.Cameras[1].Stamps[27])
	require.JSONEq(t, `{"type": "RealSenseCamera", "serial": "427622270438", "fps": 30}`, string(e.Cameras[1].Device))
	arm := e.Arms[0]
	require.JSONEq(t, `{"type": "RealMan", "ip": "192.168.0.18", "port": 8080, "joints": 6}`, string(arm.Device))
	require.Len(t, arm.Joint.Stamps, 50)
	require.Len(t, arm.Joint.Columns, 6)
	require.Equal(t, "deg", arm.Joint.Columns[5].Unit)
	require.Equal(t, 8.414709848078965, arm.Joint.Values[1])
	require.Equal(t, -9.869151692846454, arm.Joint.Values[len(arm.Joint.Values)-1])
	require.Equal(t, "force", arm.Gripper.Columns[0].Name)
	require.Equal(t, "status", arm.Gripper.Columns[2].Name)
	require.Equal(t, []float64{10.5, 0.75, 1}, arm.Gripper.Values[:3])
	require.Equal(t, "0", e.Arms[1].Gripper.Columns[0].Name)

	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, session.Write(copied, e, session.Options{}))
	require.Equal(t, content(t, sample), content(t, copied))
}
