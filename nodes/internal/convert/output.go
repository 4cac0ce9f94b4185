package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
)

// output is a recording being written. It is written in a temporary folder beside its path, and moved once it is
// complete, so that an unfinished recording never looks finished. In the folder it already has its final name, because
// some formats name files after it.
type output struct {
	files     *store.Files
	path      string
	known     formats.List
	format    formats.Format
	part      string // the folder
	overwrite bool
	read      []*codec.Info // the inputs
	keep      bool          // keep the folder: its content is complete but could not be moved
	stream    io.Writer     // where the recording goes instead of to path; else nil
	stored    bool          // path is a URL; part is not beside it
	replaced  []string      // further files of the recording that is at path
}

// newStream returns the output that is written to w, which path stands for.
func newStream(w io.Writer, path string, known formats.List, format formats.Format) (*output, error) {
	if format.Stream == nil {
		var names []string
		for _, f := range known {
			if f.Stream != nil {
				names = append(names, f.Name)
			}
		}
		return nil, config.Usagef("recordings of the format %s cannot be written to standard output, only those of %s",
			format.Name, human.List(names))
	}
	return &output{path: path, format: format, stream: w}, nil
}

// newOutput prepares writing path, unless it exists or is an input. The caller must call Close.
func newOutput(files *store.Files, path string, known formats.List, format formats.Format, overwrite bool,
	read []*codec.Info) (*output, error) {
	if store.IsURL(path) {
		return newStored(files, path, known, format, overwrite, read)
	}
	o := &output{files: files, path: filepath.Clean(path), known: known, format: format, overwrite: overwrite,
		read: read}
	o.part = o.path + ".part"
	if o.reads(o.path) {
		return nil, fmt.Errorf("%s is an input; name another output", path)
	}
	if err := cmp.Or(o.checkExisting(), o.checkSeries()); err != nil {
		return nil, err
	}
	o.findReplaced()
	err := os.Mkdir(o.part, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if !overwrite {
			return nil, fmt.Errorf("%s is left from a conversion that was interrupted or is still running; remove "+
				"it, or use --overwrite", o.part)
		}
		if err = os.RemoveAll(o.part); err == nil {
			err = os.Mkdir(o.part, 0o755)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, codec.Pathless(err))
	}
	return o, nil
}

// FormatOf returns the format of list in which path is to be written: the one called name or, without a name, that
// which the path means.
func FormatOf(list formats.List, path, name string) (formats.Format, error) {
	var known []string
	for _, f := range list {
		asked := name == f.Name || name == "" && f.Named(path)
		if asked && f.Absent != nil {
			return f, f.Absent
		}
		if !f.Writes() {
			continue
		}
		if asked {
			return f, nil
		}
		known = append(known, f.Name)
	}
	if name != "" {
		return formats.Format{}, config.Usagef("--to %s is not a format that can be written; those are %s", name,
			strings.Join(known, ", "))
	}
	return formats.Format{}, config.Usagef("the name %q does not say in which format to write; use --to with one of %s",
		filepath.Base(path), strings.Join(known, ", "))
}

// reads reports whether path is an input or one of its files.
func (o *output) reads(path string) bool {
	return slices.ContainsFunc(o.read, func(info *codec.Info) bool { return within(info, path) })
}

// within reports whether path is a recording, one of its files, or a folder that holds it.
func within(info *codec.Info, path string) bool {
	files := []string{info.Path}
	for _, f := range info.Files {
		files = append(files, f.Path)
	}
	if store.IsURL(path) {
		return slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file+"/", path+"/") })
	}
	target, err := os.Stat(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(file string) bool {
		file, err := filepath.Abs(file)
		for err == nil {
			if stat, err := os.Stat(file); err == nil && os.SameFile(stat, target) {
				return true
			}
			if parent := filepath.Dir(file); parent != file {
				file = parent
				continue
			}
			break
		}
		return false
	})
}

// checkExisting returns an error if path exists and must not be replaced. A folder is replaced only if a recording is
// all it holds.
func (o *output) checkExisting() error {
	stat, err := os.Lstat(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("create %s: %w", o.path, codec.Pathless(err))
	case !o.overwrite:
		return fmt.Errorf("%s exists; name another output or use --overwrite", o.path)
	case !stat.IsDir():
		return nil
	}
	keep := fmt.Errorf("%s is a folder that holds more than a recording; remove it yourself or name another output",
		o.path)
	entries, err := os.ReadDir(o.path)
	if err != nil {
		return fmt.Errorf("replace %s: %w", o.path, codec.Pathless(err))
	}
	if len(entries) == 0 {
		return nil
	}
	if o.format.Files != nil {
		if err := o.format.CheckFiles(o.path, nil); err != nil {
			return keep
		}
		return nil
	}
	old, err := o.known.Open(o.files, o.path)
	if err != nil {
		return keep
	}
	defer old.Close()
	info, err := old.Info()
	if err != nil {
		return keep
	}
	for _, entry := range entries {
		path := filepath.Join(o.path, entry.Name())
		if entry.Name() != "metadata.yaml" && !slices.ContainsFunc(info.Files,
			func(f codec.FileInfo) bool { return filepath.Clean(f.Path) == path }) {
			return keep
		}
	}
	return nil
}

// series returns the path of the first file if the recording is split: NAME.record.00000 for NAME.record, a name that
// then opens all files. It is "" for formats whose first file keeps the name.
func (o *output) series() string {
	if o.format.Live == nil || !strings.HasSuffix(o.path, o.format.Extension) {
		return ""
	}
	if number, ok := strings.CutPrefix(o.format.Live.First, o.format.Extension); ok && number != "" {
		return o.path + number
	}
	return ""
}

// earlier returns the files of an earlier recording that the path means, all of those that series is the first of.
func (o *output) earlier() ([]string, error) {
	files, err := o.format.Live.Rest(o.files, o.format.Live.BareName(o.path))
	if errors.Is(err, fs.ErrNotExist) { // a folder of a store that has no object yet
		return nil, nil
	}
	return files, err
}

// checkSeries returns an error if files exist that the path means, and that must not be replaced.
func (o *output) checkSeries() (err error) {
	first := o.series()
	if first == "" {
		return nil
	}
	files := []string{first}
	if o.overwrite {
		files, err = o.earlier()
	}
	for _, path := range files {
		err = cmp.Or(err, o.checkFile(path))
	}
	return err
}

// checkFile returns an error if a file of the recording cannot be called path.
func (o *output) checkFile(path string) error {
	switch {
	case o.reads(path):
		return fmt.Errorf("%s is an input; name another output", path)
	case codec.BeingWritten(path):
		return fmt.Errorf("%s is being written; name another output", path)
	case o.overwrite:
		return nil
	}
	if _, err := o.files.Lstat(path); err != nil {
		return nil
	}
	return fmt.Errorf("%s exists; name another output or use --overwrite", path)
}

// checkSplit returns an error if a further file, which is being written to part, cannot have its name.
func (o *output) checkSplit(part string) error {
	if o.stored && !o.overwrite { // send replaces nothing
		return nil
	}
	return o.checkFile(store.Join(store.Dir(o.path), strings.TrimPrefix(part, o.part+"/")))
}

// number gives the first of several files its number.
func (o *output) number() error {
	first := o.series()
	if first == "" {
		return nil
	}
	entries, err := os.ReadDir(o.part)
	if err == nil && len(entries) > 1 {
		err = os.Rename(filepath.Join(o.part, store.Base(o.path)), filepath.Join(o.part, store.Base(first)))
	}
	return err
}

// create creates the writer of the recording.
func (o *output) create(options codec.CreateOptions) (codec.Writer, error) {
	if o.stream != nil {
		return o.format.Stream(o.stream, options)
	}
	options.Format = o.format.Name
	return codec.Formats{o.format.Format}.Create(filepath.Join(o.part, store.Base(o.path)), options)
}

// renamed returns an error whose text names the output instead of its temporary folder.
func (o *output) renamed(err error) error {
	if o.stream != nil {
		return err
	}
	folder := strings.TrimSuffix(o.path, store.Base(o.path))
	return codec.WithText(err, strings.ReplaceAll(err.Error(), o.part+"/", folder))
}

// commit moves the recording, whose writer is closed, to its path. It returns the paths of its files or its folder.
func (o *output) commit(ctx context.Context) ([]string, error) {
	if o.stream != nil {
		return nil, nil
	}
	if err := o.number(); err != nil {
		return nil, fmt.Errorf("write %s: %w", o.path, codec.Pathless(err))
	}
	if o.stored {
		paths, err := o.send(ctx)
		if err == nil {
			err = o.removeRest(ctx, paths)
		}
		return paths, err
	}
	o.keep = true
	entries, err := os.ReadDir(o.part)
	if err != nil {
		return nil, fmt.Errorf("move %s: %w", o.part, codec.Pathless(err))
	}
	var paths []string
	for _, entry := range entries {
		path := filepath.Join(filepath.Dir(o.path), entry.Name())
		if err := o.vacate(path, filepath.Join(o.part, entry.Name())); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		written := filepath.Join(o.part, filepath.Base(path))
		if err := os.Rename(written, path); err != nil {
			return nil, fmt.Errorf("move %s to %s: %w", written, path, codec.Pathless(err))
		}
	}
	o.keep = false
	return paths, o.removeRest(ctx, paths)
}

// numbered matches the name of a file of a split recording.
var numbered = regexp.MustCompile(`^(.*[._])(\d+)(\.[a-z0-9]+)?$`)

// removeRest removes what an earlier recording of the same name left: files with higher numbers, which would be taken
// for files of this one, or its only file, which would be taken for the recording.
func (o *output) removeRest(ctx context.Context, written []string) error {
	if !o.overwrite {
		return nil
	}
	if o.series() != "" {
		files, err := o.earlier()
		for _, path := range append(files, o.path) {
			if err == nil {
				_, err = o.remove(ctx, path, written)
			}
		}
		return err
	}
	for _, path := range o.replaced {
		if _, err := o.remove(ctx, path, written); err != nil {
			return err
		}
	}
	for _, path := range written {
		name := numbered.FindStringSubmatch(store.Base(path))
		if path == o.path || name == nil { // later numbers belong to other recordings
			continue
		}
		number, err := strconv.Atoi(name[2])
		for removed := true; err == nil && removed; {
			number++
			next := fmt.Sprintf("%s%0*d%s", name[1], len(name[2]), number, name[3])
			removed, err = o.remove(ctx, store.Join(store.Dir(path), next), written)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findReplaced finds the further files of the recording that is at the path and is to be replaced, which would be taken
// for files of the new one.
func (o *output) findReplaced() {
	if !o.overwrite || len(series.Names(o.files, o.path)) == 1 {
		return
	}
	old, err := o.known.Open(o.files, o.path)
	if err != nil {
		return
	}
	defer old.Close()
	if info, err := old.Info(); err == nil && len(info.Files) > 1 {
		for _, f := range info.Files[1:] {
			o.replaced = append(o.replaced, store.Clean(f.Path))
		}
	}
}

// remove removes a file that was neither written nor read, and reports whether there was one.
func (o *output) remove(ctx context.Context, path string, written []string) (bool, error) {
	if slices.Contains(written, path) || o.reads(path) {
		return false, nil
	}
	stat, err := o.files.Lstat(path)
	if err != nil || !stat.Mode().IsRegular() {
		return false, nil
	}
	if err := o.files.Remove(ctx, path); err != nil {
		return false, fmt.Errorf("replace %s: %w", path, codec.Pathless(err))
	}
	return true, nil
}

// vacate makes sure that written can be moved to path.
func (o *output) vacate(path, written string) error {
	stat, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if !o.overwrite {
		return fmt.Errorf("%s exists by now; the output was written to %s", path, written)
	}
	if stat.IsDir() && path == o.path { // which checkExisting has allowed; another folder is an error of the move
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("replace %s: %w; the output was written to %s", path, codec.Pathless(err), written)
		}
	}
	return nil
}

// Close removes what was written unless it was moved to its place.
func (o *output) Close() error {
	if o.keep || o.stream != nil {
		return nil
	}
	return os.RemoveAll(o.part)
}

// extension matches the part of a file name that shows its format, with the number of a split.
var extension = regexp.MustCompile(`(\.record)?(\.\d{5}(\.\d{14})?)?$|\.(mcap|bag|log|db3)$`)

// numberedPart matches the name of a further file of a recording that was split, without extension.
var numberedPart = regexp.MustCompile(`^(.*)_\d+$`)

// Names returns the names of the outputs when each recording of paths is converted by itself: drive.mcap for drive.bag.
// folders has the folder of each output, "" for none. Outputs of one name get the folders of their recordings below the
// folder that these have in common: car1/drive.mcap. The name is drive.bag.mcap if there is a drive.record, too, or if
// drive.mcap may be split into parts, and drive_1.mcap would be one. Each output has a name of its own below the folder
// of all.
func Names(paths, folders []string, format formats.Format, split bool) ([]string, error) {
	names, bases := make([]string, len(paths)), make([]string, len(paths))
	same := map[string][]int{}
	for i, path := range paths {
		bases[i] = strings.TrimSuffix(store.Base(path), codec.ActiveSuffix)
		names[i] = filepath.Join(folders[i], extension.ReplaceAllString(bases[i], ""))
		same[names[i]] = append(same[names[i]], i)
	}
	taken := map[string]int{}
	for _, list := range same {
		for n, below := range belowCommon(paths, list) {
			i := list[n]
			names[i] = filepath.Join(folders[i], below, filepath.Base(names[i]))
			taken[names[i]]++
		}
	}
	final := map[string]int{}
	for i, name := range names {
		whole := numberedPart.FindStringSubmatch(name)
		if taken[name] > 1 || split && whole != nil && taken[whole[1]] > 0 {
			name = filepath.Join(filepath.Dir(name), bases[i])
		}
		name += format.Extension
		if other, ok := final[name]; ok {
			return nil, fmt.Errorf("%s and %s would both become %s; convert them to different folders", paths[other],
				paths[i], name)
		}
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%s would become %s, outside of the output folder; convert it by itself", paths[i],
				name)
		}
		names[i], final[name] = name, i
	}
	return names, nil
}

// belowCommon returns the folders of those paths that list has below the one that all of them are in.
func belowCommon(paths []string, list []int) []string {
	var folders [][]string
	for _, i := range list {
		path, err := filepath.Abs(paths[i])
		if err != nil || store.IsURL(paths[i]) {
			path = store.Clean(paths[i])
		}
		folders = append(folders, strings.Split(store.Dir(path), "/"))
	}
	common := len(folders[0])
	for _, folder := range folders {
		n := 0
		for n < min(common, len(folder)) && folder[n] == folders[0][n] {
			n++
		}
		common = n
	}
	below := make([]string, len(list))
	for n, folder := range folders {
		below[n] = filepath.Join(folder[common:]...)
	}
	return below
}
