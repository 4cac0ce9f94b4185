// Package report makes an HTML page that shows recordings. The page is one file and needs no network.
//
// Build reads a recording once and collects Data, whose size is bounded for recordings of any length. Write writes a
// page with the data of recordings, which its script draws.
package report

import "time"

// Data is the data of one recording for the page. Times are seconds since Start.
type Data struct {
	Name       string            `json:"name"`
	Format     string            `json:"format"`
	Size       int64             `json:"size"`     // bytes
	Files      int               `json:"files"`    // number of files
	Start      time.Time         `json:"start"`    // log time of the first message
	Duration   float64           `json:"duration"` // s
	Messages   uint64            `json:"messages"`
	Good       bool              `json:"good"`    // no faults are known
	Verdict    []string          `json:"verdict"` // the faults, or a text that there are none
	Metadata   map[string]string `json:"metadata"`
	Topics     []Topic           `json:"topics"`
	Events     []Event           `json:"events"`
	Cameras    []Camera          `json:"cameras"`
	Signals    []Signal          `json:"signals"`
	Fields     []Field           `json:"fields"`
	Tracks     []Track           `json:"tracks"`
	Clouds     []Cloud           `json:"clouds"`
	LogLines   []LogLine         `json:"words"`
	Parameters []Parameter       `json:"parameters"`
	Episodes   []Episode         `json:"episodes"`
	Omitted    []string          `json:"left"` // things that the page does not show, with the reasons
}

// Topic is a row of the table and of the timeline.
type Topic struct {
	Name     string       `json:"name"`
	Type     string       `json:"type"`
	QoS      string       `json:"qos"`
	Messages uint64       `json:"messages"`
	Bytes    uint64       `json:"bytes"`   // size of the payloads
	Rate     float64      `json:"rate"`    // messages/s from the first to the last message; 0: unknown
	Gap      float64      `json:"gap"`     // longest interval in s
	Dropped  uint64       `json:"dropped"` // messages known to be dropped by the recorder or its disk
	Lost     uint64       `json:"lost"`    // messages lost in transport
	Latency  *[2]float64  `json:"latency"` // s from the stamp to the log time: median and 99 %; nil: no stamps
	Density  []float32    `json:"density"` // messages/s in each of Bins bins of the duration
	Gaps     [][2]float64 `json:"gaps"`    // begin and end of silences that are unusual for the rhythm of the topic
}

// Bins is the number of equal bins of the duration that have a density, a minimum and a maximum.
const Bins = 2048

// Event is an event of a recorder, or a finding of a check.
type Event struct {
	Kind  string  `json:"kind"`  // a kind of codec.Event, or "check"
	Topic string  `json:"topic"` // "": the whole recording
	From  float64 `json:"from"`
	Until float64 `json:"until"` // the same as From for events without a length
	Count uint64  `json:"count"` // number of messages
	Text  string  `json:"text"`

	since int64 // log time when Live added the event
}

// Camera is a topic with pictures.
type Camera struct {
	Topic  string  `json:"topic"`
	Width  int     `json:"width"`  // width of the recorded pictures in pixels
	Height int     `json:"height"` // height of the recorded pictures in pixels
	Kind   string  `json:"kind"`   // encoding or compression
	Thumbs []Thumb `json:"thumbs"`
	Latest *Thumb  `json:"latest,omitempty"` // latest picture, from Live
}

// Thumb is a small picture.
type Thumb struct {
	At   float64 `json:"at"`
	JPEG []byte  `json:"jpeg"` // nil: the picture cannot be read

	since int64 // log time when Live added the picture
}

// Signal is a number in the messages of a topic over time: its lowest and highest value in each of Bins bins of the
// duration. NaN, which is null in JSON, marks bins without a value.
type Signal struct {
	Topic string  `json:"topic"`
	Path  string  `json:"path"` // path of the field, such as "linear_acceleration.x"
	Group string  `json:"group"`
	Unit  string  `json:"unit"` // "": unknown, or none
	Low   Numbers `json:"low"`
	High  Numbers `json:"high"`
}

// Field is a numeric field of a topic.
type Field struct {
	Topic string `json:"topic"`
	Path  string `json:"path"`
	Drawn bool   `json:"drawn"` // Signals has it
}

// Track is the path of something that moved.
type Track struct {
	Topic  string      `json:"topic"`
	Name   string      `json:"name"`   // name of the track if the topic has several, else ""
	Frame  string      `json:"frame"`  // frame of the positions; tracks with one frame share a map
	Origin *[2]float64 `json:"origin"` // latitude and longitude of x = y = 0 in degrees; nil: unknown
	Points [][4]Number `json:"points"` // time in s; x (east), y (north), z (up) in m
	Speed  Numbers     `json:"speed"`  // speed at each point in m/s
}

// Cloud is a thinned point cloud or scan, or a list of boxes.
type Cloud struct {
	Topic  string   `json:"topic"`
	Frame  string   `json:"frame"` // boxes are drawn with the points of other topics that have this frame
	At     float64  `json:"at"`
	Points uint64   `json:"points"` // number of points or boxes in the message
	Scale  float64  `json:"scale"`  // unit of XYZ and Boxes in m
	XYZ    []byte   `json:"xyz"`    // x, y, z of each point as int16, little-endian
	Shade  []byte   `json:"shade"`  // intensity of each point, 0 to 255; empty: unknown
	Boxes  [][7]int `json:"boxes"`  // boxes: centre x, y, z and size x, y, z in units of Scale, yaw in mrad

	since int64 // log time when Live added the cloud
}

// LogLine is a line of a log: a message, a diagnostic that got worse, or a parameter that changed.
type LogLine struct {
	At    float64 `json:"at"`
	Level string  `json:"level"` // "warn", "error", "fatal", "info", "parameter"
	From  string  `json:"from"`  // name of the node or of the diagnostic
	Text  string  `json:"text"`

	since int64 // log time when Live added the line
}

// Parameter is a parameter of a node.
type Parameter struct {
	Node    string  `json:"node"`
	Name    string  `json:"name"`
	Value   string  `json:"value"`   // last value
	Changes int     `json:"changes"` // number of changes of the value
	At      float64 `json:"at"`      // time of the last change
}

// Episode is an episode of a data set.
type Episode struct {
	Name      string       `json:"name"`
	Task      string       `json:"task"`
	Success   *bool        `json:"success"`   // nil: unknown
	Discarded bool         `json:"discarded"` // the episode was discarded while it was recorded
	From      float64      `json:"from"`
	Until     float64      `json:"until"`
	Good      bool         `json:"good"`
	Verdict   []string     `json:"verdict"`
	Rows      int          `json:"rows"`    // number of rows to train on
	Points    int          `json:"points"`  // number of points of the timeline, some without a row
	Dropped   [][2]float64 `json:"dropped"` // begin and end of times without rows
	Cameras   []Camera     `json:"cameras"`
	Panels    []Panel      `json:"panels"`
}

// Panel is the curves of one stream of an arm.
type Panel struct {
	Name    string       `json:"name"`
	Unit    string       `json:"unit"` // "": several, or none
	Gaps    [][2]float64 `json:"gaps"`
	Columns []Column     `json:"columns"`
}

// Column is a curve of a panel: the lowest and highest value in equal bins of the episode. NaN marks bins without a
// value.
type Column struct {
	Name string  `json:"name"`
	Low  Numbers `json:"low"`
	High Numbers `json:"high"`
}
