package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"

	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// pictures implements episode.Frames with PNGs.
type pictures [][]byte

// Frame implements episode.Frames.
func (p pictures) Frame(i int) (episode.Frame, error) {
	return episode.Frame{Encoding: "png", Data: p[i]}, nil
}

// Close implements episode.Frames.
func (pictures) Close() error { return nil }

// sessions writes a folder with one session.
func sessions(path string) error {
	return errors.Join(os.Mkdir(path, 0o777), teleoperation(filepath.Join(path, "20261121_082214")))
}

// teleoperation writes a session of 1.1 s with three cameras and two arms, as EasyTeleop does. Two frames of the second
// camera are missing.
func teleoperation(path string) error {
	const begin = int64(1_764_000_000e9)
	e := &episode.Episode{Name: filepath.Base(path), Start: begin, End: begin + 1100e6}
	for i, offset := range []int64{0, 4, 11} { // ms
		c := &episode.Camera{Device: json.RawMessage(`{"type": "RealSenseCamera", "fps": 30}`)}
		c.Name = fmt.Sprintf("camera_%d", i)
		var frames pictures
		for k := range int64(30) {
			if i == 1 && (k == 7 || k == 8) {
				continue
			}
			var b bytes.Buffer
			m := image.NewGray(image.Rect(0, 0, 32, 24))
			m.Pix[k] = 255
			if err := png.Encode(&b, m); err != nil {
				return err
			}
			frames = append(frames, b.Bytes())
			c.Stamps = append(c.Stamps, begin+(offset+(200*k+3)/6)*1e6)
		}
		c.Open = func() (episode.Frames, error) { return frames, nil }
		e.Cameras = append(e.Cameras, c)
	}
	for i := range 2 {
		name := fmt.Sprintf("arm_%d", i)
		type values func(k int64, column int) float64
		stream := func(kind string, count, first, step int64, value values, columns ...align.Column) *align.Vector {
			v := &align.Vector{Name: name + "/" + kind, Columns: columns}
			for k := range count {
				v.Stamps = append(v.Stamps, begin+(first+k*step)*1e6)
				for column := range columns {
					v.Values = append(v.Values, value(k, column))
				}
			}
			return v
		}
		var joints, pose []align.Column
		for k, axis := range []string{"x", "y", "z", "rx", "ry", "rz"} {
			joints = append(joints, align.Column{Name: fmt.Sprintf("joint_%d", k), Unit: "deg", Interp: align.Linear})
			pose = append(pose, align.Column{Name: axis})
		}
		wave := func(k int64, column int) float64 { return math.Sin(float64(k) / 8 * float64(column)) }
		force := func(k int64, column int) float64 { return []float64{10 + float64(k), float64(k) / 16}[column] }
		e.Arms = append(e.Arms, &episode.Arm{
			Name: name, Device: json.RawMessage(`{"type": "RealMan", "joints": 6}`),
			Streams: episode.Streams{episode.Pose: stream("pose", 50, 20, 20, wave, pose...),
				episode.Joint: stream("joint", 50, 20, 20, wave, joints...),
				episode.Gripper: stream("gripper", 12, 0, 100, force, align.Column{Name: "force"},
					align.Column{Name: "position"})},
		})
	}
	return session.Write(path, e, session.Options{EasyTeleop: true})
}
