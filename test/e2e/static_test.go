package e2e

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// TestStaticConverter builds the converter as `make static` does, but without optimising its largest parts, which takes
// a third less time. It needs no libraries, converts, and says what it was built without.
func TestStaticConverter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	converter := filepath.Join(dir, "converter")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", converter)
	for _, part := range []string{"modernc.org", "github.com/aws", "github.com/parquet-go", "tapedeck"} {
		build.Args = append(build.Args, "-gcflags="+part+"/...=-N -l")
	}
	build.Args = append(build.Args, "tapedeck/nodes/converter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	binary, err := elf.Open(converter)
	require.NoError(t, err)
	defer binary.Close()
	for _, program := range binary.Progs {
		require.NotEqual(t, elf.PT_INTERP, program.Type, "it is linked to libraries")
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

	training := filepath.Join(dir, "training.hdf5")
	require.NoError(t, os.WriteFile(training, []byte("\x89HDF\r\n\x1a\n"), 0o666))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"info", training}, "built without HDF5"},
		{[]string{"in.mcap", "new.hdf5"}, "built without HDF5"},
		{[]string{"in.mcap", "other", "--to", "hdf5"}, "built without HDF5"},
		{[]string{"serve"}, "built without cgo"},
		{[]string{"request", "in.mcap", "x.mcap"}, "built without cgo"},
	} {
		said, code := run(c.args...)
		require.Equal(t, 1, code, "%v: %s", c.args, said)
		require.Contains(t, said, c.want)
		require.Contains(t, said, "make build")
	}
}
