package e2e

import (
	"debug/elf"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/internal/process"
)

// TestConverterAlone builds the converter without cgo. It checks that the converter needs no libraries, converts, and
// says what HDF5 needs.
func TestConverterAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	converter := filepath.Join(dir, "converter")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", converter, "tapedeck/nodes/converter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	binary, err := elf.Open(converter)
	require.NoError(t, err)
	defer binary.Close()
	for _, program := range binary.Progs {
		require.NotEqual(t, elf.PT_INTERP, program.Type, "the converter is linked to libraries")
	}

	run := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), converter, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.True(t, err == nil || cmd.ProcessState.Exited(), "%v", err)
		return string(out), cmd.ProcessState.ExitCode()
	}
	recording := filepath.Join(dir, "in.mcap")
	w, err := formats.Create(recording, codec.CreateOptions{})
	require.NoError(t, err)
	channel := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i := range 3 {
		require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: 1e18 + int64(i),
			Data: []byte{0, 1, 0, 0, byte(i), 0, 0, 0}}))
	}
	require.NoError(t, w.Close())
	for _, name := range []string{"out.bag", "out.record", "folder", "out.parquet"} {
		said, code := run("in.mcap", name)
		require.Zero(t, code, said)
	}
	said, code := run("diff", "in.mcap", "out.record")
	require.Zero(t, code, said)

	t.Run("container", func(t *testing.T) { testContainer(t, converter, recording) })

	joint := &align.Vector{Name: "arm_0/joint", Columns: []align.Column{{Name: "0", Unit: "rad"}},
		Stamps: []int64{1e9, 2e9}, Values: []float64{1, 2}}
	require.NoError(t, session.Write(filepath.Join(dir, "take"), &episode.Episode{
		Arms: []*episode.Arm{{Name: "arm_0", Streams: episode.Streams{episode.Joint: joint}}}}, session.Options{}))
	training := filepath.Join(dir, "training.hdf5")
	require.NoError(t, os.WriteFile(training, []byte("\x89HDF\r\n\x1a\n"), 0o666))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"info", training}, "open " + training},
		{[]string{"take", "new.hdf5"}, "create new.hdf5"},
		{[]string{"take", "other", "--to", "hdf5"}, "create other/episode_0.hdf5"},
	} {
		said, code := run(c.args...)
		require.Equal(t, 1, code, "%v: %s", c.args, said)
		require.Contains(t, said, c.want+": HDF5 needs the program hdf5_helper of tapedeck, which is not installed")
	}
}

// testContainer converts a recording from a server in a root folder with the files of the guide's container.
func testContainer(t *testing.T, converter, recording string) {
	if os.Getuid() != 0 {
		t.Skip("changing the root folder needs root; the files of the guide's container are not tested")
	}
	guide, err := os.ReadFile(filepath.Join(process.Root(), "docs/guide/fleet.md"))
	require.NoError(t, err)
	_, line, found := strings.Cut(string(guide), "\nRUN mkdir")
	require.True(t, found)
	line, _, _ = strings.Cut("mkdir"+line, "\n")
	image := filepath.Join(t.TempDir(), "image")
	out, err := exec.Command("sh", "-c", strings.ReplaceAll(line, "/image", image)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Link(converter, filepath.Join(image, "converter")))

	content, err := os.ReadFile(recording)
	require.NoError(t, err)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // no ranges
		_, _ = w.Write(content)
	}))
	defer server.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(filepath.Join(image, "etc/ssl/certs/ca-certificates.crt"), certificate, 0o644))
	cmd := exec.Command("/converter", server.URL+"/in.mcap", "/tmp/out.mcap")
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.FileExists(t, filepath.Join(image, "tmp/out.mcap"))
}
