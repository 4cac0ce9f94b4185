package disktest

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

// Killed returns the disk as it is after all processes were killed: without locks and reserved space.
func (d *Disk) Killed() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.boot(d.files, d.made)
}

// boot returns a disk with files and folders.
func (d *Disk) boot(files map[string]*file, made map[string]bool) *Disk {
	after := &Disk{Size: d.Size, next: d.next, files: map[string]*file{}, made: maps.Clone(made),
		filesBefore: map[string]*file{}, madeBefore: maps.Clone(made)}
	for path, f := range files {
		for _, list := range []map[string]*file{after.files, after.filesBefore} {
			list[path] = &file{number: f.number, data: bytes.Clone(f.data), modified: f.modified}
		}
	}
	return after
}

// PowerCut returns the disk as it may be after a power cut. Of the operations that were not synced, the first ones of
// each folder are done. Each file has the first bytes of the writes that were not synced, perhaps with zeros behind
// them, or some blocks of the unsynced writes. random returns the random numbers for the file or folder at path.
func (d *Disk) PowerCut(random func(path string) *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := d.survivors(random)
	contents, names, made := map[int]*file{}, map[string]*file{}, map[string]bool{}
	maps.Copy(made, d.madeBefore)
	for path, f := range d.filesBefore {
		copied := *f
		copied.data = bytes.Clone(f.data)
		contents[f.number], names[path] = &copied, &copied
	}
	for i, o := range d.log {
		f := contents[o.file]
		switch {
		case o.kind == create && f == nil:
			f = &file{number: o.file, modified: o.at}
			contents[o.file] = f
		case o.kind == write:
			for _, p := range done[i].pieces {
				f.data, f.modified = put(f.data, o.off+int64(p.from), p.data), o.at
			}
		case o.kind == truncate && done[i].whole:
			f.data, f.modified = resize(f.data, o.off), o.at
		}
		if !done[i].whole {
			continue
		}
		switch o.kind {
		case create:
			names[o.path] = f
		case rename:
			names[o.to] = names[o.path]
			delete(names, o.path)
		case remove:
			delete(names, o.path)
		case mkdir:
			made[o.path] = true
		case rmdir:
			delete(made, o.path)
		}
	}
	for _, o := range d.log {
		if o.kind == mkdir && !made[o.path] {
			maps.DeleteFunc(names, func(path string, _ *file) bool { return strings.HasPrefix(path, o.path+"/") })
		}
	}
	return d.boot(names, made)
}

// survivor is what a power cut leaves of an operation.
type survivor struct {
	whole  bool
	pieces []piece // of a write
}

// piece is a part of a write that begins at from.
type piece struct {
	from int
	data []byte
}

// survivors returns what a power cut leaves of each operation of the log.
func (d *Disk) survivors(random func(path string) *rand.Rand) []survivor {
	left := make([]survivor, len(d.log))
	paths := map[int]string{} // of files, when they were created
	for path, f := range d.filesBefore {
		paths[f.number] = path
	}
	named, written := map[string][]int{}, map[int][]int{} // operations that were not synced, by folder and by file
	keep := func(list []int) {
		for _, i := range list {
			left[i] = d.log[i].survives()
		}
	}
	for i, o := range d.log {
		switch o.kind {
		case create, rename, remove, mkdir, rmdir:
			if o.kind == create {
				paths[o.file] = o.path
			}
			folder := filepath.Dir(o.path)
			named[folder] = append(named[folder], i)
		case write, truncate:
			written[o.file] = append(written[o.file], i)
		case syncFolder:
			keep(named[o.path])
			delete(named, o.path)
		case syncFile:
			keep(written[o.file])
			delete(written, o.file)
		case syncAll:
			for _, list := range named {
				keep(list)
			}
			for _, list := range written {
				keep(list)
			}
			clear(named)
			clear(written)
		}
	}
	for folder, list := range named {
		r := random(folder)
		keep(list[:[]int{0, len(list), r.IntN(len(list) + 1)}[r.IntN(3)]])
	}
	for number, list := range written {
		d.tearUp(list, left, random(paths[number]))
	}
	return left
}

func (o *operation) survives() survivor {
	return survivor{whole: true, pieces: []piece{{0, o.data}}}
}

// tearUp decides what is left of the operations in list, which were not synced, of one file.
func (d *Disk) tearUp(list []int, left []survivor, r *rand.Rand) {
	switch r.IntN(4) {
	case 0: // nothing
	case 1: // everything
		for _, i := range list {
			left[i] = d.log[i].survives()
		}
	case 2: // the first bytes
		last := r.IntN(len(list))
		for _, i := range list[:last] {
			left[i] = d.log[i].survives()
		}
		o := d.log[list[last]]
		cut := r.IntN(len(o.data) + 1)
		p := piece{0, bytes.Clone(o.data[:cut])}
		if r.IntN(2) == 0 {
			p.data = append(p.data, make([]byte, len(o.data)-cut)...)
		}
		left[list[last]] = survivor{pieces: []piece{p}}
	default: // some blocks
		odds := []float64{0.1, 0.5, 0.9}[r.IntN(3)]
		for _, i := range list {
			o := d.log[i]
			left[i].whole = r.Float64() < odds // a truncate
			for from := 0; from < len(o.data); from += block {
				if r.Float64() < odds {
					left[i].pieces = append(left[i].pieces, piece{from, o.data[from:min(from+block, len(o.data))]})
				}
			}
		}
	}
}
