package series

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// Name is the parsed name of a file.
type Name struct {
	Base   string // common to all files of the recording: "drive.mcap", "drive.record"
	Number int    // 0 for the first file
	Time   string // of the file's beginning, if names have one
}

// Record reports whether the name is one that Apollo's recorder gives.
func (n Name) Record() bool { return strings.HasSuffix(n.Base, ".record") }

// The names that recorders give to the files of a recording.
var (
	recordName   = regexp.MustCompile(`^(.+\.record)\.(\d{5})(\.\d{14})?$`)
	datedName    = regexp.MustCompile(`^(\d+)_(.+)_(\d{4}(?:[-_]\d\d){2}[-_T]\d\d(?:[-_]\d\d){2})` + extensions + `$`)
	datedBag     = regexp.MustCompile(`^(.+_)?(\d{4}(?:-\d\d){5})_(\d+)(\.bag)$`)
	numberedName = regexp.MustCompile(`^(.+)_(0|[1-9]\d*)` + extensions + `$`)
)

// extensions are the extensions of files of a recording.
const extensions = `((?:\.mcap|\.log|\.bag|\.db3)(?:\.zstd)?)`

// Parse parses the name of a file. It returns false if the name has no number. NAME.mcap, NAME_0.mcap and
// NAME_1.mcap have the base NAME.mcap, and so has 0_NAME_2026_01_31-08_15_00.mcap.
func Parse(name string) (Name, bool) {
	name = strings.TrimSuffix(name, codec.ActiveSuffix)
	var number string
	var n Name
	if m := recordName.FindStringSubmatch(name); m != nil {
		n.Base, number = m[1], m[2]
	} else if m := datedName.FindStringSubmatch(name); m != nil {
		n.Base, number, n.Time = m[2]+m[4], m[1], m[3]
	} else if m := datedBag.FindStringSubmatch(name); m != nil {
		n.Base, number, n.Time = strings.TrimSuffix(m[1], "_")+m[4], m[3], m[2]
	} else if m := numberedName.FindStringSubmatch(name); m != nil {
		n.Base, number = m[1]+m[3], m[2]
	}
	var err error
	n.Number, err = strconv.Atoi(number)
	if err != nil {
		return Name{Base: name}, false
	}
	return n, true
}

// Gaps returns texts about files that are missing between files with these names, by their numbers.
func Gaps(names []string) (texts []string) {
	var all []entry
	for _, name := range names {
		if n, ok := Parse(name); ok {
			all = append(all, entry{n, name})
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Base, b.Base), cmp.Compare(a.Number, b.Number))
	})
	for i := 1; i < len(all); i++ {
		if last, e := all[i-1], all[i]; e.Base == last.Base && e.Number > last.Number+1 {
			texts = append(texts, gap(last.Number, e.Number, e.path))
		}
	}
	return texts
}

// gap returns a text about the missing files between the numbers last and next, or "" if none is missing. before is the
// name of the file with the number next.
func gap(last, next int, before string) string {
	switch first, n := last+1, next-last-1; {
	case n == 1:
		return fmt.Sprintf("file number %d of the recording, before %s, is missing", first, before)
	case n > 1:
		return fmt.Sprintf("files number %d to %d of the recording, before %s, are missing", first, next-1, before)
	}
	return ""
}

// entry is a file of a folder.
type entry struct {
	Name
	path string
}

// numbered returns the files in the folder of path whose names have the base, in order. It returns a file once that was
// completed while the folder was read.
func numbered(files *store.Files, path, base string) (all []entry) {
	entries, err := files.ReadDir(store.Dir(path))
	if err != nil && len(entries) == 0 && store.IsURL(path) {
		return probed(files, path, base)
	}
	for _, e := range entries {
		if n, ok := Parse(e.Name()); ok && n.Base == base && !e.IsDir() {
			all = append(all, entry{n, store.Join(store.Dir(path), e.Name())})
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Number, b.Number), cmp.Compare(a.path, b.path))
	})
	return slices.DeleteFunc(all, func(e entry) bool {
		completed, ok := strings.CutSuffix(e.path, codec.ActiveSuffix)
		return ok && slices.ContainsFunc(all, func(o entry) bool { return o.path == completed })
	})
}

// following returns the files that follow the file at path by their names, in order. Nothing follows a file that is not
// the first of its series.
func following(files *store.Files, path string) (all []entry) {
	name := strings.TrimSuffix(store.Base(path), codec.ActiveSuffix)
	bases := []string{name} // NAME_1.mcap follows NAME.mcap
	own, ok := Parse(name)
	if ok && own.Number == 0 {
		bases = append(bases, own.Base)
	}
	if !seriesName.MatchString(name) || !followed(files, path, own, bases) {
		return nil
	}
	if strings.HasSuffix(name, ".record") { // if path is not a file, its format opens all files itself
		if stat, err := files.Stat(path); err != nil || stat.IsDir() {
			return nil
		}
	}
	for _, base := range bases {
		begun := own.Time == ""
		for _, e := range numbered(files, path, base) {
			switch {
			case (e.Time == "") != (own.Time == ""):
			case store.Base(e.path) == store.Base(path):
				begun = true
			case begun && own.Time != "" && e.Number == 0: // another recording with this name
				return all
			case begun && e.Number > 0:
				all = append(all, e)
			}
		}
	}
	return all
}

// seriesName matches the names of files that others may follow.
var seriesName = regexp.MustCompile(`(?:` + extensions + `|\.record(?:\.\d{5}(?:\.\d{14})?)?)$`)

// probedFiles is the number of names of further files that are tried before a folder is listed.
const probedFiles = 16

// followed reports whether to list the folder of path, which may have many files: one of the next files exists, or
// their names are unknown. For a URL it only tries the second file, because each request takes time.
func followed(files *store.Files, path string, own Name, bases []string) bool {
	if own.Time != "" {
		return own.Number == 0
	}
	return slices.ContainsFunc(bases, func(base string) bool {
		if store.IsURL(path) {
			_, err := files.Stat(nth(path, base, 1))
			return err == nil
		}
		for n := 1; n <= probedFiles; n++ {
			if existing(files, nth(path, base, n)) != "" {
				return true
			}
		}
		return strings.HasSuffix(base, ".record") // further files may have times in their names
	})
}

// existing returns path, or path with codec.ActiveSuffix, or "" if neither is a file.
func existing(files *store.Files, path string) string {
	for _, name := range []string{path, path + codec.ActiveSuffix} {
		if stat, err := files.Stat(name); err == nil && !stat.IsDir() {
			return name
		}
	}
	return ""
}

// nth returns the path of the n-th further file beside path, with the given base and without a time.
func nth(path, base string, n int) string {
	name := fmt.Sprintf("%s.%05d", base, n)
	if i := extension.FindStringIndex(base); i != nil {
		name = fmt.Sprintf("%s_%d%s", base[:i[0]], n, base[i[0]:])
	}
	return store.Join(store.Dir(path), name)
}

var extension = regexp.MustCompile(extensions + `$`)

// probed is numbered for a server that does not list folders: it tries names and ends at the first gap. It returns
// nothing if the server returns a file for any name.
func probed(files *store.Files, path, base string) (all []entry) {
	if _, err := files.Stat(nth(path, base, math.MaxInt32)); err == nil {
		return nil
	}
	for n := 1; ; n++ {
		further := nth(path, base, n)
		if _, err := files.Stat(further); err != nil {
			return all
		}
		all = append(all, entry{Name{Base: base, Number: n}, further})
	}
}

// First returns the path of the first file of the recording in which the file at path is a later one, by their names.
// It is "" if there is none.
func First(files *store.Files, path string) string {
	own, ok := Parse(store.Base(path))
	if !ok || own.Number == 0 {
		return ""
	}
	if own.Time == "" {
		first := existing(files, store.Join(store.Dir(path), own.Base))
		if first != "" || !own.Record() {
			return cmp.Or(first, existing(files, nth(path, own.Base, 0)))
		}
	}
	first := ""
	for _, e := range numbered(files, path, own.Base) {
		switch {
		case e.path == path:
			return first
		case e.Number == 0 && (e.Time == "") == (own.Time == ""):
			first = e.path
		}
	}
	return ""
}

// before returns the path of the previous file of the later file at path. first is the first file of the recording.
func before(files *store.Files, path, first string) string {
	own, _ := Parse(store.Base(path))
	if own.Time == "" && !own.Record() {
		if own.Number == 1 {
			return first
		}
		return existing(files, nth(path, own.Base, own.Number-1))
	}
	last := first
	for _, e := range numbered(files, path, own.Base) {
		if store.Base(e.path) == store.Base(path) {
			break
		}
		last = e.path
	}
	return last
}
