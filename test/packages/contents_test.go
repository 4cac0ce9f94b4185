package packages

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/packages/internal/dist"
)

// executables are the programs of each package.
var executables = []string{"arm_publisher", "camera_publisher", "converter", "converter_node", "hdf5_helper",
	"mavlink_publisher", "player", "recorder"}

// TestContents checks the executables and libraries of all packages: architecture, sizes, needed libraries with
// versions, and where they are looked for.
func TestContents(t *testing.T) {
	dist.Folder(t)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		for _, pattern := range []string{"tapedeck_*_" + arch + ".deb", "tapedeck-*-linux-" + arch + ".tar.gz"} {
			t.Run(pattern, func(t *testing.T) {
				root := unpack(t, dist.File(t, pattern))
				lib := filepath.Join(root, "lib", "tapedeck")
				entries, err := os.ReadDir(lib)
				require.NoError(t, err)
				present := map[string]bool{}
				for _, entry := range entries {
					present[entry.Name()] = true
				}
				for name := range present {
					checkELF(t, filepath.Join(lib, name), machine, present)
				}
				for _, name := range executables {
					require.True(t, present[name], name)
				}
				for name, limit := range map[string]int64{"recorder": 25e6, "converter": 30e6} {
					info, err := os.Stat(filepath.Join(lib, name))
					require.NoError(t, err)
					t.Logf("%s: %.1f MB", name, float64(info.Size())/1e6)
					require.LessOrEqual(t, info.Size(), limit, name)
				}
				require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
					if entry.Type().IsRegular() && filepath.Dir(path) != lib {
						_, err := elf.Open(path)
						require.Error(t, err, "%s is not in lib/tapedeck", path)
					}
					return err
				}))
			})
		}
	}
}

// unpack unpacks a package and returns the folder that has bin and lib.
func unpack(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	root, cmd := filepath.Join(dir, "usr"), exec.Command("dpkg-deb", "-x", path, dir)
	if name, archive := strings.CutSuffix(filepath.Base(path), ".tar.gz"); archive {
		root, cmd = filepath.Join(dir, name), exec.Command("tar", "-xf", path, "-C", dir)
	}
	if _, err := exec.LookPath(cmd.Args[0]); err != nil {
		t.Skip("this is not Debian: ", err)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return root
}

// checkELF checks an executable or library. present has the names in its folder.
func checkELF(t *testing.T, path string, machine elf.Machine, present map[string]bool) {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, machine, file.Machine, path)
	libraries, err := file.ImportedLibraries()
	require.NoError(t, err)
	require.Equal(t, filepath.Base(path) == "converter", len(libraries) == 0, "%s needs %s", path, libraries)
	if len(libraries) == 0 {
		return
	}
	private := false
	for _, library := range libraries {
		system := strings.HasPrefix(library, "ld-linux-") || map[string]bool{"libc.so.6": true, "libdl.so.2": true,
			"libm.so.6": true, "libpthread.so.0": true, "librt.so.1": true, "libresolv.so.2": true}[library]
		require.True(t, system != present[library], "%s needs %s", path, library)
		private = private || !system
	}
	needs, err := file.DynamicVersionNeeds()
	require.NoError(t, err)
	for _, need := range needs {
		for _, version := range need.Needs {
			var major, minor int
			if _, err := fmt.Sscanf(version.Dep, "GLIBC_%d.%d", &major, &minor); err == nil {
				require.LessOrEqual(t, major*1000+minor, 2031, "%s needs %s", path, version.Dep)
			}
		}
	}
	runpath, err := file.DynString(elf.DT_RUNPATH)
	require.NoError(t, err)
	rpath, err := file.DynString(elf.DT_RPATH)
	require.NoError(t, err)
	require.Empty(t, rpath, path)
	if private {
		require.Equal(t, []string{"$ORIGIN"}, runpath, path)
	}
}

// TestChecksums checks that SHA256SUMS has the checksums of all files.
func TestChecksums(t *testing.T) {
	dist.Folder(t)
	sums, err := os.ReadFile(dist.File(t, "SHA256SUMS"))
	require.NoError(t, err)
	listed := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, found, line)
		listed[name] = sum
	}
	files, err := os.ReadDir(dist.Folder(t))
	require.NoError(t, err)
	require.Len(t, files, len(listed)+1)
	for _, file := range files {
		if file.Name() == "SHA256SUMS" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dist.Folder(t), file.Name()))
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		require.Equal(t, hex.EncodeToString(sum[:]), listed[file.Name()], file.Name())
	}
}

// TestLintian checks that Debian's lintian finds no errors.
func TestLintian(t *testing.T) {
	dist.Folder(t)
	if _, err := exec.LookPath("lintian"); err != nil {
		t.Skip("test/install packages installs it: ", err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			path := dist.File(t, "tapedeck_*_"+arch+".deb")
			out, err := exec.Command("lintian", "--allow-root", "--fail-on", "error", path).CombinedOutput()
			require.NoError(t, err, string(out))
			t.Logf("%s", out)
		})
	}
}
