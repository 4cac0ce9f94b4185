// Package upload sends finished files of recordings to an object store, and proves that they are there. What is left to
// be done survives the process, in a spool beside each recording.
package upload

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/blob"
)

// Pauses after attempts that failed: the first one, and the longest.
const (
	firstPause = time.Second
	mostPause  = 5 * time.Minute
)

// savePause is how long progress may be unsaved, as it is found again by asking the store.
const savePause = time.Second

var errUrgent = errors.New("a snapshot goes first")

// Options are where recordings are sent, and how. No function may be nil.
type Options struct {
	blob.UploadOptions
	URL    string
	Delete bool // delete files once they are proven to be in the store

	Open func(path string) (codec.Reader, error)
	// Episodes reports whether recordings of a format hold episodes. A folder of these is one recording, whatever its
	// files are called.
	Episodes func(format string) bool

	Log func(bridge.LogLevel, string, ...any)
	// Note is called with what a recording should tell about uploads. They began at a time of the wall clock.
	Note func(text string, began time.Time)
}

// Queue sends recordings: snapshots first, then the oldest. One goroutine calls Run; the other methods may be called by
// any, and return at once but for RemoveOldest.
type Queue struct {
	Options

	wake   chan struct{} // has a value when there is something to do
	saving sync.Mutex    // held while a spool is written, before mu
	moving sync.Mutex    // held while files are deleted, before saving

	// No file is touched while it is held.
	mu        sync.Mutex
	spools    []*spool
	folders   []string // with spools of earlier processes that were not looked for yet
	finishing bool
	urgent    func() // stops what is sent for a snapshot; nil: nothing has to stop
	current   *file  // that is sent
	sent      int64  // bytes of it
	failures  int    // of the store, one after the other
	retry     time.Time
	failed    time.Time // when failures began
	why       string    // the last failure

	uploader *blob.Uploader // of Run's goroutine
}

// New returns a queue without recordings.
func New(o Options) *Queue {
	q := &Queue{Options: o, wake: make(chan struct{}, 1)}
	q.Attempts = 2 // Run goes on after that
	q.Progress = func(n int64) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.sent += n
	}
	return q
}

// Recording is a recording in the queue.
type Recording struct {
	queue *Queue
	spool *spool
}

// Begin adds a recording that is being written at path, which is a folder or the first one of its files.
func (q *Queue) Begin(path string, snapshot bool) *Recording {
	name := filepath.Base(path)
	if s := seriesOf(name, nil); s != "" {
		name = s
	}
	s := &spool{URL: q.URL, Path: name, Name: objectName(name), Snapshot: snapshot, folder: filepath.Dir(path),
		unsaved: true}
	q.mu.Lock()
	q.spools = append(q.spools, s)
	q.mu.Unlock()
	q.notify()
	return &Recording{q, s}
}

// objectName returns the name of the folder of a recording in the store.
func objectName(path string) string {
	switch extension := filepath.Ext(path); extension {
	case ".record", ".mcap", ".log":
		return strings.TrimSuffix(path, extension)
	}
	return path
}

// Completed adds a file of the recording, which is complete.
func (r *Recording) Completed(f codec.FileInfo) {
	name, err := filepath.Rel(r.spool.folder, f.Path)
	if err != nil {
		return // End finds it
	}
	q := r.queue
	q.mu.Lock()
	r.spool.add(filepath.ToSlash(name), f.Size, true)
	q.mu.Unlock()
	q.notify()
}

// End notes that the recording is complete. Files of it that are not known are added.
func (r *Recording) End() {
	q := r.queue
	q.mu.Lock()
	r.spool.Ended, r.spool.unscanned, r.spool.unsaved = true, true, true
	if q.urgent != nil && r.spool.Snapshot {
		q.urgent()
	}
	q.mu.Unlock()
	q.notify()
}

// Resume adds the recordings in a folder that earlier processes did not upload to the end.
func (q *Queue) Resume(folder string) {
	q.mu.Lock()
	if !slices.Contains(q.folders, folder) {
		q.folders = append(q.folders, folder)
	}
	q.mu.Unlock()
	q.notify()
}

// Finish lets Run return when everything is in the store, but for what will probably fail again.
func (q *Queue) Finish() {
	q.mu.Lock()
	q.finishing = true
	q.retry = time.Time{}
	q.mu.Unlock()
	q.notify()
}

func (q *Queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run sends what is in the queue until ctx is done, or until everything is sent after Finish.
func (q *Queue) Run(ctx context.Context) {
	defer q.release()
	for {
		q.prepare()
		s, f, wait := q.next(time.Now())
		if s == nil {
			if wait < 0 || !q.await(ctx, wait) {
				return
			}
			continue
		}
		err := q.attempt(ctx, s, f)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errUrgent) {
			q.ended(err, s, f)
		}
	}
}

// await waits for something to do, for that long or the next look at what is to be saved. It reports whether ctx is not
// done.
func (q *Queue) await(ctx context.Context, most time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-q.wake:
	case <-time.After(min(most, savePause)):
	}
	return true
}

// release saves all spools and lets other processes have them.
func (q *Queue) release() {
	for _, s := range q.list() {
		q.mu.Lock()
		unsaved := s.unsaved
		q.mu.Unlock()
		if unsaved {
			q.save(s)
		}
		q.saving.Lock()
		s.release()
		q.saving.Unlock()
	}
}

func (q *Queue) list() []*spool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.spools)
}

// prepare looks for spools and files, and saves what changed.
func (q *Queue) prepare() {
	q.mu.Lock()
	folders := q.folders
	q.folders = nil
	q.mu.Unlock()
	for _, folder := range folders {
		q.adopt(folder)
	}
	for _, s := range q.list() {
		q.mu.Lock()
		unscanned := s.unscanned
		q.mu.Unlock()
		if unscanned {
			q.scan(s)
		}
		q.mu.Lock()
		due := s.unsaved && time.Since(s.saved) >= savePause
		q.mu.Unlock()
		if due {
			q.save(s)
		}
	}
}

// scan compares the files that are there with those that are known. Only Run's goroutine adds files to a recording that
// ended.
func (q *Queue) scan(s *spool) {
	found := spool{Path: s.Path, folder: s.folder}
	err := found.scan()
	states := map[string]fs.FileInfo{}
	for _, f := range found.Files {
		if stat, err := os.Stat(s.local(f)); err == nil {
			states[f.Name] = stat
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s.unscanned = false
	if err != nil {
		q.why = err.Error()
		return
	}
	for _, f := range found.Files {
		s.add(f.Name, f.Size, false)
	}
	for _, f := range s.Files {
		stat := states[f.Name]
		switch {
		case f.CRC32C == "":
			f.Lost = f.Lost && stat == nil
		case stat == nil:
			f.Deleted = true
		case !sameFile(stat, f.Size, f.Modified):
			f.CRC32C, f.Deleted = "", false
		}
		s.Done = s.Done && !f.waits()
	}
}

// save writes a spool. Uploads go on if that is not possible, as on a full disk: they begin anew after a crash.
func (q *Queue) save(s *spool) {
	q.saving.Lock()
	defer q.saving.Unlock()
	q.mu.Lock()
	text, err := json.MarshalIndent(s, "", " ")
	s.unsaved, s.saved = false, time.Now()
	q.mu.Unlock()
	if err == nil {
		err = s.write(append(text, '\n'))
	}
	if err != nil {
		q.Log(bridge.Warn, "upload: write %s: %v", s.file(), err)
	}
}

// adopt adds the spools in a folder that go to the queue's URL.
func (q *Queue) adopt(folder string) {
	names, err := regularFiles(folder)
	if err != nil {
		q.Log(bridge.Warn, "upload: %v", err)
	}
	var list []*spool
	for name := range names {
		path := filepath.Join(folder, name)
		if !strings.HasSuffix(name, spoolSuffix) || q.known(path) {
			continue
		}
		s, err := openSpool(path)
		switch {
		case errors.Is(err, errBusy):
		case err != nil:
			q.Log(bridge.Warn, "upload: %v", err)
		case s.URL != q.URL:
			s.release()
			q.Log(bridge.Info, "upload: %s goes to %s: 'recorder upload' continues it", path, s.URL)
		default:
			s.Ended, s.unscanned = true, !s.Done
			list = append(list, s)
		}
	}
	q.insert(list)
}

func (q *Queue) known(spoolPath string) bool {
	return slices.ContainsFunc(q.list(), func(s *spool) bool { return s.file() == spoolPath })
}

// insert puts spools of earlier recordings before those of the present one, in the order of their first files.
func (q *Queue) insert(list []*spool) {
	began := func(s *spool) time.Time {
		if len(s.Files) == 0 {
			return time.Time{}
		}
		return s.Files[0].Added
	}
	slices.SortStableFunc(list, func(a, b *spool) int { return began(a).Compare(began(b)) })
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spools = append(list, q.spools...)
}

// next returns what is to be sent: a file, or without one the manifest of a recording. Without a spool it returns how
// long it may be until then, negative if Run may return.
func (q *Queue) next(now time.Time) (s *spool, f *file, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait = mostPause
	over := q.finishing
	for _, snapshot := range []bool{true, false} {
		for _, s := range q.spools {
			if s.Done || s.Snapshot != snapshot {
				continue
			}
			ready := s.Ended && !s.unscanned
			for _, f := range s.Files {
				if !f.waits() {
					continue
				}
				ready = false
				due := max(f.retry.Sub(now), q.retry.Sub(now))
				if f.refused == nil {
					over = false
				}
				if due <= 0 {
					return s, f, 0
				}
				wait = min(wait, due)
			}
			if !s.Ended || ready {
				over = false
			}
			if ready {
				if due := q.retry.Sub(now); due > 0 {
					wait = min(wait, due)
				} else {
					return s, nil, 0
				}
			}
		}
	}
	if over {
		return nil, nil, -1
	}
	return nil, nil, wait
}

// attempt sends a file, or without one the manifest of a recording.
func (q *Queue) attempt(ctx context.Context, s *spool, f *file) error {
	if q.uploader == nil {
		u, err := blob.NewUploader(ctx, q.URL, q.UploadOptions)
		if err != nil {
			return err
		}
		q.uploader = u
	}
	if f == nil {
		q.mu.Lock()
		empty := !slices.ContainsFunc(s.Files, func(f *file) bool { return f.CRC32C != "" })
		if empty { // it was deleted before anything of it was sent
			s.Done, s.unsaved = true, true
		}
		q.mu.Unlock()
		if empty {
			return nil
		}
		if err := q.sendManifest(ctx, s); err != nil {
			return err
		}
		q.mu.Lock()
		s.Done, s.unsaved = true, true
		q.mu.Unlock()
		q.save(s)
		q.Log(bridge.Info, "uploaded %s to %s", filepath.Join(s.folder, s.Path), blob.Join(s.URL, s.Name))
		if q.Delete {
			q.removeAll(s)
		}
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.mu.Lock()
	q.current, q.sent = f, 0
	if !s.Snapshot {
		q.urgent = func() { cancel(errUrgent) }
	}
	q.mu.Unlock()
	err := q.send(ctx, s, f)
	q.mu.Lock()
	q.current, q.sent, q.urgent = nil, 0, nil
	q.mu.Unlock()
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errUrgent) {
		return errUrgent
	}
	if err == nil && q.Delete && f.Split {
		if path, err := q.remove(s, f); err != nil {
			q.Log(bridge.Error, "%v", err)
		} else if path != "" {
			q.Note("deleted "+path+", which is uploaded", time.Now())
		}
	}
	return err
}

// send sends a file. What is known of it is saved as soon as it is known.
func (q *Queue) send(ctx context.Context, s *spool, f *file) error {
	in, err := os.Open(s.local(f))
	if err != nil {
		return err
	}
	defer in.Close()
	stat, err := in.Stat()
	if err != nil {
		return err
	}
	q.mu.Lock()
	f.Size = stat.Size()
	state := f.TransferState
	q.mu.Unlock()
	keep := func() error {
		q.mu.Lock()
		f.TransferState = state
		q.mu.Unlock()
		q.save(s)
		return nil
	}
	t := blob.Transfer{Uploader: q.uploader, Key: s.key(f), File: in, Size: stat.Size(), State: &state, Save: keep}
	sum, err := t.Run(ctx)
	if err != nil {
		q.mu.Lock()
		f.TransferState = state
		q.mu.Unlock()
		return err
	}
	if now, err := os.Stat(s.local(f)); err != nil || !sameFile(now, stat.Size(), stat.ModTime()) {
		return cmp.Or(err, blob.ErrChanged)
	}
	q.mu.Lock()
	f.CRC32C, f.Modified, f.TransferState = sum, stat.ModTime(), blob.TransferState{}
	f.refused, s.unsaved = nil, true
	q.mu.Unlock()
	q.Log(bridge.Debug, "uploaded %s: %d bytes", s.local(f), stat.Size())
	return nil
}

func sameFile(stat fs.FileInfo, size int64, modified time.Time) bool {
	return stat.Size() == size && stat.ModTime().Equal(modified)
}

// ended notes how an attempt ended, and when the next one is due.
func (q *Queue) ended(err error, s *spool, f *file) {
	now := time.Now()
	lost := f != nil && errors.Is(err, fs.ErrNotExist) && missing(s.local(f))
	refused := f != nil && refusal(err)
	var say []func()
	q.mu.Lock()
	began, last := q.failed, q.why
	if err == nil || lost || refused { // the store answers
		q.failures, q.failed, q.why = 0, time.Time{}, ""
		if !began.IsZero() && now.Sub(began) > outage {
			say = append(say, func() { q.Note("nothing could be uploaded: "+last, began) })
		}
	}
	switch {
	case err == nil:
	case lost: // or renamed, as a file that was not finished before
		f.Lost, s.unscanned, s.unsaved = true, s.Ended, true
		say = append(say, func() {
			q.Log(bridge.Warn, "upload: %s was deleted before it was uploaded", s.local(f))
		})
	case refused:
		f.failures++
		f.retry, f.refused = now.Add(pause(f.failures)), err
		if f.failures == 1 {
			say = append(say, func() { q.Log(bridge.Error, "%v", err) }, func() { q.Note(err.Error(), now) })
		}
	default:
		q.failures++
		q.retry = now.Add(pause(q.failures))
		if q.why = err.Error(); q.failures == 1 {
			q.failed = now
			say = append(say, func() { q.Log(bridge.Warn, "%v; it will be tried again", err) })
		}
	}
	q.mu.Unlock()
	for _, f := range say {
		f()
	}
}

// outage is how long uploads must fail to be mentioned in the recording.
const outage = 10 * time.Second

// refusal reports whether an error is about one file, and will probably come again.
func refusal(err error) bool {
	var local *fs.PathError
	return errors.Is(err, blob.ErrDiffers) || errors.Is(err, blob.ErrUnproven) || errors.Is(err, blob.ErrChanged) ||
		errors.As(err, &local)
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// pause returns how long to wait after so many failures, at random so that many recorders do not come at once.
func pause(failures int) time.Duration {
	most := min(firstPause<<min(failures, 20), mostPause)
	return most/2 + rand.N(most/2)
}
