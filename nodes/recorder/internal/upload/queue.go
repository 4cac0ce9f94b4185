// Package upload sends finished files of recordings to an object store, and proves that they are there. The state of
// the uploads survives the process, in a spool beside each recording.
package upload

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
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
	firstPause  = time.Second      // pause after a failed attempt
	mostPause   = 5 * time.Minute  // longest pause after many failures of the store
	mostRefused = time.Hour        // longest pause after many failures of one file
	savePause   = time.Second      // time between writing the spools; lost progress is found by asking the store
	outage      = 10 * time.Second // shorter outages of the store are not noted in recordings
)

var (
	errLater  = errors.New("it goes on later")
	errFound  = errors.New("there are more files")
	errActive = errors.New("it is being recorded or uploaded: upload it when it is complete")
)

// Options are the settings of a Queue. No function may be nil.
type Options struct {
	s3.UploadOptions
	Disk   codec.Disk // has the recordings
	Store  *s3.Store
	URL    string
	Delete bool // delete files once they are proven to be in the store

	Formats codec.Formats // formats of recordings; a recording of an episodic format is a folder with any file names

	Log func(bridge.LogLevel, string, ...any)
	// Note is called with the text of an event about uploads, for the recording. began is by the wall clock.
	Note func(text string, began time.Time)
}

// Queue sends recordings: snapshots first, then the oldest. One goroutine calls Run. Any goroutine may call the other
// methods, which return at once, except RemoveOldest.
type Queue struct {
	Options

	wake    chan struct{} // has a value when there is something to do
	begun   chan struct{} // has a value when a recording has no spool on the disk yet
	folders []string      // folders of Resume, for Run
	// writing is held while a file is deleted or a spool is written. It is taken before mu.
	writing sync.Mutex

	mu        sync.Mutex // not held during input or output
	spools    []*spool
	finishing bool
	parallel  int    // number of parts of a file that are sent at once
	interrupt func() // interrupts the current file, which continues later; nil: it must not be interrupted
	current   *file  // file that is being sent
	sent      int64  // bytes of current that were sent
	failures  int    // number of consecutive failures of the store
	retry     time.Time
	failed    time.Time // when the failures began
	why       string    // the last failure
	broken    string    // error of a spool that cannot be read
	uploader  *s3.Uploader
}

// New returns a queue without recordings.
func New(o Options) *Queue {
	o.URL = store.Clean(o.URL)
	q := &Queue{Options: o, wake: make(chan struct{}, 1), begun: make(chan struct{}, 1)}
	q.Attempts = 2 // Run itself tries again
	q.Progress = func(n int64) { q.locked(func() { q.sent += n }) }
	return q
}

// locked calls do while it holds q.mu.
func (q *Queue) locked(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	do()
}

// change calls do while it holds q.mu, and wakes Run.
func (q *Queue) change(do func()) {
	q.locked(do)
	signal(q.wake)
}

// signal gives a channel a value unless it has one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Recording is a recording in the queue.
type Recording struct {
	queue *Queue
	spool *spool
}

// Begin adds a recording that is being written. path is its folder or its first file.
func (q *Queue) Begin(path string, snapshot bool) *Recording {
	name := filepath.Base(path)
	s := newSpool(q.Disk, q.URL, filepath.Dir(path), cmp.Or(seriesOf(name, nil), name))
	s.Snapshot = snapshot
	q.change(func() { q.spools = append(q.spools, s) })
	signal(q.begun)
	return &Recording{q, s}
}

// Completed adds a complete file of the recording.
func (r *Recording) Completed(f codec.FileInfo) {
	if name, err := filepath.Rel(r.spool.folder, f.Path); err == nil { // else it is found at the end
		r.queue.change(func() { r.spool.add(filepath.ToSlash(name), f.Size, true) })
	}
}

// End notes that the recording is complete. Run finds files that were not added.
func (r *Recording) End() {
	r.queue.change(func() {
		r.spool.Ended, r.spool.unsaved = true, true
		if r.queue.interrupt != nil && r.spool.Snapshot {
			r.queue.interrupt()
		}
	})
}

// Resume makes Run continue the uploads that earlier processes began in a folder. It is called before Run.
func (q *Queue) Resume(folder string) {
	if !slices.Contains(q.folders, folder) {
		q.folders = append(q.folders, folder)
	}
}

// Finish lets Run return when everything is in the store, except files that will probably fail again. From now on
// parallel parts of a file are sent at once, each by a goroutine.
func (q *Queue) Finish(parallel int) {
	q.change(func() {
		q.finishing, q.parallel, q.retry = true, parallel, time.Time{}
		if q.interrupt != nil {
			q.interrupt()
		}
	})
}

// Run sends files until ctx is done or, after Finish, until everything is sent.
func (q *Queue) Run(ctx context.Context) {
	saving, stop := context.WithCancel(context.Background())
	var saver sync.WaitGroup
	saver.Go(func() {
		for tick := time.Tick(savePause); saving.Err() == nil; {
			q.saveAll()
			select {
			case <-saving.Done():
			case <-tick:
			case <-q.begun: // without a spool, a later process would not know that the recording is to be uploaded
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
			q.noteResult(err, s, f)
		}
	}
}

// list returns the spools.
func (q *Queue) list() []*spool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.spools)
}

// saveAll writes the spools that changed.
func (q *Queue) saveAll() {
	for _, s := range q.list() {
		_ = q.save(s)
	}
}

// save writes a spool that changed. If that fails, for example on a full disk, uploads go on, and save is tried again.
// codec.ErrLocked means that another process uploads the recording.
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

// adopt adds the spools in the folders of Resume that go to the queue's URL.
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
					s.release() // only deletions can change it
				} else {
					_ = q.scan(s) // the next attempt reports errors
				}
				list = append(list, s)
			}
		}
		if len(list) > 0 {
			q.settle(folder)
		}
		// In the order of their first files, and before the present recording.
		slices.SortStableFunc(list, func(a, b *spool) int { return a.began().Compare(b.began()) })
		q.locked(func() { q.spools = append(list, q.spools...) })
	}
}

// settle makes durable what killed processes have written to a folder. Otherwise, after a power failure, the disk could
// have less of a file than the store, or have it under another name.
func (q *Queue) settle(folder string) {
	if err := codec.SyncAll(q.Disk, folder); err != nil {
		q.Log(bridge.Warn, "upload: sync %s: %v", folder, codec.Pathless(err))
	}
}

// scan compares the files on the disk with those in the spool. Only the goroutine of Run adds files to a recording that
// ended.
func (q *Queue) scan(s *spool) error {
	q.writing.Lock()
	locked := s.locked
	q.writing.Unlock()
	found, err := s.findFiles(locked)
	if err != nil {
		return err
	}
	there := map[string]foundFile{} // filled before q.mu is taken: there may be very many, and Completed needs q.mu
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
		case !f.isUnchanged(now):
			f.Proof, f.Deleted = s3.Proof{}, false
		default:
			f.Deleted = false // the process ended before it deleted the file
		}
		s.Done = s.Done && !f.waits()
	}
	return nil
}

// next returns the next file to send, which may be the manifest of a recording. If none is due, it returns the time to
// wait, negative if Run may return.
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
			for _, f := range s.waitingFiles() {
				due := max(f.retry.Sub(now), q.retry.Sub(now))
				if due <= 0 {
					return s, f, 0
				}
				wait = min(wait, due)
				over = over && f.refused != nil
				if errors.Is(f.refused, s3.ErrDiffers) || errors.Is(f.refused, codec.ErrLocked) {
					break // send no file of s: the store has another recording, or another process sends this one
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

// complete sends the manifest of a recording whose files are all in the store, and deletes the files if Delete is set.
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

// send sends a file. The spool is saved whenever the state of the transfer changes.
func (q *Queue) send(ctx context.Context, s *spool, f *file) error {
	if err := q.begin(ctx, s, f); err != nil {
		return err
	}
	folder, err := q.Disk.OpenRoot(s.folder) // follows no link that leads elsewhere
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
		if now, changed := q.Disk.Stat(s.local(f)); changed != nil || !proven.isUnchanged(now) {
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

// noteResult notes the result of an attempt, and when the next one is due.
func (q *Queue) noteResult(err error, s *spool, f *file) {
	now := time.Now()
	_, statErr := q.Disk.Lstat(s.local(f))
	lost := f != &s.manifest && errors.Is(err, fs.ErrNotExist) && errors.Is(statErr, fs.ErrNotExist)
	refused := lost || refusal(err)
	// Local errors tell nothing about the store.
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
	case lost: // or renamed, as an unfinished file is when it is completed
		f.Lost, s.unsaved = true, true
	case refused:
		f.failures++
		f.retry, f.refused = now.Add(pause(f.failures, mostRefused)), err
		first = f.failures == 1
	default:
		q.failures++
		q.retry, q.why = now.Add(pause(q.failures, mostPause)), err.Error()
		if errors.Is(err, s3.ErrAnonymous) {
			q.uploader = nil // the next uploader may find credentials
		}
		first = q.failures == 1
		if first {
			q.failed = now
		}
	}
	q.mu.Unlock()
	if answers && !began.IsZero() && now.Sub(began) > outage {
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

// refusal reports whether an error concerns one file and will probably come again.
func refusal(err error) bool {
	var local *fs.PathError
	return errors.Is(err, s3.ErrDiffers) || errors.Is(err, s3.ErrUnproven) || errors.Is(err, s3.ErrChanged) ||
		errors.Is(err, errActive) || errors.Is(err, codec.ErrLocked) || errors.As(err, &local)
}

// pause returns how long to wait after so many failures. It is random, so that many recorders do not try at once.
func pause(failures int, most time.Duration) time.Duration {
	most = min(firstPause<<min(failures, 20), most)
	more, err := rand.Int(rand.Reader, big.NewInt(int64(most/2))) // which tests can repeat, unlike math/rand/v2
	if err != nil {
		return most
	}
	return most/2 + time.Duration(more.Int64())
}
