package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/training/episode"
)

// refuse returns the error of a frame or a sample that was not written. An error of the disk ends the session.
func (w *Writer) refuse(err error, what string, args ...any) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("write %s: %s: %w", w.path, fmt.Sprintf(what, args...), err)
	}
	w.fail(&failure{err: err, path: pathOf(err)})
	return w.failed()
}

// pathOf returns the path in an error of package os, "" if there is none.
func pathOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Path
	}
	return ""
}

// fail records an error of the disk and the samples or frames lost with it. If l is nil, it does nothing.
func (w *Writer) fail(l *failure) {
	if l == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = codec.Pathless(l.err)
		if l.path != "" {
			w.err = fmt.Errorf("%s: %w", filepath.Base(l.path), w.err)
		}
	}
	if l.count == 0 {
		return
	}
	key := [2]string{l.name, l.table}
	if known := w.lost[key]; known != nil {
		known.count += l.count
		known.start, known.end = min(known.start, l.start), max(known.end, l.end)
	} else {
		w.lost[key] = l
	}
}

// failed returns an error if the disk has failed or the session is closed. An error of the disk lists all missing data.
func (w *Writer) failed() error {
	w.mu.Lock()
	err, missing, closed := w.err, w.missing, w.closed
	w.mu.Unlock()
	switch {
	case missing != nil:
		return missing
	case closed:
		return fmt.Errorf("write %s: %w", w.path, fs.ErrClosed)
	case err == nil:
		return nil
	}
	w.pictures.wait()
	w.flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missing == nil {
		w.missing = w.account()
	}
	return w.missing
}

// account returns the error about all lost data. A message whose values are in several tables counts once. w.mu is
// held.
func (w *Writer) account() *codec.MissingError {
	m := &codec.MissingError{Path: w.path, Err: w.err}
	counts := map[string]uint64{}
	for key, l := range w.lost {
		if len(counts) == 0 {
			m.Start, m.End = l.start, l.end
		}
		m.Start, m.End = min(m.Start, l.start), max(m.End, l.end)
		counts[key[0]] = max(counts[key[0]], l.count)
	}
	for _, name := range slices.SortedFunc(maps.Keys(counts), episode.CompareNames) {
		c := cmp.Or(w.channels[name], &codec.Channel{Topic: name})
		m.Topics = append(m.Topics, codec.TopicInfo{Channel: c, MessageCount: counts[name]})
	}
	return m
}

// flush writes the samples that the tables have collected.
func (w *Writer) flush() {
	w.mu.Lock()
	tables := slices.Clone(w.tables)
	w.mu.Unlock()
	for _, table := range tables {
		w.fail(table.flush())
	}
}

// flushRegularly calls flush once per flushPace until w.stop is closed. It runs on its own goroutine.
func (w *Writer) flushRegularly() {
	tick := time.NewTicker(flushPace)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			w.flush()
		}
	}
}

// Sync writes all data so far, and waits until the disk has it.
func (w *Writer) Sync() error {
	w.pictures.wait()
	w.flush()
	switch err := w.failed(); {
	case errors.Is(err, fs.ErrClosed):
		return nil // Complete has written all data to the disk
	case err != nil:
		return err
	}
	if err := w.sync(); err != nil {
		w.fail(&failure{err: err})
		return w.failed()
	}
	return nil
}

// sync puts the session on the disk. There are too many files to sync each one. After an error it always returns that
// error.
func (w *Writer) sync() error {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	if w.syncErr == nil && w.syncer != nil {
		w.syncErr = codec.Pathless(w.syncer.Sync())
	}
	return w.syncErr
}

// Complete implements output.FileWriter. It writes all frames and samples, and then metadata.json. The session is
// always on the disk when Complete returns; the argument has no effect.
func (w *Writer) Complete(bool) error {
	w.mu.Lock()
	returned := w.missing
	w.mu.Unlock()
	close(w.stop)
	w.ticking.Wait()
	w.pictures.close()
	w.reportLosses()
	for _, table := range w.tables {
		w.fail(table.close())
	}
	err := w.failed()
	w.appendEnding(err)
	if returned != nil {
		err = nil
	}
	if metadataErr := w.finish(); metadataErr != nil {
		err = cmp.Or(err, metadataErr)
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.syncing.Lock() // after the last Sync
	defer w.syncing.Unlock()
	_ = w.syncer.Close()
	w.syncer = nil
	return err
}

// appendEnding adds the events of Options.Ending. ended is the error that ended the session early, or nil.
func (w *Writer) appendEnding(ended error) {
	if w.options.Ending == nil {
		return
	}
	var missing *codec.MissingError
	errors.As(ended, &missing)
	events := w.options.Ending(w.path, missing)
	w.describing.Lock()
	defer w.describing.Unlock()
	for _, e := range events {
		if e.Time == 0 && e.Until == 0 {
			e.Time, e.Until = w.start, w.end
		}
		w.events = append(w.events, event(e))
	}
}

// reportLosses calls Options.Lost.
func (w *Writer) reportLosses() {
	if w.options.Lost == nil {
		return
	}
	for _, c := range w.cameras {
		c.lost.Each(func(what string, images uint64) { w.options.Lost(c.topic, what, images) })
	}
}

// Info describes the session so far. It does not list the topics.
func (w *Writer) Info() *codec.Info {
	info := &codec.Info{
		Format: Name, Path: w.path, Size: w.Size(), MessageCount: w.taken, StartTime: w.start, EndTime: w.end,
		Complete: w.complete,
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime,
		EndTime: info.EndTime,
	}}
	return info
}

// finish writes metadata.json.
func (w *Writer) finish() error {
	w.describing.Lock()
	defer w.describing.Unlock()
	temp := w.metadataPath() + tempSuffix
	err := w.sync() // metadata.json means that all other files are complete
	if err == nil {
		err = output.Replace(w.disk, temp, w.describe(true))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w; the session is readable nevertheless, %s before going on", temp, err,
			codec.Advice(err))
	}
	err = w.disk.Rename(temp, w.metadataPath())
	if err == nil {
		err = w.disk.SyncFolder(w.path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w; the session is readable nevertheless, %s before going on", w.metadataPath(),
			codec.Pathless(err), codec.Advice(err))
	}
	w.complete = true
	return nil
}

// Discard marks the episode as discarded. It may be called after Complete. The mark is on the disk when Discard
// returns.
func (w *Writer) Discard() error {
	w.describing.Lock()
	defer w.describing.Unlock()
	w.discarded = true // finish writes it even if Discard fails
	path := w.metadataPath()
	if !w.complete {
		path += tempSuffix
	}
	if err := output.Replace(w.disk, path, w.describe(w.complete)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
