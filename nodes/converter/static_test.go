package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// TestStatic builds the converter without cgo, as 'make static' does, and converts with it.
func TestStatic(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the converter once more")
	}
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	build := exec.Command("go", "build", "-o", path("converter"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))

	file, err := elf.Open(path("converter"))
	require.NoError(t, err)
	defer file.Close()
	for _, p := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type)
		require.NotEqual(t, elf.PT_DYNAMIC, p.Type)
	}

	lines := writeLines(t, "in.lines", []codec.Message{at(imu, 1e9, "a"), at(odom, 2e9, "b")})
	_, _, err = run(t, lines, path("in.mcap"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path("in.hdf5"), []byte("\x89HDF\r\n\x1a\nand more"), 0o666))
	const hdf5, dds = "this converter was built without HDF5", "this executable was built without cgo, so it has no DDS"
	for _, c := range []struct {
		want string // "": it succeeds
		args []string
	}{
		{"", []string{path("in.mcap"), path("out.record")}},
		{"", []string{"diff", path("in.mcap"), path("out.record")}},
		{"", []string{"serve", "--version"}},
		{hdf5, []string{"info", path("in.hdf5")}},
		{hdf5, []string{path("in.mcap"), path("out.hdf5")}},
		{hdf5, []string{path("in.mcap"), path("out"), "--to", "hdf5"}},
		{dds, []string{"serve"}},
		{dds, []string{"request", path("in.mcap"), path("out.mcap")}},
	} {
		output, err := exec.Command(path("converter"), c.args...).CombinedOutput()
		if c.want == "" {
			require.NoError(t, err, "%v: %s", c.args, output)
			continue
		}
		require.Error(t, err, c.args)
		require.Contains(t, string(output), c.want, c.args)
	}
}
