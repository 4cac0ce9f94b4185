package output_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/internal/output"
)

// fakeFile is a FileWriter whose Complete waits for the test.
type fakeFile struct {
	path     string
	before   output.FileWriter
	finish   chan struct{} // unless nil, Complete waits for it
	err      error         // of Complete
	writeErr error
	written  int
	complete bool
	durable  bool
	synced   bool
}

func (p *fakeFile) Declare(*codec.Channel) error { return nil }

func (p *fakeFile) Write(*codec.Message) error {
	if p.writeErr == nil {
		p.written++
	}
	return p.writeErr
}

func (p *fakeFile) Sync() error { p.synced = true; return nil }

func (p *fakeFile) Complete(durable bool) error {
	if p.finish != nil {
		<-p.finish
	}
	p.complete, p.durable = p.err == nil, durable
	return p.err
}

func (p *fakeFile) Info() *codec.Info {
	return &codec.Info{Path: p.path, Files: []codec.FileInfo{{Path: p.path}}, Complete: p.complete}
}

// fakeRecording is a recording of fakeFiles that are named 0, 1 and so on.
type fakeRecording struct {
	*output.Recording
	disk      disktest.Disk
	files     []*fakeFile
	set       func(*fakeFile) // changes a new file
	listed    [][]string
	completed []string
}

func newFake(t *testing.T, set func(*fakeFile)) *fakeRecording {
	f := &fakeRecording{set: set}
	var err error
	f.Recording, err = output.NewRecording(&f.disk, output.Format{
		Open: func(path string, before output.FileWriter) (output.FileWriter, error) {
			p := &fakeFile{path: path, before: before}
			if f.set != nil {
				f.set(p)
			}
			f.files = append(f.files, p)
			_, err := f.disk.Create(path, false)
			return p, err
		},
		Name: func(n int) string { return fmt.Sprint(n) },
		Listed: func(complete []*codec.Info) error {
			var paths []string
			for _, info := range complete {
				paths = append(paths, info.Path)
			}
			f.listed = append(f.listed, paths)
			return nil
		},
	}, "0", func(info codec.FileInfo, err error) {
		f.completed = append(f.completed, fmt.Sprint(info.Path, " ", err))
	})
	require.NoError(t, err)
	return f
}

func TestSplit(t *testing.T) {
	gate := make(chan struct{})
	f := newFake(t, func(p *fakeFile) {
		if p.path == "0" {
			p.finish = gate
		}
	})
	require.NoError(t, f.Write(nil))
	require.Equal(t, "0", f.File())
	f.disk.Create("1", false) // a file of another program
	require.NoError(t, f.Split())
	require.Equal(t, "2", f.File())
	require.Same(t, f.files[0], f.files[1].before)
	require.NoError(t, f.Write(nil)) // while the previous file waits
	require.NoError(t, f.Split())
	require.NoError(t, f.Split())
	require.Nil(t, f.completed, "files are completed in order")

	synced := make(chan error)
	go func() { synced <- f.Sync() }()
	split := make(chan error)
	go func() { split <- f.Split() }()
	select {
	case <-synced:
		require.Fail(t, "what is in the files before is not on the disk")
	case <-split:
		require.Fail(t, "too many files are incomplete")
	case <-time.After(100 * time.Millisecond):
	}
	close(gate)
	require.NoError(t, <-synced)
	require.NoError(t, <-split)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.Equal(t, []string{"0 <nil>", "2 <nil>", "3 <nil>", "4 <nil>", "5 <nil>"}, f.completed)
	require.Equal(t, []string{"0", "2", "3", "4", "5"}, f.listed[len(f.listed)-1])
	for i, p := range f.files {
		require.True(t, p.durable, i)
	}
	for _, err := range []error{f.Write(nil), f.Declare(nil), f.Split()} {
		require.ErrorIs(t, err, fs.ErrClosed)
	}
	require.NoError(t, f.Sync())

	require.NoError(t, f.Remove("./3"))
	require.Equal(t, []string{"0", "2", "4", "5"}, f.listed[len(f.listed)-1])
	require.NotContains(t, f.disk.Files(), "3")
	require.EqualError(t, f.Remove("3"), "remove 3: not a completed file of this recording")
	require.Error(t, f.Remove("1"))
	require.Contains(t, f.disk.Files(), "1")
}

// Without Sync and Split, Close does not wait for the disk.
func TestCloseAlone(t *testing.T) {
	f := newFake(t, nil)
	require.NoError(t, f.Close())
	require.False(t, f.files[0].durable)
	f = newFake(t, nil)
	require.NoError(t, f.Sync())
	require.True(t, f.files[0].synced)
	require.NoError(t, f.Close())
	require.True(t, f.files[0].durable)
}

// After an error of the disk the file is completed and nothing is written until Split.
func TestGoOnAfterError(t *testing.T) {
	missing := &codec.MissingError{Path: "0", Err: errors.New("worn out")}
	f := newFake(t, func(p *fakeFile) {
		if p.path == "0" {
			p.writeErr = missing
		}
	})
	for range 2 {
		require.Equal(t, missing, f.Write(nil))
		require.Equal(t, missing, f.Declare(nil))
		require.Equal(t, missing, f.Sync()) // Sync has waited for the file
	}
	require.Equal(t, []string{"0 <nil>"}, f.completed)
	require.Equal(t, "0", f.File())
	require.NoError(t, f.Split())
	require.Same(t, f.files[0], f.files[1].before)
	require.NoError(t, f.Write(nil))
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.Len(t, f.completed, 2)

	f = newFake(t, func(p *fakeFile) { p.writeErr = missing })
	require.Equal(t, missing, f.Write(nil))
	require.Equal(t, missing, f.Close(), "no other error followed")
	require.Equal(t, missing, f.Close())

	// An error about one message changes nothing.
	f = newFake(t, func(p *fakeFile) { p.writeErr = errors.New("too large") })
	require.EqualError(t, f.Write(nil), "too large")
	f.files[0].writeErr = nil
	require.NoError(t, f.Write(nil))
	require.NoError(t, f.Close())
}

// Errors of completing files are passed to Completed, and returned by Close.
func TestIncomplete(t *testing.T) {
	f := newFake(t, func(p *fakeFile) {
		if p.path != "1" {
			p.err = errors.New("no room for " + p.path)
		}
	})
	require.NoError(t, f.Split())
	require.NoError(t, f.Split())
	require.EqualError(t, f.Close(), "no room for 0\nno room for 2")
	require.Equal(t, []string{"0 no room for 0", "1 <nil>", "2 no room for 2"}, f.completed)
	require.Equal(t, [][]string{{"1"}}, f.listed)
}

// If a new file cannot be created, the recording continues in the old one.
func TestSplitFails(t *testing.T) {
	f := newFake(t, nil)
	f.disk.Fail = nil
	open := f.files[0]
	f.set = func(p *fakeFile) { f.disk.Create(p.path, false) } // so that it cannot be created again
	require.ErrorIs(t, f.Split(), fs.ErrExist)
	require.NoError(t, f.Write(nil))
	require.Equal(t, 1, open.written)
	require.Equal(t, "0", f.File())
	require.NoError(t, f.Close())
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	file, err := output.NewSeries(codec.OS{}).Create(path, false)
	require.NoError(t, err)
	_, err = output.NewSeries(codec.OS{}).Create(path, false)
	require.ErrorIs(t, err, fs.ErrExist, "another recording writes the file")
	require.NoError(t, file.Reserve(1<<20))
	require.NoError(t, file.Append([]byte("one "), nil, []byte("two ")))
	require.NoError(t, file.WriteAt([]byte("ONE"), 0))
	require.NoError(t, file.Append([]byte("three")))
	require.EqualValues(t, 13, file.Size())
	require.NoFileExists(t, path)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "the reserve has no name")
	require.NoError(t, file.Complete(true))
	require.NoError(t, file.Sync())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "ONE two three", string(content))
	require.NoFileExists(t, path+codec.ActiveSuffix)

	_, err = output.NewSeries(codec.OS{}).Create(path, false)
	require.ErrorIs(t, err, fs.ErrExist)
	file, err = output.NewSeries(codec.OS{}).Create(path, true)
	require.NoError(t, err)
	content, err = os.ReadFile(path)
	require.NoError(t, err)
	require.NotEmpty(t, content, "the old file is replaced only by a new file")
	file.Discard()
	entries, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	_, err = output.NewSeries(codec.OS{}).Create(dir, true)
	require.EqualError(t, err, "create "+dir+": is a directory")
	_, err = output.NewSeries(codec.OS{}).Create(filepath.Join(dir, "none", "a"), true)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// The name of a complete file is as durable as its content.
func TestNameOfACompleteFileIsDurable(t *testing.T) {
	disk := &disktest.Disk{}
	file, err := output.NewSeries(disk).Create("a", false)
	require.NoError(t, err)
	require.NoError(t, file.Append([]byte("x")))
	require.NoError(t, file.Complete(true))
	disk.Mark(1)
	disk.Mark(2) // crashes happen before an operation
	promised := 0
	disk.Crashes(1, 1, func(c disktest.Crash) {
		if c.Mark == 1 {
			promised++
			require.Equal(t, map[string][]byte{"a": []byte("x")}, c.Files, c.Name)
		}
	})
	require.NotZero(t, promised)
}

// After an error of Sync, pages of the file may be lost, though the next sync succeeds: the file is not complete.
func TestSyncFails(t *testing.T) {
	failing := true
	disk := &disktest.Disk{Fail: func(_ string, n int) (int, error) {
		if n < 0 && failing {
			failing = false
			return 0, syscall.EIO
		}
		return 0, nil
	}}
	file, err := output.NewSeries(disk).Create("a", false)
	require.NoError(t, err)
	require.NoError(t, file.Append([]byte("x")))
	require.Equal(t, syscall.EIO, file.Sync())
	require.Equal(t, syscall.EIO, file.Sync())
	require.Equal(t, syscall.EIO, file.Complete(true))
	require.Equal(t, map[string][]byte{"a" + codec.ActiveSuffix: []byte("x")}, disk.Files())
}

// folderDisk is a disk that fails to sync folders.
type folderDisk struct {
	disktest.Disk
	fails bool
}

func (d *folderDisk) SyncFolder(path string) error {
	if d.fails {
		return syscall.EIO
	}
	return d.Disk.SyncFolder(path)
}

// A file whose name may be lost is not complete.
func TestFolderFails(t *testing.T) {
	disk := &folderDisk{}
	file, err := output.NewSeries(disk).Create("a", false)
	require.NoError(t, err)
	require.NoError(t, file.Append([]byte("x")))
	require.NoError(t, file.Sync())
	disk.fails = true
	require.Equal(t, syscall.EIO, file.Complete(true))

	file, err = output.NewSeries(disk).Create("b", false)
	require.NoError(t, err)
	require.NoError(t, file.Append([]byte("x")))
	require.Equal(t, syscall.EIO, file.Sync())
	disk.fails = false
	require.Equal(t, syscall.EIO, file.Complete(true))
	require.Contains(t, disk.Files(), "b"+codec.ActiveSuffix)
	disk.fails = true
	require.Equal(t, syscall.EIO, output.Replace(disk, "c", nil))
}

// Sync syncs the file only after writes, and its folder once.
func TestSync(t *testing.T) {
	var mu sync.Mutex
	syncs := 0
	disk := &disktest.Disk{Fail: func(_ string, n int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if n < 0 {
			syncs++
		}
		return 0, nil
	}}
	file, err := output.NewSeries(disk).Create("a", false)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, file.Append([]byte("x")))
		require.NoError(t, file.Sync())
		require.NoError(t, file.Sync())
		require.Equal(t, i+1, syncs)
	}
	require.NoError(t, file.Complete(true))
	require.Equal(t, 3, syncs)
}

// A full disk has no room for the list of files. Files are listed when there is room, and deleted nevertheless.
func TestListOnAFullDisk(t *testing.T) {
	full := true
	var listed []string
	disk := &disktest.Disk{}
	r, err := output.NewRecording(disk, output.Format{
		Open: func(path string, _ output.FileWriter) (output.FileWriter, error) {
			_, err := disk.Create(path, false)
			return &fakeFile{path: path}, err
		},
		Name: func(n int) string { return fmt.Sprint(n) },
		Listed: func(complete []*codec.Info) error {
			if full {
				return fmt.Errorf("write the list: %w", syscall.ENOSPC)
			}
			listed = nil
			for _, info := range complete {
				listed = append(listed, info.Path)
			}
			return nil
		},
	}, "0", func(_ codec.FileInfo, err error) { assert.NoError(t, err) })
	require.NoError(t, err)
	require.NoError(t, r.Split())
	require.NoError(t, r.Split())
	require.NoError(t, r.Sync())
	require.NoError(t, r.Remove("0"))
	require.NotContains(t, disk.Files(), "0")
	require.ErrorIs(t, r.Close(), syscall.ENOSPC, "the files are not listed")

	full = false
	require.NoError(t, r.Remove("1"))
	require.Equal(t, []string{"2"}, listed)
}

// A file's reserve is for its end: another file of the recording waits until the end is written.
func TestReserveIsForTheEnd(t *testing.T) {
	full := false
	disk := &disktest.Disk{Fail: func(string, int) (int, error) {
		if full {
			full = false // as the reserve is free now
			return 1, syscall.ENOSPC
		}
		return 0, nil
	}}
	files := output.NewSeries(disk)
	ending, err := files.Create("a/1", false)
	require.NoError(t, err)
	next, err := files.Create("a/2", false)
	require.NoError(t, err)
	elsewhere, err := output.NewSeries(disk).Create("a/3", false)
	require.NoError(t, err)
	full = true
	require.ErrorIs(t, ending.Append([]byte("x")), syscall.ENOSPC, "not before the end")
	ending.End()
	require.NoError(t, ending.Append([]byte("x")))
	require.NoError(t, next.Append([]byte("x")), "the disk has room beside the reserve")
	full = true
	require.NoError(t, ending.Append([]byte("xx")))
	written := make(chan error)
	go func() { written <- next.Append([]byte("x")) }()
	require.NoError(t, elsewhere.Append([]byte("x")))
	require.NoError(t, ending.Append([]byte("x")))
	select {
	case <-written:
		require.Fail(t, "the write takes the space of the file that ends")
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, ending.Complete(true))
	require.NoError(t, <-written)
	require.NoError(t, next.Abandon())
	require.NoError(t, elsewhere.Abandon())
}
