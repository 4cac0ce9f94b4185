// Package samples finds real recordings for tests. They are not in the repository, because they have other licences.
// Package generate makes stand-ins for some of them.
package samples

import (
	"os"
	"path/filepath"
	"testing"
)

// Variable is the environment variable that names the folder of real recordings, relative to the module or absolute. By
// default it is shared/samples beside the module.
//
// The go tool caches the results of tests by this variable, but not by files outside the module; test/run sets it.
const Variable = "TAPEDECK_SAMPLES"

// Missing begins the message of each test that is skipped because a recording is missing.
const Missing = "sample recordings are not here"

// Folder returns the folder where real recordings are expected.
func Folder() string {
	folder := os.Getenv(Variable)
	if filepath.IsAbs(folder) {
		return folder
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return folder
	}
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			root = dir
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if folder == "" {
		folder = filepath.Join("..", "shared", "samples")
	}
	return filepath.Join(root, folder)
}

// Find returns the path of a real recording and reports whether it exists. The name is relative to Folder.
func Find(name string) (path string, ok bool) {
	path = filepath.Join(Folder(), name)
	_, err := os.Stat(path)
	return path, err == nil
}

// Path returns the path of a real recording. It skips the test if the recording is missing.
func Path(t testing.TB, name string) string {
	t.Helper()
	path, ok := Find(name)
	if !ok {
		t.Skipf("%s: no %s (%s names their folder)", Missing, path, Variable)
	}
	return path
}

// Seeds returns the contents of the files in Folder that match the patterns, for fuzz tests.
func Seeds(t testing.TB, patterns ...string) (seeds [][]byte) {
	t.Helper()
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(Folder(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, b)
		}
	}
	return seeds
}
