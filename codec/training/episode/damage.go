package episode

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
)

// DamagedError is the error of Frames for one damaged frame. Other frames may be readable.
type DamagedError struct{ Err error }

// Error returns the text of Err.
func (e *DamagedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }

// DamagedImages returns the text of a loss of damaged images. why is the damage of the first one.
func DamagedImages(why string) string { return "damaged images, the first: " + why }

// DamagedFrames is the error of a writer of rows about damaged frames. The writer has not written any of the rows.
type DamagedFrames []DamagedFrame

// DamagedFrame is a damaged frame.
type DamagedFrame struct {
	Camera *Camera
	Index  int
	Err    error
}

// Error returns how many frames are damaged, and the damage of the first one.
func (d DamagedFrames) Error() string {
	return fmt.Sprintf("%s, the first: %s: frame %d: %v", plural.Count(len(d), "damaged image"), d[0].Camera.Name,
		d[0].Index, d[0].Err)
}

// Without returns a copy of e without the damaged frames.
func (d DamagedFrames) Without(e *Episode) *Episode {
	whole := *e
	whole.Cameras = slices.Clone(e.Cameras)
	if e.Table != nil {
		table := *e.Table
		table.Frames = slices.Clone(table.Frames)
		whole.Table = &table
	}
	for i, c := range e.Cameras {
		camera, bad := *c, map[int]bool{}
		for _, f := range d {
			if f.Camera == c {
				bad[f.Index] = true
				camera.Damage = cmp.Or(camera.Damage, fmt.Sprintf("frame %d: %v", f.Index, f.Err))
			}
		}
		if len(bad) == 0 {
			continue
		}
		var kept []int
		camera.Stamps, camera.Damaged = nil, c.Damaged+len(bad)
		place := make([]int, len(c.Stamps)) // by frame, its index among the kept frames
		for k, stamp := range c.Stamps {
			place[k] = damagedFrame
			if !bad[k] {
				place[k] = len(kept)
				camera.Stamps, kept = append(camera.Stamps, stamp), append(kept, k)
			}
		}
		if t := whole.Table; t != nil {
			t.Frames[i] = slices.Clone(t.Frames[i])
			for row, k := range t.Frames[i] {
				if k >= 0 {
					t.Frames[i][row] = place[k]
				}
			}
		}
		camera.Open = func() (Frames, error) {
			frames, err := c.Open()
			return &keptFrames{frames, kept}, err
		}
		whole.Cameras[i] = &camera
	}
	return &whole
}

// keptFrames are some of the frames of a camera.
type keptFrames struct {
	Frames
	kept []int // by index of a kept frame, its index in Frames
}

// Frame implements Frames.
func (f *keptFrames) Frame(i int) (Frame, error) { return f.Frames.Frame(f.kept[i]) }

// EachWhole is like EachFrame, but leaves out damaged frames and returns them. A frame is damaged if reading it or do
// returns a DamagedError.
func (c *Camera) EachWhole(indices []int, do func(i int, f *Frame) error) (damaged DamagedFrames, err error) {
	err = c.eachFrame(indices, do, func(index int, err error) error {
		if !errors.As(err, new(*DamagedError)) {
			return err
		}
		damaged = append(damaged, DamagedFrame{c, index, err})
		return nil
	})
	return damaged, err
}

// EachCamera calls do for all cameras in parallel. If a call fails, EachCamera returns an error that names the camera.
// Otherwise it returns the DamagedFrames of all cameras, nil if there are none.
func EachCamera(cameras []*Camera, do func(i int, c *Camera) (DamagedFrames, error)) error {
	errs, damaged := make([]error, len(cameras)), make([]DamagedFrames, len(cameras))
	var group sync.WaitGroup
	for i, c := range cameras {
		group.Go(func() {
			var err error
			damaged[i], err = do(i, c)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", c.Name, err)
			}
		})
	}
	group.Wait()
	frames := slices.Concat(damaged...)
	if err := errors.Join(errs...); err != nil || len(frames) == 0 {
		return err
	}
	return frames
}

// UnwrittenError is the error of a writer that wrote nothing of an episode. Other episodes can still be written.
type UnwrittenError struct{ Err error }

// Error returns the text of Err.
func (e *UnwrittenError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UnwrittenError) Unwrap() error { return e.Err }

// Write aligns an episode with the layout and calls write with the rows. If write returns DamagedFrames, Write removes
// the damaged frames from the episode, and aligns and writes again.
func (l *Layout) Write(e *Episode, o align.Options, write func(*Rows) error) (*align.Report, error) {
	e = l.Apply(e)
	var damaged DamagedFrames
	for {
		rows, err := Align(e, o)
		if err != nil && damaged != nil {
			err = fmt.Errorf("%w; without %w", err, damaged)
		}
		if err != nil {
			return nil, &UnwrittenError{err}
		}
		err = write(rows)
		if !errors.As(err, &damaged) {
			return &rows.Report, err
		}
		e = damaged.Without(e)
	}
}
