// Gen writes the Go types of the message definitions in the current folder: <package>/<package>.gen.go for each ROS
// package, and a list of all types for test/peers/cdr. go generate runs it.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
)

func main() {
	files, err := generate(os.DirFS("."))
	if err == nil {
		err = write(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes files into the current folder.
func write(files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(name, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
