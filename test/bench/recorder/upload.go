package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tapedeck/codec/store/storetest"
)

// uploading returns tapedeck's recorder with --upload. It sends complete splits to a store in the memory of this
// process, as fast as the store takes them. Its processor time counts until the store has all splits.
func (b *bench) uploading() contender {
	end := func() {}
	return contender{name: "tapedeck mcap, uploading", ours: true, file: "bench", count: readRecording,
		needsRate: true,
		command: func(l load) *exec.Cmd {
			end() // close the store of the previous measurement, and forget its uploads
			_ = os.Remove(filepath.Join(b.folder, "bench.upload.json"))
			bucket := storetest.New(storeSetup{setup: setup{folder: b.folder}, end: &end})
			cmd := b.tapedeck("mcap")(l)
			cmd.Args = append(cmd.Args, "--max-bag-size", fmt.Sprint(l.bytes(b.span)/20), "--upload", bucket.URL(""))
			return cmd
		}}
}

// storeSetup lets storetest run outside of tests.
type storeSetup struct {
	setup
	end *func() // set to the function that Cleanup gets
}

func (s storeSetup) FailNow()                 {}
func (s storeSetup) Cleanup(f func())         { *s.end = f }
func (s storeSetup) Setenv(name, text string) { _ = os.Setenv(name, text) }
