//go:build cgo

package allformats

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/align"
	"tapedeck/codec/episode"
	"tapedeck/codec/hdf5"
	"tapedeck/nodes/internal/formats"
)

// writeHDF5 adds to the format how episodes are written.
func writeHDF5(f *formats.Format) {
	f.Group = "HDF5"
	f.Episodes = &formats.Episodes{Rows: true, Link: link, Check: checkHDF5, New: newHDF5}
}

// options returns the options of HDF5 as its package has them.
func options(o *formats.Options) (hdf5.Options, error) {
	h := hdf5.Options{Images: o.Images, JointUnit: o.Unit(), SwapRB: o.SwapRB, Quality: o.Quality}
	var err error
	h.Links, err = formats.Pairs("camera-links", "LINK=CAMERA", o.CameraLinks, false)
	return h, err
}

func checkHDF5(o *formats.Options) error {
	_, err := options(o)
	return err
}

func newHDF5(o *formats.Options, path string, file, _ bool, layout *episode.Layout) (formats.EpisodeWriter, error) {
	h, err := options(o)
	if err != nil {
		return nil, err
	}
	if !file {
		return &hdf5Folder{path: path, options: h, layout: layout, lost: codec.LossCounts{}}, os.Mkdir(path, 0o777)
	}
	w, err := hdf5.Create(path, h)
	return &hdf5File{w, layout}, err
}

// link is Episodes.Link.
func link(path, folder string, n int, overwrite bool) error {
	var files []string
	for i := range n {
		files = append(files, filepath.Join(folder, hdf5Name(i)))
	}
	return hdf5.Link(path, files, overwrite)
}

// hdf5File is one file for all episodes.
type hdf5File struct {
	w      *hdf5.Writer
	layout *episode.Layout
}

func (t *hdf5File) Write(_ int, e *episode.Episode, o align.Options) (*align.Report, error) {
	return t.layout.Write(e, o, t.w.Write)
}

func (t *hdf5File) Parallel() bool       { return false }
func (t *hdf5File) Losses() []codec.Loss { return t.w.Losses() }
func (t *hdf5File) Notes() []string      { return nil }
func (t *hdf5File) Close() error         { return t.w.Close() }
func (t *hdf5File) Abort()               { t.w.Abort() }

// hdf5Name returns what training code expects files of episodes to be called.
func hdf5Name(index int) string { return fmt.Sprintf("episode_%d.hdf5", index) }

// hdf5Folder is a file for each episode.
type hdf5Folder struct {
	path    string
	options hdf5.Options
	layout  *episode.Layout

	mu   sync.Mutex
	lost codec.LossCounts
}

func (t *hdf5Folder) Write(index int, e *episode.Episode, o align.Options) (*align.Report, error) {
	w, err := hdf5.Create(filepath.Join(t.path, hdf5Name(index)), t.options)
	if err != nil {
		return nil, err
	}
	report, err := t.layout.Write(e, o, w.Write)
	if err != nil {
		w.Abort()
		return nil, err
	}
	t.mu.Lock()
	for _, l := range w.Losses() {
		t.lost.Add(l.Topic, l.What, l.Messages)
	}
	t.mu.Unlock()
	return report, w.Close()
}

func (t *hdf5Folder) Parallel() bool       { return true }
func (t *hdf5Folder) Losses() []codec.Loss { return t.lost.Losses() }
func (t *hdf5Folder) Notes() []string      { return nil }
func (t *hdf5Folder) Close() error         { return nil }
func (t *hdf5Folder) Abort()               {}
