package rosbag2

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
)

// damagedSuffix is appended to the names of files that Reindex has replaced.
const damagedSuffix = ".damaged"

// Reindex reads all files of the bag in the folder dir and rewrites its metadata.yaml. A file that is damaged or
// was not completed is replaced by a complete one with every message that can be read; the old file is kept as
// NAME.damaged. Custom data, QoS and topics without messages are taken from the old metadata.yaml, or else from the
// metadata embedded in files. report is called with a sentence for each file that is replaced.
//
// No recorder may write to the folder during the call. After a crash the bag is unchanged, or done, or another Reindex
// completes the work.
func Reindex(dir string, report func(string)) (*codec.Info, error) {
	x := &reindexer{dir: filepath.Clean(dir), report: report}
	err := x.run()
	if err == nil {
		var r *Reader
		r, err = Open(nil, x.dir)
		if err == nil {
			defer r.Close()
			return r.Info()
		}
	}
	return nil, fmt.Errorf("reindex %s: %w", dir, err)
}

// againMark is in the names of files that Reindex writes if another file has their name.
const againMark = "_again"

// workFolder is a folder in the bag with copies of its files.
const workFolder = ".reindex"

// reindexer is one call of Reindex.
type reindexer struct {
	dir    string
	report func(string)
	old    *metadata // nil if it is missing or cannot be read
	layout *layout
	packed bool // messages are compressed one by one
	infos  []*codec.Info

	unreadable []string
}

func (x *reindexer) run() error {
	present, err := storageFiles(nil, x.dir)
	if err != nil {
		return err
	}
	names := unlisted(present)
	if len(names) == 0 {
		return errors.New("no files of a bag")
	}
	if err := os.RemoveAll(filepath.Join(x.dir, workFolder)); err != nil { // of an interrupted call
		return err
	}
	damaged, err := x.readOld()
	if err != nil {
		return err
	}
	if err := x.setLayout(names); err != nil {
		return err
	}
	listed := x.old
	if listed != nil && !slices.ContainsFunc(listed.Paths, func(path string) bool {
		return slices.Contains(present, filepath.Base(filepath.FromSlash(path)))
	}) {
		listed = nil // the files were renamed
	}
	if err := oneRecording(x.dir, names, listed); err != nil {
		return err
	}
	for _, name := range names {
		if err := x.reindexFile(name); err != nil {
			return err
		}
	}
	if len(x.infos) == 0 {
		return errors.New("none of its files can be read")
	}
	if damaged {
		x.unreadable = append(x.unreadable, filepath.Join(x.dir, metadataFile))
	}
	for _, path := range x.unreadable {
		kept := keptName(path)
		if err := os.Rename(path, kept); err != nil {
			return err
		}
		moveLogs(path, kept)
	}
	m := x.layout.describe(x.infos)
	if x.packed {
		m.Compression, m.Mode = "zstd", "MESSAGE"
	}
	x.addOld(m)
	return m.save(x.layout.system, x.dir)
}

// readOld reads the old metadata.yaml, if there is one, and reports whether it is damaged.
func (x *reindexer) readOld() (damaged bool, err error) {
	text, err := os.ReadFile(filepath.Join(x.dir, metadataFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	x.old, err = parseMetadata(text)
	if err != nil {
		x.report(fmt.Sprintf("%s is damaged: %v", metadataFile, err))
	}
	return x.old == nil, nil
}

// setLayout sets the layout: storage, version and compression of the bag.
func (x *reindexer) setLayout(names []string) error {
	b, o := Options{Storage: storageMCAP}, codec.CreateOptions{Overwrite: true}
	kinds := map[string]bool{}
	for _, name := range names {
		kinds[filepath.Ext(bareName(name))] = true
		if unpackedName(name) != name {
			b.CompressionMode = "file"
		}
	}
	if len(kinds) > 1 {
		return errors.New("the bag has files of two storages; move the files of one storage away")
	}
	if kinds[".db3"] {
		b.Storage = storageSQLite
	}
	known := x.old
	if known == nil {
		known = x.embedded(names)
	}
	if known != nil {
		o.Metadata = maps.Clone(known.Custom)
		if known.Distro != "" {
			if o.Metadata == nil {
				o.Metadata = map[string]string{}
			}
			o.Metadata["ros_distro"] = known.Distro
		}
		if known.Version >= 4 && known.Version <= 9 {
			b.Version = known.Version
		}
	}
	// A killed recorder has not written the compression mode.
	x.packed = b.CompressionMode == "" &&
		(known != nil && strings.EqualFold(known.Mode, "message") || slices.ContainsFunc(names, x.hasPacked))
	if x.packed && b.Storage == storageSQLite {
		b.CompressionMode = "message"
	}
	var err error
	x.layout, err = newLayout(codec.OS{}, b, o)
	return err
}

// hasPacked reports whether the first message of a file is compressed by itself.
func (x *reindexer) hasPacked(name string) bool {
	r, err := x.open(name)
	if err != nil {
		return false
	}
	defer r.Close()
	it, err := r.Read(codec.Query{Start: math.MinInt64, Damaged: func(error) {}})
	if err != nil {
		return false
	}
	defer it.Close()
	m, err := it.Next()
	return err == nil && chunked.Compressed(m)
}

// embedded returns the metadata of the last file that embeds metadata, or nil.
func (x *reindexer) embedded(names []string) *metadata {
	for _, name := range slices.Backward(names) {
		p, err := x.open(name)
		if err != nil {
			continue
		}
		var m *metadata
		switch p := p.(type) {
		case *database:
			m, _ = p.ownMetadata()
		default:
			if info, err := p.Info(); err == nil {
				extra, _ := info.Extra.(mcap.Extra)
				m, _ = parseEmbedded([]byte(extra.Rosbag2))
			}
		}
		_ = p.Close()
		if m != nil {
			return m
		}
	}
	return nil
}

// open opens a single file. Its compressed messages stay compressed.
func (x *reindexer) open(name string) (codec.Reader, error) {
	r := newReader(nil, x.dir)
	r.compressedMessages = true
	if err := r.open(filepath.Join(x.dir, name)); err != nil {
		return nil, err
	}
	return r.Files[0].Reader, nil
}

// reindexFile reads a file, and replaces it if it is damaged.
func (x *reindexer) reindexFile(name string) error {
	r, err := x.open(name)
	if err != nil {
		x.report(fmt.Sprintf("%s cannot be read; renamed it to %s%s: %v", name, name, damagedSuffix, err))
		x.unreadable = append(x.unreadable, filepath.Join(x.dir, name))
		return nil
	}
	defer r.Close()
	info, damage, err := check(r)
	if err != nil {
		return err
	}
	if damage == nil {
		info.Path = filepath.Join(x.dir, name)
		if bare, ok := strings.CutSuffix(info.Path, codec.ActiveSuffix); ok {
			path := vacant(bare)
			err := codec.SyncFile(info.Path) // the recorder may have been killed before it synced the file
			if err == nil {
				err = os.Rename(info.Path, path)
			}
			if err != nil {
				return err
			}
			x.report(fmt.Sprintf("%s is complete; renamed it to %s", name, filepath.Base(path)))
			info.Path = path
		}
		x.infos = append(x.infos, info)
		return nil
	}
	return x.replace(name, r, info, damage)
}

// check reads all of a file. damage is damage that a copy would mend, or nil. A copy does not mend unreadable QoS and
// rows that are not messages: it would only lack them.
func check(r codec.Reader) (info *codec.Info, damage, err error) {
	info, err = r.Info()
	if err != nil {
		return nil, nil, err
	}
	var invalidRows []string
	if d, ok := r.(*database); ok {
		invalidRows = d.invalidRows
	}
	for _, e := range info.Events {
		mends := e.Kind == codec.EventDamage || e.Kind == codec.EventUnfinished
		if mends && e.Topic == "" && !slices.Contains(invalidRows, e.Text) {
			damage = errors.New(e.Text)
		}
	}
	q := codec.Query{Start: math.MinInt64, Damaged: func(err error) {
		var invalid *invalidRowsError
		if !errors.As(err, &invalid) {
			damage = err
		}
	}}
	var n uint64
	for _, err := range codec.Messages(r, q) {
		if err != nil {
			return nil, nil, err
		}
		n++
	}
	if n != info.MessageCount && damage == nil {
		damage = fmt.Errorf("it counts %s and has %d", plural.Count(info.MessageCount, "message"), n)
	}
	return info, damage, nil
}

// replace replaces a damaged file by a whole one.
func (x *reindexer) replace(name string, r codec.Reader, info *codec.Info, damage error) error {
	work := filepath.Join(x.dir, workFolder)
	if err := os.Mkdir(work, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	whole, err := x.copy(filepath.Join(work, bareName(name)), r, info)
	if err != nil {
		return err
	}
	old, path := filepath.Join(x.dir, name), filepath.Join(x.dir, filepath.Base(whole.Path))
	if old != path {
		path = vacant(path)
	}
	kept := keptName(old)
	// With the link, a file of this name exists at any moment.
	if os.Link(old, kept) != nil {
		err = os.Rename(old, kept)
	}
	if err == nil {
		moveLogs(old, kept)
		err = os.Rename(whole.Path, path)
	}
	if err == nil && old != path {
		err = os.Remove(old)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if err := (codec.OS{}).SyncFolder(x.dir); err != nil {
		return err
	}
	x.report(fmt.Sprintf("%s: recovered %s; the damaged file is kept as %s: %v", filepath.Base(path),
		plural.Count(whole.MessageCount, "message"), filepath.Base(kept), damage))
	whole.Path = path
	x.infos = append(x.infos, whole)
	return nil
}

// copy writes all readable messages of r to a new file at path, which gets the suffix of a compressed file if need be.
func (x *reindexer) copy(path string, r codec.Reader, info *codec.Info) (*codec.Info, error) {
	x.layout.options.Records, x.layout.options.Attachments = info.Records, slices.Clone(info.Attachments)
	for i, a := range info.Attachments {
		x.layout.options.Attachments[i].Open = func(func(error)) io.Reader { return a.Open(func(error) {}) }
	}
	w, err := x.layout.create(path, nil) // compressed messages stay compressed
	if err != nil {
		return nil, err
	}
	if x.layout.mode == "file" {
		w = &packedFile{FileWriter: w, system: x.layout.system, files: x.layout.files, overwrite: true}
	}
	for _, t := range info.Topics {
		err = cmp.Or(err, w.Declare(t.Channel))
	}
	it, readErr := r.Read(codec.Query{Start: math.MinInt64, Damaged: func(error) {}})
	err = cmp.Or(err, readErr)
	if err != nil {
		return nil, errors.Join(err, w.Complete(false))
	}
	defer it.Close()
	for err == nil {
		var m *codec.Message
		m, err = it.Next()
		if err == nil {
			err = w.Write(m)
		}
	}
	completeErr := w.Complete(true)
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return w.Info(), completeErr
}

// vacant returns path, or a similar one if there is a file at path.
func vacant(path string) string {
	base, extension, _ := strings.Cut(filepath.Base(path), ".")
	for n := 1; ; n++ {
		if _, err := os.Lstat(path); err != nil {
			return path
		}
		path = filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%s%d.%s", base, againMark, n, extension))
	}
}

// keptName returns a free name for a damaged file.
func keptName(path string) string {
	name := path + damagedSuffix
	for n := 1; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s%s.%d", path, damagedSuffix, n)
	}
}

// moveLogs moves the files that SQLite keeps beside a database: they would change a new database of that name.
func moveLogs(from, to string) {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		_ = os.Rename(from+suffix, to+suffix)
	}
}

// addOld adds information about topics from the old metadata.yaml that the files lack.
func (x *reindexer) addOld(m *metadata) {
	if x.old == nil {
		return
	}
	for _, t := range x.old.Topics {
		i := slices.IndexFunc(m.Topics, func(o topicInfo) bool {
			return o.Topic.Name == t.Topic.Name && o.Topic.Type == t.Topic.Type
		})
		if i < 0 {
			t.Messages = 0
			m.Topics = append(m.Topics, t)
			continue
		}
		known := &m.Topics[i].Topic
		known.TypeHash = cmp.Or(known.TypeHash, t.Topic.TypeHash)
		if len(known.QoS) == 0 {
			known.QoS = t.Topic.QoS
		}
	}
}
