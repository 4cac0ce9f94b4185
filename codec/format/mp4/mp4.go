// Package mp4 writes the images of cameras as videos. ffmpeg encodes them; frames have the times of their stamps.
package mp4

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/internal/ffmpeg"
	"tapedeck/codec/internal/stamped"
)

// Options of writing videos. The zero value has the defaults.
type Options struct {
	// Codec is an encoder of ffmpeg. "" (default) is libx264, or libsvtav1 if ffmpeg lacks libx264.
	Codec string
	// FFmpeg is the program; "" (default) is ffmpeg in PATH.
	FFmpeg string
}

const extension = ".mp4"

// Format returns the format of videos with these options: a file NAME.mp4, or a folder with a file for each camera.
// Videos can only be written.
func (o Options) Format() codec.Format {
	return codec.Format{
		Name:    "mp4",
		Named:   isFile,
		Check:   func(c codec.CreateOptions) error { return cmp.Or(o.check(), c.CheckUncompressed("mp4")) },
		Create:  func(path string, _ codec.CreateOptions) (codec.Writer, error) { return create(path, o) },
		Accepts: accepts,
		Files:   []string{extension},
		Keeps:   codec.Keeps{Encodings: []string{codec.EncodingCDR}},
	}
}

// codecs lists the supported encoders, the preferred one first.
var codecs = []string{"libx264", "libsvtav1"}

func (o Options) check() error {
	if o.Codec != "" && !slices.Contains(codecs, o.Codec) {
		return fmt.Errorf("codec %q: want %s", o.Codec, strings.Join(codecs, " or "))
	}
	return nil
}

// isFile reports whether the output at path is one video, not a folder.
func isFile(path string) bool { return strings.EqualFold(filepath.Ext(path), extension) }

// accepts is codec.Format.Accepts.
func accepts(c *codec.Channel) error {
	if c.Type != "sensor_msgs/msg/Image" && c.Type != "sensor_msgs/msg/CompressedImage" {
		return errors.New("the messages are not images")
	}
	return nil
}

// writer writes the videos of a recording.
type writer struct {
	codec.NoSplits
	path    string
	program string
	encoder *ffmpeg.Encoder
	topics  stamped.Topics[camera]
}

// camera is the video of a topic.
type camera struct {
	path   string
	video  *video // nil before the first frame
	pixels []byte // converted pixels of the last frame
	err    error  // why ffmpeg ended too early

	frames, fractions uint64 // written frames, and written frames whose time is not a whole number of µs
}

func create(path string, o Options) (codec.Writer, error) {
	w := &writer{path: path, program: cmp.Or(o.FFmpeg, "ffmpeg")}
	var err error
	w.encoder, err = ffmpeg.Choose(w.program, o.Codec, codecs, "write images instead")
	if err != nil {
		return nil, err
	}
	if !isFile(path) {
		if err := os.Mkdir(path, 0o777); err != nil {
			return nil, fmt.Errorf("create %s: %w", path, codec.Pathless(err))
		}
	}
	return w, nil
}

func (w *writer) Declare(c *codec.Channel) error {
	_, err := w.channel(c)
	return err
}

// channel returns the channel, with the path of its video.
func (w *writer) channel(channel *codec.Channel) (*stamped.Channel[camera], error) {
	c, err := w.topics.Channel(channel)
	switch {
	case err != nil || c.State.path != "":
		return c, err
	case c.Images == nil:
		return c, fmt.Errorf("%s: %s is defined without the fields of an image", c.Topic, channel.Type)
	case !isFile(w.path):
		c.State.path = filepath.Join(w.path, c.Name+extension)
	case len(w.topics.List) > 1:
		return c, fmt.Errorf("%s can hold only one camera, and there are %s and %s: select one with --topics, or "+
			"write a folder of videos with --to mp4 and a name without %s", w.path, w.topics.List[0].Topic, c.Topic,
			extension)
	default:
		c.State.path = w.path
	}
	return c, nil
}

func (w *writer) Write(message *codec.Message) error {
	t, err := w.channel(message.Channel)
	if err != nil {
		return err
	}
	m, err := t.Read(message)
	if err != nil {
		return err
	}
	image, err := t.Images.Whole(m.Data)
	if err != nil {
		return err
	}
	c, at := &t.State, m.Time(m.Stamp)
	if c.err != nil {
		return c.err
	}
	if err := c.prepare(&image); err != nil {
		return err
	}
	if c.video == nil {
		c.video, err = w.start(c.path, &image, at)
		if err != nil {
			return err
		}
	}
	if err := c.video.check(&image, at); err != nil {
		return err
	}
	if err := c.video.write(&image, at); err != nil {
		// If ffmpeg has ended, Close returns its reason.
		c.err = &codec.MissingError{Path: c.path, Err: cmp.Or(c.video.Close(), err)}
		return c.err
	}
	c.frames++
	if at%microsecond != 0 {
		c.fractions++
	}
	return nil
}

// prepare converts the pixels of an image to an encoding that ffmpeg reads, without padding. For a JPEG or PNG it sets
// width and height.
func (c *camera) prepare(m *pixel.Image) error {
	if m.Compressed() {
		config, err := m.Config()
		if err == nil && config.Deep {
			err = errDeep
		}
		m.Width, m.Height = config.Width, config.Height
		return err
	}
	e := pixel.Lookup(m.Encoding)
	switch {
	case e == nil:
		return fmt.Errorf("unsupported image encoding %.40q", m.Encoding)
	case e.Deep():
		return errDeep
	}
	to := e.Name
	if fourcc[to] == "" {
		to = "rgb8"
	}
	converted, err := m.To(to, c.pixels)
	if err == nil {
		c.pixels, *m = converted.Data, converted
	}
	return err
}

var errDeep = errors.New("images of 16 bits, such as depths, have no place in a video; write images instead")

// Losses implements codec.Writer. It lists pixels, which all encoders change, fractions of µs in times, and the errors
// that ffmpeg reported.
func (w *writer) Losses() (all []codec.Loss) {
	for _, c := range w.topics.List {
		if n := c.State.frames; n > 0 {
			all = append(all, codec.Loss{Topic: c.Topic, What: "pixels of images that become video", Messages: n})
		}
		if n := c.State.fractions; n > 0 {
			all = append(all, codec.Loss{Topic: c.Topic, What: "ns of times, as videos have µs", Messages: n})
		}
		if c.State.video != nil && c.State.video.Said() != "" {
			all = append(all, codec.Loss{Topic: c.Topic,
				What: "what ffmpeg reports of frames: " + c.State.video.Said()})
		}
	}
	return all
}

// Sync implements codec.Writer. A video is on the disk when it is complete.
func (w *writer) Sync() error { return nil }

func (w *writer) Close() error {
	var all error
	for _, c := range w.topics.List {
		if c.State.video == nil || c.State.err != nil {
			continue
		}
		if err := c.State.video.Close(); err != nil {
			all = errors.Join(all, &codec.MissingError{Path: c.State.path, Err: err})
		}
	}
	return all
}

// maxGap is the longest time between two frames. MP4 allows a little more.
const maxGap = time.Hour

// video is a running ffmpeg that writes a video.
type video struct {
	*ffmpeg.Process
	encoding      string // of all frames, as are width and height
	width, height int
	frames        int   // number of written frames
	first, last   int64 // times of the first and the last frame, in ns since the Unix epoch
}

// start starts ffmpeg for a video of images with the encoding and size of m. at is the time of the first frame, in ns
// since the Unix epoch.
func (w *writer) start(path string, m *pixel.Image, at int64) (*video, error) {
	minSide := max(w.encoder.Least, 2)
	if min(m.Width, m.Height) < minSide {
		return nil, fmt.Errorf("%s cannot encode %d×%d pixels, both must be at least %d", w.encoder.Name, m.Width,
			m.Height, minSide)
	}
	arguments := []string{
		"-v", "error", "-nostdin", "-f", "matroska", "-i", "pipe:0", "-an", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2",
		"-c:v", w.encoder.Name, "-pix_fmt", "yuv420p",
	}
	arguments = append(arguments, w.encoder.Options...)
	begin := time.Unix(0, at).UTC()
	arguments = append(arguments, "-fps_mode", "passthrough", "-enc_time_base", "1:1000000", "-video_track_timescale",
		"1000000", "-metadata", "creation_time="+begin.Format(time.RFC3339Nano), "-metadata",
		"comment=first frame at "+stamped.Seconds(at), "-movflags", "+faststart", "-f", "mp4", "file:"+path)
	process, err := ffmpeg.Start(exec.Command(w.program, arguments...))
	if err != nil {
		return nil, &codec.MissingError{Path: path, Err: err}
	}
	return &video{Process: process, encoding: m.Encoding, width: m.Width, height: m.Height}, nil
}

// check returns an error if a frame cannot follow the previous frames. at is the time of the frame, in ns since the
// Unix epoch.
func (v *video) check(m *pixel.Image, at int64) error {
	switch {
	case m.Encoding != v.encoding || m.Width != v.width || m.Height != v.height:
		return fmt.Errorf("%s image of %d×%d pixels in a video of %s images of %d×%d", m.Encoding, m.Width, m.Height,
			v.encoding, v.width, v.height)
	case v.frames == 0:
		return nil
	case at/1000 <= v.last/1000:
		return errors.New("the stamp is not after the stamp of the previous frame")
	case at-v.last > int64(maxGap):
		return fmt.Errorf("the stamp is more than %v after the stamp of the previous frame", maxGap)
	}
	return nil
}

// write appends a frame. at is the time of the frame, in ns since the Unix epoch.
func (v *video) write(m *pixel.Image, at int64) error {
	var head []byte
	if v.frames == 0 {
		v.first, head = at, header(m)
	}
	v.frames++
	v.last = at
	_, err := v.Write(append(head, cluster(at/1000-v.first/1000, len(m.Data))...))
	if err == nil {
		_, err = v.Write(m.Data)
	}
	return err
}
