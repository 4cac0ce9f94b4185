package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"tapedeck/nodes/internal/human"
)

// reindex makes the metadata.yaml of bags anew, and what is damaged of their files.
func reindex(ctx context.Context, paths []string, stdout, _ io.Writer) error {
	for _, path := range paths {
		if stat, err := os.Stat(path); err == nil && !stat.IsDir() {
			return fmt.Errorf("reindex %s: it is a file, and not the folder of a bag; 'converter recover' makes a complete "+
				"copy of it, with an index", path)
		}
		info, err := known.Reindex(path, func(text string) { fmt.Fprintln(stdout, text) })
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s: %s in %s\n", path, human.Count(info.MessageCount, "message"),
			human.Count(len(info.Files), "file"))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
