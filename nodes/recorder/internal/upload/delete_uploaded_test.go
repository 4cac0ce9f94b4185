package upload

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/store/storetest"
)

// liar returns a handler that corrupts each object that is put into s or, with checksum, lies about its checksum, too.
func liar(s *storetest.Server, checksum bool) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if checksum && r.Method == http.MethodHead {
			w.Header().Set("X-Amz-Checksum-Crc32c", "AAAAAA==")
		}
		next.ServeHTTP(w, r)
		if r.Method == http.MethodPut {
			key := strings.TrimPrefix(r.URL.Path, "/"+storetest.Bucket+"/")
			content, _ := s.Content(key)
			content = append([]byte(nil), content...)
			content[0]++
			s.Put(key, content)
		}
	}
}

// Only files that are proven to be in the store are deleted.
func TestDelete(t *testing.T) {
	for name, lies := range map[string][]bool{"proven": nil, "other content": {false}, "and checksum": {true}} {
		t.Run(name, func(t *testing.T) {
			s, dir := storetest.New(t), t.TempDir()
			if lies != nil {
				s.Intercept(liar(s, lies[0]))
			}
			q := newQueue(t, s)
			q.Delete = true
			bag := filepath.Join(dir, "drive")
			require.NoError(t, os.Mkdir(bag, 0o777))
			r := q.Begin(bag, false)
			first := record(t, filepath.Join(bag, "drive_0.mcap"), 0)
			r.Completed(first)
			r.Completed(record(t, filepath.Join(bag, "drive_1.mcap"), 3))
			require.NoError(t, os.WriteFile(filepath.Join(bag, listName), []byte("a: b\n"), 0o666))
			r.End()
			finish(t, q)
			if lies != nil {
				require.FileExists(t, first.Path)
				require.NotZero(t, q.Status().Refused)
				path, _, err := q.RemoveOldest()
				require.NoError(t, err)
				require.Empty(t, path)
				return
			}
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)
			m := readManifest(t, s, "fleet/drive")
			require.EqualValues(t, 6, m.Info.MessageCount, "of files that were deleted")
			require.EqualValues(t, 1e18, m.Info.StartTime)
			require.Len(t, m.Info.Topics, 1)
			require.Len(t, m.Files, 3)
		})
	}
}

// A file is kept and uploaded again if the file or its object changed after the upload.
func TestRemoveOldest(t *testing.T) {
	const key = "fleet/drive/drive.record.00000"
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, s *storetest.Server, path string)
		deleted   bool
	}{
		"nothing": {func(*testing.T, *storetest.Server, string) {}, true},
		"file changed": {func(t *testing.T, _ *storetest.Server, path string) {
			require.NoError(t, os.WriteFile(path, []byte("other"), 0o666))
		}, false},
		"object changed": {func(_ *testing.T, s *storetest.Server, _ string) { s.Put(key, []byte("other")) }, false},
		"object deleted": {func(_ *testing.T, s *storetest.Server, _ string) { s.Remove(key) }, false},
		"no network": {func(_ *testing.T, s *storetest.Server, _ string) {
			s.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { storetest.Unavailable(w) })
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := storetest.New(t), t.TempDir()
			q := newQueue(t, s)
			first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
			r := q.Begin(first.Path, false)
			path, _, err := q.RemoveOldest()
			require.NoError(t, err)
			require.Empty(t, path)
			r.Completed(first)
			r.End()
			finish(t, q)
			c.meanwhile(t, s, first.Path)
			path, _, err = q.RemoveOldest()
			require.NoError(t, err)
			if c.deleted {
				require.Equal(t, first.Path, path)
				require.NoFileExists(t, path)
				return
			}
			require.Empty(t, path)
			require.FileExists(t, first.Path)
			require.Equal(t, 1, q.Status().Files)
			finish(t, q)
			if name == "object deleted" {
				requireSame(t, s, first.Path, key)
			} else {
				require.Equal(t, 1, q.Status().Refused)
			}
		})
	}
}

// With Delete, a file is kept until the store confirms that it still has the file.
func TestDeleteWithoutAnAnswer(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	q := newQueue(t, s)
	q.Begin(first.Path, false).End()
	finish(t, q)
	s.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { storetest.Unavailable(w) })
	q = newQueue(t, s)
	q.Delete = true
	q.Resume(dir)
	stop := run(t, q)
	await(t, func() bool { return q.Status().Why != "" })
	require.FileExists(t, first.Path)
	s.Intercept(nil)
	q.Finish(1)
	await(t, func() bool { entries, err := os.ReadDir(dir); return err == nil && len(entries) == 0 })
	stop()
}

// No file that a link leads to in another folder is deleted.
func TestDeleteThroughALink(t *testing.T) {
	s, dir, elsewhere := storetest.New(t), t.TempDir(), t.TempDir()
	secret := filepath.Join(elsewhere, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o666))
	stat, err := os.Stat(secret)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "drive"), 0o777))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "drive/out")))
	left := newSpool(codec.OS{}, s.URL("fleet"), dir, "drive")
	left.Ended, left.Done = true, true
	left.Files = []*file{{Name: "drive/out/secret", Size: stat.Size(), Modified: stat.ModTime(),
		Proof: s3.Proof{CRC32C: "AAAAAA=="}}}
	text, err := json.Marshal(left)
	require.NoError(t, err)
	require.NoError(t, left.write(text, false))
	q := newQueue(t, s)
	q.Resume(dir)
	q.adopt()
	path, _, err := q.RemoveOldest()
	require.NoError(t, err)
	require.Empty(t, path)
	require.FileExists(t, secret)
}

// A queue deletes the files that a killed process had not deleted yet.
func TestDeleteGoesOn(t *testing.T) {
	for name, state := range map[string]func(*spool){
		"before":  func(*spool) {},
		"between": func(s *spool) { s.Files[0].Deleted = true },
		"in the middle of the recording": func(s *spool) {
			s.Done, s.Files[0].Deleted, s.Files[0].Described = false, true, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := storetest.New(t), t.TempDir()
			first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
			q := newQueue(t, s)
			q.Begin(first.Path, false).End()
			finish(t, q)
			left, err := openSpool(codec.OS{}, filepath.Join(dir, "drive.record"+spoolSuffix))
			require.NoError(t, err)
			state(left)
			if !left.Done {
				info := q.info(left, first.Path)
				info.Attachments = []codec.Attachment{{Name: "calibration.yaml",
					Open: func(func(error)) io.Reader { return nil }}}
				left.Info = join(info)
			}
			kept := left.Info
			text, err := json.Marshal(left)
			require.NoError(t, err)
			require.NoError(t, left.write(text, false))
			q = newQueue(t, s)
			q.Delete = true
			q.Resume(dir)
			finish(t, q)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)
			m := readManifest(t, s, "fleet/drive")
			require.EqualValues(t, 3, m.Info.MessageCount)
			if kept != nil {
				require.Equal(t, "calibration.yaml", m.Info.Attachments[0].Name)
			}
		})
	}
}

// After a power failure, a deleted file that comes back has its spool, which says that the store has it.
func TestSpoolIsDeletedLast(t *testing.T) {
	for folder, path := range map[string]string{
		"/data/drive": "/data/drive/drive_0.mcap", "/data": "/data/drive.record.00000",
	} {
		t.Run(folder, func(t *testing.T) {
			s, disk := storetest.New(t), &disktest.Disk{}
			require.NoError(t, disk.MkdirAll(folder))
			recordOn(t, disk, path)
			disk = disk.Killed()
			q := newQueue(t, s)
			q.Disk, q.Delete = disk, true
			n, err := q.Add("/data")
			require.NoError(t, err)
			require.Equal(t, 1, n)
			finish(t, q)
			require.Empty(t, disk.Files())
			cutPower(disk, func(files map[string][]byte) {
				require.True(t, files[path] == nil || len(files) == 2, "files: %v", slices.Collect(maps.Keys(files)))
			})
		})
	}
}

// RemoveOldest does not wait for a check by Run that the store is slow to answer.
func TestRemoveOldestMeanwhile(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	q := newQueue(t, s)
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	q.Begin(first.Path, false).End()
	finish(t, q)
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	var held atomic.Bool
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if held.CompareAndSwap(false, true) {
			asked <- struct{}{}
			<-answer
		}
		next.ServeHTTP(w, r)
	})
	q.Delete = true
	stop := run(t, q)
	<-asked
	path, _, err := q.RemoveOldest()
	require.NoError(t, err)
	require.Equal(t, first.Path, path)
	require.NoFileExists(t, first.Path)
	close(answer)
	await(t, func() bool { entries, err := os.ReadDir(dir); return err == nil && len(entries) == 0 })
	stop()
}
