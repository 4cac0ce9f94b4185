package upload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/blob"
	"tapedeck/nodes/internal/describe"
)

// manifestName is the name of the last object of a recording. Without it the recording is not complete in the store.
const manifestName = "recording.json"

// manifest says what a recording is and which files it has.
type manifest struct {
	Name  string              `json:"name"`
	Info  *describe.Recording `json:"info"`
	Files []manifestFile      `json:"files"`
}

type manifestFile struct {
	Path   string `json:"path"` // beside the manifest
	Size   int64  `json:"size"`
	CRC32C string `json:"crc32c"` // base64, as S3 has it
}

// describe describes the recording or the file at path. What cannot be read is described as damaged.
func (q *Queue) describe(s *spool, path string) *describe.Recording {
	info, err := q.info(path)
	if err != nil {
		info = &codec.Info{Path: path, Events: []codec.Event{{Kind: codec.EventDamage, Text: err.Error()}}}
	}
	d := describe.New(info, nil)
	d.Path = s.relative(d.Path)
	for i := range d.Files {
		d.Files[i].Path = s.relative(d.Files[i].Path)
	}
	return d
}

func (q *Queue) info(path string) (*codec.Info, error) {
	r, err := q.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Info()
}

// relative returns a path of the recording as it is in the store.
func (s *spool) relative(path string) string {
	name, err := filepath.Rel(s.folder, path)
	if err != nil {
		name = filepath.Base(path)
	}
	return strings.TrimPrefix(filepath.ToSlash(name), s.Path+"/")
}

// describeAll returns the description of a recording whose files are all in the store.
func (q *Queue) describeAll(s *spool) *describe.Recording {
	root := filepath.Join(s.folder, s.Path)
	stat, err := os.Stat(root)
	q.mu.Lock()
	d := s.Info
	var files []string // that are there
	for _, f := range s.Files {
		if !f.Deleted && !f.Lost && filepath.Base(f.Name) != listName {
			files = append(files, s.local(f))
		}
	}
	q.mu.Unlock()
	if d == nil && err == nil && stat.IsDir() {
		return q.describe(s, root)
	}
	var parts []*describe.Recording
	if d != nil {
		parts = append(parts, d)
	}
	for _, path := range files {
		parts = append(parts, q.describe(s, path))
	}
	all := describe.Merge(parts...)
	all.Path = s.Path
	return all
}

// sendManifest sends the manifest of a recording whose files are all in the store.
func (q *Queue) sendManifest(ctx context.Context, s *spool) error {
	m := manifest{Name: s.Name, Info: q.describeAll(s)}
	q.mu.Lock()
	for _, f := range s.Files {
		if f.CRC32C != "" {
			m.Files = append(m.Files, manifestFile{strings.TrimPrefix(f.Name, s.Path+"/"), f.Size, f.CRC32C})
		}
	}
	q.mu.Unlock()
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("describe %s: %w", s.Name, err)
	}
	ours := *q.uploader
	ours.Overwrite, ours.Progress = true, nil // it is made of the same files
	t := blob.Transfer{Uploader: &ours, Key: s.Name + "/" + manifestName, File: bytes.NewReader(text),
		Size: int64(len(text)), State: &blob.TransferState{}}
	_, err = t.Run(ctx)
	return err
}
