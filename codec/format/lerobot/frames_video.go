package lerobot

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/internal/ffmpeg"
	"tapedeck/codec/training/episode"
)

// mostPixels limits the pixels of a frame. ffmpeg takes several times the memory of a frame.
const mostPixels = 1 << 25

// videoFrames reads frames of a video in order with ffmpeg. It restarts ffmpeg to seek.
type videoFrames struct {
	path          string // path or URL of the video
	local         string // the file that ffmpeg reads; "" before the first frame
	release       func() // releases local
	files         *videoFiles
	camera        string // key in files
	width, height int
	fps           float64
	depths        *[maxCode + 1]uint16 // depths in mm by code; nil: frames are colours
	size          int                  // bytes of a pixel
	pixels        string               // ffmpeg's name of the pixel format
	from          float64              // time of the first frame in the video, in s
	count         int                  // number of frames

	command *exec.Cmd
	out     io.ReadCloser
	decoded *bufio.Reader // buffers out
	output  bytes.Buffer  // ffmpeg's errors
	next    int           // index of the next frame in decoded; -1: ffmpeg does not run
	data    []byte        // the latest frame
	end     int           // frames from this index on cannot be read
}

// openVideo opens count frames of a feature in a video. from is the time of the first frame in the video, in s.
func openVideo(files *videoFiles, path string, f *feature, fps, from float64, count int) (*videoFrames, error) {
	if len(f.Shape) != 3 {
		return nil, fmt.Errorf("read %s: %s has shape %v, want height, width and channels", path, f.key, f.Shape)
	}
	v := &videoFrames{files: files, camera: f.key, path: path,
		height: f.Shape[0], width: f.Shape[1], fps: fps, from: from, count: count,
		end: count, next: -1, size: 3, pixels: "rgb24"}
	if c := f.Shape[0]; (c == 3 || c == 1 && f.isDepth()) && f.Shape[2] != c { // some datasets have channels first
		v.height, v.width = f.Shape[1], f.Shape[2]
	}
	if err := pixel.CheckSize(v.width, v.height); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		return nil, fmt.Errorf("read %s: cannot find ffmpeg, which decodes videos: install it (Debian: ffmpeg)", path)
	}
	if f.isDepth() {
		q, err := f.quantizer()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		v.depths, v.size, v.pixels = q.depths(), 2, "gray12le"
	}
	v.data = make([]byte, v.width*v.height*v.size)
	return v, nil
}

// Frame implements episode.Frames.
func (v *videoFrames) Frame(i int) (episode.Frame, error) {
	if i < 0 || i >= v.count {
		return episode.Frame{}, fmt.Errorf("read %s: no frame %d, there are %d", v.path, i, v.count)
	}
	if i >= v.end {
		return episode.Frame{}, &episode.DamagedError{Err: fmt.Errorf(
			"read %s: frame %d: the video ends or is damaged at frame %d", v.path, i, v.end)}
	}
	started := i != v.next
	if started {
		if err := v.start(i); err != nil {
			return episode.Frame{}, fmt.Errorf("read %s: frame %d: %w", v.path, i, err)
		}
	}
	if _, err := io.ReadFull(v.decoded, v.data); err != nil {
		v.stop()
		if started { // ffmpeg finds no frame from i on
			v.end = i
		}
		text := cmp.Or(ffmpeg.LastLines(v.output.String()), "the video ends too early")
		return episode.Frame{}, &episode.DamagedError{Err: fmt.Errorf("read %s: frame %d: %s", v.path, i, text)}
	}
	v.next++
	f := episode.Frame{Encoding: "rgb8", Data: v.data, Width: v.width, Height: v.height, Step: v.size * v.width}
	if v.depths != nil {
		f.Encoding = mmEncoding
		translate(v.data, v.depths[:])
	}
	return f, nil
}

// start starts ffmpeg at frame i.
func (v *videoFrames) start(i int) error {
	v.stop()
	at := max(v.from+(float64(i)-0.5)/v.fps, 0)
	if v.local == "" {
		var err error
		v.local, v.release, err = v.files.use(v.camera, v.path)
		if err != nil {
			return err
		}
	}
	path := v.local
	// A relative path could look like an option or a protocol.
	if !strings.HasPrefix(path, "/") {
		path = "./" + path
	}
	// A file may contain addresses of other files, or frames that take all memory: limit protocols and pixels.
	v.command = exec.Command("ffmpeg", "-v", "error", "-nostdin", "-protocol_whitelist", "file",
		"-max_pixels", strconv.Itoa(mostPixels), "-ss", strconv.FormatFloat(at, 'f', 6, 64), "-i", "file:"+path,
		"-frames:v", strconv.Itoa(v.count-i), "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", v.pixels, "-s",
		fmt.Sprintf("%dx%d", v.width, v.height), "pipe:1")
	v.output.Reset()
	v.command.Stderr = &v.output
	out, err := v.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := v.command.Start(); err != nil {
		return err
	}
	v.out, v.decoded, v.next = out, bufio.NewReaderSize(out, 1<<20), i
	return nil
}

// stop kills ffmpeg if it is running.
func (v *videoFrames) stop() {
	if v.out == nil {
		return
	}
	_ = v.command.Process.Kill()
	v.out.Close()
	_ = v.command.Wait() // the error is that ffmpeg was killed
	v.out, v.next = nil, -1
}

// Close implements episode.Frames.
func (v *videoFrames) Close() error {
	v.stop()
	if v.local != "" {
		v.release()
	}
	return nil
}
