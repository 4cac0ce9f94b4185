package episode

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tapedeck/codec/align"
	"tapedeck/msgs/plural"
)

// DamagedError is the error of Frames about a frame that is damaged. Others may be whole.
type DamagedError struct{ Err error }

// Error returns that of Err.
func (e *DamagedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }

// DamagedFrames is the error of a writer of rows about damaged frames, by camera and index. Nothing of the rows has
// been written.
type DamagedFrames map[*Camera]map[int]error

// add adds the damaged frames of a camera.
func (d *DamagedFrames) add(c *Camera, index int, err error) {
	if *d == nil {
		*d = DamagedFrames{}
	}
	if (*d)[c] == nil {
		(*d)[c] = map[int]error{}
	}
	(*d)[c][index] = err
}

// Error returns how many frames of each camera are damaged, and why the first is.
func (d DamagedFrames) Error() string {
	var all []error
	for _, c := range slices.SortedFunc(maps.Keys(d), func(a, b *Camera) int { return cmp.Compare(a.Name, b.Name) }) {
		all = append(all, fmt.Errorf("%s of %s, %s", plural.Count(len(d[c]), "damaged image"), c.Name, d.Why(c)))
	}
	return errors.Join(all...).Error()
}

// Why returns why the first damaged frame of a camera is.
func (d DamagedFrames) Why(c *Camera) string {
	first := slices.Min(slices.Collect(maps.Keys(d[c])))
	return fmt.Sprintf("frame %d: %v", first, d[c][first])
}

// Without returns an episode without the damaged frames.
func (d DamagedFrames) Without(e *Episode) *Episode {
	whole := *e
	whole.Cameras = slices.Clone(e.Cameras)
	for i, c := range e.Cameras {
		if len(d[c]) == 0 {
			continue
		}
		left := *c
		var kept []int
		left.Stamps, left.Damaged, left.Damage = nil, c.Damaged+len(d[c]), cmp.Or(c.Damage, d.Why(c))
		for k, stamp := range c.Stamps {
			if d[c][k] == nil {
				left.Stamps, kept = append(left.Stamps, stamp), append(kept, k)
			}
		}
		left.Open = func() (Frames, error) {
			frames, err := c.Open()
			return &keptFrames{frames, kept}, err
		}
		whole.Cameras[i] = &left
	}
	return &whole
}

// keptFrames are some of the frames of a camera.
type keptFrames struct {
	Frames
	kept []int
}

// Frame implements Frames.
func (f *keptFrames) Frame(i int) (Frame, error) { return f.Frames.Frame(f.kept[i]) }

// EachWhole is EachFrame, but leaves out frames about which they or do return a DamagedError, and returns them.
func (c *Camera) EachWhole(indices []int, do func(i int, f *Frame) error) (damaged DamagedFrames, err error) {
	err = c.eachFrame(indices, do, func(index int, err error) error {
		if !errors.As(err, new(*DamagedError)) {
			return err
		}
		damaged.add(c, index, err)
		return nil
	})
	return damaged, err
}

// EachCamera calls do for all cameras at the same time. Its error names the cameras, or is the DamagedFrames of all.
func EachCamera(cameras []*Camera, do func(i int, c *Camera) (DamagedFrames, error)) error {
	errs, damaged := make([]error, len(cameras)), DamagedFrames{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i, c := range cameras {
		group.Go(func() {
			frames, err := do(i, c)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", c.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(damaged, frames)
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil || len(damaged) == 0 {
		return err
	}
	return damaged
}

// Write aligns an episode of the layout and writes its rows. Frames that write returns as DamagedFrames are left out as
// if they had not been recorded: then it aligns the others and writes again.
func (l *Layout) Write(e *Episode, o align.Options, write func(*Rows) error) (*align.Report, error) {
	e = l.Apply(e)
	var damaged DamagedFrames
	for {
		rows, err := Align(e, o)
		if err != nil && damaged != nil {
			err = fmt.Errorf("%w; without %w", err, damaged)
		}
		if err != nil {
			return nil, err
		}
		if err = write(rows); !errors.As(err, &damaged) {
			return &rows.Report, err
		}
		e = damaged.Without(e)
	}
}
