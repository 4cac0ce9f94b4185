//go:build rcl

package graph

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/rcl"
)

const built = "rcl"

func describe() string {
	if _, err := os.Stat(sibling()); err != nil {
		return rcl.Middleware()
	}
	return rcl.Middleware() + "; dds with --middleware dds"
}

func open(o bridge.Options) (bridge.Node, error) { return rcl.Open(o) }

// change replaces this process by the executable with dds and the same command line, or returns an error.
func change() error {
	err := syscall.Exec(sibling(), os.Args, os.Environ())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("middleware: %s, which would have dds, was not built; build tapedeck where CMake finds "+
			"Cyclone DDS 0.10", sibling())
	}
	return fmt.Errorf("middleware: run %s: %w", sibling(), err)
}

// sibling returns the path of the executable that has dds: recorder_dds beside recorder.
func sibling() string {
	executable, err := os.Executable()
	if err != nil {
		return ""
	}
	return executable + "_dds"
}
