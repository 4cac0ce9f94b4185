package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Main builds executables, runs the tests and returns their exit code. TestMain calls it. names are folders in nodes,
// or "..." for all of them. Main sets bin to the folder of the executables, which it removes after the tests. Without
// names, bin may be nil.
//
// All processes that the tests start end with this process, however it ends. If tests leave a process running, Main
// prints an error and returns a code other than 0.
func Main(m *testing.M, bin *string, names ...string) int {
	code, err := run(m, bin, names)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

func run(m *testing.M, bin *string, names []string) (code int, err error) {
	// A shell makes tests in the background ignore SIGINT, and nohup makes them ignore SIGHUP. Their children must not
	// ignore these signals.
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	if len(names) > 0 {
		*bin, err = buildShared(names)
		if err != nil {
			return 1, fmt.Errorf("build the executables: %w", err)
		}
		defer os.RemoveAll(*bin)
	}
	children, err := watch()
	if err != nil {
		return 1, fmt.Errorf("watch the processes of the tests: %w", err)
	}
	code = m.Run()
	return code, children.end()
}

// Short makes -short run only the named tests of a package. TestMain calls it. It panics if a test does not exist.
func Short(tests ...string) {
	flag.Parse()
	if !testing.Short() || flag.Lookup("test.run").Value.String() != "" {
		return
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		panic(err)
	}
	var sources []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		sources = append(sources, text...)
	}
	for _, test := range tests {
		if !bytes.Contains(sources, []byte("\nfunc "+test+"(")) {
			panic("no test is named " + test)
		}
	}
	if err := flag.Set("test.run", "^("+strings.Join(tests, "|")+")$"); err != nil {
		panic(err)
	}
}

// BuildEdited builds executables as Main does, but replaces the texts of files of this module. texts are by the path of
// the file. It returns the folder of the executables, which exists until the end of the test.
func BuildEdited(t *testing.T, texts map[string]string, names ...string) string {
	t.Helper()
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	edited := map[string]string{}
	for file, text := range texts {
		edited[file] = filepath.Join(t.TempDir(), filepath.Base(file))
		require.NoError(t, os.WriteFile(edited[file], []byte(text), 0o666))
	}
	replace, err := json.Marshal(map[string]any{"Replace": edited})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o666))
	dir := t.TempDir()
	require.NoError(t, build(dir, []string{"-overlay", overlay, smaller}, names))
	return dir
}

// BuildStore builds test/store and returns the path of the executable. It skips the test if building fails, as it does
// without the modules of test/store.
func BuildStore(t *testing.T) string {
	t.Helper()
	path, err := buildStore()
	if err != nil {
		t.Skip("cannot build test/store: ", err)
	}
	return path
}

// buildStore builds test/store once per process: parallel builds would each compile everything.
var buildStore = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(Root(), "build", "test-store")
	// Building takes a third less time without optimization. The AWS SDK has been compiled for the executables already.
	// cmd.Dir is not set: the go tool would drop the test's cached result when a file appears in that folder.
	cmd := exec.Command("go", "build", "-modfile="+filepath.Join(Root(), "test", "store", "versitygw.mod"), "-tags",
		"versitygw", smaller, "-gcflags=github.com/...=-dwarf=false -N -l", "-o", path,
		"tapedeck/test/store")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// smaller leaves out symbols for debuggers, which halves the time of linking.
const smaller = "-ldflags=-s -w"

// build builds executables into a folder.
func build(dir string, flags, names []string) error {
	args := append([]string{"build", "-o", dir + "/"}, flags...)
	for _, name := range names {
		args = append(args, "tapedeck/nodes/"+name)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// buildShared builds executables and returns a new folder with them. It builds in build/test-bin, which all tests
// share: the go tool does not link up-to-date executables there again.
func buildShared(names []string) (dir string, err error) {
	shared := filepath.Join(Root(), "build", "test-bin")
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Open(shared)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", shared, err)
	}
	if err := build(shared, []string{smaller}, names); err != nil {
		return "", err
	}
	dir, err = os.MkdirTemp(filepath.Dir(shared), "test-bin-")
	if err != nil {
		return "", err
	}
	built, err := os.ReadDir(shared)
	for _, file := range built {
		err = errors.Join(err, os.Link(filepath.Join(shared, file.Name()), filepath.Join(dir, file.Name())))
	}
	return dir, err
}
