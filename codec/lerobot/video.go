package lerobot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"tapedeck/codec/episode"
	"tapedeck/codec/pixel"
)

// encoder is an encoder of ffmpeg.
type encoder struct {
	name    string
	codec   string   // its name in info.json
	format  string   // of its output, without times, so that outputs of several episodes can be concatenated
	options []string // without frames that depend on later ones
	least   int      // minimal width and height
}

// accepts returns an error if there can be no video of an image size.
func (e *encoder) accepts(p *picture) error {
	if p.Width%2 != 0 || p.Height%2 != 0 || min(p.Width, p.Height) < e.least {
		return fmt.Errorf("%s cannot encode %d×%d pixels, both must be even and at least %d: choose another codec, "+
			"or store images in the tables", e.name, p.Width, p.Height, e.least)
	}
	return nil
}

// encoders are the supported encoders, the best first.
var encoders = []encoder{
	{"libsvtav1", "av1", "obu", []string{"-crf", "30", "-preset", "12"}, 64},
	{"libx264", "h264", "h264", []string{"-crf", "23", "-preset", "veryfast", "-bf", "0"}, 2},
}

// chooseEncoder returns the best encoder that ffmpeg has, or the wanted one.
func chooseEncoder(ffmpeg, wanted string) (*encoder, error) {
	if _, err := exec.LookPath(ffmpeg); err != nil {
		return nil, fmt.Errorf("cannot find %s, which encodes videos: install it (Debian: ffmpeg), or store images "+
			"in the tables", ffmpeg)
	}
	list, err := exec.Command(ffmpeg, "-v", "error", "-encoders").Output()
	if err != nil {
		return nil, fmt.Errorf("list encoders of %s: %w", ffmpeg, err)
	}
	for i, e := range encoders {
		if (wanted == "" || wanted == e.name) && strings.Contains(string(list), " "+e.name+" ") {
			return &encoders[i], nil
		}
	}
	if wanted != "" {
		return nil, fmt.Errorf("codec %q: want libsvtav1 or libx264, if %s has them", wanted, ffmpeg)
	}
	return nil, fmt.Errorf("%s has neither libsvtav1 nor libx264: install another build, or store images in the tables",
		ffmpeg)
}

// video is a video file of several episodes.
type video struct {
	path    string
	options *Options
	encoder *encoder
	fps     int
	raw     *os.File // encoded frames, without times
	frames  int
	size    int64 // bytes
}

// createVideo begins a file.
func createVideo(path string, o *Options, e *encoder, fps int) (*video, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	raw, err := os.Create(path + "." + e.format)
	if err != nil {
		return nil, err
	}
	return &video{path: path, options: o, encoder: e, fps: fps, raw: raw}, nil
}

// write appends the frames of a camera in an episode.
func (v *video) write(c *camera) error {
	p := &c.picture
	rate := strconv.Itoa(v.fps)
	arguments := []string{"-v", "error", "-nostdin"}
	switch p.encoding {
	case "jpeg":
		arguments = append(arguments, "-f", "image2pipe", "-c:v", "mjpeg")
	case "png":
		arguments = append(arguments, "-f", "image2pipe", "-c:v", "png")
	default:
		arguments = append(arguments, "-f", "rawvideo", "-pix_fmt", ffmpegPixels[p.layout.Name], "-s",
			fmt.Sprintf("%dx%d", p.Width, p.Height))
	}
	arguments = append(arguments, "-framerate", rate, "-i", "pipe:0", "-an", "-c:v", v.encoder.name, "-g", "2",
		"-pix_fmt",
		"yuv420p")
	arguments = append(arguments, v.encoder.options...)
	command := exec.Command(v.options.FFmpeg, append(arguments, "-fps_mode", "passthrough", "-f", v.encoder.format,
		"pipe:1")...)
	command.Stdout = v.raw
	err := run(command, func(pipe io.Writer) error {
		return c.each(func(_ int, f *episode.Frame) error { return writePixels(pipe, f) })
	})
	if err != nil {
		return fmt.Errorf("encode %s: %w", v.path, err)
	}
	v.frames += len(c.frames)
	stat, err := v.raw.Stat()
	if err != nil {
		return err
	}
	v.size = stat.Size()
	return nil
}

// run runs a program whose standard input feed writes.
func run(command *exec.Cmd, feed func(io.Writer) error) error {
	var output bytes.Buffer
	command.Stderr = &output
	command.Env = append(os.Environ(), "SVT_LOG=1") // errors only
	pipe, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	fed := feed(pipe)
	pipe.Close()
	if fed != nil && !errors.Is(fed, syscall.EPIPE) {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		return fed
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", command.Path, err, lastLines(output.String()))
	}
	return fed
}

// writePixels writes a frame in the form that ffmpeg reads.
func writePixels(to io.Writer, f *episode.Frame) error {
	layout := pixel.Lookup(f.Encoding)
	if layout == nil {
		_, err := to.Write(f.Data)
		return err
	}
	for y := range f.Height {
		if _, err := to.Write(f.Row(layout, y)); err != nil {
			return err
		}
	}
	return nil
}

// lastLines returns the end of a text.
func lastLines(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 500 {
		text = "…" + text[len(text)-500:]
	}
	return text
}

// close completes the file: the time of frame k is exactly k/fps.
func (v *video) close() error {
	if err := v.raw.Close(); err != nil {
		return err
	}
	rate := strconv.Itoa(v.fps)
	command := exec.Command(v.options.FFmpeg, "-v", "error", "-nostdin", "-f", v.encoder.format, "-framerate", rate,
		"-i",
		"file:"+v.raw.Name(),
		"-c", "copy", "-bsf:v", "setts=ts=N/"+rate+"/TB", "-movflags", "+faststart", "-f", "mp4", "file:"+v.path)
	if err := run(command, func(io.Writer) error { return nil }); err != nil {
		return fmt.Errorf("complete %s: %w", v.path, err)
	}
	return os.Remove(v.raw.Name())
}

// abort closes the file as it is.
func (v *video) abort() { v.raw.Close() }
