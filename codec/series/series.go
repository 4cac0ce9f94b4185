// Package series decides which files are one recording, finds recordings in folders, reads the files of one as one, and
// decides when a recording that is written continues in another file.
//
// The first file of a recording means all of it. Its names are those that recorders give to the files of a recording:
// NAME.mcap, NAME_1.mcap; NAME_0.bag, NAME_1.bag; 0_NAME_2026_01_31-08_15_00.mcap, 1_NAME_…; NAME.record.00000. A file
// that is called so belongs to the recording if its content agrees: it says that it continues another file, or it
// begins where the file before it ends. Info.Notes says which files were left out and why. A later file that is opened
// by its own name is read alone.
package series

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/internal/joined"
	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
)

const (
	// overlap is by how many ns files of a recording may overlap, if that is not much of them.
	overlap = int64(time.Second)
	// pauses is how many times the usual interval between messages may pass between files that say nothing of each
	// other, and shortPause a time that may pass in any case.
	pauses     = 20
	shortPause = int64(time.Second)
)

// Open opens the recording that path means: the file at path, which open opens, and those that continue it. If there is
// no file at path, it opens the files whose names have path in common.
func Open(files *store.Files, path string, open func(path string) (codec.Reader, error)) (codec.Reader, error) {
	r, _, err := openAll(files, path, open)
	return r, err
}

// openAll does what Open does. It also returns the paths of the files that are read behind the first one.
func openAll(files *store.Files, path string,
	open func(path string) (codec.Reader, error)) (r codec.Reader, further []string, err error) {
	first, err := open(path)
	rest := following(files, path)
	if errors.Is(err, fs.ErrNotExist) && seriesName.MatchString(path) {
		rest = remaining(files, path)
		if len(rest) > 0 {
			first, err = open(rest[0].path)
			path, rest = rest[0].path, rest[1:]
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if len(rest) == 0 {
		r, err = alone(files, path, first, open)
		return r, nil, err
	}
	s, err := newSeries(path, first)
	if err != nil {
		return nil, nil, errors.Join(err, first.Close())
	}
	for i, e := range rest {
		if why := s.add(e, open); why != "" {
			s.notes = append(s.notes, leftOut(rest[i:], why))
			break
		}
	}
	for _, f := range s.files[1:] {
		further = append(further, store.Clean(f.Path))
	}
	return s.reader(), further, nil
}

// remaining returns the files that are left of a recording of that name: all files of the last one, if their names have
// times.
func remaining(files *store.Files, path string) []entry {
	all := numbered(files, path, strings.TrimSuffix(store.Base(path), codec.ActiveSuffix))
	for i := len(all) - 1; i > 0; i-- {
		if all[i].Time != "" && all[i].Number == 0 {
			return all[i:]
		}
	}
	return all
}

// alone returns the reader of a file that nothing continues. If the file continues another one, Info says so.
func alone(files *store.Files, path string, r codec.Reader,
	open func(path string) (codec.Reader, error)) (codec.Reader, error) {
	first := First(files, path)
	if first == "" {
		return r, nil
	}
	info, err := r.Info()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if codec.Continues(info) != "" || follows(path, before(files, path, first), info, open) {
		info.Notes = append(info.Notes, fmt.Sprintf("%s is a part of the recording %s, which was not read whole: name "+
			"that file to read all of it", path, first))
	}
	return r, nil
}

// follows reports whether the file at path continues the one at before.
func follows(path, before string, info *codec.Info, open func(path string) (codec.Reader, error)) bool {
	if before == "" {
		return false
	}
	r, err := open(before)
	if err != nil {
		return false
	}
	defer r.Close()
	s, err := newSeries(before, r)
	own, _ := Parse(store.Base(path))
	return err == nil && s.refuse(entry{own, path}, info) == ""
}

// leftOut returns the note that files are not read.
func leftOut(files []entry, why string) string {
	text := store.Base(files[0].path) + " is not read"
	if more := len(files) - 1; more > 0 {
		text = fmt.Sprintf("%s and %s behind it are not read", store.Base(files[0].path), plural.Count(more, "file"))
	}
	return text + ": it " + why + "; name it, too, if it is of this recording"
}

// series is the files that are one recording.
type series struct {
	path   string
	files  []joined.File
	infos  []*codec.Info // of the files
	number int           // of the last file
	events []codec.Event
	notes  []string
}

func newSeries(path string, first codec.Reader) (*series, error) {
	own, ok := Parse(store.Base(path))
	if !ok {
		own.Number = 0
	}
	s := &series{path: path, number: own.Number}
	return s, s.append(first)
}

func (s *series) append(r codec.Reader) error {
	info, err := r.Info()
	if err != nil {
		return err
	}
	s.files = append(s.files, joined.File{Path: info.Path, Size: info.Size, Reader: r})
	s.infos = append(s.infos, info)
	return nil
}

// add adds a file, or returns why it is none of the recording. A file that cannot be read is one.
func (s *series) add(e entry, open func(string) (codec.Reader, error)) (why string) {
	r, err := open(e.path)
	if errors.Is(err, codec.ErrUnwritten) || err == nil && isEmpty(r) && strings.HasSuffix(e.path, codec.ActiveSuffix) {
		s.event(codec.EventUnfinished, store.Base(e.path)+" holds nothing yet")
		if err == nil {
			_ = r.Close()
		}
		return ""
	}
	if err == nil {
		info, infoErr := r.Info()
		err = infoErr
		if err == nil {
			why = s.refuse(e, info)
			if why != "" {
				_ = r.Close()
				return why
			}
		} else {
			_ = r.Close()
		}
	}
	s.miss(e)
	s.number = e.Number
	if err != nil {
		s.event(codec.EventMissing, err.Error())
		return ""
	}
	_ = s.append(r) // Info has succeeded
	return ""
}

func isEmpty(r codec.Reader) bool {
	info, err := r.Info()
	return err == nil && info.MessageCount == 0
}

func (s *series) event(kind, text string) {
	s.events = append(s.events, codec.Event{Kind: kind, Text: text})
}

// miss notes the files that are missing before e.
func (s *series) miss(e entry) {
	if text := gap(s.number, e.Number, store.Base(e.path)); text != "" {
		s.event(codec.EventMissing, text)
	}
}

// refuse returns why a file does not continue the recording, "" if it does.
func (s *series) refuse(e entry, info *codec.Info) string {
	last := s.infos[len(s.infos)-1]
	if info.Format != last.Format {
		return fmt.Sprintf("has another format, %s", info.Format)
	}
	if e.Record() {
		return ""
	}
	for key, value := range s.infos[0].Metadata {
		if other, ok := info.Metadata[key]; ok && other != value && !strings.HasSuffix(key, ".profile") {
			return fmt.Sprintf("has other metadata: %s is %q, not %q", key, other, value)
		}
	}
	if info.MessageCount == 0 || last.MessageCount == 0 {
		return ""
	}
	before := strings.TrimSuffix(store.Base(codec.Continues(info)), codec.ActiveSuffix)
	if before == strings.TrimSuffix(store.Base(last.Path), codec.ActiveSuffix) {
		return ""
	}
	gap := info.StartTime - last.EndTime
	span := last.EndTime - last.StartTime
	if gap < -min(overlap, span/10, (info.EndTime-info.StartTime)/10) {
		return fmt.Sprintf("begins %v before the file in front of it ends", time.Duration(-gap))
	}
	if codec.Continues(info) != "" {
		return ""
	}
	for _, event := range info.Events {
		if _, _, ok := codec.ParseTotals(event); ok && event.Time > last.EndTime {
			return "is the beginning of a recording"
		}
	}
	pause := max(shortPause, span/int64(last.MessageCount)*pauses)
	if missing := e.Number - s.number - 1; missing > 0 {
		pause += 2 * int64(missing) * s.longest()
	}
	if gap > pause {
		return fmt.Sprintf("begins %v after the file in front of it ends", time.Duration(gap))
	}
	return ""
}

// Adjoin reports whether a file that begins at the time t, in ns, follows one that ends at end without a pause: then it
// need not say that it continues that one.
func Adjoin(end, t int64) bool { return t >= end && t-end <= shortPause }

// longest returns how many ns the longest file has.
func (s *series) longest() (span int64) {
	for _, info := range s.infos {
		span = max(span, info.EndTime-info.StartTime)
	}
	return span
}

// reader returns the reader of all files.
func (s *series) reader() codec.Reader {
	info := s.infos[0]
	if len(s.files) == 1 && len(s.events) == 0 {
		info.Notes = append(info.Notes, s.notes...)
		return s.files[0].Reader
	}
	r := &joined.Reader{Format: info.Format, Path: s.path, Events: s.events, Files: s.files}
	r.Amend = func(info *codec.Info) error {
		info.Notes = append(info.Notes, s.notes...)
		return nil
	}
	return r
}

// Names returns path and the paths of the files that may continue it, by their names alone.
func Names(files *store.Files, path string) []string {
	names := []string{path}
	for _, e := range following(files, path) {
		names = append(names, e.path)
	}
	return names
}

// Recordings returns paths without files that belong to the recording of another path.
func Recordings(files *store.Files, paths []string, open func(path string) (codec.Reader, error)) []string {
	given, taken := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		given[store.Clean(path)] = true
	}
	for _, path := range paths {
		if slices.ContainsFunc(following(files, path), func(e entry) bool { return given[store.Clean(e.path)] }) {
			r, further, err := openAll(files, path, open)
			if err == nil {
				r.Close()
			}
			for _, f := range further {
				taken[f] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return taken[store.Clean(path)] })
}
