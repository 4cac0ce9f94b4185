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

// encoder is one of ffmpeg's.
type encoder struct {
	name    string
	codec   string   // as info.json calls it
	format  string   // of what it makes, without times: what comes of one episode can go on behind that of another
	options []string // without frames that go back and forth
	least   int      // pixels of a width or a height
}

// accepts says why there cannot be a video of pictures.
func (e *encoder) accepts(p *picture) error {
	if p.Width%2 != 0 || p.Height%2 != 0 || min(p.Width, p.Height) < e.least {
		return fmt.Errorf("%s makes no video of %d×%d pixels, both have to be even and at least %d: take another codec, "+
			"or have pictures in the tables", e.name, p.Width, p.Height, e.least)
	}
	return nil
}

// encoders are those that can be used, the best first.
var encoders = []encoder{
	{"libsvtav1", "av1", "obu", []string{"-crf", "30", "-preset", "12"}, 64},
	{"libx264", "h264", "h264", []string{"-crf", "23", "-preset", "veryfast", "-bf", "0"}, 2},
}

// chooseEncoder returns the encoder that there is, or says why there is none.
func chooseEncoder(ffmpeg, wanted string) (*encoder, error) {
	if _, err := exec.LookPath(ffmpeg); err != nil {
		return nil, fmt.Errorf("videos are encoded with %s, which cannot be found: install it (Debian: ffmpeg), or have "+
			"pictures in the tables instead", ffmpeg)
	}
	list, err := exec.Command(ffmpeg, "-v", "error", "-encoders").Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its encoders: %w", ffmpeg, err)
	}
	for i, e := range encoders {
		if (wanted == "" || wanted == e.name) && strings.Contains(string(list), " "+e.name+" ") {
			return &encoders[i], nil
		}
	}
	if wanted != "" {
		return nil, fmt.Errorf("codec %q: it is libsvtav1 or libx264, as far as %s has them", wanted, ffmpeg)
	}
	return nil, fmt.Errorf("%s has neither libsvtav1 nor libx264: install another one, or have pictures in the tables "+
		"instead", ffmpeg)
}

// video is a file of one episode after the other.
type video struct {
	path    string
	options *Options
	encoder *encoder
	fps     int
	raw     *os.File // what is encoded so far
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

// write appends what a camera saw in an episode.
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
	arguments = append(arguments, "-framerate", rate, "-i", "pipe:0", "-an", "-c:v", v.encoder.name, "-g", "2", "-pix_fmt",
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

// run runs a program that reads what is fed to it.
func run(command *exec.Cmd, feed func(io.Writer) error) error {
	var said bytes.Buffer
	command.Stderr = &said
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
		return fmt.Errorf("%s: %w: %s", command.Path, err, lastLines(said.String()))
	}
	return fed
}

// writePixels writes a frame as ffmpeg takes it.
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

// lastLines returns how a text ends.
func lastLines(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 500 {
		text = "…" + text[len(text)-500:]
	}
	return text
}

// close completes the file: frame k is k/fps from its beginning, exactly.
func (v *video) close() error {
	if err := v.raw.Close(); err != nil {
		return err
	}
	rate := strconv.Itoa(v.fps)
	command := exec.Command(v.options.FFmpeg, "-v", "error", "-nostdin", "-f", v.encoder.format, "-framerate", rate, "-i",
		"file:"+v.raw.Name(),
		"-c", "copy", "-bsf:v", "setts=ts=N/"+rate+"/TB", "-movflags", "+faststart", "-f", "mp4", "file:"+v.path)
	if err := run(command, func(io.Writer) error { return nil }); err != nil {
		return fmt.Errorf("complete %s: %w", v.path, err)
	}
	return os.Remove(v.raw.Name())
}

// abort gives the file up.
func (v *video) abort() { v.raw.Close() }
