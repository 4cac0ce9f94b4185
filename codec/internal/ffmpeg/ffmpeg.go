// Package ffmpeg runs the program ffmpeg, which encodes videos.
package ffmpeg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"tapedeck/codec/encoding/pixel"
)

// Encoder describes a video encoder of ffmpeg.
type Encoder struct {
	Name    string
	Codec   string   // ffprobe's name of the codec
	Format  string   // output format without times, so that outputs can be concatenated
	Options []string // disable frames that depend on later frames
	Least   int      // minimal width and height
	Pixels  string   // pixel format of its input
}

// encoders are the supported encoders.
var encoders = []Encoder{
	{"libsvtav1", "av1", "obu", []string{"-crf", "30", "-preset", "12"}, 64, "yuv420p"},
	{"libx264", "h264", "h264", []string{"-crf", "23", "-preset", "veryfast", "-bf", "0"}, 2, "yuv420p"},
	{"libx265", "hevc", "hevc", []string{"-x265-params", "lossless=1:bframes=0:log-level=error"}, 16, "gray12le"},
}

// Option returns the value of an option, or "" if it is not set.
func (e *Encoder) Option(name string) string {
	if i := slices.Index(e.Options, name); i >= 0 {
		return e.Options[i+1]
	}
	return ""
}

// Choose returns the wanted encoder, or the first of the preferred encoders that the program ffmpeg has. instead tells
// in errors what to do without a video.
func Choose(ffmpeg, wanted string, preferred []string, instead string) (*Encoder, error) {
	if _, err := exec.LookPath(ffmpeg); err != nil {
		return nil, fmt.Errorf("cannot find %s, which encodes videos: install it (Debian: ffmpeg), or %s", ffmpeg,
			instead)
	}
	list, err := exec.Command(ffmpeg, "-v", "error", "-encoders").Output()
	if err != nil {
		return nil, fmt.Errorf("list encoders of %s: %w", ffmpeg, err)
	}
	for _, name := range preferred {
		i := slices.IndexFunc(encoders, func(e Encoder) bool { return e.Name == name })
		if (wanted == "" || wanted == name) && strings.Contains(string(list), " "+name+" ") {
			return &encoders[i], nil
		}
	}
	if wanted != "" {
		return nil, fmt.Errorf("codec %q: want %s, if %s has them", wanted, strings.Join(preferred, " or "), ffmpeg)
	}
	return nil, fmt.Errorf("%s does not have %s: install another build, or %s", ffmpeg, strings.Join(preferred, " or "),
		instead)
}

// Pixels are ffmpeg's names of the encodings that a colour camera may have.
var Pixels = map[string]string{
	"rgb8": "rgb24", "bgr8": "bgr24", "rgba8": "rgba", "bgra8": "bgra", "mono8": "gray",
}

// Process is a running program that reads its standard input.
type Process struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  tail // end of its messages
}

// tail keeps the last bytes written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	const kept = 4096
	n, err := t.Buffer.Write(b)
	if t.Len() > 2*kept {
		t.Next(t.Len() - kept)
	}
	return n, err
}

// Start starts a program.
func Start(command *exec.Cmd) (*Process, error) {
	p := &Process{command: command}
	command.Stderr = &p.output
	command.Env = append(os.Environ(), "SVT_LOG=1") // errors only
	var err error
	p.input, err = command.StdinPipe()
	if err != nil {
		return nil, err
	}
	return p, command.Start()
}

// Write writes to the standard input of the program. It fails with EPIPE if the program has ended; Close returns why.
func (p *Process) Write(b []byte) (int, error) { return p.input.Write(b) }

// Close ends the input and waits for the end of the program.
func (p *Process) Close() error {
	p.input.Close()
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", p.command.Path, err, LastLines(p.output.String()))
	}
	return nil
}

// Said returns the end of the program's messages. Close was called before.
func (p *Process) Said() string { return LastLines(p.output.String()) }

// Kill ends the program at once.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	p.input.Close()
	_ = p.command.Wait() // it was killed
}

// Run runs a program. feed writes its standard input.
func Run(command *exec.Cmd, feed func(io.Writer) error) error {
	p, err := Start(command)
	if err != nil {
		return err
	}
	fed := feed(p)
	if fed != nil && !errors.Is(fed, syscall.EPIPE) {
		p.Kill()
		return fed
	}
	if err := p.Close(); err != nil {
		return err
	}
	return fed
}

// WritePixels writes an image as raw pixels, which ffmpeg reads.
func WritePixels(to io.Writer, m *pixel.Image) error {
	layout := pixel.Lookup(m.Encoding)
	if layout == nil {
		_, err := to.Write(m.Data)
		return err
	}
	for y := range m.Height {
		if _, err := to.Write(m.Row(layout, y)); err != nil {
			return err
		}
	}
	return nil
}

// LastLines returns the end of a text.
func LastLines(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 500 {
		text = "…" + text[len(text)-500:]
	}
	return text
}
