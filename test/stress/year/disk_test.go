package year

import (
	"path/filepath"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
)

// robotDisk is the disk during a boot. It calls before, and then after, for each operation that changes the disk, with
// a word for the operation and the path.
type robotDisk struct {
	*disktest.Disk
	before, after func(operation, path string)
}

// newRobotDisk returns a disk for a boot. Its files are those of d.
func newRobotDisk(d *disktest.Disk, before, after func(operation, path string)) *robotDisk {
	r := &robotDisk{d, before, after}
	d.Fail = func(path string, n int) (int, error) {
		if n < 0 {
			before("sync", path)
		} else {
			before("write", path)
		}
		return n, nil
	}
	return r
}

// do calls an operation between before and after.
func (d *robotDisk) do(operation, path string, do func() error) error {
	d.before(operation, path)
	err := do()
	d.after(operation, path)
	return err
}

func (d *robotDisk) Create(path string, overwrite bool) (file codec.DiskFile, err error) {
	err = d.do("create", path, func() error {
		file, err = d.Disk.Create(path, overwrite)
		return err
	})
	return file, err
}

func (d *robotDisk) Rename(from, to string) error {
	return d.do("rename", to, func() error { return d.Disk.Rename(from, to) })
}

func (d *robotDisk) Remove(path string) error {
	return d.do("remove", path, func() error { return d.Disk.Remove(path) })
}

func (d *robotDisk) RemoveAll(path string) error {
	return d.do("remove", path, func() error { return d.Disk.RemoveAll(path) })
}

func (d *robotDisk) Mkdir(path string) error {
	return d.do("mkdir", path, func() error { return d.Disk.Mkdir(path) })
}

func (d *robotDisk) SyncFolder(path string) error {
	return d.do("folder", path, func() error { return d.Disk.SyncFolder(path) })
}

func (d *robotDisk) OpenRoot(folder string) (codec.DiskRoot, error) {
	r, err := d.Disk.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return robotRoot{r, d, folder}, nil
}

type robotRoot struct {
	codec.DiskRoot
	disk   *robotDisk
	folder string
}

func (r robotRoot) Remove(name string) error {
	return r.disk.do("remove", filepath.Join(r.folder, name), func() error { return r.DiskRoot.Remove(name) })
}

// kind is the kind of a file by its path.
func kind(path string) string {
	switch {
	case strings.Contains(path, ".upload.json"):
		return "spool"
	case strings.Contains(path, "metadata.yaml"):
		return "list"
	case strings.HasSuffix(path, codec.ActiveSuffix):
		return "active"
	case isData(path):
		return "data"
	}
	return "folder"
}

// isData reports whether a file holds messages, complete or not.
func isData(path string) bool {
	name := strings.TrimSuffix(filepath.Base(path), codec.ActiveSuffix)
	return strings.HasSuffix(name, ".mcap") ||
		strings.Contains(name, ".record.") && !strings.Contains(name, ".upload.json")
}
