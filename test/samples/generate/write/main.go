// Write writes stand-ins for all real recordings into a folder: write FOLDER.
package main

import (
	"fmt"
	"os"

	"tapedeck/test/samples/generate"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write FOLDER")
		os.Exit(2)
	}
	missing, err := generate.Write(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
	for _, name := range missing {
		fmt.Fprintln(os.Stderr, "not written, because python3 or a module is missing:", name)
	}
}
