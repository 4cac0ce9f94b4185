// Package windows compares the converter for Windows, under Wine, with the converter for Linux. make test-dist runs it
// as root.
package windows

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
	"tapedeck/test/packages/internal/dist"
	"tapedeck/test/samples/generate"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m, nil)) }

// attempts is how often a case runs at most. On a busy machine, Wine itself sometimes crashes, more often if Go
// interrupts threads (GODEBUG).
const attempts = 5

// compare is a script that runs the commands of a case with both converters, each in a folder with the sample, whose
// name is $1. Each call of a converter writes what it prints to N.out and N.err, and its exit code to N.code.
const compare = `
in=$1
for system in linux windows; do
	rm -rf $system
	program=(../bin/linux)
	[ $system = linux ] || program=(wine ../bin/windows.exe)
	cp -r in $system
	cd $system
	calls=0
	converter() {
		calls=$((calls + 1))
		"${program[@]}" "$@" >$calls.out 2>$calls.err </dev/null
		echo "$? converter $*" >$calls.code
	}
	. ../commands
	cd ..
done`

// everySample are commands that work with a recording of any format, which is $in.
const everySample = `
	converter $in a.mcap
	converter $in a.record
	converter $in a.bag
	converter $in bag
	converter $in bag3 --storage sqlite3
	converter $in a.log
	converter $in session --to session
	converter $in tables --to csv
	converter $in a.jsonl
	converter $in tables.parquet --to parquet
	converter $in a.gpx
	converter a.mcap a.kml
	converter info $in
	converter info -v --json a.mcap
	converter info bag bag3
	converter check $in
	converter check a.mcap a.record a.bag bag bag3
	converter expect a.mcap contract.yaml
	converter check a.mcap --expect contract.yaml --junit checks.xml
	converter diff $in a.mcap
	converter diff a.record a.bag
	converter recover a.record b.record
	converter report a.mcap page.html
`

// cases are commands with a sample, whose name is $in.
var cases = []struct{ name, sample, commands string }{
	{"apollo", "apollo/apollo_cpp_sensors.record", everySample},
	{"apollo incomplete", "apollo/incomplete_killed.record", everySample},
	{"bag", "bag/py_none.bag", everySample},
	{"bag lz4", "bag/py_lz4.bag", everySample},
	{"bag without index", "bag/py_unindexed_active.bag", everySample},
	{"carla", generate.CARLALog, everySample},
	{"mavlink", "mavlink/synthetic_px4_v2.tlog", everySample},
	{"rosbag2 mcap", "rosbag2/rosbags_rs/test_bag_mcap", everySample},
	{"rosbag2 sqlite3", "rosbag2/rosbags_rs/test_bag_sqlite3", everySample},
	{"session", "session/easyteleop_reference/temp", everySample},
	{"ulog", "ulog/flight.ulg", everySample},
	{"echo", "bag/py_none.bag", `
		converter echo $in /chatter
		converter echo $in /chatter --json
		converter echo $in /hdr --csv
		converter echo $in /none
	`},
	{"standard output", "bag/py_none.bag", `
		converter $in - --to jsonl
		converter $in - --to csv --topics /hdr
	`},
	{"selection", "bag/py_none.bag", `
		converter $in a.mcap --begin 5 --end 7 --remap /chatter:=/talk
		converter $in b.mcap --exclude /hdr --compression lz4
		converter $in c --max-bag-size 20KB
		converter a.mcap b.mcap both.mcap
		converter both.mcap a.mcap
		converter both.mcap a.mcap --overwrite
	`},
	{"batch", "bag/py_none.bag", `
		mkdir drives
		cp $in drives/a.bag
		cp $in drives/b.bag
		converter drives/a.bag drives/b.bag --output-folder out --to mcap --jobs 1
		converter drives --output-folder out --to record --jobs 1
		converter drives --output-folder out --to record --jobs 1
	`},
	{"catalogue", "bag/py_none.bag", `
		mkdir -p drives/monday
		cp $in drives/monday/a.bag
		converter $in drives/b.mcap
		converter index drives -o catalogue --jobs 1
		converter index drives -o catalogue --jobs 1
		converter find catalogue '/hdr stamp.sec > 1700000030' --clip clips
		converter find catalogue '/hdr *' --json
		rm -r catalogue # names of files have hashes of the paths of recordings
	`},
	{"damage", "bag/py_none.bag", `
		converter $in a.mcap
		head -c 9000 a.mcap >cut.mcap
		head -c 30000 $in >cut.bag
		converter recover cut.mcap
		converter recover cut.bag whole.bag
		converter cut.mcap b.mcap --strict
		converter check cut.mcap cut.bag
	`},
	{"reindex", "bag/py_none.bag", `
		converter $in bag
		mv bag/metadata.yaml before.yaml
		converter reindex bag
		converter info bag
	`},
	{"wrong usage", "bag/py_none.bag", `
		converter
		converter $in
		converter $in a.unknown
		converter none.bag a.mcap
		converter nonsense
		converter help
		converter version
		converter --help all
		converter info --lens $in
	`},
}

// TestWine runs each case with both converters, and compares what they print, their exit codes and all files.
func TestWine(t *testing.T) {
	root := wine(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sample := generate.Path(t, c.sample)
			work := t.TempDir()
			copyTo(t, filepath.Join(work, "in", filepath.Base(sample)), sample)
			copyTo(t, filepath.Join(work, "bin", "linux"), dist.File(t, "converter-*-linux-amd64"))
			copyTo(t, filepath.Join(work, "bin", "windows.exe"), dist.File(t, "converter-*-windows-amd64.exe"))
			require.NoError(t, os.WriteFile(filepath.Join(work, "commands"), []byte(c.commands), 0o644))
			var want, got map[string]string
			for range attempts {
				run(t, root, work, compare, filepath.Base(sample))
				want, got = files(t, filepath.Join(work, "linux")), files(t, filepath.Join(work, "windows"))
				text := crash(got)
				if text == "" {
					break
				}
				t.Log("repeating, as Wine crashed: ", text)
			}
			for name, content := range want {
				if assert.Contains(t, got, name) && content != got[name] {
					assert.Equal(t, normalize(content), normalize(got[name]), name)
				}
				delete(got, name)
			}
			require.Empty(t, got)
		})
	}
}

// crashed matches messages of Wine about itself.
var crashed = regexp.MustCompile(`(?m)^wine( client error)?:.*`)

// crash returns what Wine said about a crash of its own, "" if there was none.
func crash(files map[string]string) string {
	for name, content := range files {
		if filepath.Ext(name) == ".err" && crashed.MatchString(content) {
			return crashed.FindString(content)
		}
	}
	return ""
}

// TestEndedPipe checks that the converter ends silently when the reader of its output ends, and with which code.
func TestEndedPipe(t *testing.T) {
	root := wine(t)
	work := t.TempDir()
	copyTo(t, filepath.Join(work, "converter.exe"), dist.File(t, "converter-*-windows-amd64.exe"))
	copyTo(t, filepath.Join(work, "a.bag"), generate.Path(t, "bag/py_none.bag"))
	require.Regexp(t, `^data: [^\n]*\n141\n141\n$`, run(t, root, work, `
		wine converter.exe echo a.bag /chatter | head -n 1
		echo ${PIPESTATUS[0]}
		wine converter.exe a.bag - --to jsonl | sleep 0
		echo ${PIPESTATUS[0]}`))
}

// wine returns the folder of a Debian 13 with Wine. The Wine of Debian 12 lacks functions that Go needs. It skips the
// test if the folder cannot be made.
func wine(t *testing.T) (root string) {
	t.Helper()
	dist.File(t, "converter-*-windows-amd64.exe")
	if os.Geteuid() != 0 || runtime.GOARCH != "amd64" {
		t.Skip("a Debian system with Wine is made by root, on amd64")
	}
	for _, program := range []string{"debootstrap", "flock", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("test/install packages installs it: ", err)
		}
	}
	if err := exec.Command("unshare", "--mount", "--pid", "--fork", "true").Run(); err != nil {
		t.Skip("no mounts of its own, as in a container without privileges: ", err)
	}
	var stderr strings.Builder
	cmd := exec.Command(filepath.Join(process.Root(), "test", "packages", "root"), "trixie", "amd64", "wine", "wine64")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	root = strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(root, "root", ".wine", "system.reg")); err != nil {
		run(t, root, t.TempDir(), "wineboot --init && wineserver --wait")
	}
	return root
}

// run runs a script in a Debian system and returns what it prints. work is its working directory. All processes of the
// script have ended when run returns.
func run(t *testing.T, root, work, script string, args ...string) string {
	t.Helper()
	cmd := exec.Command("flock", append([]string{root + ".lock", "unshare", "--mount", "--pid", "--fork", "--kill-child",
		"bash", "-euc", `
		root=$1 work=$2
		shift 2
		mount -t proc proc "$root/proc"
		mount --bind /dev "$root/dev"
		mount --bind "$work" "$root/mnt"
		exec chroot "$root" env --chdir=/mnt -i HOME=/root PATH=/usr/bin:/bin TZ=GMT XDG_RUNTIME_DIR=/tmp \
			GODEBUG=asyncpreemptoff=1 WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml= bash -c "$@"`,
		"bash", root, work, script, "bash"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// copyTo copies a file or a folder.
func copyTo(t *testing.T, path, from string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	out, err := exec.Command("cp", "-r", "--no-preserve=mode", from, path).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.Chmod(path, 0o755))
}

// files returns the contents of all files below a folder, and "" for each folder, by their paths.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	list := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, path)
		if err != nil || entry.IsDir() {
			list[name] = ""
			return err
		}
		content, err := os.ReadFile(path)
		list[name] = string(content)
		return err
	}))
	return list
}

// different has replacements for texts that differ: separators and roots of paths,
// errors of the system, times, and how long work took.
var different = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\\+`), "/"},
	{regexp.MustCompile(`(Z:)?/mnt/(linux|windows)/`), ""},
	{regexp.MustCompile(`written in [0-9.]+ s( \([^)]*\))?`), ""},
	{regexp.MustCompile(`no such file or directory|File not found\.`), ""},
	{regexp.MustCompile(`"modified": "[^"]*"`), ""},
}

// normalize returns the content of a file without what may differ.
func normalize(content string) string {
	for _, d := range different {
		content = d.pattern.ReplaceAllString(content, d.text)
	}
	return content
}
