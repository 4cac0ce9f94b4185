package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/store"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// maxFrame is the greatest number of bytes of a frame that is read.
const maxFrame = 1 << 30

// cameras returns the cameras in a folder, with the stamps of all frames.
func (s *Source) cameras(folder string, m *metadata) ([]*episode.Camera, error) {
	entries, err := s.files.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var cameras []*episode.Camera
	for _, e := range entries {
		if !isFolder(s.files, folder, e) {
			continue
		}
		f := &frames{files: s.files, folder: store.Join(folder, e.Name())}
		if err := f.find(s.damaged); err != nil {
			return nil, err
		}
		if len(f.list) == 0 {
			if _, known := m.devices[e.Name()]; known {
				s.missing(f.folder, e.Name(), 0, errors.New("the folder has no images"))
			}
			continue
		}
		// Git LFS fetches all images of a camera or none, so checking the first image is enough.
		err := codec.CheckContents(s.files, store.Join(f.folder, f.list[0].name))
		if errors.Is(err, codec.ErrLFSPointer) {
			s.missing(f.folder, e.Name(), len(f.list), err)
			continue
		}
		c := &episode.Camera{
			Track: align.Track{Name: e.Name()}, Device: m.devices[e.Name()],
			Open: func() (episode.Frames, error) {
				return &frames{files: f.files, folder: f.folder, list: f.list}, nil
			},
		}
		for _, frame := range f.list {
			c.Stamps = append(c.Stamps, frame.stamp)
		}
		cameras = append(cameras, c)
	}
	slices.SortFunc(cameras, func(a, b *episode.Camera) int { return episode.CompareNames(a.Name, b.Name) })
	return cameras, nil
}

// frames reads the frames of a camera.
type frames struct {
	files  *store.Files
	folder string
	list   []frameFile  // in time order
	buffer bytes.Buffer // data of the latest frame
}

// frameFile is the file of a frame.
type frameFile struct {
	stamp int64 // ns since the Unix epoch
	name  string
}

// find sets list to the frames in the folder. It calls damaged for files that are not frames.
func (f *frames) find(damaged func(error)) error {
	entries, err := f.files.ReadDir(f.folder)
	if err != nil {
		return err
	}
	f.list = make([]frameFile, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		ext := filepath.Ext(name)
		if e.IsDir() || strings.HasPrefix(name, ".") || ext == tempSuffix {
			continue
		}
		text, ok := strings.CutPrefix(strings.TrimSuffix(name, ext), framePrefix)
		switch strings.ToLower(ext) {
		case ".png", ".jpg", ".jpeg":
		default:
			ok = false
		}
		if !ok {
			damaged(fmt.Errorf("%s: not a frame: want %s<seconds>.png or .jpg", store.Join(f.folder, name),
				framePrefix))
			continue
		}
		stamp, err := parseStamp(text)
		if err != nil {
			damaged(fmt.Errorf("%s: %w", store.Join(f.folder, name), err))
			continue
		}
		f.list = append(f.list, frameFile{stamp, name})
	}
	slices.SortStableFunc(f.list, func(a, b frameFile) int { return cmp.Compare(a.stamp, b.stamp) })
	return nil
}

// Frame implements episode.Frames. Errors name the file.
func (f *frames) Frame(i int) (episode.Frame, error) {
	if i < 0 || i >= len(f.list) {
		return episode.Frame{}, fmt.Errorf("read %s: no frame %d of %d", f.folder, i, len(f.list))
	}
	path := store.Join(f.folder, f.list[i].name)
	frame, err := f.read(path)
	if err != nil {
		return episode.Frame{}, fmt.Errorf("read %s: %w", path, codec.Pathless(err))
	}
	return frame, nil
}

// read returns the frame in a file.
func (f *frames) read(path string) (episode.Frame, error) {
	file, err := f.files.Open(path)
	if err != nil {
		return episode.Frame{}, err
	}
	defer file.Close()
	f.buffer.Reset()
	if _, err := f.buffer.ReadFrom(io.LimitReader(file, maxFrame+1)); err != nil {
		return episode.Frame{}, err
	}
	data := f.buffer.Bytes()
	switch {
	case len(data) > maxFrame:
		return episode.Frame{}, damaged(fmt.Errorf("the frame has more than %d bytes", maxFrame))
	case len(data) == 0:
		return episode.Frame{}, damaged(errors.New("the file is empty"))
	}
	encoding := pixel.Detect(data)
	if encoding == "" {
		return episode.Frame{}, damaged(fmt.Errorf("neither a PNG nor a JPEG: it begins with %q",
			data[:min(len(data), 8)]))
	}
	return episode.Frame{Encoding: encoding, Data: data}, nil
}

// damaged returns an error that marks a frame as damaged.
func damaged(err error) error { return &episode.DamagedError{Err: err} }

// Close implements episode.Frames.
func (f *frames) Close() error { return nil }
