package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// damage makes the first line that begins with prefix unreadable, in a recording of lines.
func damage(t *testing.T, path, prefix string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), prefix)
	require.NoError(t, os.WriteFile(path, bytes.Replace(data, []byte(prefix), []byte("?"), 1), 0o644))
}

// removeEnd removes the end of a recording of lines.
func removeEnd(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.TrimSuffix(data, []byte("{\"End\":true}\n")), 0o644))
}

func TestRecover(t *testing.T) {
	var many []codec.Message
	for i := range int64(100) {
		many = append(many, at(imu, 1000+i, fmt.Sprint(i)))
	}
	t.Run("damaged", func(t *testing.T) {
		in := writeLines(t, "in.lines", many)
		damage(t, in, "{\"Message\":{\"Channel\":null,\"LogTime\":1017")
		stdout, stderr, err := run(t, "recover", in)
		require.NoError(t, err)
		require.Contains(t, stderr, "damaged: "+in+": line 20: ")
		require.Contains(t, stdout, "99 messages")
		require.Contains(t, stdout, "1 damaged place\n")
		_, messages := readAll(t, strings.TrimSuffix(in, ".lines")+".recover.lines")
		require.Len(t, messages, 99)
	})
	t.Run("many damaged places", func(t *testing.T) {
		in := writeLines(t, "in.lines", many)
		for i := range 30 {
			damage(t, in, fmt.Sprintf("{\"Message\":{\"Channel\":null,\"LogTime\":10%02d", 2*i+1))
		}
		stdout, stderr, err := run(t, "recover", in, filepath.Join(t.TempDir(), "out"))
		require.NoError(t, err)
		require.Equal(t, shownDamage+1, strings.Count(stderr, "\n"))
		require.Contains(t, stderr, "damaged: and 10 more places\n")
		require.Contains(t, stdout, "30 damaged places\n")
	})
	t.Run("unfinished", func(t *testing.T) {
		in := writeLines(t, "in.lines", many, odom)
		removeEnd(t, in)
		out := filepath.Join(t.TempDir(), "out.lines")
		stdout, stderr, err := run(t, "recover", in, out)
		require.NoError(t, err)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "the recording was incomplete; everything readable is saved")
		channels, messages := readAll(t, out)
		require.Len(t, channels, 2)
		require.Len(t, messages, 100)
	})
	t.Run("whole", func(t *testing.T) {
		stdout, _, err := run(t, "recover", writeLines(t, "in.lines", many))
		require.NoError(t, err)
		require.Contains(t, stdout, "nothing was damaged")
	})
	t.Run("nothing to save", func(t *testing.T) {
		in := writeLines(t, "in.lines", many[:1])
		damage(t, in, "{\"Message\":")
		out := filepath.Join(t.TempDir(), "out.lines")
		_, _, err := run(t, "recover", in, out)
		require.ErrorContains(t, err, "no message could be saved")
		require.NoFileExists(t, out)
		require.NoDirExists(t, out+".part")
	})
}

func TestRecoveredName(t *testing.T) {
	tests := []struct{ in, format, want string }{
		{"a/drive.lines", "lines", "a/drive.recover.lines"},
		{"folder/", "lines", "folder.recover.lines"},
		{"x.mcap", "lines", "x.mcap.recover.lines"},
		{"x.mcap", "mcap", "x.recover.mcap"},
		{"drive.record", "record", "drive.record.recover"},
		{"drive.record.00000", "record", "drive.record.00000.recover"},
		{"drive.record.00000", "mcap", "drive.record.00000.recover.mcap"},
		{"drive.record.00000.active", "record", "drive.record.00000.recover"},
		{"folder/", "unknown", "folder.recover"},
	}
	for _, test := range tests {
		require.Equal(t, test.want, recoveredName(test.in, test.format))
	}
}

// TestRecoverKilled reads the file of a killed recorder, by its final name and by its present name.
func TestRecoverKilled(t *testing.T) {
	for _, name := range []string{"drive.record.00000", "drive.mcap", "drive"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := known.Codecs().Create(path, codec.CreateOptions{})
		require.NoError(t, err)
		channel := &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: codec.EncodingCDR}
		for i := range int64(100) {
			require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: i, Data: []byte("payload")}))
		}
		require.NoError(t, w.Sync())
		stdout, _, err := run(t, "info", path)
		require.ErrorIs(t, err, errUnfinished)
		require.Contains(t, stdout, codec.ActiveSuffix)
		require.Contains(t, stdout, "Messages:   100\n")
		require.Contains(t, stdout, "Complete:   no, it was not finished; what is here can be read and played,\n")
		names := []string{path}
		if name != "drive" {
			names = append(names, path+codec.ActiveSuffix)
		}
		for _, in := range names {
			out := path + ".saved.mcap"
			stdout, _, err = run(t, "recover", in, out, "--overwrite")
			require.NoError(t, err)
			require.Contains(t, stdout, "100 messages")
			_, messages := readAll(t, out)
			require.Len(t, messages, 100)
			require.NoFileExists(t, out+codec.ActiveSuffix)
		}
	}
}

// TestZeroedBeginning opens recordings whose first bytes are zero. Their names or later bytes show the format.
func TestZeroedBeginning(t *testing.T) {
	for _, name := range []string{"drive.mcap", "drive.bag", "drive.record"} {
		for _, zeros := range []int{8, 64, 4096} {
			t.Run(fmt.Sprint(name, zeros), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), name)
				w, err := known.Codecs().Create(path, codec.CreateOptions{ChunkSize: 10_000})
				require.NoError(t, err)
				channel := &codec.Channel{
					Topic: "/text", Type: "std_msgs/String", Encoding: codec.EncodingROS1,
					Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("string data\n")},
				}
				for i := range int64(1000) {
					require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: 1 + i,
						Data: make([]byte, 100)}))
				}
				require.NoError(t, w.Close())
				file, err := os.OpenFile(path, os.O_WRONLY, 0)
				require.NoError(t, err)
				_, err = file.Write(make([]byte, zeros))
				require.NoError(t, err)
				require.NoError(t, file.Close())

				stdout, _, _ := run(t, "info", path)
				found := regexp.MustCompile(`Messages: +(\d+)`).FindStringSubmatch(stdout)
				require.NotNil(t, found, stdout)
				count, err := strconv.Atoi(found[1])
				require.NoError(t, err)
				require.Greater(t, count, 900)

				out := filepath.Join(t.TempDir(), "out.mcap")
				stdout, _, err = run(t, "recover", path, out)
				require.NoError(t, err)
				_, messages := readAll(t, out)
				require.Len(t, messages, count)
				if strings.Contains(stdout, "nothing was damaged") { // a record has its header further on
					return
				}
				stdout, _, err = run(t, "info", path)
				require.ErrorIs(t, err, errDamaged)
				require.Contains(t, stdout, "no, it is damaged; 'converter recover "+path+"'")
				_, _, err = run(t, path, filepath.Join(t.TempDir(), "all.mcap"))
				if err != nil {
					require.ErrorContains(t, err, "read "+path+": ")
					require.Equal(t, 1, strings.Count(err.Error(), "'converter recover'"), err)
				}
			})
		}
	}
}

// TestUncheckedContents has damage in a chunk that no index shows.
func TestUncheckedContents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drive.mcap")
	w, err := known.Codecs().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Write(&codec.Message{Channel: imu, LogTime: 1, Data: []byte("payload")}))
	require.NoError(t, w.Close())
	look := func(verbose string, damaged bool) {
		stdout, _, err := run(t, "info", path)
		require.NoError(t, err)
		require.Contains(t, stdout, "Complete:   index is complete; contents not checked\n")
		stdout, _, err = run(t, "info", path, "--verbose")
		require.Equal(t, damaged, err != nil)
		require.Contains(t, stdout, verbose)
	}
	look("Complete:   yes\n", false)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[bytes.Index(data, []byte("payload"))]++
	require.NoError(t, os.WriteFile(path, data, 0o666))
	look("Complete:   no, it is damaged", true)
	stdout, _, err := run(t, "info", "--json", path)
	require.NoError(t, err)
	require.Contains(t, stdout, "\"complete\": true,\n  \"contents_checked\": false,")
}

// TestOddNames opens files that have names of recordings but are none.
func TestOddNames(t *testing.T) {
	for _, name := range []string{"x.mcap", "x.bag", "x.record", "x.log", "x.hdf5", "x"} {
		dir := t.TempDir()
		w, err := known.Codecs().Create(filepath.Join(dir, "other.mcap"), codec.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, w.Write(&codec.Message{Channel: imu, LogTime: 1}))
		require.NoError(t, w.Close())
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("words, and "), 10_000), 0o666))
		for _, command := range []string{"info", "recover"} {
			_, _, err := run(t, command, path)
			require.ErrorIs(t, err, codec.ErrUnknownFormat, name)
		}
	}
}

func TestReindexOfFile(t *testing.T) {
	path := writeLines(t, "a.lines", sequence(imu, 1, "a"))
	_, _, err := run(t, "reindex", path)
	require.ErrorContains(t, err, "'converter recover'")
	_, _, err = run(t, "reindex", "s3://fleet/drive")
	require.ErrorContains(t, err, "reindex s3://fleet/drive: only a bag on a disk is repaired in place")
}

// Everything readable is converted and the rest is reported. Only --strict refuses that.
func TestConvertDamaged(t *testing.T) {
	flight := beginning(t, samples.Path(t, "mavlink/dronekit_flight.tlog"), 400_000)
	// An MCAP with a byte changed in one of its chunks.
	drive := filepath.Join(t.TempDir(), "drive.mcap")
	w, err := known.Codecs().Create(drive, codec.CreateOptions{ChunkSize: 10_000, Compression: "none"})
	require.NoError(t, err)
	text := &codec.Channel{Topic: "/text", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")}}
	payload, err := cdr.Marshal(&std_msgs.String{Data: strings.Repeat("x", 1000)})
	require.NoError(t, err)
	for i := range 100 {
		require.NoError(t, w.Write(&codec.Message{Channel: text, LogTime: int64(i+1) * 1e9, Data: payload}))
	}
	require.NoError(t, w.Close())
	data, err := os.ReadFile(drive)
	require.NoError(t, err)
	data[bytes.Index(data, payload)+30_000] ^= 1
	require.NoError(t, os.WriteFile(drive, data, 0o666))

	const left, kept = "left out what is damaged", "kept 1 message that may be damaged"
	for _, c := range []struct{ in, out, what, says string }{
		{flight, "a.mcap", left, "with a bad checksum"},
		{flight, "a.gpx", left, "with a bad checksum"},
		{drive, "b.mcap", kept, "checksum"},
		{drive, "b.parquet", kept, "checksum"},
	} {
		t.Run(filepath.Base(c.in)+" to "+c.out, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), c.out)
			_, _, err := run(t, c.in, out, "--strict")
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "without --strict everything around the damage is converted")
			require.NoFileExists(t, out)
			stdout, stderr, err := run(t, c.in, out)
			require.NoError(t, err)
			require.Contains(t, stderr, "warning: "+c.what+": read "+c.in)
			require.Contains(t, stderr, c.says)
			require.NotContains(t, stdout, ": 0 messages")
			folder := t.TempDir()
			stdout, _, err = run(t, c.in, "--output-folder", folder, "--to", strings.TrimPrefix(filepath.Ext(out), "."),
				"--json")
			require.NoError(t, err)
			require.Contains(t, stdout, `"damaged":1`)
			_, _, err = run(t, "recover", c.in, filepath.Join(folder, "r"+filepath.Ext(out)))
			require.NoError(t, err)
		})
	}
}

// TestRecoverSuspect recovers truncated recordings and recordings with overwritten payloads. Messages of a chunk with a
// wrong checksum are listed, and marked in the output. Missing messages are counted if the file shows their number.
func TestRecoverSuspect(t *testing.T) {
	const count = 400
	payload := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8), 7, 1}, 50) }
	write := func(t *testing.T, name string) (path string, data []byte) {
		path = filepath.Join(t.TempDir(), name)
		w, err := known.Codecs().Create(path, codec.CreateOptions{ChunkSize: 8000})
		require.NoError(t, err)
		c := *imu
		if filepath.Ext(name) == ".bag" {
			c.Encoding, c.Schema = codec.EncodingROS1, codec.Schema{Encoding: codec.SchemaROS1Msg,
				Data: []byte("uint8[200] data\n")}
		}
		for i := range count {
			require.NoError(t, w.Write(&codec.Message{Channel: &c, LogTime: 1e18 + int64(i)*1e6, Data: payload(i)}))
		}
		require.NoError(t, w.Close())
		data, err = os.ReadFile(path)
		require.NoError(t, err)
		return path, data
	}
	for _, name := range []string{"drive.mcap", "drive.bag", "drive.record"} {
		for _, c := range []struct {
			name    string
			do      func(data []byte) []byte
			suspect bool
			counted bool // lost messages are counted
		}{
			{"overwritten payload", func(b []byte) []byte {
				b[bytes.Index(b, payload(200))+102] ^= 0x55
				return b
			}, true, true},
			{"overwritten messages", func(b []byte) []byte {
				clear(b[bytes.Index(b, payload(200))+102:][:2000])
				return b
			}, true, true},
			{"cut off", func(b []byte) []byte { return b[:bytes.Index(b, payload(300))+50] }, false,
				name == "drive.record"}, // its header counts messages
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				path, data := write(t, name)
				require.NoError(t, os.WriteFile(path, c.do(data), 0o644))
				saved := map[bool][]codec.Message{}
				for _, sound := range []bool{false, true} {
					out := filepath.Join(t.TempDir(), "saved"+filepath.Ext(name))
					stdout, _, err := run(t, "recover", path, out, fmt.Sprintf("--leave-out-damaged=%v", sound))
					require.NoError(t, err)
					require.Equal(t, c.suspect, strings.Contains(stdout, "may be damaged, "), stdout)
					r, err := known.Open(nil, out)
					require.NoError(t, err)
					info, err := r.Info()
					require.NoError(t, err)
					require.NoError(t, r.Close())
					kinds := map[string]uint64{}
					for _, e := range info.Events {
						kinds[e.Kind] += e.Count
						require.GreaterOrEqual(t, e.Time, int64(1e18))
						require.LessOrEqual(t, e.Until, int64(1e18+count*1e6))
					}
					_, messages := readAll(t, out)
					messages = slices.DeleteFunc(messages, func(m codec.Message) bool {
						return codec.IsEvents(m.Channel)
					})
					saved[sound] = messages
					require.Equal(t, c.suspect && !sound, kinds[codec.EventSuspect] > 0, info.Events)
					if c.counted {
						require.EqualValues(t, count, uint64(len(messages))+kinds[codec.EventLost], info.Events)
					}
					stdout, _, _ = run(t, "check", out)
					found := strings.Contains(stdout, "messages as they were written")
					require.Equal(t, c.suspect && !sound, found, stdout)
				}
				_, _, err := run(t, path, filepath.Join(t.TempDir(), "strict"+filepath.Ext(name)), "--strict")
				require.Equal(t, c.suspect || c.counted, err != nil, err)
				whole := func(m codec.Message) bool {
					return bytes.Equal(m.Data, payload(int((m.LogTime-1e18)/1e6)))
				}
				require.Equal(t, c.suspect, slices.ContainsFunc(saved[false], func(m codec.Message) bool {
					return !whole(m)
				}) || len(saved[true]) < len(saved[false]))
				for _, m := range saved[true] {
					require.True(t, whole(m), m.LogTime)
				}
			})
		}
	}
}

// TestRecoverSeries recovers several files. Lost messages of one file are counted once.
func TestRecoverSeries(t *testing.T) {
	const count = 300
	path := filepath.Join(t.TempDir(), "drive.record.00000")
	w, err := known.Codecs().Create(path, codec.CreateOptions{ChunkSize: 8000})
	require.NoError(t, err)
	payload := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8), 7, 1}, 50) }
	for i := range count {
		if i == 100 || i == 200 {
			require.NoError(t, w.Split())
		}
		require.NoError(t, w.Write(&codec.Message{Channel: imu, LogTime: int64(i+1) * 1e6, Data: payload(i)}))
	}
	require.NoError(t, w.Close())
	second := strings.Replace(path, "00000", "00001", 1)
	data, err := os.ReadFile(second)
	require.NoError(t, err)
	at := bytes.Index(data, payload(140))
	require.Positive(t, at)
	clear(data[at:][:2000])
	require.NoError(t, os.WriteFile(second, data, 0o644))
	out := filepath.Join(t.TempDir(), "saved.mcap")
	stdout, _, err := run(t, "recover", path, out)
	require.NoError(t, err)
	_, messages := readAll(t, out)
	messages = slices.DeleteFunc(messages, func(m codec.Message) bool { return codec.IsEvents(m.Channel) })
	lost := count - len(messages)
	require.Positive(t, lost)
	require.Contains(t, stdout, fmt.Sprintf("\nlost: %d messages on /imu, ", lost))
	require.Contains(t, stdout, fmt.Sprintf("\n%d of %d messages lost\n", lost, count), stdout)
}

// TestRecoverEpisodes recovers a session that has a damaged image and lacks a camera, and files of episodes.
func TestRecoverEpisodes(t *testing.T) {
	session := filepath.Join(t.TempDir(), "take")
	require.NoError(t, os.CopyFS(session, os.DirFS(samples.Path(t,
		"session/easyteleop_reference/temp/20261121_082214"))))
	images, err := filepath.Glob(filepath.Join(session, "frames/camera_0/*"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(images[3], []byte("no image"), 0o666))
	require.NoError(t, os.RemoveAll(filepath.Join(session, "frames/camera_1")))
	folder := t.TempDir()
	for _, out := range []string{"take.recover", "take.hdf5"} {
		path := filepath.Join(folder, out)
		stdout, stderr, err := run(t, "recover", session, path)
		require.NoError(t, err)
		require.Contains(t, stderr, "camera_1")
		require.NotContains(t, stdout, " lost\n")
		again := filepath.Join(folder, "again."+out)
		if out == "take.recover" { // a folder becomes a folder of the same format
			again = filepath.Join(folder, "again")
		}
		_, _, err = run(t, "recover", path, again)
		require.NoError(t, err)
		_, messages := readAll(t, again)
		require.True(t, slices.ContainsFunc(messages, func(m codec.Message) bool {
			return m.Channel.Topic == "/camera_0/image/compressed"
		}))
		if out == "take.recover" {
			require.FileExists(t, filepath.Join(again, "metadata.json"))
		}
	}
}

// episodesOf returns the episodes of a training set.
func episodesOf(t *testing.T, path string) []*episode.Episode {
	r, err := known.Open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	episodes, err := r.(*episode.Reader).Episodes()
	require.NoError(t, err)
	return episodes
}

func firstFrame(t *testing.T, c *episode.Camera) episode.Frame {
	frames, err := c.Open()
	require.NoError(t, err)
	defer frames.Close()
	f, err := frames.Frame(0)
	require.NoError(t, err)
	return f
}

// TestRecoverRows recovers training sets. Rows do not change, whatever their timeline.
func TestRecoverRows(t *testing.T) {
	session := samples.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, c := range [][]string{
		{"union.hdf5", "--timeline", "union", "--missing-image", "black", "--gaps", "nan", "--end", "0.3"},
		{"fixed.hdf5", "--timeline", "fixed:60", "--missing-image", "hold", "--ends", "clamp", "--end", "0.3"},
		{"copy.hdf5", "--timeline", "fixed:7", "--action", "copy", "--end", "0.3"},
		{"pixels.hdf5", "--images", "raw", "--timeline", "fixed:7", "--end", "0.3"},
		{"set", "--to", "lerobot", "--timeline", "fixed:60", "--missing-image", "hold", "--end", "0.3"},
	} {
		_, _, err := run(t, append([]string{session, at(c[0])}, c[1:]...)...)
		require.NoError(t, err)
		stdout, stderr, err := run(t, "recover", at(c[0]), at("saved."+c[0]), "--to", strings.TrimPrefix(
			strings.Replace(filepath.Ext("."+c[0]), "set", "lerobot", 1), "."))
		require.NoError(t, err)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "nothing was damaged")
		want, got := episodesOf(t, at(c[0])), episodesOf(t, at("saved."+c[0]))
		require.Len(t, got, 1)
		require.Equal(t, want[0].Table, got[0].Table, c)
		for i, a := range want[0].Arms {
			vectors := got[0].Arms[i].Streams
			for k, v := range a.Streams {
				require.Equal(t, fmt.Sprintf("%+v", v), fmt.Sprintf("%+v", vectors[k]), c)
			}
		}
		for i, camera := range want[0].Cameras {
			require.Equal(t, camera.Stamps, got[0].Cameras[i].Stamps, c)
			if strings.HasSuffix(c[0], ".hdf5") {
				require.Equal(t, firstFrame(t, camera), firstFrame(t, got[0].Cameras[i]), c)
			}
		}
	}

	// A damaged page of images damages an episode.
	_, _, err := run(t, session, at("fixed.hdf5"), at("union.hdf5"), at("three"), "--to", "lerobot", "--timeline",
		"fixed:10", "--missing-image", "black")
	require.NoError(t, err)
	table := at("three/data/chunk-000/file-000.parquet")
	data, err := os.ReadFile(table)
	require.NoError(t, err)
	data[bytes.LastIndex(data, []byte("\x89PNG"))]++
	require.NoError(t, os.WriteFile(table, data, 0o666))
	stdout, stderr, err := run(t, "recover", at("three"))
	require.NoError(t, err)
	require.Contains(t, stderr, "damaged: ")
	require.Contains(t, stdout, "three.recover: 2 episodes, ")
	require.Contains(t, stdout, "lost: episodes that are left out (")
	require.NotContains(t, stdout, "nothing was damaged")
	require.Len(t, episodesOf(t, at("three.recover")), 2)
}

// TestRecoverOfCARLA damages real logs. The saved log has the undamaged frames. The duration of a frame leads to the
// next saved one, and the last duration is unknown.
func TestRecoverOfCARLA(t *testing.T) {
	const durationAt = 5 + 8 // in a frame
	for _, name := range []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"} {
		path := generate.Path(t, "carla/"+name)
		log, err := os.ReadFile(path)
		require.NoError(t, err)
		_, frames := readAll(t, path)
		starts := []int{len(log)} // offsets of frames, and the end
		for _, f := range slices.Backward(frames) {
			starts = slices.Insert(starts, 0, starts[0]-len(f.Data))
		}
		float := func(at int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(log[at:])) }
		setDuration := func(log []byte, frame int, s float64) {
			binary.LittleEndian.PutUint64(log[starts[frame]+durationAt:], math.Float64bits(s))
		}
		cut := bytes.Clone(log[:starts[100]])
		setDuration(cut, 99, -1)
		without := func(from, to int) []byte {
			kept := slices.Concat(log[:starts[from]], log[starts[to]:])
			setDuration(kept, from-1, float(starts[to]+durationAt+8)-float(starts[from-1]+durationAt+8))
			return kept
		}
		for what, c := range map[string]struct{ log, want []byte }{
			"whole":              {log, log},
			"cut within a frame": {log[:starts[100]+77], cut},
			"cut between frames": {log[:starts[100]], cut},
			"zeros behind it":    {slices.Concat(log[:starts[100]], make([]byte, 9000)), cut},
			"a size is wrong": {slices.Concat(log[:starts[100]+30], []byte{0xff}, log[starts[100]+31:]),
				without(100, 101)},
			"zeros over three frames": {slices.Concat(log[:starts[100]], make([]byte, starts[103]-starts[100]),
				log[starts[103]:]), without(100, 103)},
			"other bytes in between": {slices.Concat(log[:starts[100]], bytes.Repeat([]byte("garbage"), 1000),
				log[starts[100]:]), log},
			"the end of another log": {slices.Concat(log[:starts[100]], log[starts[50]+40:starts[51]],
				log[starts[100]:]), log},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				in := filepath.Join(t.TempDir(), "a.log")
				require.NoError(t, os.WriteFile(in, c.log, 0o644))
				_, _, err := run(t, "recover", in)
				require.NoError(t, err)
				got, err := os.ReadFile(filepath.Join(filepath.Dir(in), "a.recover.log"))
				require.NoError(t, err)
				require.True(t, bytes.Equal(c.want, got), "%d instead of %d bytes", len(got), len(c.want))
			})
		}
	}
}
