// Package upload sends finished files of recordings to an object store, and proves that they are there. What is left to
// be done survives the process, in a spool beside each recording.
package upload

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
)

const (
	firstPause  = time.Second     // after an attempt that failed
	mostPause   = 5 * time.Minute // after many
	mostRefused = time.Hour       // after many of one file alone
	savePause   = time.Second     // how long progress may be unsaved, as it is found again by asking the store
	outage      = 10 * time.Second
)

var (
	errLater  = errors.New("it goes on later")
	errFound  = errors.New("there are more files")
	errActive = errors.New("it is being recorded or uploaded: upload it when it is complete")
)

// Options are where recordings are sent, and how. No function may be nil.
type Options struct {
	s3.UploadOptions
	Disk   codec.Disk // of the recordings
	Store  *s3.Store
	URL    string
	Delete bool // delete files once they are proven to be in the store

	Formats codec.Formats // of recordings; an episodic one has a folder, whatever the files in it are called

	Log func(bridge.LogLevel, string, ...any)
	// Note is called with what a recording should tell about uploads. They began at a time of the wall clock.
	Note func(text string, began time.Time)
}

// Queue sends recordings: snapshots first, then the oldest. One goroutine calls Run; the other methods may be called by
// any, and return at once but for RemoveOldest.
type Queue struct {
	Options

	wake    chan struct{} // has a value when there is something to do
	folders []string      // with spools of earlier processes, for Run
	// writing is held while a file is deleted or a spool is written, before mu.
	writing sync.Mutex

	// No file is touched while it is held.
	mu        sync.Mutex
	spools    []*spool
	finishing bool
	parallel  int    // parts of a file that are sent at once
	interrupt func() // stops what is sent, which goes on later; nil: it is a snapshot, or nothing
	current   *file  // that is sent
	sent      int64  // bytes of it
	failures  int    // of the store, one after the other
	retry     time.Time
	failed    time.Time // when failures began
	why       string    // the last failure
	broken    string    // what is not uploaded as its spool cannot be read
	uploader  *s3.Uploader
}

// New returns a queue without recordings.
func New(o Options) *Queue {
	o.URL = store.Clean(o.URL)
	q := &Queue{Options: o, wake: make(chan struct{}, 1)}
	q.Attempts = 2 // Run goes on after that
	q.Progress = func(n int64) { q.locked(func() { q.sent += n }) }
	return q
}

func (q *Queue) locked(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	do()
}

// change changes what Run has to do.
func (q *Queue) change(do func()) {
	q.locked(do)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Recording is a recording in the queue.
type Recording struct {
	queue *Queue
	spool *spool
}

// Begin adds a recording that is being written at path, which is a folder or the first one of its files.
func (q *Queue) Begin(path string, snapshot bool) *Recording {
	name := filepath.Base(path)
	s := newSpool(q.Disk, q.URL, filepath.Dir(path), cmp.Or(seriesOf(name, nil), name))
	s.Snapshot = snapshot
	q.change(func() { q.spools = append(q.spools, s) })
	return &Recording{q, s}
}

// Completed adds a file of the recording, which is complete.
func (r *Recording) Completed(f codec.FileInfo) {
	if name, err := filepath.Rel(r.spool.folder, f.Path); err == nil { // else it is found at the end
		r.queue.change(func() { r.spool.add(filepath.ToSlash(name), f.Size, true) })
	}
}

// End notes that the recording is complete. Files of it that are not known are added.
func (r *Recording) End() {
	r.queue.change(func() {
		r.spool.Ended, r.spool.unsaved = true, true
		if r.queue.interrupt != nil && r.spool.Snapshot {
			r.queue.interrupt()
		}
	})
}

// Resume has Run add the recordings in a folder that earlier processes did not upload to the end. It is called before
// Run.
func (q *Queue) Resume(folder string) {
	if !slices.Contains(q.folders, folder) {
		q.folders = append(q.folders, folder)
	}
}

// Finish lets Run return when everything is in the store, but for what will probably fail again. From now on so many
// parts of a file are sent at once, by goroutines of their own.
func (q *Queue) Finish(parallel int) {
	q.change(func() {
		q.finishing, q.parallel, q.retry = true, parallel, time.Time{}
		if q.interrupt != nil {
			q.interrupt()
		}
	})
}

// Run sends what is in the queue until ctx is done, or until everything is sent after Finish.
func (q *Queue) Run(ctx context.Context) {
	saving, stop := context.WithCancel(context.Background())
	var saver sync.WaitGroup
	saver.Go(func() {
		for tick := time.Tick(savePause); saving.Err() == nil; {
			q.saveAll()
			select {
			case <-saving.Done():
			case <-tick:
			}
		}
	})
	defer func() {
		stop()
		saver.Wait()
		q.saveAll()
		for _, s := range q.list() {
			q.release(s)
		}
	}()
	q.adopt()
	for {
		s, f, wait := q.next(time.Now())
		if s == nil {
			if wait < 0 {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-q.wake:
			case <-time.After(wait):
			}
			continue
		}
		err := q.attempt(ctx, s, f)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errLater) && !errors.Is(err, errFound) {
			q.ended(err, s, f)
		}
	}
}

func (q *Queue) list() []*spool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.spools)
}

func (q *Queue) saveAll() {
	for _, s := range q.list() {
		_ = q.save(s)
	}
}

// save writes a spool that changed. Uploads go on if that is not possible, as on a full disk, and it is tried again;
// but not if the error is codec.ErrLocked, as another process uploads the recording.
func (q *Queue) save(s *spool) error {
	q.writing.Lock()
	defer q.writing.Unlock()
	return q.saveSpool(s)
}

// saveSpool is save while q.writing is held.
func (q *Queue) saveSpool(s *spool) error {
	q.mu.Lock()
	if !s.unsaved {
		q.mu.Unlock()
		return nil
	}
	text, err := json.MarshalIndent(s, "", " ")
	keep := !s.Done
	s.unsaved = false
	q.mu.Unlock()
	if err == nil {
		err = s.write(append(text, '\n'), keep)
	}
	if err != nil {
		q.locked(func() { s.unsaved = true })
		if !s.failing && !errors.Is(err, codec.ErrLocked) {
			q.Log(bridge.Warn, "upload: write %s: %v; it will be tried again", s.file(), err)
		}
	}
	s.failing = err != nil
	return err
}

// release gives up the lock of a recording.
func (q *Queue) release(s *spool) {
	q.writing.Lock()
	defer q.writing.Unlock()
	s.release()
}

// adopt adds the spools that go to the queue's URL, in the folders of Resume.
func (q *Queue) adopt() {
	for _, folder := range q.folders {
		names, err := regularFiles(q.Disk, folder)
		if err != nil {
			q.Log(bridge.Warn, "upload: %v", err)
		}
		var list []*spool
		for name := range names {
			path := filepath.Join(folder, name)
			if !strings.HasSuffix(name, spoolSuffix) ||
				slices.ContainsFunc(q.list(), func(s *spool) bool { return s.file() == path }) {
				continue
			}
			s, err := openSpool(q.Disk, path)
			switch {
			case errors.Is(err, codec.ErrLocked):
			case err != nil:
				q.Log(bridge.Error, "upload: %v", err)
				q.locked(func() { q.broken = err.Error() })
			case s.URL != q.URL:
				s.release()
				q.Log(bridge.Info, "upload: %s goes to %s: 'recorder upload' continues it", path, s.URL)
			default:
				s.Ended = true
				if s.Done {
					s.release() // it stays as it is unless files are deleted
				} else {
					_ = q.scan(s) // the next attempt says what is wrong
				}
				list = append(list, s)
			}
		}
		// In the order of their first files, before those of the present recording.
		slices.SortStableFunc(list, func(a, b *spool) int { return a.began().Compare(b.began()) })
		q.locked(func() { q.spools = append(list, q.spools...) })
	}
}

// scan compares the files that are there with those that are known. Only Run's goroutine adds files to a recording that
// ended.
func (q *Queue) scan(s *spool) error {
	q.writing.Lock()
	locked := s.locked
	q.writing.Unlock()
	found, err := s.found(locked)
	if err != nil {
		return err
	}
	there := map[string]foundFile{} // there may be very many, and mu is needed to record
	for _, f := range found {
		there[f.name] = f
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	known := map[string]bool{}
	for _, f := range s.Files {
		known[f.Name] = true
	}
	for _, f := range found {
		if !known[f.name] {
			s.add(f.name, f.Size(), false)
		}
	}
	for _, f := range s.Files {
		now, ok := there[f.Name]
		switch {
		case f.CRC32C == "":
			f.Lost = f.Lost && !ok
		case !ok:
			f.Deleted = true
		case !f.is(now):
			f.Proof, f.Deleted = s3.Proof{}, false
		default:
			f.Deleted = false // the process ended before it was
		}
		s.Done = s.Done && !f.waits()
	}
	return nil
}

// next returns what is to be sent: a file, or the manifest of a recording. Without one it returns how long it may be
// until then, negative if Run may return.
func (q *Queue) next(now time.Time) (s *spool, f *file, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait = mostPause
	over := q.finishing
	for _, snapshot := range []bool{true, false} {
		for _, s := range q.spools {
			if s.Snapshot != snapshot || s.Done && (!q.Delete || !s.deletable()) {
				continue
			}
			over = over && s.Ended
			for _, f := range s.waiting() {
				due := max(f.retry.Sub(now), q.retry.Sub(now))
				if due <= 0 {
					return s, f, 0
				}
				wait = min(wait, due)
				over = over && f.refused != nil
				if errors.Is(f.refused, s3.ErrDiffers) || errors.Is(f.refused, codec.ErrLocked) {
					break // nothing is added to another recording of this name, or to what another process sends
				}
			}
		}
	}
	if over {
		wait = -1
	}
	return nil, nil, wait
}

// attempt sends a file, or completes a recording with its manifest.
func (q *Queue) attempt(ctx context.Context, s *spool, f *file) error {
	if q.uploader == nil {
		u, err := q.Store.NewUploader(ctx, q.URL, q.UploadOptions)
		if err != nil {
			return err
		}
		q.locked(func() { q.uploader = u })
	}
	if f == &s.manifest {
		return q.complete(ctx, s)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.locked(func() {
		q.uploader.Parallel = q.parallel
		q.current, q.sent = f, 0
		if !s.Snapshot {
			q.interrupt = func() { cancel(errLater) }
		}
	})
	err := q.send(ctx, s, f)
	q.locked(func() { q.current, q.sent, q.interrupt = nil, 0, nil })
	if err != nil && errors.Is(context.Cause(ctx), errLater) {
		return errLater
	}
	if err == nil && q.Delete && f.Split {
		var path string
		path, err = q.remove(ctx, s, f, false)
		if path != "" {
			q.Note("deleted "+path+", which is uploaded", time.Now())
		}
	}
	return err
}

// complete sends the manifest of a recording whose files are all in the store, and deletes them if it should.
func (q *Queue) complete(ctx context.Context, s *spool) error {
	if err := q.scan(s); err != nil {
		return err
	}
	q.mu.Lock()
	waits := slices.ContainsFunc(s.Files, (*file).waits)
	proven := slices.ContainsFunc(s.Files, func(f *file) bool { return f.CRC32C != "" })
	done := s.Done
	q.mu.Unlock()
	switch {
	case waits:
		return errFound
	case !done && proven:
		if err := q.sendManifest(ctx, s); err != nil {
			return err
		}
		q.Log(bridge.Info, "uploaded %s to %s", filepath.Join(s.folder, s.Path), store.Join(s.URL, s.Name))
	}
	if !done {
		for _, path := range s.links {
			q.Log(bridge.Warn, linkText, path)
		}
		q.locked(func() { s.Done, s.Info, s.unsaved = true, nil, true })
		_ = q.save(s)
		q.release(s)
	}
	if !q.Delete {
		return nil
	}
	for f := q.removable(s); f != nil; f = q.removable(s) {
		if _, err := q.remove(ctx, s, f, false); err != nil {
			return err
		}
	}
	q.forget(s)
	return nil
}

// send sends a file. What is known of it is saved as soon as it is known.
func (q *Queue) send(ctx context.Context, s *spool, f *file) error {
	if err := q.begin(ctx, s, f); err != nil {
		return err
	}
	folder, err := q.Disk.OpenRoot(s.folder) // a spool may name a link to somewhere else
	if err != nil {
		return err
	}
	defer folder.Close()
	in, err := folder.Open(filepath.FromSlash(f.Name))
	if err != nil {
		return err
	}
	defer in.Close()
	if s.key(f) == s.Name+"/"+manifestName {
		return &fs.PathError{Op: "upload", Path: s.local(f),
			Err: errors.New("the description of the recording has this name in the store; rename or remove the file")}
	}
	stat, err := in.Stat()
	if err != nil {
		return err
	}
	q.mu.Lock()
	f.Size = stat.Size()
	state := f.TransferState
	q.mu.Unlock()
	t := s3.Transfer{Uploader: q.uploader, Key: s.key(f), File: in, Size: stat.Size(), State: &state, Save: func() {
		q.locked(func() { f.TransferState, s.unsaved = state, true })
		_ = q.save(s)
	}}
	proof, err := t.Run(ctx)
	if err == nil {
		proven := file{Size: stat.Size(), Modified: stat.ModTime()}
		if now, changed := q.Disk.Stat(s.local(f)); changed != nil || !proven.is(now) {
			err = cmp.Or(changed, fmt.Errorf("upload %s: %w", s.local(f), s3.ErrChanged))
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	f.TransferState, s.unsaved = state, true
	if err == nil {
		f.Proof, f.Modified, f.TransferState, f.refused = proof, stat.ModTime(), s3.TransferState{}, nil
	}
	return err
}

// ended notes how an attempt ended, and when the next one is due.
func (q *Queue) ended(err error, s *spool, f *file) {
	now := time.Now()
	_, statErr := q.Disk.Lstat(s.local(f))
	lost := f != &s.manifest && errors.Is(err, fs.ErrNotExist) && errors.Is(statErr, fs.ErrNotExist)
	refused := lost || refusal(err)
	// What fails here says nothing about the store.
	answers := err == nil || errors.Is(err, s3.ErrDiffers) || errors.Is(err, s3.ErrUnproven)
	if errors.Is(err, s3.ErrDiffers) {
		err = fmt.Errorf("%w: 'recorder upload --overwrite' replaces it, another URL keeps both", err)
	}
	q.mu.Lock()
	began, last := q.failed, q.why
	if answers {
		q.failures, q.failed, q.why = 0, time.Time{}, ""
	}
	first := false
	switch {
	case err == nil:
		f.failures, f.refused = 0, nil
	case lost: // or renamed, as a file that was not finished before
		f.Lost, s.unsaved = true, true
	case refused:
		f.failures++
		f.retry, f.refused = now.Add(pause(f.failures, mostRefused)), err
		first = f.failures == 1
	default:
		q.failures++
		q.retry, q.why = now.Add(pause(q.failures, mostPause)), err.Error()
		if errors.Is(err, s3.ErrAnonymous) {
			q.uploader = nil // the next one may find credentials
		}
		first = q.failures == 1
		if first {
			q.failed = now
		}
	}
	q.mu.Unlock()
	if answers && !began.IsZero() && now.Sub(began) > outage { // else the recording does not mention it
		q.Note("nothing could be uploaded: "+last, began)
	}
	switch {
	case lost:
		q.Log(bridge.Warn, "upload: %s was deleted before it was uploaded", s.local(f))
	case first && refused:
		q.Log(bridge.Error, "%v", err)
		q.Note(err.Error(), now)
	case first:
		q.Log(bridge.Warn, "%v; it will be tried again", err)
	}
}

// refusal reports whether an error is about one file, and will probably come again.
func refusal(err error) bool {
	var local *fs.PathError
	return errors.Is(err, s3.ErrDiffers) || errors.Is(err, s3.ErrUnproven) || errors.Is(err, s3.ErrChanged) ||
		errors.Is(err, errActive) || errors.Is(err, codec.ErrLocked) || errors.As(err, &local)
}

// pause returns how long to wait after so many failures, at random so that many recorders do not come at once.
func pause(failures int, most time.Duration) time.Duration {
	most = min(firstPause<<min(failures, 20), most)
	return most/2 + rand.N(most/2)
}
