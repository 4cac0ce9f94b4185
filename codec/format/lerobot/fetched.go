package lerobot

import (
	"sync"

	"tapedeck/codec/store"
)

// videoFiles fetches videos to local files. It keeps the last video of each camera, because most videos have many
// episodes.
type videoFiles struct {
	files *store.Files

	mu   sync.Mutex            // guards last, and the fields users and kept of all files
	last map[string]*videoFile // by camera
}

// videoFile is a local file. It is removed when it has no users and is not the last video of its camera.
type videoFile struct {
	fetch  func() (local string, err error) // fetches the file, once
	remove func()                           // removes a fetched file
	path   string                           // path or URL of the video
	users  int
	kept   bool // the file is the last video of its camera
}

// use returns a local file of the video at a path or URL, and fetches it if necessary. The caller must call release.
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
		if v.last[camera] == f { // the next user tries again
			v.drop(camera)
		}
		v.mu.Unlock()
		release()
		return "", nil, err
	}
	return local, release, nil
}

// drop forgets the last video of a camera. v.mu is held.
func (v *videoFiles) drop(camera string) {
	if f := v.last[camera]; f != nil {
		delete(v.last, camera)
		f.kept = false
		if f.users == 0 {
			f.remove()
		}
	}
}

// close removes the files without users. Other files are removed when they are released.
func (v *videoFiles) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for camera := range v.last {
		v.drop(camera)
	}
}
