package upload

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
	"tapedeck/nodes/internal/describe"
)

// manifestName is the name of the last object of a recording. Without this object, the recording is not complete in the
// store.
const manifestName = "recording.json"

// manifest describes a recording and lists its files.
type manifest struct {
	Name  string              `json:"name"`
	Info  *describe.Recording `json:"info"`
	Files []manifestFile      `json:"files"`
	Lost  []string            `json:"lost,omitempty"` // files that were deleted before they were uploaded
}

type manifestFile struct {
	Path   string `json:"path"`   // relative to the manifest
	Size   int64  `json:"size"`   // bytes
	CRC32C string `json:"crc32c"` // in base64, as in S3
}

// info describes the recording or the file at path, with paths as in the store. If it cannot be read, it is described
// as damaged.
func (q *Queue) info(s *spool, path string) *codec.Info {
	info, err := q.read(path)
	if err != nil {
		return &codec.Info{Path: s.relative(path), Events: []codec.Event{{Kind: codec.EventDamage, Text: err.Error()}}}
	}
	info.Path = s.relative(info.Path)
	for i := range info.Files {
		info.Files[i].Path = s.relative(info.Files[i].Path)
	}
	return info
}

// open opens one file or one folder of a recording.
func (q *Queue) open(path string) (codec.Reader, error) {
	return series.OpenFile(store.On(q.Disk), q.Formats, path)
}

// read returns the description of a recording. The caller may change it.
func (q *Queue) read(path string) (*codec.Info, error) {
	r, err := q.open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	copied := *info
	copied.Files = slices.Clone(info.Files)
	return &copied, nil
}

// relative returns the path that a file of the recording has in the store, relative to the manifest.
func (s *spool) relative(path string) string {
	name, err := filepath.Rel(s.folder, path)
	if err != nil {
		name = filepath.Base(path)
	}
	return strings.TrimPrefix(filepath.ToSlash(name), s.Path+"/")
}

// join joins the descriptions of a recording's files to one, without the definitions of types. Some may be nil.
func join(files ...*codec.Info) *codec.Info {
	joined := &codec.Info{Complete: true, Metadata: map[string]string{}}
	for _, info := range files {
		if info == nil {
			continue
		}
		joined.Format = cmp.Or(joined.Format, info.Format)
		if info.MessageCount > 0 {
			if joined.MessageCount == 0 {
				joined.StartTime = info.StartTime
			}
			joined.StartTime, joined.EndTime = min(joined.StartTime, info.StartTime), max(joined.EndTime, info.EndTime)
		}
		joined.Size += info.Size
		joined.MessageCount += info.MessageCount
		joined.Complete = joined.Complete && info.Complete
		joined.Files = append(joined.Files, info.Files...)
		joined.Events = append(joined.Events, info.Events...)
		joined.Attachments = append(joined.Attachments, info.Attachments...)
		maps.Copy(joined.Metadata, info.AllMetadata())
		for _, t := range info.Topics {
			i := slices.IndexFunc(joined.Topics, func(o codec.TopicInfo) bool {
				return o.Channel.Topic == t.Channel.Topic && o.Channel.Type == t.Channel.Type &&
					o.Channel.Encoding == t.Channel.Encoding
			})
			if i < 0 {
				channel := *t.Channel
				channel.Schema.Data = nil
				joined.Topics = append(joined.Topics, codec.TopicInfo{Channel: &channel})
				i = len(joined.Topics) - 1
			}
			joined.Topics[i].MessageCount += t.MessageCount
		}
	}
	return joined
}

// describe returns the description of a recording whose files are all in the store.
func (q *Queue) describe(s *spool) *codec.Info {
	root := filepath.Join(s.folder, s.Path)
	stat, err := q.Disk.Stat(root)
	q.mu.Lock()
	list := []*codec.Info{s.Info}
	var paths []string // files on the disk
	for _, f := range s.Files {
		if !f.Deleted && !f.Lost && !f.Described && filepath.Base(f.Name) != listName {
			paths = append(paths, s.local(f))
		}
	}
	q.mu.Unlock()
	if list[0] == nil && err == nil && stat.IsDir() {
		paths = []string{root}
	}
	for _, path := range paths {
		list = append(list, q.info(s, path))
	}
	if list[0] == nil && len(list) == 2 {
		return list[1] // the same as in 'converter info'
	}
	joined := join(list...)
	joined.Path = s.Path
	return joined
}

// begin is called before f is sent as the first file of a recording. It fails if another process sends the recording,
// or if the store has the manifest of another recording with the same name. A manifest that is to be replaced is
// removed, because it is wrong while files are replaced.
func (q *Queue) begin(ctx context.Context, s *spool, f *file) error {
	known := map[string]bool{}
	q.locked(func() {
		for _, f := range s.Files {
			known[strings.TrimPrefix(f.Name, s.Path+"/")] = true
			s.begun = s.begun || f.CRC32C != ""
		}
	})
	if s.begun {
		return nil
	}
	err := q.save(s)
	if err != nil && !errors.Is(err, codec.ErrLocked) {
		err = q.lock(s, f)
	}
	if errors.Is(err, codec.ErrLocked) {
		return fmt.Errorf("upload %s: %w", filepath.Join(s.folder, s.Path), err)
	}
	key := s.Name + "/" + manifestName
	text, err := q.uploader.Get(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
	case q.Overwrite:
		err = q.uploader.Remove(ctx, key)
	default:
		var m manifest
		err = json.Unmarshal(text, &m)
		for _, f := range m.Files {
			m.Lost = append(m.Lost, f.Path)
		}
		if err != nil || !slices.ContainsFunc(m.Lost, func(name string) bool { return known[name] }) {
			err = s3.ErrDiffers // else the files are compared when they are sent
		}
	}
	if err != nil {
		return fmt.Errorf("upload %s: %w", store.Join(s.URL, key), err)
	}
	s.begun = true
	return nil
}

// lock locks the first file of a recording whose spool cannot be written.
func (q *Queue) lock(s *spool, f *file) (err error) {
	q.writing.Lock()
	defer q.writing.Unlock()
	if s.lock != nil {
		return nil
	}
	path := s.local(f)
	lock, err := q.Disk.Lock(path, false)
	if err == nil {
		s.lock, s.locked = lock, path
	}
	return err
}

// sendManifest sends the manifest of a recording whose files are all in the store.
func (q *Queue) sendManifest(ctx context.Context, s *spool) error {
	m := manifest{Name: s.Name, Info: describe.New(q.describe(s), nil)}
	q.locked(func() {
		for _, f := range s.Files {
			if name := strings.TrimPrefix(f.Name, s.Path+"/"); f.CRC32C != "" {
				m.Files = append(m.Files, manifestFile{name, f.Size, f.CRC32C})
			} else if !strings.HasSuffix(name, codec.ActiveSuffix) { // such a file was renamed when it was completed
				m.Lost = append(m.Lost, name)
			}
		}
	})
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("describe %s: %w", s.Name, err)
	}
	ours := *q.uploader
	ours.Overwrite, ours.Progress = true, nil // begin checked for a manifest of another recording
	t := s3.Transfer{Uploader: &ours, Key: s.Name + "/" + manifestName, File: bytes.NewReader(text),
		Size: int64(len(text)), State: &s3.TransferState{}}
	_, err = t.Run(ctx)
	return err
}
