package convert

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/formats"
)

// lossyRecording returns a recording of three seconds with all kinds of data that some format does not keep, with or
// without an attachment.
func lossyRecording(t *testing.T, attached bool) string {
	const side = 16
	bounds := image.Rect(0, 0, side, side)
	deep, clear, gray := image.NewRGBA64(bounds), image.NewNRGBA(bounds), image.NewGray(bounds)
	deep.SetRGBA64(1, 1, color.RGBA64{0x1234, 0, 0, 0xffff})
	for i := range deep.Pix {
		if i%8 >= 6 {
			deep.Pix[i] = 0xff
		}
	}
	file := func(encode func(io.Writer, image.Image) error, m image.Image) []byte {
		var b bytes.Buffer
		require.NoError(t, encode(&b, m))
		return b.Bytes()
	}
	photo := file(func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }, clear)
	var distances []byte
	for range side * side {
		distances = binary.LittleEndian.AppendUint32(distances, math.Float32bits(1.23456))
	}
	channels := map[string]*codec.Channel{}
	var all []codec.Message
	for i := range int32(3) {
		header := std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 1000 + i, Nanosec: 1}}
		at := int64(1000+i)*second + 1
		pixels := func(encoding string, bytes uint32, data []byte) msgs.Message {
			return &sensor_msgs.Image{Header: header, Encoding: encoding, Width: side, Height: side,
				Step: side * bytes, Data: data}
		}
		compressed := func(format string, data []byte) msgs.Message {
			return &sensor_msgs.CompressedImage{Header: header, Format: format, Data: data}
		}
		for _, m := range []struct {
			topic string
			msgs.Message
		}{
			{"/arm/joint_states", &sensor_msgs.JointState{Header: header, Name: []string{"a"},
				Position: []float64{0.1}}},
			{"/cam/depth", pixels("32FC1", 4, distances)},
			{"/cam/gray", compressed("png", file(png.Encode, gray))},
			{"/cam/jpeg", compressed("jpeg", photo)},
			{"/cam/png16", compressed("png", file(png.Encode, deep))},
			{"/cam/png_clear", compressed("png", file(png.Encode, clear))},
			{"/cam/rgba", pixels("rgba8", 4, make([]byte, 4*side*side))},
			{"/cam/yuv", pixels("yuv422", 2, make([]byte, 2*side*side))},
			{"/fix", &sensor_msgs.NavSatFix{Header: header}},
			{"/note", &std_msgs.String{Data: "hello"}},
			{"/points", &sensor_msgs.PointCloud2{Header: header, Width: 1, Height: 1, PointStep: 12, RowStep: 12,
				Data: binary.LittleEndian.AppendUint32(make([]byte, 8), math.Float32bits(float32(math.NaN()))),
				Fields: []sensor_msgs.PointField{{Name: "x", Datatype: 7, Count: 1},
					{Name: "y", Offset: 4, Datatype: 7, Count: 1}, {Name: "z", Offset: 8, Datatype: 7, Count: 1}}}},
			{"/scan", &sensor_msgs.LaserScan{Header: header, RangeMax: 2, Ranges: []float32{1}}},
		} {
			c := channels[m.topic]
			if c == nil {
				c = channel(t, m.topic, m.TypeName())
				c.Metadata = map[string]string{"caller": "somebody"}
				c.QoS[0].Reliability = codec.BestEffort
				channels[m.topic] = c
			}
			all = append(all, codec.Message{Channel: c, LogTime: at, PublishTime: at - 1000,
				Data: payload(t, m.Message)})
		}
	}
	o := codec.CreateOptions{Metadata: map[string]string{"driver": "nobody"}}
	if attached {
		o.Attachments = []codec.Attachment{{Name: "car.urdf", Size: 3,
			Open: func(func(error)) io.Reader { return strings.NewReader("car") }}}
	}
	return writeWith(t, "in.mcap", o, all...)
}

// TestLossesOfFormats converts to all formats. Each reports its losses, and --strict refuses exactly these.
func TestLossesOfFormats(t *testing.T) {
	const (
		cameras = "/cam/depth, /cam/gray, /cam/jpeg, /cam/png16, /cam/png_clear"
		streams = "/arm/joint_states, " + cameras
		joints  = "/arm/joint_states"

		attachment = "1 attachment of in.mcap: car.urdf\n"
		publish    = "publish times (36 messages on " + streams + " and 6 more)\n"
		qos        = "quality of service, except durability (" + streams + " and 6 more)\n"
		topics     = "metadata of topics (" + streams + " and 6 more)\n"
		recording  = "metadata of the recording\n"
		arrays     = "byte arrays (data), which --table-bytes keeps (24 messages on " + cameras +
			", /cam/rgba and 2 more)\n"
		transparent = "transparency (6 messages on /cam/png_clear, /cam/rgba)\n"
		shades      = "shades of colours of 16 bits, which become 8 bits (3 messages on /cam/png16)\n"
		yuv         = "colours of YUV, which RGB rounds (3 messages on /cam/yuv)\n"
		metres      = "parts of millimetres, and distances of 65.535 m or more, as 16 bits have none (3 messages on " +
			"/cam/depth)\n"
		unmapped = "topics that the mapping does not name (12 messages on /fix, /note, /points, /scan)\n"
		jpegs    = "pixels of images that become JPEGs, which --images raw keeps (15 messages on /cam/gray, " +
			"/cam/png16, /cam/png_clear, /cam/rgba, /cam/yuv)\n"
		positions = "all but times and positions (3 messages on /fix)\n"
	)
	whole, parts := lossyRecording(t, true), lossyRecording(t, false)
	envelope := []string{"quality of service", "metadata of topics", "metadata of the recording"}
	times := append(slices.Clone(envelope), "publish times")
	streamed := []string{"quality of service", "metadata of topics", "publish times"}
	rows := append(slices.Clone(streamed), "digits of numbers beyond 32 bits")
	plain := func(*Options) {}
	images := func(images string) func(*Options) { return func(o *Options) { o.Images = images } }
	withoutYUV := func(o *Options) { o.Exclude = []string{"/cam/yuv"} }
	covered := map[string]bool{}
	for _, c := range []struct {
		name    string // of the output
		to      string
		topics  string // selected topics, from a recording without attachments; "": all
		options func(*Options)
		lost    string
		// unplaced are kinds of data for which the format has no place. They are no loss.
		unplaced []string
	}{
		{"out.mcap", "mcap", "", plain, "", nil},
		{"out", "rosbag2", "", plain, "", nil},
		{"out", "rosbag2", "", func(o *Options) { o.Storage = "sqlite3" }, topics + attachment + publish, nil},
		{"out.record", "record", "", plain, attachment + recording, nil},
		{"out.bag", "bag", "", plain, qos + attachment + recording + publish, nil},
		{"out.log", "carla", "", plain, "", nil}, // an error: there is no actor
		{"out", "csv", "", plain, attachment + arrays, envelope},
		{"out", "jsonl", "", plain, attachment + arrays, envelope},
		{"out", "csv", joints, plain, "", envelope},
		{"out", "parquet", "", plain, attachment + arrays, nil},
		{"out", "parquet", joints, plain, "", nil},
		{"out", "images", "", plain, "topics that images cannot hold: the messages are neither images nor " +
			"calibrations (15 messages on /arm/joint_states, /fix, /note, /points, /scan)\n" + attachment + metres +
			yuv, envelope},
		{"out", "images", "/cam/jpeg,/cam/png16,/cam/png_clear,/cam/rgba,/cam/gray", plain, "",
			envelope},
		{"out", "mp4", "", plain, "topics that mp4 cannot hold: the messages are not images (15 messages on " +
			"/arm/joint_states, /fix, /note, /points, /scan)\n" + attachment + "messages that mp4 does not accept: " +
			"images of 16 bits, such as depths, have no place in a video; write images instead (3 messages on " +
			"/cam/depth)\npixels of images that become video (18 messages on /cam/gray, /cam/jpeg, /cam/png16, " +
			"/cam/png_clear, /cam/rgba, /cam/yuv)\nns of times, as videos have µs (18 messages on /cam/gray, " +
			"/cam/jpeg, /cam/png16, /cam/png_clear, /cam/rgba, /cam/yuv)\n",
			times},
		{"out", "pcd", "/points", plain, "", envelope},
		{"out", "ply", "/points", plain, "points without finite coordinates (3 messages on /points)\n",
			envelope},
		{"out", "pcd", "/scan", plain, "all of laser scans but points and intensities (3 messages on /scan)\n",
			envelope},
		{"out.gpx", "gpx", "/fix", plain, positions, times},
		{"out.geojson", "geojson", "/fix", plain, positions,
			times},
		{"out.kml", "kml", "/fix", plain, positions, times},
		{"out.tum", "tum", "/fix", plain, "all but times and poses (3 messages on /fix)\n",
			times},
		{"out.hdf5", "hdf5", "", plain, unmapped + attachment + metres + jpegs + shades + transparent + yuv,
			rows},
		{"out", "hdf5", "", images("padded"), unmapped + attachment + metres + jpegs + shades + transparent + yuv,
			rows},
		{"out.hdf5", "hdf5", "", images("raw"), unmapped + attachment + metres + shades + transparent + yuv,
			rows},
		{"out", "hdf5", joints + ",/cam/jpeg", plain, "",
			rows},
		{"out.hdf5", "hdf5", joints + ",/cam/gray", images("raw"), "",
			rows},
		{"out", "lerobot", "", withoutYUV, unmapped + attachment + metres + "transparency (3 messages on /cam/rgba)\n",
			rows},
		{"out", "lerobot", joints + ",/cam/png16,/cam/png_clear,/cam/jpeg", plain, "",
			rows},
		{"out", "lerobot", joints + ",/cam/jpeg,/cam/png_clear", func(o *Options) { o.Video = true },
			"pixels of images that become video, which are kept without --video (6 messages on /cam/jpeg, " +
				"/cam/png_clear)\n", rows},
		{"out", "session", "", plain, unmapped + attachment + metres + yuv,
			streamed},
		{"out", "session", joints + ",/cam/png16,/cam/rgba,/cam/jpeg", plain, "",
			streamed},
	} {
		covered[c.to] = true
		t.Run(c.to, func(t *testing.T) {
			o := DefaultOptions()
			o.To = c.to
			c.options(&o)
			if _, err := exec.LookPath("ffmpeg"); err != nil && (c.to == "mp4" || o.Video) {
				t.Skip("ffmpeg is not installed (Debian: ffmpeg); videos are not tested")
			}
			if testing.Short() && o.Video {
				t.Skip("ffmpeg takes a second")
			}
			in := whole
			if c.topics != "" {
				in, o.Topics = parts, []string{c.topics}
			}
			r, err := run(t, o, filepath.Join(t.TempDir(), c.name), in)
			if c.to == "carla" {
				require.ErrorContains(t, err, "nothing could be stored in it: topics without a counterpart")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.lost, strings.ReplaceAll(texts(r.Losses), in, "in.mcap"))
			require.Len(t, r.Unplaced, len(c.unplaced))
			for i, what := range c.unplaced {
				require.True(t, strings.HasPrefix(r.Unplaced[i].What, what), r.Unplaced[i].What)
			}
			if c.unplaced != nil && !slices.Contains(c.unplaced, "metadata of the recording") {
				require.Regexp(t, `"driver": *"nobody"`, string(episodesOf(t, r.Path)[0].Metadata))
			}
			folder := t.TempDir()
			o.Strict = true
			_, err = run(t, o, filepath.Join(folder, c.name), in)
			if c.lost == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "is not written because of --strict: it would lose ")
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
	for _, f := range formats.All() {
		require.Equal(t, f.Writes(), covered[f.Name], "%s needs a line in this table if it can be written", f.Name)
	}
}
