package rosbag2

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/joined"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
)

// Reader reads a bag. Info describes the messages in the files. metadata.yaml adds topics without messages, and details
// of topics that the files lack.
//
// The Reader keeps up to 64 files open. It keeps files that are compressed as a whole in memory, where they take about
// as much space as on the disk: up to 4 GiB for a single file, and for all files together.
//
// Info.Extra is an Extra.
type Reader struct {
	joined.Reader
	files              *store.Files
	metadata           *metadata // nil if it is missing or cannot be read
	bare               bool      // metadata.yaml is missing
	compressedMessages bool      // metadata.yaml or a database says that messages are compressed one by one
	databases          bool      // some of the files are databases
	present            int       // number of files in the folder, including files that cannot be opened
	plain, packed      pool
}

// Open opens the bag at path, its folder or its metadata.yaml.
func Open(files *store.Files, path string) (*Reader, error) {
	stat, err := files.Stat(path)
	if err != nil {
		return nil, err
	}
	dir := path
	if !stat.IsDir() {
		dir = store.Dir(path)
	}
	r := newReader(files, path)
	paths := []string{path}
	if stat.IsDir() || !isStorage(store.Base(path)) {
		paths, err = r.paths(dir)
		if err != nil {
			return nil, err
		}
	}
	var first error
	for _, file := range paths {
		if err := r.open(file); err != nil {
			kind := codec.EventMissing
			if strings.HasSuffix(file, codec.ActiveSuffix) {
				kind = codec.EventUnfinished // the recorder has not written the beginning of the file yet
			}
			r.Event(kind, err.Error())
			first = cmp.Or(first, err)
		}
	}
	if len(r.Files) == 0 {
		err := fmt.Errorf("read %s: none of the bag's files is there", path)
		for _, e := range r.Events {
			if e.Kind == codec.EventMissing && strings.HasPrefix(e.Text, metadataFile) {
				err = fmt.Errorf("%w: %s; name them", err, e.Text)
			}
		}
		return nil, cmp.Or(first, err)
	}
	return r, nil
}

func newReader(files *store.Files, path string) *Reader {
	r := &Reader{files: files, plain: pool{limit: maxOpen}, packed: pool{limit: maxPacked}}
	r.Reader = joined.Reader{Format: Name, Path: path, Amend: r.amend}
	return r
}

// paths returns the paths of the bag's files.
func (r *Reader) paths(dir string) ([]string, error) {
	present, err := storageFiles(r.files, dir)
	if err != nil {
		return nil, err
	}
	r.present = len(present)
	text, err := r.files.ReadFile(store.Join(dir, metadataFile))
	if err == nil {
		r.metadata, err = parseMetadata(text)
	}
	var names []string
	switch {
	case err != nil:
		names = unlisted(present)
		if several := oneRecording(dir, names, nil); several != nil {
			return nil, fmt.Errorf("read %w", several)
		}
		for _, text := range series.Gaps(names) {
			r.Event(codec.EventMissing, text)
		}
		r.bare = errors.Is(err, fs.ErrNotExist)
		if !r.bare {
			r.Event(codec.EventDamage,
				fmt.Sprintf("without metadata.yaml (%v): every file of the folder was read", err))
		}
	case !slices.Contains([]string{"", storageMCAP, storageSQLite}, r.metadata.Storage):
		return nil, fmt.Errorf("read %s: storage %q is not known; convert the bag to mcap with 'ros2 bag convert'",
			r.Path, r.metadata.Storage)
	default:
		names = r.listed(dir, present)
		r.compressedMessages = strings.EqualFold(r.metadata.Mode, "message")
		if r.metadata.Mode != "" && r.metadata.Compression != "zstd" && !strings.EqualFold(r.metadata.Mode, "none") {
			return nil, fmt.Errorf("read %s: compressed with %q; only zstd is supported", r.Path,
				r.metadata.Compression)
		}
	}
	for i := range names {
		names[i] = store.Join(dir, names[i])
	}
	return names, nil
}

// listed returns the present files that belong to the bag: files that metadata.yaml lists, and files that a recorder
// had no time to list. Files were renamed if no listed file is present but files of one other name are, or if one
// listed file is missing and one other file is present.
func (r *Reader) listed(dir string, present []string) []string {
	var names, missing []string
	for _, path := range r.metadata.Paths {
		// Old versions put the folder in front. Files may have been compressed or decompressed since.
		name := filepath.Base(filepath.FromSlash(path))
		bare := unpackedName(name)
		candidates := []string{name, bare, bare + packedSuffix}
		i := slices.IndexFunc(candidates, func(n string) bool { return slices.Contains(present, n) })
		if i < 0 {
			missing = append(missing, name)
			continue
		}
		names = append(names, candidates[i])
	}
	others := slices.DeleteFunc(unlisted(present), func(name string) bool { return slices.Contains(names, name) })
	taken := r.notListedYet(present)
	others = slices.DeleteFunc(others, func(name string) bool { return slices.Contains(taken, name) })
	one := len(names) == 0 && oneRecording(dir, others, nil) == nil || len(missing) == 1 && len(others) == 1
	switch {
	case len(missing) == 0:
	case len(others) > 0 && one:
		r.Event(codec.EventLabel, fmt.Sprintf("metadata.yaml lists %s; read %s instead",
			strings.Join(missing, ", "), strings.Join(others, ", ")))
		names = append(names, others...)
	case len(others) > 0:
		r.Event(codec.EventMissing, fmt.Sprintf("metadata.yaml lists %s, which are not there; it does not list %s, "+
			"which are not read", strings.Join(missing, ", "), strings.Join(others, ", ")))
	default:
		for _, name := range missing {
			r.Event(codec.EventMissing, name+" is missing")
		}
	}
	for _, name := range taken {
		names = append(names, name)
		if !strings.HasSuffix(name, codec.ActiveSuffix) {
			r.Event(codec.EventUnfinished, fmt.Sprintf("%s is not in metadata.yaml", name))
		}
	}
	return names
}

// notListedYet returns the present files that a recorder had no time to list: files that it was writing, and files that
// it had just completed, which have the name of the last listed file and a higher number.
func (r *Reader) notListedYet(present []string) []string {
	var last series.Name
	listed := len(r.metadata.Paths)
	if listed > 0 {
		last, _ = series.Parse(unpackedName(r.metadata.Paths[listed-1]))
	}
	var names []string
	for _, name := range unlisted(present) {
		active := strings.HasSuffix(name, codec.ActiveSuffix)
		n, ok := series.Parse(unpackedName(name))
		if active || ok && listed > 0 && n.Base == last.Base && n.Number > last.Number &&
			!slices.Contains(r.metadata.Paths, name) {
			names = append(names, name)
		}
	}
	return names
}

// unlisted returns the files of a bag without metadata.yaml. It omits a compressed file if the decompressed file is
// present.
func unlisted(present []string) []string {
	var names []string
	for _, name := range present {
		bare := unpackedName(name)
		if name == bare || !slices.Contains(present, bare) {
			names = append(names, name)
		}
	}
	return names
}

// open adds the file at path.
func (r *Reader) open(path string) error {
	stat, err := r.files.Stat(path)
	if err != nil {
		return err
	}
	p := joined.File{Path: path, Size: stat.Size()}
	name := store.Base(path) // a URL may have a query
	packed := unpackedName(name) != name
	sql := filepath.Ext(bareName(name)) == ".db3"
	r.databases = r.databases || sql
	if sql && !packed && store.IsURL(path) { // many pages are read at once
		var f store.File
		f, err = r.files.Open(path)
		if err == nil {
			p.Reader, err = openDatabase(r.files, path, f, p.Size, r.whole())
		}
	} else {
		p.Reader, err = r.openFile(path, packed, sql)
	}
	if err != nil {
		return err
	}
	if d, ok := p.Reader.(*database); ok && r.metadata == nil {
		m, _ := d.ownMetadata() // Info returns the error
		r.compressedMessages = r.compressedMessages || m != nil && strings.EqualFold(m.Mode, "message")
	}
	if packed {
		// Read Info while the file is in memory. A later call returns its error.
		_, _ = p.Reader.Info()
	}
	r.Files = append(r.Files, p)
	return nil
}

// whole returns the metadata of a bag that is one file, or nil for other bags.
func (r *Reader) whole() *metadata {
	if r.metadata == nil || len(r.metadata.Paths) != 1 {
		return nil
	}
	return r.metadata
}

// openFile opens a file through a pool.
func (r *Reader) openFile(path string, compressed, sql bool) (codec.Reader, error) {
	f := &file{pool: &r.plain, begin: func() (content, error) {
		file, err := r.files.Open(path)
		return plain{file}, err
	}}
	if compressed {
		reported := false
		f.pool = &r.packed
		f.begin = func() (content, error) {
			p, err := unpack(r.files, path, maxPacked)
			if errors.Is(err, errPartial) {
				if !reported {
					r.Event(codec.EventDamage, err.Error())
				}
				reported, err = true, nil
			}
			return p, err
		}
	}
	size, err := f.size()
	if err != nil {
		return nil, err
	}
	if sql {
		return openDatabase(r.files, path, f, size, r.whole())
	}
	reader, err := mcap.NewReader(f, size, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	reader.Stored = r.compressedMessages
	return reader, nil
}

// amend adds information to info that the files lack.
func (r *Reader) amend(info *codec.Info) error {
	if r.bare {
		r.noteBare(info)
	}
	if r.metadata != nil {
		r.addMetadata(info)
	}
	if r.compressedMessages {
		return r.addEvents(info)
	}
	return nil
}

// noteBare adds to info that metadata.yaml is missing. A recorder writes metadata.yaml last, so the bag was not
// finished. But a single MCAP file tells whether the file is complete. A database does not tell, and after several
// files more files may be missing.
func (r *Reader) noteBare(info *codec.Info) {
	const text = "without metadata.yaml (there is none): every file of the folder was read"
	if info.Complete && !r.databases && r.present == 1 {
		info.Notes = append(info.Notes, text)
		return
	}
	info.Events = slices.Insert(info.Events, 0, codec.Event{Kind: codec.EventUnfinished, Text: text})
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	info.Complete = false
}

// addEvents adds the events that a recorder stored. The events are compressed like all messages.
func (r *Reader) addEvents(info *codec.Info) error {
	kept := slices.ContainsFunc(info.Topics, func(t codec.TopicInfo) bool {
		return t.MessageCount > 0 && codec.IsEvents(t.Channel)
	})
	if !kept {
		return nil
	}
	q := codec.Query{Start: math.MinInt64, Topics: codec.IsEvents, Damaged: func(error) {}}
	it, err := r.Read(q)
	if err != nil {
		return err
	}
	events, err := chunked.Events(it)
	if err != nil {
		return err
	}
	for _, e := range events {
		if !slices.Contains(info.Events, e) {
			info.Events = append(info.Events, e)
		}
	}
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	return nil
}

// Extra is Info.Extra of a bag.
type Extra struct {
	mcap.Extra             // of the first file
	Version         int    `json:"version"` // of metadata.yaml
	ROSDistro       string `json:"ros_distro"`
	CompressionMode string `json:"compression_mode"`
}

// addMetadata adds the information of metadata.yaml that the files lack.
func (r *Reader) addMetadata(info *codec.Info) {
	m := r.metadata
	for i := range m.Topics {
		t := &m.Topics[i].Topic
		found := false
		for _, known := range info.Topics {
			if c := known.Channel; c.Topic == t.Name && c.Type == t.Type {
				found = true
				c.TypeHash = cmp.Or(c.TypeHash, t.TypeHash)
				c.QoS = codec.JoinQoS(c.QoS, t.QoS) // a database has only the first publishers' QoS
				if t.unread != nil && len(c.QoS) == 0 {
					info.Events, info.Complete = append(info.Events, codec.UnreadQoSEvent(t.Name, t.unread)), false
				}
			}
		}
		if !found {
			info.Topics = append(info.Topics, codec.TopicInfo{Channel: &codec.Channel{Topic: t.Name, Type: t.Type,
				Encoding: t.Encoding, TypeHash: t.TypeHash, QoS: t.QoS}})
		}
	}
	var counted uint64 // messages of the files, including messages that files repeat
	for _, f := range info.Files {
		counted += f.MessageCount
	}
	if m.Messages > counted {
		text := fmt.Sprintf("metadata.yaml counts %s, the files hold %d", plural.Count(m.Messages, "message"), counted)
		if fewer := m.fewer(info); fewer != nil {
			text += "; fewer messages than counted on " + strings.Join(fewer, ", ")
		}
		e := codec.Event{Kind: codec.EventDamage, Count: m.Messages - counted, Text: text}
		if end := m.Start.Nanoseconds + m.Duration.Nanoseconds; end > info.EndTime {
			e.Time, e.Until = info.EndTime, end
		}
		info.Events = append(info.Events, e)
		slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
		info.Complete = false
	}
	maps.Copy(info.Metadata, m.Custom)
	if m.Distro != "" {
		info.Metadata["ros_distro"] = m.Distro
	}
	extra, _ := info.Extra.(mcap.Extra)
	info.Extra = Extra{Extra: extra, Version: m.Version, ROSDistro: m.Distro, CompressionMode: m.Mode}
}

// fewer returns the topics with fewer messages in info than in m, with the difference.
func (m *metadata) fewer(info *codec.Info) (topics []string) {
	found := map[string]uint64{}
	for _, t := range info.Topics {
		found[t.Channel.Topic] += t.MessageCount
	}
	for _, t := range m.Topics {
		if n := found[t.Topic.Name]; n < t.Messages {
			topics = append(topics, fmt.Sprintf("%s (%d)", t.Topic.Name, t.Messages-n))
		}
	}
	return topics
}

// Read implements codec.Reader.
func (r *Reader) Read(q codec.Query) (codec.Iterator, error) {
	it, err := r.Reader.Read(q)
	return r.decompress(it, err, q)
}
