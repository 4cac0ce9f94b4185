// Package track writes tracks as GPX, GeoJSON, KML and TUM files. A track is the position of something over time. It
// comes from fixes of satellite navigation, odometry, poses or transforms.
package track

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/internal/stamped"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// Options of writing tracks. The zero value has the defaults. The tags name parameters.
type Options struct {
	// Origin places coordinates in metres on Earth. "LATITUDE,LONGITUDE" or "LATITUDE,LONGITUDE,ALTITUDE" is the origin
	// of a plane whose axes point east and north. "10N" is a zone of UTM with its hemisphere. With "" (default), only
	// TUM files can hold tracks in metres, and they hold fixes relative to the first fix.
	Origin string `param:"track_origin" group:"Tracks" value:"LAT,LON[,ALT]|ZONE"`
	// Frames lists the frames of transforms that have tracks: "base_link" relative to its parent, or "base_link=map"
	// relative to map. Commas separate several.
	Frames []string `param:"track_frames" group:"Tracks" value:"FRAME[=PARENT]"`
}

// The formats can only be written.

// GPX returns the format of GPX 1.1.
func (o Options) GPX() codec.Format { return o.format("gpx", writeGPX) }

// GeoJSON returns the format of RFC 7946.
func (o Options) GeoJSON() codec.Format { return o.format("geojson", writeGeoJSON) }

// KML returns the format of KML 2.2.
func (o Options) KML() codec.Format { return o.format("kml", writeKML) }

// TUM returns the format of poses that evo reads: a file of one track, or a folder of files.
func (o Options) TUM() codec.Format { return o.format("tum", nil) }

// encode writes the tracks of a recording that have points.
type encode func(f *textFile, tracks []*track) error

func (o Options) format(name string, encode encode) codec.Format {
	extension := "." + name
	f := codec.Format{
		Name: name, Extension: extension, Files: []string{extension},
		Named: func(path string) bool { return strings.EqualFold(filepath.Ext(path), extension) },
		Keeps: codec.Keeps{Encodings: []string{codec.EncodingCDR}},
	}
	if encode == nil { // the default is a folder
		f.Extension = ""
	}
	f.Accepts = func(c *codec.Channel) error { return o.accepts(c, encode != nil) }
	f.Create = func(path string, _ codec.CreateOptions) (codec.Writer, error) {
		w := &writer{path: path, file: f.Named(path) || encode != nil, encode: encode, lost: codec.LossCounts{}}
		if err := w.set(o); err != nil {
			return nil, err
		}
		return w, w.create()
	}
	f.Check = func(c codec.CreateOptions) error {
		return cmp.Or((&writer{encode: encode}).set(o), c.CheckUncompressed(name))
	}
	return f
}

// accepts returns an error if a channel cannot have a track.
func (o Options) accepts(c *codec.Channel, geographic bool) error {
	switch {
	case kinds[c.Type] == nil:
		return errors.New("the messages have no positions")
	case c.Type == typeTF && len(o.Frames) == 0:
		return errors.New("no frame of transforms is named; use --track-frames")
	case c.Type != typeFix && geographic && o.Origin == "":
		return errors.New("their places are in metres; use --track-origin to say where that is")
	}
	return nil
}

const (
	typeFix = "sensor_msgs/msg/NavSatFix"
	typeTF  = "tf2_msgs/msg/TFMessage"
)

// kinds maps types with positions to functions that return an empty message.
var kinds = map[string]func() msgs.Message{
	typeFix:                                func() msgs.Message { return new(sensor_msgs.NavSatFix) },
	typeTF:                                 func() msgs.Message { return new(tf2_msgs.TFMessage) },
	"nav_msgs/msg/Odometry":                func() msgs.Message { return new(nav_msgs.Odometry) },
	"geometry_msgs/msg/Pose":               func() msgs.Message { return new(geometry_msgs.Pose) },
	"geometry_msgs/msg/PoseStamped":        func() msgs.Message { return new(geometry_msgs.PoseStamped) },
	"geometry_msgs/msg/PoseWithCovariance": func() msgs.Message { return new(geometry_msgs.PoseWithCovariance) },
	"geometry_msgs/msg/PoseWithCovarianceStamped": func() msgs.Message {
		return new(geometry_msgs.PoseWithCovarianceStamped)
	},
}

// writer writes the tracks of a recording.
type writer struct {
	codec.NoSplits
	path   string
	file   bool // path is a file rather than a folder
	encode encode
	place  placement
	topics stamped.Topics[track] // topics and frames
	frames *frames
	spill  spill
	only   string // the topic of a file with one track
	lost   codec.LossCounts
}

func (w *writer) set(o Options) (err error) {
	w.frames, err = newFrames(o.Frames)
	if err != nil {
		return err
	}
	w.place, err = newPlacement(o.Origin, w.encode != nil)
	return err
}

// create creates the folder and the spill.
func (w *writer) create() error {
	folder := filepath.Dir(w.path)
	if !w.file {
		if err := os.Mkdir(w.path, 0o777); err != nil {
			return fmt.Errorf("create %s: %w", w.path, codec.Pathless(err))
		}
		folder = w.path
	}
	return w.spill.create(folder)
}

// Declare implements codec.Writer.
func (w *writer) Declare(c *codec.Channel) error {
	_, err := w.channel(c)
	return err
}

func (w *writer) channel(c *codec.Channel) (*stamped.Channel[track], error) {
	t, err := w.topics.Channel(c)
	switch {
	case err != nil:
		return nil, err
	case c.Type != typeTF:
		return t, w.begin(t.Target)
	}
	for _, f := range w.frames.wanted {
		err = errors.Join(err, w.begin(w.topics.Add(f.name)))
	}
	return t, err
}

// begin begins the track of a topic or a frame.
func (w *writer) begin(t *stamped.Target[track]) error {
	if t.State.spill != nil {
		return nil
	}
	t.State = track{name: t.Topic, spill: &w.spill}
	if w.only != "" && w.file && w.encode == nil {
		return fmt.Errorf("%s can hold only one track, and there are %s and %s: select one with --topics, or write a "+
			"folder of tracks with --to tum and a name without .tum", w.path, w.only, t.Topic)
	}
	w.only = t.Topic
	return nil
}

// Write implements codec.Writer.
func (w *writer) Write(message *codec.Message) error {
	t, err := w.channel(message.Channel)
	if err != nil {
		return err
	}
	m, err := t.Read(message)
	if err != nil {
		return err
	}
	decoded := kinds[m.Channel.Type]()
	if err := cdr.Unmarshal(m.Data, decoded); err != nil {
		return err
	}
	at := w.time(&m, m.Stamp)
	var pose geometry_msgs.Pose
	switch d := decoded.(type) {
	case *tf2_msgs.TFMessage:
		return w.transforms(d, &m)
	case *sensor_msgs.NavSatFix:
		return w.fix(t.Target, at, d)
	case *nav_msgs.Odometry:
		pose = d.Pose.Pose
	case *geometry_msgs.Pose:
		pose = *d
	case *geometry_msgs.PoseStamped:
		pose = d.Pose
	case *geometry_msgs.PoseWithCovariance:
		pose = d.Pose
	case *geometry_msgs.PoseWithCovarianceStamped:
		pose = d.Pose.Pose
	}
	return w.pose(t.Target, at, &pose)
}

// time returns the time of a stamp in a message. Formats with latitudes need a date: if the stamp is more than a day
// from the time of receipt, like stamps of a simulation, time returns the time of receipt.
func (w *writer) time(m *stamped.Message, stamp int64) int64 {
	const day = int64(24 * time.Hour)
	if away := m.LogTime - stamp; w.encode != nil && (away > day || away < -day) {
		return m.LogTime
	}
	return m.Time(stamp)
}

// fix adds a fix to a track.
func (w *writer) fix(t *stamped.Target[track], at int64, d *sensor_msgs.NavSatFix) error {
	if d.Status.Status == sensor_msgs.NavSatStatus_STATUS_NO_FIX ||
		!(math.Abs(d.Latitude) <= 90 && math.Abs(d.Longitude) <= 180) {
		t.State.broken = true
		return errors.New("there is no fix, or its latitude and longitude are no such angles")
	}
	if math.IsNaN(d.Altitude) || math.IsInf(d.Altitude, 0) {
		w.lost.Add(t.Topic, "altitudes that are no numbers, written as 0", 1)
		d.Altitude = 0
	}
	at3 := w.place.fix([3]float64{d.Latitude, d.Longitude, d.Altitude})
	return w.add(t, point{Time: at, At: at3, Turn: noTurn})
}

// pose adds a pose in metres to a track.
func (w *writer) pose(t *stamped.Target[track], at int64, pose *geometry_msgs.Pose) error {
	p := point{Time: at, At: [3]float64{pose.Position.X, pose.Position.Y, pose.Position.Z},
		Turn: [4]float64{pose.Orientation.X, pose.Orientation.Y, pose.Orientation.Z, pose.Orientation.W}}
	ok := true
	for _, v := range p.At {
		ok = ok && !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	if ok {
		p.At, ok = w.place.metres(p.At)
	}
	if !ok {
		t.State.broken = true
		return errors.New("the position is not a number, or nowhere on Earth")
	}
	norm := 0.0
	for _, v := range p.Turn {
		norm += v * v
	}
	if !(norm > 0 && norm < 4) {
		p.Turn = noTurn
		if w.encode == nil {
			w.lost.Add(t.Topic, "orientations that are no rotations, written as 0 0 0 1", 1)
		}
	}
	return w.add(t, p)
}

// add adds a point to a track.
func (w *writer) add(t *stamped.Target[track], p point) error {
	if t.State.count > 0 && p.Time <= t.State.last {
		return errors.New("the time is not after that of the position before")
	}
	what := "all but times and positions"
	if w.encode == nil {
		what = "all but times and poses"
	}
	w.lost.Add(t.Topic, what, 1)
	return t.State.add(p)
}

// Losses implements codec.Writer.
func (w *writer) Losses() []codec.Loss {
	lost := w.lost.Losses()
	for _, f := range w.frames.wanted {
		if w.topics.Add(f.name).State.count == 0 {
			lost = append(lost, codec.Loss{Topic: f.name, What: "frames of --track-frames without transforms"})
		}
	}
	return lost
}

// Sync implements codec.Writer. Tracks are on the disk when they are complete.
func (w *writer) Sync() error { return nil }

// Close implements codec.Writer.
func (w *writer) Close() error {
	defer w.spill.close()
	var tracks []*track
	for _, t := range w.topics.List {
		if t.State.count == 0 {
			continue
		}
		tracks = append(tracks, &t.State)
		if w.encode == nil {
			path := w.path
			if !w.file {
				path = filepath.Join(w.path, t.Name+".tum")
			}
			if err := write(path, tracks[len(tracks)-1:], writeTUM); err != nil {
				return err
			}
		}
	}
	switch {
	case len(tracks) == 0 && w.frames.messages > 0:
		return errors.New("no transform leads from the frames of --track-frames, and there is no other track")
	case w.encode == nil:
		return nil
	}
	return write(w.path, tracks, w.encode)
}
