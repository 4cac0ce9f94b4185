package disktest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// Crash is a possible content of the disk after a crash.
type Crash struct {
	Name  string            // when it happened and what was lost
	Files map[string][]byte // contents by name
	Mark  int               // the last Mark before the crash
	Hole  bool              // a write is missing although later writes are there
}

// Crashes yields the possible contents of the disk after crashes of the process or the machine at any moment. Of
// operations that were not synced, the first ones are done, and the next one in part. The missing part of a write may
// be zeros, or the file may end with further zeros, as file systems may store sizes before contents. Names may be
// stored before contents, and contents in another order. Writes are cut at every step-th byte. Each content is yielded
// once, unless a later Mark promises more of it. Crashes yields every stride-th content. A stride that neither 2 nor 3
// divides yields contents of all kinds.
func (d *Disk) Crashes(step, stride int, yield func(Crash)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	states := 0
	promised := map[[sha256.Size]byte]int{} // highest Mark by digest of the content
	for at, o := range d.log {
		if !o.kind.syncs() && at != len(d.log)-1 {
			continue
		}
		d.crashesAt(at, step, func(c Crash) {
			state := c.digest()
			if mark, known := promised[state]; known && mark >= c.Mark {
				return
			}
			promised[state] = c.Mark
			states++
			if states%stride == 0 {
				yield(c)
			}
		})
	}
}

// digest returns a hash of a disk's content.
func (c *Crash) digest() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintln(h, c.Hole)
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		fmt.Fprintf(h, "%q %d\n", name, len(c.Files[name]))
		h.Write(c.Files[name])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// block is the number of bytes that a disk writes at once.
const block = 512

// crashesAt yields the possible contents after crashes before the operation at.
func (d *Disk) crashesAt(at, step int, yield func(Crash)) {
	kept := d.kept(at)
	promised := 0
	for _, o := range d.log[:at] {
		if o.kind == mark {
			promised = o.mark
		}
	}
	for last := 0; last <= at; last++ {
		o := d.log[last]
		if last < at && (kept[last] || o.kind.syncs() || o.kind >= mark) {
			continue
		}
		for _, namesFirst := range []bool{false, true} {
			for _, t := range tears(&o, last < at, step) {
				yield(Crash{
					Name: fmt.Sprintf("before operation %d, %d done and %d bytes, %d zeros, names first: %v", at, last,
						t.cut, t.zeros,
						namesFirst),
					Mark: promised,
					Files: d.replay(at, func(i int, o *operation, size int64) bool {
						if i == last && o.kind == write {
							o.tear(t, size)
							return true
						}
						return i < last || kept[i] || namesFirst && o.kind <= remove
					}),
				})
			}
		}
		if last == at || o.kind != write {
			continue
		}
		for _, hole := range [][2]int{{0, len(o.data)}, {block, 2 * block}} {
			if hole[1] > len(o.data) {
				continue
			}
			yield(Crash{
				Name: fmt.Sprintf("before operation %d, without bytes %d of %d", at, hole, last),
				Mark: promised, Hole: true,
				Files: d.replay(at, func(i int, o *operation, size int64) bool {
					if i == last && o.off == size {
						o.data = slices.Clone(o.data)
						clear(o.data[hole[0]:hole[1]])
					}
					return i != last || o.off == size
				}),
			})
		}
	}
}

// kept reports for each operation before at whether it is on the disk for certain.
func (d *Disk) kept(at int) []bool {
	kept := make([]bool, at)
	synced := map[int]bool{}
	folders, all := false, false // there is only one folder
	for i := at - 1; i >= 0; i-- {
		kept[i] = all
		switch o := d.log[i]; o.kind {
		case syncAll:
			all = true
		case syncFolder:
			folders = true
		case syncFile:
			synced[o.file] = true
		case write, truncate:
			kept[i] = all || synced[o.file]
		default:
			kept[i] = all || folders
		}
	}
	return kept
}

// tear is the number of bytes that remain of a write, and the number of zeros behind them.
type tear struct{ cut, zeros int }

// tears returns the tears of an operation. Only writes are done in part, and only if torn is set.
func tears(o *operation, torn bool, step int) []tear {
	if !torn || o.kind != write {
		return []tear{{}}
	}
	var all []tear
	for cut := 0; cut < len(o.data); cut += step {
		rest := len(o.data) - cut
		all = append(all, tear{cut, 0}, tear{cut, rest}, tear{cut, rest + 5000})
	}
	return append(all, tear{len(o.data), 0}, tear{len(o.data), 300}, tear{len(o.data), 5000})
}

// tear shortens a write to a file of the given size. Zeros only follow at the end of the file, never in place of old
// bytes.
func (o *operation) tear(t tear, size int64) {
	o.data = o.data[:t.cut]
	if o.off == size {
		o.data = slices.Concat(o.data, make([]byte, t.zeros))
	}
}

// replay returns the files after the operations before at that pick selects. pick may change the bytes that an
// operation writes; size is the present size of the operation's file.
func (d *Disk) replay(at int, pick func(i int, o *operation, size int64) bool) map[string][]byte {
	contents := map[int][]byte{}
	names := map[string]int{}
	for i, o := range d.log[:at] {
		if !pick(i, &o, int64(len(contents[o.file]))) {
			continue
		}
		switch o.kind {
		case create:
			names[o.path] = o.file
		case rename:
			names[o.to] = names[o.path]
			delete(names, o.path)
		case remove:
			delete(names, o.path)
		case write:
			contents[o.file] = put(contents[o.file], o.off, o.data)
		case truncate:
			contents[o.file] = resize(contents[o.file], o.off)
		}
	}
	files := map[string][]byte{}
	for path, number := range names {
		files[path] = contents[number]
	}
	return files
}
