package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"tapedeck/nodes/internal/human"
)

// reindex rebuilds the metadata.yaml of bags, and their damaged files.
func reindex(ctx context.Context, paths []string, stdout, _ io.Writer) error {
	for _, path := range paths {
		if stat, err := os.Stat(path); err == nil && !stat.IsDir() {
			return fmt.Errorf("reindex %s: it is a file, not a bag folder; 'converter recover' makes a complete "+
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
