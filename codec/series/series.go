// Package series decides which files are one recording, finds recordings in folders, reads a recording of several
// files, and decides when a recording that is written continues in another file.
//
// The first file of a recording stands for all its files. The names of the files are names that recorders give:
// NAME.mcap, NAME_1.mcap; NAME_0.bag, NAME_1.bag; 0_NAME_2026_01_31-08_15_00.mcap, 1_NAME_…; NAME.record.00000. A file
// with such a name belongs to the recording if its content agrees: it says that it continues another file, or it begins
// where the previous file ends. Info.Notes says which files were omitted and why. A later file that is opened by its
// own name is read alone.
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
	// overlap is the time in ns by which files of a recording may overlap, if it is below a tenth of their duration.
	overlap = int64(time.Second)
	// pauses is the number of usual intervals between messages that may pass between files that do not refer to each
	// other. shortPause is a time in ns that may always pass.
	pauses     = 20
	shortPause = int64(time.Second)
)

// Open opens the recording at path: the file at path and the files that continue it. It opens each file by open. If
// there is no file at path, it opens the files of a recording whose names begin with path.
func Open(files *store.Files, path string, open func(path string) (codec.Reader, error)) (codec.Reader, error) {
	r, _, err := openAll(files, path, open)
	return r, err
}

// openAll is Open, and also returns the paths of the further files that are read.
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

// remaining returns the files of a recording whose first file is missing. If names have times, it returns the files of
// the last recording with this name.
func remaining(files *store.Files, path string) []entry {
	all := numbered(files, path, strings.TrimSuffix(store.Base(path), codec.ActiveSuffix))
	for i := len(all) - 1; i > 0; i-- {
		if all[i].Time != "" && all[i].Number == 0 {
			return all[i:]
		}
	}
	return all
}

// alone returns the reader of a file that no other file continues. If the file continues another one, Info notes it.
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

// follows reports whether the file at path continues the file at before.
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

// leftOut returns the note about files that are not read.
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

// add adds a file, or returns why it does not belong to the recording. A file that cannot be read belongs to it.
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

// refuse returns why a file does not continue the recording, or "" if it does.
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

// Adjoin reports whether a file that begins at the time t, in ns, follows a file that ends at end without a pause. Then
// it need not say which file it continues.
func Adjoin(end, t int64) bool { return t >= end && t-end <= shortPause }

// longest returns the duration of the longest file in ns.
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

// Names returns path and the paths of files that may continue it, by their names alone.
func Names(files *store.Files, path string) []string {
	names := []string{path}
	for _, e := range following(files, path) {
		names = append(names, e.path)
	}
	return names
}

// Recordings returns paths without files that belong to the recording at another of the paths.
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
