package formats

import (
	"fmt"
	"os"
	"path/filepath"

	"tapedeck/codec"
	"tapedeck/codec/format/hdf5"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

func hdf5Properties() Format {
	return Format{Group: "HDF5", Episodes: &Episodes{Rows: true, Link: link, Check: checkHDF5, New: newHDF5}}
}

// hdf5 returns the options for package hdf5.
func (o *Options) hdf5() (hdf5.Options, error) {
	h := hdf5.Options{Images: o.Images, JointUnit: o.Unit(), SwapRB: o.SwapRB, Quality: o.Quality}
	var err error
	h.Links, err = Pairs("camera-links", "LINK=CAMERA", o.CameraLinks, false)
	return h, err
}

func checkHDF5(o *Options) error {
	_, err := o.hdf5()
	return err
}

func newHDF5(o *Options, path string, file, _ bool, layout *episode.Layout) (EpisodeWriter, error) {
	h, err := o.hdf5()
	if err != nil {
		return nil, err
	}
	if !file {
		t := &hdf5Folder{episodeFiles: episodeFiles{lost: codec.LossCounts{}}, path: path, options: h, layout: layout}
		return t, os.Mkdir(path, 0o777)
	}
	w, err := hdf5.Create(path, h)
	return &rowEpisodes{hdf5File{w}, layout}, err
}

// link is Episodes.Link.
func link(path, folder string, n int, overwrite bool) error {
	var files []string
	for i := range n {
		files = append(files, filepath.Join(folder, hdf5Name(i)))
	}
	return hdf5.Link(path, files, overwrite)
}

// hdf5File writes one file for all episodes.
type hdf5File struct{ *hdf5.Writer }

func (hdf5File) Notes() []string { return nil }

// hdf5Name returns the file name that training code expects for an episode.
func hdf5Name(index int) string { return fmt.Sprintf("episode_%d.hdf5", index) }

// hdf5Folder writes a file for each episode.
type hdf5Folder struct {
	episodeFiles
	path    string
	options hdf5.Options
	layout  *episode.Layout
}

func (f *hdf5Folder) Write(index int, e *episode.Episode, o align.Options) (*align.Report, error) {
	w, err := hdf5.Create(filepath.Join(f.path, hdf5Name(index)), f.options)
	if err != nil {
		return nil, err
	}
	report, err := f.layout.Write(e, o, w.Write)
	if err != nil {
		w.Abort()
		return nil, err
	}
	for _, l := range w.Losses() {
		f.lose(l.Topic, l.What, l.Messages)
	}
	return report, w.Close()
}
