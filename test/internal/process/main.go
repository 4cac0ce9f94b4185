package process

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Main is for TestMain: it builds executables, named as their folders in nodes are ("..." is all), runs the tests and returns their
// exit code. bin is set to the folder of the executables, which is gone afterwards.
func Main(m *testing.M, bin *string, names ...string) int {
	dir, err := os.MkdirTemp("", "tapedeck-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	args := []string{"build", "-o", dir + "/"}
	for _, name := range names {
		args = append(args, "tapedeck/nodes/"+name)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the executables: %v\n%s", err, out)
		return 1
	}
	*bin = dir
	return m.Run()
}
