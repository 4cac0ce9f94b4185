package codec

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate allocates n bytes of the disk for an empty file.
func allocate(file *os.File, n int64) error {
	store := unix.Fstore_t{Flags: unix.F_ALLOCATEALL, Posmode: unix.F_PEOFPOSMODE, Length: n}
	err := unix.FcntlFstore(file.Fd(), unix.F_PREALLOCATE, &store)
	if errors.Is(err, errors.ErrUnsupported) {
		return fill(file, n)
	}
	return err
}

// Exchange exchanges two files or folders. A crash leaves either the old names or the new ones. The error wraps
// errors.ErrUnsupported on disks that cannot do it.
func Exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

// Syncer implements Disk.
func (OS) Syncer(path string) (Syncer, error) {
	file, err := os.Open(path)
	return syncer{file}, err
}

// syncer is a file or a folder of the disk.
type syncer struct{ *os.File }

// Sync implements Syncer. sync(2) gives all writes to the drive; syncing one file makes the drive write its cache.
func (s syncer) Sync() error {
	if err := unix.Sync(); err != nil {
		return err
	}
	return s.File.Sync()
}
