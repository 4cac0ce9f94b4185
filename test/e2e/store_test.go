package e2e

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

// realStore is a running versitygw, an S3 server, and the client s3cmd.
type realStore struct {
	*graph
	config string // of s3cmd
}

// newRealStore starts versitygw.
func newRealStore(t *testing.T) *realStore {
	if testing.Short() {
		t.Skip("versitygw takes a minute to build; uploads to versitygw are not tested")
	}
	if _, err := exec.LookPath("s3cmd"); err != nil {
		t.Skip("s3cmd is not installed (Debian: s3cmd); uploads to versitygw are not tested")
	}
	program := process.BuildStore(t)
	address := "127.0.0.1:" + process.Port(t)
	s := &realStore{graph: isolate(t)}
	s.config = s.path("s3cfg")
	s.env = append(s.env, "AWS_ENDPOINT_URL=http://"+address, "AWS_ACCESS_KEY_ID=AKIATEST",
		"AWS_SECRET_ACCESS_KEY=secretsecret", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
	require.NoError(t, os.WriteFile(s.config, fmt.Appendf(nil, "[default]\naccess_key = AKIATEST\n"+
		"secret_key = secretsecret\nhost_base = %[1]s\nhost_bucket = %[1]s\nuse_https = False\n", address), 0o666))
	process.Start(t, s.command(program, address, s.path("store")))
	process.Await(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	s.s3cmd("mb", "s3://fleet")
	return s
}

// s3cmd runs s3cmd and returns the output.
func (s *realStore) s3cmd(args ...string) string {
	out, err := s.command("s3cmd", append([]string{"-c", s.config, "--no-progress"}, args...)...).CombinedOutput()
	require.NoError(s.t, err, "s3cmd %s: %s", args, out)
	return string(out)
}

// keys returns the keys that s3cmd lists below s3://fleet/.
func (s *realStore) keys(folder string) (keys []string) {
	for line := range strings.Lines(s.s3cmd("ls", "-r", "s3://fleet/"+folder)) {
		_, key, _ := strings.Cut(strings.TrimSpace(line), "s3://fleet/"+folder)
		keys = append(keys, key)
	}
	return keys
}

// write writes a recording. Each message has 1 MB of random bytes.
func (s *realStore) write(path string, messages int) {
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.path(path)), 0o777))
	w, err := formats.Create(s.path(path), codec.CreateOptions{})
	require.NoError(s.t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt8MultiArray", Encoding: codec.EncodingCDR}
	random := rand.New(rand.NewPCG(1, uint64(messages)))
	for i := range messages {
		data := make([]byte, 1<<20)
		data[1] = 1
		binary.LittleEndian.PutUint32(data[12:], uint32(len(data)-16)) // length, after an empty layout
		for j := 16; j < len(data); j += 8 {
			binary.LittleEndian.PutUint64(data[j:], random.Uint64())
		}
		require.NoError(s.t, w.Write(&codec.Message{Channel: c, LogTime: 1e18 + int64(i)*1e6, Data: data}))
	}
	require.NoError(s.t, w.Close())
}

// requireEqual requires that s3cmd gets the files of a local folder from a folder of the store.
func (s *realStore) requireEqual(folder, local string) {
	got := s.t.TempDir()
	s.s3cmd("get", "-r", "s3://fleet/"+folder, got+"/")
	var files []string
	require.NoError(s.t, filepath.WalkDir(s.path(local), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, ".upload.json") {
			return err
		}
		name := filepath.Base(path)
		files = append(files, name)
		want, err := os.ReadFile(path)
		require.NoError(s.t, err)
		found, err := filepath.Glob(filepath.Join(got, "*", name))
		require.NoError(s.t, err)
		require.Len(s.t, found, 1, name)
		content, err := os.ReadFile(found[0])
		require.NoError(s.t, err)
		require.True(s.t, string(want) == string(content), "%s differs", name)
		return nil
	}))
	require.NotEmpty(s.t, files)
}

// TestRealStore uploads to versitygw, also after an upload was killed. It checks that s3cmd gets equal files, and that
// tapedeck reads s3cmd's objects.
func TestRealStore(t *testing.T) {
	t.Parallel()
	s := newRealStore(t)
	s.write("drives/small.record", 1)
	s.write("drives/large.mcap", 40)
	upload := []string{"upload", "drives", "s3://fleet/car7"}
	killed := s.start("recorder", append(upload, "--upload-rate", "500kB")...)
	process.Await(t, func() bool { return strings.Contains(s.s3cmd("multipart", "s3://fleet"), "large.mcap") })
	require.Contains(t, s.run(1, "recorder", upload...), "large.mcap.upload.json: another process is working on it")
	killed.Kill()
	require.NotContains(t, s.keys("car7/large/"), "large.mcap")
	require.Contains(t, s.run(0, "recorder", upload[:2]...), "2 recordings")
	require.ElementsMatch(t, []string{"large/large.mcap", "large/recording.json", "small/small.record",
		"small/recording.json"}, s.keys("car7/"))
	require.NotContains(t, s.s3cmd("multipart", "s3://fleet"), "large.mcap")
	s.requireEqual("car7/", "drives")

	// Objects of another program are not sent again or replaced, and can be read.
	s.s3cmd("put", s.path("drives/large.mcap"), "s3://fleet/other/large/large.mcap")
	before := s.s3cmd("info", "s3://fleet/other/large/large.mcap")
	s.run(0, "recorder", "upload", "drives/large.mcap", "s3://fleet/other")
	require.Equal(t, before, s.s3cmd("info", "s3://fleet/other/large/large.mcap"))
	s.s3cmd("put", s.path("drives/small.record"), "s3://fleet/third/large/large.mcap")
	require.Contains(t, s.run(1, "recorder", "upload", "drives/large.mcap", "s3://fleet/third"), "other content")
	s.run(0, "converter", "diff", "drives/large.mcap", "s3://fleet/other/large/large.mcap")

	s.run(0, "converter", "s3://fleet/car7/large/large.mcap", "s3://fleet/new/large.record")
	require.Len(t, s.keys("new/"), 1)
	s.run(0, "converter", "diff", "drives/large.mcap", "s3://fleet/new/"+s.keys("new/")[0])

	require.NoError(t, os.CopyFS(s.path("kept"), os.DirFS(s.path("drives"))))
	s.run(0, "recorder", "upload", "drives", "s3://fleet/car8", "--delete-after-upload")
	left, err := os.ReadDir(s.path("drives"))
	require.NoError(t, err)
	require.Empty(t, left)
	s.requireEqual("car8/", "kept")
}

// TestRecorderUploadsToRealStore checks that a recorder uploads its files while it records.
func TestRecorderUploadsToRealStore(t *testing.T) {
	t.Parallel()
	s := newRealStore(t)
	s.write("source.mcap", 20)
	recorder := s.start("recorder", "--all", "-o", "drive", "-s", "mcap", "--max-bag-size", "2MB", "--upload",
		"s3://fleet/car7")
	s.run(0, "player", "source.mcap", "--wait-for-subscribers")
	process.Await(t, func() bool { return len(s.keys("car7/drive/")) > 2 })
	recorder.Interrupt()
	require.Contains(t, s.keys("car7/drive/"), "recording.json")
	s.requireEqual("car7/", "drive")
}
