package lerobot

import (
	"sync"

	"tapedeck/codec/store"
)

// videoFiles are local files of videos, those of a store fetched. The last one of each camera is kept, as most hold
// many episodes.
type videoFiles struct {
	files *store.Files

	mu   sync.Mutex
	last map[string]*videoFile // by camera
}

// videoFile is a local file. It is removed when nobody uses it and it is not the last one of its camera.
type videoFile struct {
	fetch  func() (local string, err error) // fetches it, once
	remove func()
	path   string
	users  int
	kept   bool
}

// use returns the file of a camera at a path, which may be a URL. release must be called in the end.
func (v *videoFiles) use(camera, path string) (local string, release func(), err error) {
	v.mu.Lock()
	f := v.last[camera]
	if f == nil || f.path != path {
		v.drop(camera)
		f = &videoFile{path: path, remove: func() {}, kept: true}
		f.fetch = sync.OnceValues(func() (string, error) {
			local, remove, err := v.files.Fetch(path)
			if err == nil {
				f.remove = remove
			}
			return local, err
		})
		if v.last == nil {
			v.last = map[string]*videoFile{}
		}
		v.last[camera] = f
	}
	f.users++
	v.mu.Unlock()
	release = sync.OnceFunc(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		f.users--
		if f.users == 0 && !f.kept {
			f.remove()
		}
	})
	local, err = f.fetch()
	if err != nil {
		v.mu.Lock()
		if v.last[camera] == f { // the next one tries again
			v.drop(camera)
		}
		v.mu.Unlock()
		release()
		return "", nil, err
	}
	return local, release, nil
}

// drop forgets the last file of a camera. mu is held.
func (v *videoFiles) drop(camera string) {
	if f := v.last[camera]; f != nil {
		delete(v.last, camera)
		f.kept = false
		if f.users == 0 {
			f.remove()
		}
	}
}

// close removes the files that nobody uses.
func (v *videoFiles) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for camera := range v.last {
		v.drop(camera)
	}
}
