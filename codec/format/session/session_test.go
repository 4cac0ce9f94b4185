package session_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/episode"
	"tapedeck/test/samples"
)

// reference is the path of a session that EasyTeleop wrote, in the samples.
const reference = "session/easyteleop_reference/temp/20261121_082214"

// read reads a session. It must have one episode and no damage.
func read(t *testing.T, path string) *episode.Episode {
	list, damage := readAll(t, path)
	require.Empty(t, damage)
	require.Len(t, list, 1)
	return list[0]
}

// readAll returns the episodes and the damage of a session or a folder of sessions.
func readAll(t *testing.T, path string) ([]*episode.Episode, []error) {
	s, err := session.Open(nil, path)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	list, err := s.Episodes()
	require.NoError(t, err)
	return list, s.Damage
}

// content returns the contents of all files below a folder, by relative path.
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

// TestSample reads a session of EasyTeleop and compares some of its data. A copy of the session must have equal files.
func TestSample(t *testing.T) {
	sample := samples.Path(t, reference)
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
	require.Len(t, arm.Streams[episode.Joint].Stamps, 50)
	require.Len(t, arm.Streams[episode.Joint].Columns, 6)
	require.Equal(t, "deg", arm.Streams[episode.Joint].Columns[5].Unit)
	require.Equal(t, 8.414709848078965, arm.Streams[episode.Joint].Values[1])
	require.Equal(t, -9.869151692846454, arm.Streams[episode.Joint].Values[len(arm.Streams[episode.Joint].Values)-1])
	require.Equal(t, "force", arm.Streams[episode.Gripper].Columns[0].Name)
	require.Equal(t, "status", arm.Streams[episode.Gripper].Columns[2].Name)
	require.Equal(t, []float64{10.5, 0.75, 1}, arm.Streams[episode.Gripper].Values[:3])
	require.Equal(t, "0", e.Arms[1].Streams[episode.Gripper].Columns[0].Name)

	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, session.Write(copied, e, session.Options{}))
	require.Equal(t, content(t, sample), content(t, copied))
}

// TestFolder reads a folder of sessions. The sessions must be episodes, in the order of their names. Other files and
// folders must be ignored.
func TestFolder(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"take_10", "take_9", "notes", ".hidden"} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, name), 0o777))
	}
	for _, name := range []string{"take_10", "take_9", ".hidden"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name, "metadata.json"),
			[]byte(`{"devices": {"arm_0": {}}, "end_time": 5}`), 0o666))
	}
	put(t, folder, "take_9/arm_0/joints.csv", "timestamp,index,value\r\n1.0,0,7\r\n")
	put(t, folder, "take_10/arm_0/joints.csv", "timestamp,index,value\r\n2.0,0,7\r\n3.0,0,x\r\n")
	list, damage := readAll(t, folder)
	require.Len(t, list, 2)
	require.Equal(t, "take_9", list[0].Name)
	require.Len(t, damage, 1)
	require.ErrorContains(t, damage[0], filepath.Join(folder, "take_10/arm_0/joints.csv")+`:3: value "x" is not a `+
		`number`)

	// The folder as a recording with messages.
	r, err := codec.Formats{session.Format}.Open(folder)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	require.Equal(t, "session", info.Format)
	require.True(t, info.Complete)
	require.EqualValues(t, 2, info.MessageCount)
	require.Equal(t, codec.EventDamage, info.Events[0].Kind)
	count := func(q codec.Query) (n int, err error) {
		it, err := r.Read(q)
		require.NoError(t, err)
		defer it.Close()
		for {
			if _, err := it.Next(); err != nil {
				return n, err
			}
			n++
		}
	}
	n, err := count(codec.Query{})
	require.Equal(t, 2, n)
	require.ErrorContains(t, err, "is not a number")
	var reported []error
	n, err = count(codec.Query{Damaged: func(err error) { reported = append(reported, err) }})
	require.Equal(t, 2, n)
	require.Equal(t, io.EOF, err)
	require.Len(t, reported, 1)
}

// put writes a file and creates its folder.
func put(t testing.TB, folder, name, content string) {
	path := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
}

// TestNoSession opens folders that are not sessions. The error must be codec.ErrUnknownFormat.
func TestNoSession(t *testing.T) {
	folder := t.TempDir()
	_, err := session.Open(nil, folder)
	require.ErrorIs(t, err, codec.ErrUnknownFormat)
	_, err = codec.Formats{session.Format}.Open(folder)
	require.ErrorIs(t, err, codec.ErrUnknownFormat)
	put(t, folder, "metadata.json", `{"name": "of something else"}`)
	put(t, folder, "frames/0001.png", "")
	_, err = session.Open(nil, folder)
	require.ErrorIs(t, err, codec.ErrUnknownFormat)
	_, err = session.Open(nil, filepath.Join(folder, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = codec.Formats{session.Format}.Create(filepath.Join(folder, "new"), codec.CreateOptions{Format: "session"})
	require.ErrorContains(t, err, "can be read, not written")
}

// TestDamage reads a session with damaged and missing data. The damage must be listed, and all other data read.
func TestDamage(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a")
	png := "\x89PNG\r\n\x1a\n…"
	put(t, folder, "metadata.json", `{"session_id": 1, "devices": {"arm_0": {"joint_unit": "turns"},
		"camera_3": {}}}`)
	put(t, folder, "frames/camera_10/frame_1.000.png", png)
	put(t, folder, "frames/camera_2/frame_10.000.png", png)
	put(t, folder, "frames/camera_2/frame_9.5.JPG", "\xff\xd8\xff…")
	put(t, folder, "frames/camera_2/frame_9.250.jpeg", "GIF89a")
	put(t, folder, "frames/camera_2/frame_9.125.png", "")
	put(t, folder, "frames/camera_2/frame_x.png", png)
	put(t, folder, "frames/camera_2/Thumbs.db", "")
	put(t, folder, "frames/camera_2/.DS_Store", "")
	put(t, folder, "frames/camera_2/frame_11.000.png.part", "\x89PN")
	put(t, folder, "frames/camera_3/.keep", "")
	put(t, folder, "arm_0/joints.csv", "timestamp,index,value\r\n")
	put(t, folder, "arm_0/grippers.csv", "timestamp,index,value\r\n")
	put(t, folder, "arm_0/end_effector.csv", "timestamp,index,value\r\n1,width,2\r\n")
	put(t, folder, "arm_1/poses.csv", "timestamp,index,value\r\n")
	put(t, folder, "notes/readme.txt", "")
	list, damage := readAll(t, folder)
	e := list[0]
	require.Equal(t, "a", e.Name)
	require.Len(t, e.Cameras, 2)
	require.Equal(t, "camera_2", e.Cameras[0].Name)
	require.Equal(t, []int64{9125e6, 9250e6, 9500e6, 10e9}, e.Cameras[0].Stamps)
	require.Len(t, e.Arms, 1)
	require.Nil(t, e.Arms[0].Streams[episode.Joint])
	require.Equal(t, []float64{2}, e.Arms[0].Streams[episode.Gripper].Values)
	var texts []string
	for _, err := range damage {
		texts = append(texts, strings.ReplaceAll(err.Error(), folder, "a"))
	}
	require.ElementsMatch(t, []string{
		"a/metadata.json: session_id: json: cannot unmarshal number into Go value of type string",
		`a/metadata.json: device "arm_0": joint_unit "turns": want "deg", "rad" or "unknown"`,
		"images of camera_3 are missing: a/frames/camera_3: the folder has no images",
		"a/frames/camera_2/Thumbs.db: not a frame: want frame_<seconds>.png or .jpg",
		`a/frames/camera_2/frame_x.png: time "x" is not a number of seconds since 1970, such as 1764000000.033`,
	}, texts)

	frames, err := e.Cameras[0].Open()
	require.NoError(t, err)
	defer frames.Close()
	for i, want := range []string{"frame_9.125.png: the file is empty",
		`frame_9.250.jpeg: neither a PNG nor a JPEG: it begins with "GIF89a"`, "", "", "no frame 4 of 4"} {
		f, err := frames.Frame(i)
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, []string{2: "jpeg", 3: "png"}[i], f.Encoding)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	require.NoError(t, os.Remove(filepath.Join(folder, "frames/camera_2/frame_10.000.png")))
	_, err = frames.Frame(3)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "frame_10.000.png")
}
