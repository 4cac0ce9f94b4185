package lerobot

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"tapedeck/codec"
	"tapedeck/codec/internal/ffmpeg"
	"tapedeck/codec/training/episode"
)

// checkSize returns an error if an encoder cannot encode images of a size.
func checkSize(e *ffmpeg.Encoder, p *picture) error {
	if p.Width%2 != 0 || p.Height%2 != 0 || min(p.Width, p.Height) < e.Least {
		return fmt.Errorf("%s cannot encode %d×%d pixels, both must be even and at least %d: choose another codec, "+
			"or store images in the tables", e.Name, p.Width, p.Height, e.Least)
	}
	return nil
}

// chooseEncoder returns the wanted encoder or, if none is wanted, the first preferred encoder that ffmpeg has.
func chooseEncoder(wanted string, preferred ...string) (*ffmpeg.Encoder, error) {
	return ffmpeg.Choose("ffmpeg", wanted, preferred, "store images in the tables")
}

// groupSize is the distance of key frames, in frames.
const groupSize = 2

// video is a video file that is being written. It holds several episodes.
type video struct {
	path    string
	encoder *ffmpeg.Encoder
	fps     int
	raw     *os.File // encoded frames, without times
	frames  int
	size    int64 // bytes of raw
}

// createVideo begins a video. Encoded frames go to a file beside path; close makes the file at path.
func createVideo(path string, e *ffmpeg.Encoder, fps int) (*video, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	raw, err := os.Create(path + "." + e.Format)
	if err != nil {
		return nil, err
	}
	return &video{path: path, encoder: e, fps: fps, raw: raw}, nil
}

// write appends the frames of a camera in an episode.
func (v *video) write(c *camera, lost codec.LossCounts) error {
	p := &c.picture
	depths := depthCoder{topic: cmp.Or(c.camera.Topic, c.camera.Name), lost: lost}
	rate := strconv.Itoa(v.fps)
	arguments := []string{"-v", "error", "-nostdin"}
	switch p.encoding {
	case "jpeg":
		arguments = append(arguments, "-f", "image2pipe", "-c:v", "mjpeg")
	case "png":
		arguments = append(arguments, "-f", "image2pipe", "-c:v", "png")
	default:
		pixels := ffmpeg.Pixels[p.layout.Name]
		if p.Deep {
			pixels = v.encoder.Pixels
		}
		arguments = append(arguments, "-f", "rawvideo", "-pix_fmt", pixels, "-s",
			fmt.Sprintf("%dx%d", p.Width, p.Height))
	}
	arguments = append(arguments, "-framerate", rate, "-i", "pipe:0", "-an", "-c:v", v.encoder.Name,
		"-g", strconv.Itoa(groupSize), "-pix_fmt", v.encoder.Pixels)
	arguments = append(arguments, v.encoder.Options...)
	command := exec.Command("ffmpeg", append(arguments, "-fps_mode", "passthrough", "-f", v.encoder.Format,
		"pipe:1")...)
	command.Stdout = v.raw
	err := ffmpeg.Run(command, func(pipe io.Writer) error {
		return c.each(func(_ int, f *episode.Frame) error {
			if p.Deep {
				return depths.write(pipe, f)
			}
			return ffmpeg.WritePixels(pipe, f)
		})
	})
	if err != nil {
		return fmt.Errorf("encode %s: %w", v.path, err)
	}
	v.frames += len(c.frames)
	recorded := slices.DeleteFunc(slices.Clone(c.frames), func(frame int) bool { return frame < 0 })
	if !p.Deep && len(recorded) > 0 {
		lost.Add(depths.topic, "pixels of images that become video, which are kept without --video",
			uint64(len(slices.Compact(recorded))))
	}
	stat, err := v.raw.Stat()
	if err != nil {
		return err
	}
	v.size = stat.Size()
	return nil
}

// close makes the video at path from the encoded frames. The time of frame k is exactly k/fps.
func (v *video) close() error {
	if err := v.raw.Close(); err != nil {
		return err
	}
	rate := strconv.Itoa(v.fps)
	command := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-f", v.encoder.Format, "-framerate", rate,
		"-i", "file:"+v.raw.Name(),
		"-c", "copy", "-bsf:v", "setts=ts=N/"+rate+"/TB", "-movflags", "+faststart", "-f", "mp4", "file:"+v.path)
	if err := ffmpeg.Run(command, func(io.Writer) error { return nil }); err != nil {
		return fmt.Errorf("complete %s: %w", v.path, err)
	}
	return os.Remove(v.raw.Name())
}

// abort closes the incomplete file.
func (v *video) abort() { v.raw.Close() }
