package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// Write writes an episode as a session. If the episode was read from a session, metadata.json keeps its members, except
// those that have changed, and the layout of EasyTeleop is kept.
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
	err = w.writeEpisode(e)
	return cmp.Or(err, w.Complete(true))
}

// writeEpisode writes the streams and frames of an episode.
func (w *Writer) writeEpisode(e *episode.Episode) error {
	for _, a := range e.Arms {
		for role, v := range a.Streams {
			if v == nil {
				continue
			}
			if err := w.writeStream(a, episode.Role(role)); err != nil {
				return err
			}
		}
	}
	for _, c := range e.Cameras {
		if err := w.writeCamera(c); err != nil {
			return err
		}
	}
	return nil
}

// writeStream writes a stream of an arm. It writes the numbers of a gripper's column as ints if all are whole.
func (w *Writer) writeStream(a *episode.Arm, role episode.Role) error {
	v := a.Streams[role]
	if err := v.Check(); err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	if len(v.Stamps) == 0 {
		return nil
	}
	out, err := w.stream(a, role)
	if err != nil {
		return w.refuse(err, "%s", v.Name)
	}
	out.fractions = make([]bool, len(v.Columns))
	for i := range v.Stamps {
		for c, x := range v.Row(i) {
			out.fractions[c] = out.fractions[c] || x != math.Trunc(x) && !align.IsMissing(x)
		}
	}
	for i, stamp := range v.Stamps {
		if err := w.Sample(a, role, stamp, v.Row(i)); err != nil {
			return err
		}
	}
	return nil
}

// writeCamera writes all frames of a camera.
func (w *Writer) writeCamera(c *episode.Camera) error {
	frames, err := c.Open()
	if err != nil {
		return err
	}
	defer frames.Close()
	var damaged []error
	for i, stamp := range c.Stamps {
		f, err := frames.Frame(i)
		if w.options.Lost != nil && errors.As(err, new(*episode.DamagedError)) {
			damaged = append(damaged, err)
			continue
		}
		if err != nil {
			return err
		}
		if err := w.Frame(c, stamp, f); err != nil {
			return err
		}
	}
	if len(damaged) > 0 {
		w.options.Lost(cmp.Or(c.Topic, c.Name), episode.DamagedImages(damaged[0].Error()), uint64(len(damaged)))
	}
	return nil
}
