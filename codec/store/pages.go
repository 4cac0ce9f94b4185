package store

import (
	"io"
	"sync"
)

const (
	fewPages = 16       // greatest number of pages that are read through the cache
	maxGap   = 32 << 10 // greatest number of bytes between pages that one request reads
	maxRun   = 1 << 20  // greatest number of bytes of a request
	maxRuns  = 64       // greatest number of parallel requests
)

// ReadPages calls do with the pages at the offsets offs, in this order. Each page has size bytes. In a file of a store,
// it fetches many pages in parallel. More than fewPages pages are not cached, because blocks around pages that are far
// apart would take much memory.
func ReadPages(f io.ReaderAt, offs []int64, size int64, do func(off int64, page []byte) error) error {
	h, remote := f.(*handle)
	few := remote && len(offs) <= fewPages
	if few {
		for _, off := range offs {
			h.Prefetch(off, size)
		}
	}
	if !remote || few || h.object.local != nil {
		page := make([]byte, size)
		for _, off := range offs {
			if _, err := f.ReadAt(page, off); err != nil {
				return err
			}
			if err := do(off, page); err != nil {
				return err
			}
		}
		return nil
	}
	for len(offs) > 0 {
		var runs []pageRun
		for len(offs) > 0 && len(runs) < maxRuns {
			n := 1
			for n < len(offs) && offs[n] > offs[n-1] && offs[n]-offs[n-1]-size < maxGap &&
				offs[n]+size-offs[0] <= maxRun {
				n++
			}
			runs = append(runs, pageRun{offs: offs[:n]})
			offs = offs[n:]
		}
		if err := h.readRuns(runs, size, do); err != nil {
			return err
		}
	}
	return nil
}

// pageRun is a list of pages that one request reads.
type pageRun struct {
	offs    []int64
	content []byte
	err     error
}

// readRuns fetches runs in parallel, and then calls do with the pages of size bytes in them.
func (h *handle) readRuns(runs []pageRun, size int64, do func(off int64, page []byte) error) error {
	if err := h.checkOpen(); err != nil {
		return err
	}
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() {
			r := &runs[i]
			in := &resumingReader{object: h.object, off: r.offs[0], end: r.offs[len(r.offs)-1] + size}
			defer in.close()
			if in.off < 0 || in.end > h.object.size {
				r.err = io.ErrUnexpectedEOF
				return
			}
			r.content = make([]byte, in.end-in.off)
			if _, err := io.ReadFull(in, r.content); err != nil {
				r.err = pathError("read", h.object.path, err)
			}
		})
	}
	group.Wait()
	for _, r := range runs {
		if r.err != nil {
			return r.err
		}
		for _, off := range r.offs {
			if err := do(off, r.content[off-r.offs[0]:][:size]); err != nil {
				return err
			}
		}
	}
	return nil
}
