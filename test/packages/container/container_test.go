// Package container tests the Containerfile without a program that builds images.
package container

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
	"tapedeck/test/packages/internal/dist"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m, nil)) }

// TestContainerfile follows the instructions of the Containerfile in a Debian 12, and runs the image's command.
func TestContainerfile(t *testing.T) {
	dist.File(t, "tapedeck_*_amd64.deb") // before the Debian is made
	if runtime.GOARCH != "amd64" || os.Getuid() != 0 {
		t.Skip("making a Debian needs amd64 and root; the Containerfile is not tested")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Skip("test/install packages installs it: ", err)
	}
	script := exec.CommandContext(t.Context(), "../root", "bookworm", "amd64")
	script.Stderr = os.Stderr
	base, err := script.Output()
	require.NoError(t, err)
	root := filepath.Join(t.TempDir(), "root")
	run(t, exec.CommandContext(t.Context(), "cp", "-a", strings.TrimSpace(string(base)), root))

	text, err := os.ReadFile(filepath.Join(process.Root(), "Containerfile"))
	require.NoError(t, err)
	variables := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	dir := "/"
	inRoot := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "unshare", slices.Concat([]string{"--mount", "sh", "-c",
			`mount -t proc proc "$0/proc" && exec chroot "$0" env -C "$@"`, root, dir}, args)...)
		for name, value := range variables {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		return run(t, cmd)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		name, value, _ := strings.Cut(rest, "=")
		switch instruction {
		case "", "#":
		case "ARG", "ENV":
			variables[name] = value
		case "FROM":
			require.Equal(t, "debian:12-slim", expand(rest, variables))
		case "COPY":
			pattern, target, _ := strings.Cut(expand(rest, variables), " ")
			pattern, inDist := strings.CutPrefix(pattern, "dist/")
			require.True(t, inDist, line)
			run(t, exec.CommandContext(t.Context(), "cp", dist.File(t, pattern), filepath.Join(root, target)))
		case "RUN":
			inRoot("sh", "-c", rest)
		case "WORKDIR":
			dir = rest
			require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
		case "CMD":
			var command []string
			require.NoError(t, json.Unmarshal([]byte(rest), &command))
			require.Contains(t, inRoot(command...), "Usage: recorder")
		default:
			require.Fail(t, "the test does not know this instruction", line)
		}
	}

	require.Contains(t, inRoot("recorder", "--version"), "Cyclone DDS")
	require.FileExists(t, filepath.Join(root, variables["AMENT_PREFIX_PATH"],
		"share/ament_index/resource_index/packages/tapedeck"))
	require.NoFileExists(t, filepath.Join(root, "tmp/tapedeck.deb"))
}

// expand replaces variables, in braces or without.
func expand(text string, variables map[string]string) string {
	return os.Expand(text, func(name string) string { return variables[name] })
}

// run runs a command to its end and returns the printed text.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", cmd.Args, out)
	return string(out)
}
