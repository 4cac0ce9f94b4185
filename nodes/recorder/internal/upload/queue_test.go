package upload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/store/storetest"
	"tapedeck/nodes/internal/formats/live"
)

const patient = time.Minute

func newQueue(t *testing.T, s *storetest.Server) *Queue {
	return New(Options{
		Disk: codec.OS{}, Store: s3.New(), URL: s.URL("fleet"), Formats: live.Codecs(),
		Note: func(string, time.Time) {},
		Log:  func(_ bridge.LogLevel, format string, args ...any) { t.Logf(format, args...) },
	})
}

// record writes a recording of a few messages.
func record(t *testing.T, path string, first byte) codec.FileInfo {
	w, err := live.Codecs().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i := range byte(3) {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1e18 + int64(first+i),
			Data: []byte{0, 1, 0, 0, first + i, 0, 0, 0}}))
	}
	require.NoError(t, w.Close())
	stat, err := os.Stat(path)
	require.NoError(t, err)
	return codec.FileInfo{Path: path, Size: stat.Size()}
}

// finish runs the queue until everything is sent.
func finish(t *testing.T, q *Queue) {
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	q.Finish(1)
	q.Run(ctx)
	require.NoError(t, ctx.Err())
}

// run runs the queue until the returned function is called.
func run(t *testing.T, q *Queue) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		q.Run(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

func await(t *testing.T, condition func() bool) {
	require.Eventually(t, condition, patient, time.Millisecond)
}

func readManifest(t *testing.T, s *storetest.Server, folder string) (m manifest) {
	text, ok := s.Content(folder + "/" + manifestName)
	require.True(t, ok, folder)
	require.NoError(t, json.Unmarshal(text, &m))
	return m
}

// objects returns the keys of the created objects, in order.
func objects(s *storetest.Server) (keys []string) {
	for _, r := range s.Requests() {
		if r.Method == http.MethodPut && (r.Status == 0 || r.Status == http.StatusOK) {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

func requireSame(t *testing.T, s *storetest.Server, path, key string) {
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	got, ok := s.Content(key)
	require.True(t, ok, key)
	require.Equal(t, want, got, key)
}

// Snapshots are sent first, then the files of recordings in their order, then the list of a bag and the manifest.
func TestOrder(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	q := newQueue(t, s)
	bag := filepath.Join(dir, "drive")
	require.NoError(t, os.Mkdir(bag, 0o777))
	r := q.Begin(bag, false)
	r.Completed(record(t, filepath.Join(bag, "drive_0.mcap"), 0))
	r.Completed(record(t, filepath.Join(bag, "drive_1.mcap"), 3))
	require.NoError(t, os.WriteFile(filepath.Join(bag, listName), []byte("a: b\n"), 0o666))
	r.End()
	snapshot := record(t, filepath.Join(dir, "drive_snapshot.record.00000"), 6)
	q.Begin(snapshot.Path, true).End()
	require.Equal(t, 2, q.Status().Files)
	finish(t, q)
	require.Equal(t, []string{
		"fleet/drive_snapshot/drive_snapshot.record.00000", "fleet/drive_snapshot/recording.json",
		"fleet/drive/drive_0.mcap", "fleet/drive/drive_1.mcap", "fleet/drive/metadata.yaml",
		"fleet/drive/recording.json",
	}, objects(s))
	requireSame(t, s, filepath.Join(bag, "drive_1.mcap"), "fleet/drive/drive_1.mcap")
	require.Empty(t, q.Status().String())

	m := readManifest(t, s, "fleet/drive_snapshot")
	require.EqualValues(t, 3, m.Info.MessageCount)
	require.Equal(t, "drive_snapshot.record.00000", m.Files[0].Path)
	require.Equal(t, "drive_snapshot.record.00000", m.Info.Files[0].Path)
	require.Empty(t, m.Lost)

	again := newQueue(t, s)
	again.Resume(dir)
	finish(t, again)
	lost := newQueue(t, s)
	for _, name := range []string{"drive", "drive_snapshot.record"} {
		require.NoError(t, os.Remove(filepath.Join(dir, name+spoolSuffix)))
	}
	n, err := lost.Add(dir)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	finish(t, lost)
	require.Subset(t, []string{"fleet/drive/recording.json", "fleet/drive_snapshot/recording.json"},
		objects(s)[6:], "an object was sent twice")
}

// A process sends the files that an earlier one did not, even if the store failed and the clock was set back.
func TestResume(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	s.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { storetest.Unavailable(w) })
	q := newQueue(t, s)
	stop := run(t, q)
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	q.Begin(first.Path, false).Completed(first)
	await(t, func() bool { return q.Status().Why != "" })
	require.Contains(t, q.Status().String(), "1 file to upload")
	spoolPath := filepath.Join(dir, "drive.record"+spoolSuffix)
	await(t, func() bool { _, err := os.Stat(spoolPath); return err == nil })
	_, err := openSpool(codec.OS{}, spoolPath)
	require.ErrorIs(t, err, codec.ErrLocked)
	stop()

	record(t, filepath.Join(dir, "drive.record.00001"), 3)
	text, err := os.ReadFile(spoolPath)
	require.NoError(t, err)
	var state spool
	require.NoError(t, json.Unmarshal(text, &state))
	state.Files[0].Added = time.Now().Add(1000 * time.Hour)
	text, err = json.Marshal(&state)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(spoolPath, text, 0o666))

	s.Intercept(nil)
	q = newQueue(t, s)
	q.Resume(dir)
	finish(t, q)
	require.Equal(t, []string{"fleet/drive/drive.record.00000", "fleet/drive/drive.record.00001",
		"fleet/drive/recording.json"}, objects(s))
}

// Credentials that appear later are found.
func TestLateCredentials(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	key, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	q := newQueue(t, s)
	q.Begin(record(t, filepath.Join(dir, "drive.record.00000"), 0).Path, false).End()
	stop := run(t, q)
	defer stop()
	await(t, func() bool { return strings.Contains(q.Status().Why, "there are no credentials") })
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	await(t, func() bool { _, ok := s.Content("fleet/drive/recording.json"); return ok })
}

// Links are logged, because the files that they lead to are not sent.
func TestLinks(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	bag := filepath.Join(dir, "drive")
	require.NoError(t, os.Mkdir(bag, 0o777))
	record(t, filepath.Join(bag, "drive_0.mcap"), 0)
	for _, link := range []string{filepath.Join(bag, "drive_1.mcap"), filepath.Join(dir, "other.mcap"),
		filepath.Join(dir, "latest")} {
		require.NoError(t, os.Symlink(bag, link))
	}
	q := newQueue(t, s)
	var warned []string
	q.Log = func(level bridge.LogLevel, format string, args ...any) {
		if level == bridge.Warn {
			warned = append(warned, fmt.Sprintf(format, args...))
		}
	}
	n, err := q.Add(dir)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	finish(t, q)
	require.Equal(t, []string{"fleet/drive/drive_0.mcap", "fleet/drive/recording.json"}, s.Keys())
	require.Len(t, warned, 3)
	for _, name := range []string{"latest", "other.mcap", "drive/drive_1.mcap"} {
		require.Contains(t, warned, fmt.Sprintf(linkText, filepath.Join(dir, name)))
	}
}

// A file of a recording that is called recording.json does not replace the manifest.
func TestFileNamedLikeTheManifest(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	bag := filepath.Join(dir, "drive")
	require.NoError(t, os.MkdirAll(filepath.Join(bag, "deep"), 0o777))
	record(t, filepath.Join(bag, "drive_0.mcap"), 0)
	path := filepath.Join(bag, manifestName)
	for _, name := range []string{path, filepath.Join(bag, "deep", manifestName)} {
		require.NoError(t, os.WriteFile(name, []byte("{}"), 0o666))
	}
	q := newQueue(t, s)
	_, err := q.Add(bag)
	require.NoError(t, err)
	finish(t, q)
	require.Equal(t, []string{"fleet/drive/deep/recording.json", "fleet/drive/drive_0.mcap"}, s.Keys())
	require.Contains(t, q.Status().Why, path+": the description of the recording has this name in the store")
	require.Equal(t, 1, q.Status().Refused)

	require.NoError(t, os.Remove(path))
	q = newQueue(t, s)
	_, err = q.Add(bag)
	require.NoError(t, err)
	finish(t, q)
	require.Len(t, readManifest(t, s, "fleet/drive").Files, 2)
	require.Empty(t, q.Status().Why)
}

// The spool lists new files in time for a power cut, even while the store is slow with another file.
func TestBegunIsSaved(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	q := newQueue(t, s)
	first := record(t, filepath.Join(dir, "first.record.00000"), 0)
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		asked <- struct{}{}
		<-answer
		next.ServeHTTP(w, r)
	})
	stop := run(t, q)
	q.Begin(first.Path, false).End()
	<-asked
	second := record(t, filepath.Join(dir, "second.record.00000"), 0)
	q.Begin(second.Path, false).Completed(second)
	await(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "second.record"+spoolSuffix))
		return strings.Contains(string(text), "second.record.00000")
	})
	close(answer)
	stop()
}

// A recording is refused if the store has another one with its name. Uploads of other recordings go on.
func TestSameName(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	s.Put("fleet/drive/drive.record.00000", []byte("another one"))
	q := newQueue(t, s)
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	record(t, filepath.Join(dir, "drive.record.00001"), 3)
	q.Begin(first.Path, false).End()
	other := record(t, filepath.Join(dir, "other.record.00000"), 6)
	q.Begin(other.Path, false).End()
	finish(t, q)
	require.Equal(t, []string{"fleet/drive/drive.record.00000", "fleet/other/other.record.00000",
		"fleet/other/recording.json"}, s.Keys())
	require.Equal(t, 1, q.Status().Refused)
	require.Equal(t, 2, q.Status().Files)
	require.Contains(t, q.Status().Why, "other content")

	q = newQueue(t, s)
	q.Overwrite = true
	_, err := q.Add(dir)
	require.NoError(t, err)
	finish(t, q)
	requireSame(t, s, first.Path, "fleet/drive/drive.record.00000")
	require.Len(t, readManifest(t, s, "fleet/drive").Files, 2)
}

// The next queue that resumes a folder sends a manifest that could not be sent.
func TestManifestIsSentLater(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	refused := make(chan struct{}, 100)
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/"+manifestName) {
			refused <- struct{}{}
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	q := newQueue(t, s)
	stop := run(t, q)
	q.Begin(record(t, filepath.Join(dir, "drive.record.00000"), 0).Path, false).End()
	<-refused
	stop()
	require.Equal(t, []string{"fleet/drive/drive.record.00000"}, s.Keys())

	s.Intercept(nil)
	q = newQueue(t, s)
	_, err := q.Add(dir)
	require.NoError(t, err)
	finish(t, q)
	require.Len(t, readManifest(t, s, "fleet/drive").Files, 1)
}

// A spool that cannot be read does not keep others from being uploaded.
func TestDamagedSpool(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	q := newQueue(t, s)
	q.Begin(first.Path, false)
	run(t, q)()
	path := filepath.Join(dir, "drive.record"+spoolSuffix)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:len(text)/2], 0o666))
	other := record(t, filepath.Join(dir, "other.record.00000"), 3)

	q = newQueue(t, s)
	q.Resume(dir)
	q.Begin(other.Path, false).End()
	finish(t, q)
	require.Contains(t, s.Keys(), "fleet/other/recording.json")
	require.Contains(t, q.Status().Why, "damaged")
	q = newQueue(t, s)
	n, err := q.Add(dir)
	require.Equal(t, 1, n)
	require.ErrorContains(t, err, "damaged")
	finish(t, q)

	require.NoError(t, os.Remove(path))
	q = newQueue(t, s)
	_, err = q.Add(dir)
	require.NoError(t, err)
	finish(t, q)
	require.Contains(t, s.Keys(), "fleet/drive/recording.json")
}

// Two processes share a folder, each with its own recordings.
func TestTwoQueues(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	first := record(t, filepath.Join(dir, "first.record.00000"), 0)
	q := newQueue(t, s)
	stop := run(t, q)
	q.Begin(first.Path, false).Completed(first)
	await(t, func() bool { return q.Status().Proven > 0 })
	await(t, func() bool { _, err := os.Stat(filepath.Join(dir, "first.record"+spoolSuffix)); return err == nil })

	record(t, filepath.Join(dir, "second.record.00000"), 3)
	other := newQueue(t, s)
	n, err := other.Add(dir)
	require.Equal(t, 1, n)
	require.ErrorIs(t, err, codec.ErrLocked)
	finish(t, other)
	other = newQueue(t, s)
	other.Resume(dir)
	finish(t, other)
	require.NotContains(t, s.Keys(), "fleet/first/recording.json")
	stop()
	other = newQueue(t, s)
	other.Resume(dir)
	finish(t, other)
	require.Contains(t, s.Keys(), "fleet/first/recording.json")
}

// Finish interrupts a file that is sent part by part, and continues it with several parts at once.
func TestFinish(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	path := filepath.Join(dir, "drive.mcap")
	require.NoError(t, os.WriteFile(path, make([]byte, 16<<20+1), 0o666)) // three parts
	const parallel = 3
	var alone atomic.Bool
	var now atomic.Int32
	begun, several := make(chan struct{}), make(chan struct{})
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.Contains(r.URL.RawQuery, "partNumber=") {
			next.ServeHTTP(w, r)
			return
		}
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if alone.CompareAndSwap(false, true) {
			close(begun)
			<-r.Context().Done() // the request is interrupted
			return
		}
		if now.Add(1) == parallel {
			close(several)
		}
		select {
		case <-several:
		case <-r.Context().Done():
		}
		r.Body = io.NopCloser(bytes.NewReader(content))
		next.ServeHTTP(w, r)
	})
	q := newQueue(t, s)
	q.Begin(path, false).End()
	stop := run(t, q)
	defer stop()
	select {
	case <-begun:
	case <-time.After(patient):
		require.FailNow(t, "no file is sent")
	}
	q.Finish(parallel)
	await(t, func() bool { _, ok := s.Content("fleet/drive/recording.json"); return ok })
	requireSame(t, s, path, "fleet/drive/drive.mcap")
}

// A recording that is being written is not sent before it is complete, even if writing begins after it was found.
func TestBeingWritten(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	done := record(t, filepath.Join(dir, "done.record.00000"), 0)
	record(t, filepath.Join(dir, "drive.record.00000"), 3)
	path := filepath.Join(dir, "drive.record.00001")
	w, err := live.Codecs().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	require.FileExists(t, path+codec.ActiveSuffix)
	q := newQueue(t, s)
	n, err := q.Add(dir)
	require.Equal(t, 1, n)
	require.ErrorIs(t, err, errActive)
	_, err = newQueue(t, s).Add(path + codec.ActiveSuffix)
	require.ErrorIs(t, err, errActive)
	finish(t, q)
	require.Equal(t, []string{"fleet/done/done.record.00000", "fleet/done/recording.json"}, s.Keys())
	require.NoFileExists(t, filepath.Join(dir, "drive.record"+spoolSuffix))
	require.NoError(t, w.Close())

	q = newQueue(t, s)
	_, err = q.Add(dir)
	require.NoError(t, err)
	path = filepath.Join(dir, "drive.record.00002")
	w, err = live.Codecs().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	finish(t, q)
	require.NotContains(t, s.Keys(), "fleet/drive/recording.json")
	require.NotContains(t, s.Keys(), "fleet/drive/drive.record.00002"+codec.ActiveSuffix)
	require.NoError(t, w.Close())

	q = newQueue(t, s)
	_, err = q.Add(dir)
	require.NoError(t, err)
	finish(t, q)
	require.Len(t, readManifest(t, s, "fleet/drive").Files, 3)
	requireSame(t, s, done.Path, "fleet/done/done.record.00000")
}

// A folder that is moved takes its spool along. Files that were moved away without the spool are lost.
func TestMovedRecording(t *testing.T) {
	for name, inside := range map[string]bool{"with its spool": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			s, dir := storetest.New(t), t.TempDir()
			bag := filepath.Join(dir, "here", "drive")
			require.NoError(t, os.MkdirAll(bag, 0o777))
			q := newQueue(t, s)
			stop := run(t, q)
			r := q.Begin(bag, false)
			r.Completed(record(t, filepath.Join(bag, "drive_0.mcap"), 0))
			await(t, func() bool { return q.Status().Proven > 0 })
			stop()
			record(t, filepath.Join(bag, "drive_1.mcap"), 3)
			r.queue.locked(func() { r.spool.add("drive/drive_1.mcap", 1, true) })
			q.save(r.spool)
			r.spool.release()
			there := filepath.Join(dir, "there")
			if inside {
				require.NoError(t, os.Rename(filepath.Dir(bag), there))
			} else {
				require.NoError(t, os.Mkdir(there, 0o777))
				require.NoError(t, os.Rename(bag, filepath.Join(there, "drive")))
				q = newQueue(t, s)
				q.Resume(filepath.Dir(bag))
				finish(t, q)
				m := readManifest(t, s, "fleet/drive")
				require.Equal(t, []string{"drive_1.mcap"}, m.Lost)
				require.Len(t, m.Files, 1)
			}
			t.Chdir(filepath.Join(there, "drive"))
			q = newQueue(t, s)
			_, err := q.Add(".")
			require.NoError(t, err)
			finish(t, q)
			m := readManifest(t, s, "fleet/drive")
			require.Empty(t, m.Lost)
			require.Len(t, m.Files, 2)
			require.EqualValues(t, 6, m.Info.MessageCount)
			made := objects(s)
			require.Equal(t, 1, strings.Count(strings.Join(made, " ")+" ", "drive_0.mcap "), made)
		})
	}
}

// Uploads go on if the spool cannot be written, for example on a full disk.
func TestSpoolThatCannotBeWritten(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "drive.record"+spoolSuffix+".tmp", "x"), 0o777))
	q := newQueue(t, s)
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	q.Begin(first.Path, false).End()
	finish(t, q)
	require.Contains(t, s.Keys(), "fleet/drive/recording.json")
}

// Only one process sends a recording whose spool cannot be written, even if two have found it.
func TestTwoQueuesWithoutSpool(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "drive.record"+spoolSuffix+".tmp", "x"), 0o777))
	record(t, filepath.Join(dir, "drive.record.00000"), 0)
	record(t, filepath.Join(dir, "drive.record.00001"), 3)
	q, other := newQueue(t, s), newQueue(t, s)
	for _, q := range []*Queue{q, other} {
		_, err := q.Add(dir)
		require.NoError(t, err)
		q.Scan()
	}
	begun, refused := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if first.CompareAndSwap(false, true) {
			close(begun)
			<-refused
		}
		next.ServeHTTP(w, r)
	})
	defer run(t, q)()
	<-begun
	finish(t, other)
	_, err := newQueue(t, s).Add(dir)
	sent := s.Keys()
	close(refused)
	require.Empty(t, sent)
	require.Contains(t, other.Status().Why, "another process is working on it")
	require.ErrorIs(t, err, errActive)
	await(t, func() bool { _, ok := s.Content("fleet/drive/recording.json"); return ok })
}

// A spool that another process is writing is not changed.
func TestSpoolThatIsWritten(t *testing.T) {
	s := newSpool(codec.OS{}, "s3://fleet", t.TempDir(), "drive.record")
	temporary := s.file() + ".tmp"
	other, err := os.Create(temporary)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, codec.Lock(other))
	_, err = other.WriteString("whole")
	require.NoError(t, err)
	require.ErrorIs(t, s.write([]byte("{}"), false), codec.ErrLocked)
	text, err := os.ReadFile(temporary)
	require.NoError(t, err)
	require.Equal(t, "whole", string(text))
	require.NoError(t, other.Close())
	require.NoError(t, s.write([]byte("{}"), false))
	text, err = os.ReadFile(s.file())
	require.NoError(t, err)
	require.Equal(t, "{}", string(text))
}

// If several processes save the spool of a recording for the first time, one wins.
func TestFirstSaves(t *testing.T) {
	for range 20 {
		dir, winners := t.TempDir(), atomic.Int32{}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				s := newSpool(codec.OS{}, "s3://fleet", dir, "drive.record")
				switch err := s.write([]byte("{}"), true); {
				case err == nil:
					winners.Add(1)
				case !errors.Is(err, codec.ErrLocked):
					t.Error(err)
				}
				t.Cleanup(s.release)
			})
		}
		group.Wait()
		require.EqualValues(t, 1, winners.Load())
	}
}

// A recording that another process uploads is not sent, even if that upload began after it was found.
func TestUploadedByAnother(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	record(t, filepath.Join(dir, "drive.record.00001"), 3)
	other := newQueue(t, s)
	q := newQueue(t, s)
	q.Begin(first.Path, false).End()
	n, err := other.Add(dir)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = newQueue(t, s).Add(dir)
	require.ErrorIs(t, err, codec.ErrLocked)
	finish(t, q)
	require.Empty(t, s.Keys())
	require.Contains(t, q.Status().Why, "another process is working on it")
	finish(t, other)
	require.Contains(t, s.Keys(), "fleet/drive/recording.json")
}

func TestSeries(t *testing.T) {
	others := map[string]fs.FileInfo{"drive.mcap": nil, "run.log.active": nil}
	for name, want := range map[string]string{
		"drive.record.00003": "drive.record", "drive.record.00003.20260131081500.active": "drive.record",
		"drive_2.mcap": "drive.mcap", "other_2.mcap": "other_2.mcap", "run_1.log": "run.log", "a.bag": "a.bag",
		"3_drive_2026_01_31-08_15_00.mcap": "drive.mcap",
	} {
		require.Equal(t, want, seriesOf(name, others), name)
	}
}

// Files belong to their recording even if its first file was deleted after the upload.
func TestSeriesWithoutItsFirst(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	q := newQueue(t, s)
	q.Delete = true
	first := record(t, filepath.Join(dir, "drive.mcap"), 0)
	r := q.Begin(first.Path, false)
	r.Completed(first)
	stop := run(t, q)
	await(t, func() bool { _, err := os.Stat(first.Path); return errors.Is(err, fs.ErrNotExist) })
	stop()
	record(t, filepath.Join(dir, "drive_1.mcap"), 3)
	for name, add := range map[string]func(*Queue){
		"next recorder": func(q *Queue) { q.Resume(dir) },
		"upload": func(q *Queue) {
			n, err := q.Add(dir)
			require.NoError(t, err)
			require.Equal(t, 1, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t, s)
			add(q)
			finish(t, q)
			require.Equal(t, []string{"fleet/drive/drive.mcap", "fleet/drive/drive_1.mcap",
				"fleet/drive/recording.json"}, s.Keys())
			require.Len(t, readManifest(t, s, "fleet/drive").Files, 2)
		})
	}
}

// An outage is noted once, even if local failures occur meanwhile.
func TestOutageWithLocalFailures(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	q := newQueue(t, s)
	var lines []string
	q.Log = func(_ bridge.LogLevel, format string, args ...any) {
		lines = append(lines, fmt.Sprintf(format, args...))
	}
	sp := newSpool(codec.OS{}, q.URL, dir, "drive.record")
	gone, there := &file{Name: "drive.record.00000"}, &file{Name: "drive.record.00001"}
	require.NoError(t, os.WriteFile(filepath.Join(dir, there.Name), []byte("x"), 0o666))
	outage := errors.New("no network")
	for range 5 {
		q.noteResult(outage, sp, there)
		q.noteResult(&fs.PathError{Op: "open", Path: gone.Name, Err: fs.ErrNotExist}, sp, gone)
		q.noteResult(fmt.Errorf("upload: %w", errActive), sp, there)
	}
	count := 0
	for _, line := range lines {
		count += strings.Count(line, "no network")
	}
	require.Equal(t, 1, count, lines)
	require.Equal(t, 5, q.failures)
	require.Contains(t, q.Status().Why, "no network")
}

// Spools that name files in other folders are refused, and links out of the folder are not followed.
func TestHostileSpool(t *testing.T) {
	for name, c := range map[string]struct{ file, text string }{
		"parent":      {"..", `{"recording":"..","name":"x","files":[]}`},
		"itself":      {".", `{"recording":".","name":"x","files":[]}`},
		"no name":     {"", `{"recording":"","name":"x","files":[]}`},
		"other key":   {"drive", `{"recording":"drive","name":"../x","files":[]}`},
		"link":        {"drive", `{"recording":"drive","name":"drive","files":[{"name":"drive/link"}]}`},
		"link folder": {"drive", `{"recording":"drive","name":"drive","files":[{"name":"drive/out/secret"}]}`},
		"other file":  {"drive", `{"recording":"drive","name":"drive","files":[{"name":"drive/../../secret"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := storetest.New(t), t.TempDir()
			secret, folder := filepath.Join(dir, "secret"), filepath.Join(dir, "disk")
			require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o666))
			require.NoError(t, os.MkdirAll(filepath.Join(folder, "drive"), 0o777))
			require.NoError(t, os.Symlink(secret, filepath.Join(folder, "drive/link")))
			require.NoError(t, os.Symlink(dir, filepath.Join(folder, "drive/out")))
			text := strings.Replace(c.text, "{", `{"url":"`+s.URL("fleet")+`",`, 1)
			require.NoError(t, os.WriteFile(filepath.Join(folder, c.file+spoolSuffix), []byte(text), 0o666))
			q := newQueue(t, s)
			q.Delete = true
			q.Resume(folder)
			finish(t, q)
			require.FileExists(t, secret)
			for _, key := range s.Keys() {
				content, _ := s.Content(key)
				require.NotContains(t, string(content), "secret", key)
			}
		})
	}
}

// A recording of the same name is also another one if its files have other names.
func TestSameNameOtherFiles(t *testing.T) {
	s, dir, later := storetest.New(t), t.TempDir(), t.TempDir()
	q := newQueue(t, s)
	q.Begin(record(t, filepath.Join(dir, "drive.record.00000.20260131081500"), 0).Path, false).End()
	finish(t, q)
	before, _ := s.Content("fleet/drive/recording.json")
	q = newQueue(t, s)
	q.Begin(record(t, filepath.Join(later, "drive.record.00000.20260131091500"), 3).Path, false).End()
	finish(t, q)
	require.Equal(t, []string{"fleet/drive/drive.record.00000.20260131081500", "fleet/drive/recording.json"}, s.Keys())
	after, _ := s.Content("fleet/drive/recording.json")
	require.Equal(t, before, after)
	require.Contains(t, q.Status().Why, "other content")

	q = newQueue(t, s)
	q.Overwrite = true
	_, err := q.Add(later)
	require.NoError(t, err)
	finish(t, q)
	require.Equal(t, "drive.record.00000.20260131091500", readManifest(t, s, "fleet/drive").Files[0].Path)
}

// Recordings whose files are named by time are different ones though their names differ by the time alone.
func TestFilesNamedByTime(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	for hour, name := range []string{"robot_2026_01_31-08_00_00", "robot_2026_01_31-09_00_00"} {
		clock := func() time.Time { return time.Date(2026, 1, 31, 8+hour, 0, 0, 0, time.UTC) }
		w, err := codec.Formats{mcap.Format}.Create(filepath.Join(dir, name+".mcap"), codec.CreateOptions{Dated: clock})
		require.NoError(t, err)
		require.NoError(t, w.Close())
		files, err := filepath.Glob(filepath.Join(dir, "0_*.mcap"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		q := newQueue(t, s)
		q.Delete = true
		q.Begin(files[0], false).End()
		finish(t, q)
		require.Empty(t, q.Status().Why)
		require.Contains(t, s.Keys(), "fleet/"+name+"/"+filepath.Base(files[0]))
		require.Len(t, readManifest(t, s, "fleet/"+name).Files, 1)
	}
}

// While a recording is replaced, the store has no manifest.
func TestOverwriteWithoutItsEnd(t *testing.T) {
	s, dir, later := storetest.New(t), t.TempDir(), t.TempDir()
	q := newQueue(t, s)
	q.Begin(record(t, filepath.Join(dir, "drive.record.00000"), 0).Path, false).End()
	finish(t, q)
	q = newQueue(t, s)
	q.Overwrite = true
	first := record(t, filepath.Join(later, "drive.record.00000"), 3)
	q.Begin(first.Path, false).Completed(first)
	stop := run(t, q)
	await(t, func() bool { return q.Status().Proven > 0 })
	stop()
	requireSame(t, s, first.Path, "fleet/drive/drive.record.00000")
	require.NotContains(t, s.Keys(), "fleet/drive/recording.json")
}

// The spool is there as soon as the recording begins, so that a later process finds what a power failure leaves.
func TestSpoolIsThereAtOnce(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, s)
		stop := run(t, q)
		synctest.Wait()
		q.Begin(filepath.Join(dir, "drive.mcap"), false)
		synctest.Wait()
		require.FileExists(t, filepath.Join(dir, "drive.mcap"+spoolSuffix))
		stop()
	})
}

// recordOn writes a recording to a disk without syncs, and returns its bytes.
func recordOn(t *testing.T, disk *disktest.Disk, path string) []byte {
	local := filepath.Join(t.TempDir(), "recording.mcap")
	record(t, local, 0)
	data, err := os.ReadFile(local)
	require.NoError(t, err)
	out, err := disk.Create(path, false)
	require.NoError(t, err)
	_, err = out.WriteAt(data, 0)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return data
}

// cutPower calls check with the files that power cuts may leave.
func cutPower(disk *disktest.Disk, check func(files map[string][]byte)) {
	for seed := range uint64(50) {
		after := disk.PowerCut(func(path string) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(len(path)))) })
		check(after.Files())
	}
}

// What a killed recorder has written is on the disk before the store has it: after a power failure, the file is not
// another one.
func TestUnsyncedFile(t *testing.T) {
	for name, add := range map[string]func(*Queue) error{
		"resumed": func(q *Queue) error { q.Resume("/data"); return nil },
		"added":   func(q *Queue) error { _, err := q.Add("/data"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s, disk := storetest.New(t), &disktest.Disk{}
			require.NoError(t, disk.MkdirAll("/data"))
			spool := newSpool(disk, s.URL("fleet"), "/data", "drive.mcap")
			text, err := json.Marshal(spool)
			require.NoError(t, err)
			require.NoError(t, spool.write(text, false))
			const path = "/data/drive.mcap" + codec.ActiveSuffix
			data := recordOn(t, disk, path)
			q := newQueue(t, s)
			q.Disk = disk
			require.NoError(t, add(q))
			finish(t, q)
			sent, ok := s.Content("fleet/drive/drive.mcap" + codec.ActiveSuffix)
			require.True(t, ok)
			require.Equal(t, data, sent)
			cutPower(disk, func(files map[string][]byte) { require.Equal(t, sent, files[path]) })
		})
	}
}
