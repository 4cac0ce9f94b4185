package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"tapedeck/codec/align"
	"tapedeck/codec/episode"
	"tapedeck/msgs/plural"
)

// Write writes an episode as a session. One that was read from a session keeps its metadata.json, but for what has
// changed since, and the layout of EasyTeleop if it had that.
func Write(path string, e *episode.Episode, o Options) error {
	var members struct {
		Devices map[string]json.RawMessage `json:"devices"`
	}
	given := e.Metadata != nil && json.Unmarshal(e.Metadata, &members) == nil && members.Devices != nil
	if given {
		_, cameras := members.Devices["cameras"]
		_, robots := members.Devices["robots"]
		o.EasyTeleop = o.EasyTeleop || !cameras && !robots
	} else {
		o.Metadata = e.Metadata
	}
	o.Task, o.Success, o.Discarded = cmp.Or(o.Task, e.Task), cmp.Or(o.Success, e.Success), e.Discarded
	w, err := Create(path, o)
	if err != nil {
		return err
	}
	if given {
		w.given = revised(e.Metadata, e)
	}
	err = w.episode(e)
	return cmp.Or(err, w.Complete(true))
}

// episode writes the streams of an episode.
func (w *Writer) episode(e *episode.Episode) error {
	for _, a := range e.Arms {
		for s := range episode.Roles {
			v := *s.Of(a)
			if v == nil {
				continue
			}
			if err := w.all(a, v); err != nil {
				return err
			}
		}
	}
	for _, c := range e.Cameras {
		if err := w.film(c); err != nil {
			return err
		}
	}
	return nil
}

// all writes a vector. Columns of a gripper are ints if all their numbers are whole.
func (w *Writer) all(a *episode.Arm, v *align.Vector) error {
	n := len(v.Columns)
	if len(v.Values) != n*len(v.Stamps) {
		return fmt.Errorf("write %s: %s has %s for %s of %s", w.path, v.Name, plural.Count(len(v.Values), "value"),
			plural.Count(len(v.Stamps), "sample"), plural.Count(n, "column"))
	}
	if len(v.Stamps) == 0 {
		return nil
	}
	out, err := w.vector(a, v)
	if err != nil {
		return w.refuse(err, "%s", v.Name)
	}
	out.fractions = make([]bool, n)
	for i, x := range v.Values {
		out.fractions[i%n] = out.fractions[i%n] || x != math.Trunc(x) && !align.IsMissing(x)
	}
	w.vectors[v] = out
	for i, stamp := range v.Stamps {
		if err := w.Sample(a, v, stamp, v.Values[i*n:][:n]); err != nil {
			return err
		}
	}
	return nil
}

// film writes the frames of a camera.
func (w *Writer) film(c *episode.Camera) error {
	frames, err := c.Open()
	if err != nil {
		return err
	}
	defer frames.Close()
	for i, stamp := range c.Stamps {
		f, err := frames.Frame(i)
		if w.options.Damaged != nil && errors.As(err, new(*episode.DamagedError)) {
			w.options.Damaged(c, err)
			continue
		}
		if err != nil {
			return err
		}
		if err := w.Frame(c, stamp, f); err != nil {
			return err
		}
	}
	return nil
}
