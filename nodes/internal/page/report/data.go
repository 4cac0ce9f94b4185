// Package report makes a page of HTML that shows recordings: one file that needs no network.
//
// Build reads a recording once and gathers Data, of bounded size for recordings of any length. Write puts the data of
// recordings into a page, whose script draws them.
package report

import "time"

// Data is what the page shows of one recording. Times are seconds since Start.
type Data struct {
	Name       string            `json:"name"`
	Format     string            `json:"format"`
	Size       int64             `json:"size"`     // bytes
	Files      int               `json:"files"`    // that it consists of
	Start      time.Time         `json:"start"`    // of the first message
	Duration   float64           `json:"duration"` // s
	Messages   uint64            `json:"messages"`
	Good       bool              `json:"good"`    // nothing is known to be wrong
	Verdict    []string          `json:"verdict"` // what is wrong, or that all is well
	Metadata   map[string]string `json:"metadata"`
	Topics     []Topic           `json:"topics"`
	Events     []Event           `json:"events"`
	Cameras    []Camera          `json:"cameras"`
	Signals    []Signal          `json:"signals"`
	Fields     []Field           `json:"fields"`
	Tracks     []Track           `json:"tracks"`
	Clouds     []Cloud           `json:"clouds"`
	Words      []Word            `json:"words"`
	Parameters []Parameter       `json:"parameters"`
	Episodes   []Episode         `json:"episodes"`
	Left       []string          `json:"left"` // what could not be shown, and why
}

// Topic is a row of the table and of the timeline.
type Topic struct {
	Name     string       `json:"name"`
	Type     string       `json:"type"`
	QoS      string       `json:"qos"`
	Messages uint64       `json:"messages"`
	Bytes    uint64       `json:"bytes"`   // of payloads
	Rate     float64      `json:"rate"`    // messages/s from the first to the last one; 0: unknown
	Gap      float64      `json:"gap"`     // s, the longest interval
	Dropped  uint64       `json:"dropped"` // known to be, by the recorder or its disk
	Lost     uint64       `json:"lost"`    // in transport
	Latency  *[2]float64  `json:"latency"` // s from the stamp to the log time: median and 99 %; nil: no stamps
	Density  []float32    `json:"density"` // messages/s in Bins equal parts of the duration; 0 is a part without
	Gaps     [][2]float64 `json:"gaps"`    // where it is silent for longer than its rhythm lets expect: from, until
}

// Bins is how many parts of the duration have a density, a minimum and a maximum.
const Bins = 2048

// Event is something that a recorder noted, or a check found.
type Event struct {
	Kind  string  `json:"kind"`  // as those of codec.Event, or "check"
	Topic string  `json:"topic"` // "": all of them
	From  float64 `json:"from"`
	Until float64 `json:"until"` // From, if it has no length
	Count uint64  `json:"count"` // of messages
	Text  string  `json:"text"`

	since int64 // log time when Live added it, as in what follows
}

// Camera is a topic with pictures.
type Camera struct {
	Topic  string  `json:"topic"`
	Width  int     `json:"width"` // of the pictures in the recording, pixels
	Height int     `json:"height"`
	Kind   string  `json:"kind"` // encoding or compression
	Thumbs []Thumb `json:"thumbs"`
	Latest *Thumb  `json:"latest,omitempty"` // of Live
}

// Thumb is a small picture.
type Thumb struct {
	At   float64 `json:"at"`
	JPEG []byte  `json:"jpeg"` // nil: it cannot be read

	since int64
}

// Signal is a number in the messages of a topic over time: its lowest and highest value in each of Bins parts of the
// duration. NaN, which is null in JSON, marks parts without a value.
type Signal struct {
	Topic string  `json:"topic"`
	Path  string  `json:"path"` // of the field: "linear_acceleration.x"
	Group string  `json:"group"`
	Unit  string  `json:"unit"` // "": unknown, or none
	Low   Numbers `json:"low"`
	High  Numbers `json:"high"`
}

// Field is a numeric field of a topic, and whether Signals has it.
type Field struct {
	Topic string `json:"topic"`
	Path  string `json:"path"`
	Drawn bool   `json:"drawn"`
}

// Track is the way of something.
type Track struct {
	Topic  string      `json:"topic"`
	Name   string      `json:"name"`   // "" or which one of several in a topic
	Frame  string      `json:"frame"`  // in which the positions are; tracks of one frame share a map
	Origin *[2]float64 `json:"origin"` // latitude and longitude in degrees of x = y = 0; nil: unknown
	Points [][4]Number `json:"points"` // s, x (east), y (north), z (up) in m
	Speed  Numbers     `json:"speed"`  // m/s, of each point
}

// Cloud is a point cloud or scan at one time, thinned.
type Cloud struct {
	Topic  string   `json:"topic"`
	Frame  string   `json:"frame"` // boxes are drawn beside the points of other topics of the same frame
	At     float64  `json:"at"`
	Points uint64   `json:"points"` // that the message has
	Scale  float64  `json:"scale"`  // m, of one unit of XYZ
	XYZ    []byte   `json:"xyz"`    // int16, little-endian: x, y, z of each point
	Shade  []byte   `json:"shade"`  // intensity of each point, 0 to 255; empty: there is none
	Boxes  [][7]int `json:"boxes"`  // of obstacles: centre x, y, z and size x, y, z in units of Scale, yaw in mrad

	since int64
}

// Word is a line of a log, a diagnostic that got worse, or the like.
type Word struct {
	At    float64 `json:"at"`
	Level string  `json:"level"` // "warn", "error", "fatal", "info", "parameter"
	From  string  `json:"from"`  // the node, or the name of a diagnostic
	Text  string  `json:"text"`

	since int64
}

// Parameter is one of a node, as far as messages tell of it.
type Parameter struct {
	Node    string  `json:"node"`
	Name    string  `json:"name"`
	Value   string  `json:"value"`   // the last one
	Changes int     `json:"changes"` // from one value to another
	At      float64 `json:"at"`      // when it got the last value
}

// Episode is one of those of a data set.
type Episode struct {
	Name      string       `json:"name"`
	Task      string       `json:"task"`
	Success   *bool        `json:"success"`   // nil: nobody said
	Discarded bool         `json:"discarded"` // while it was recorded
	From      float64      `json:"from"`
	Until     float64      `json:"until"`
	Good      bool         `json:"good"`
	Verdict   []string     `json:"verdict"`
	Rows      int          `json:"rows"`    // to train on
	Points    int          `json:"points"`  // of the timeline, of which some make no row
	Dropped   [][2]float64 `json:"dropped"` // times that make no rows
	Cameras   []Camera     `json:"cameras"`
	Panels    []Panel      `json:"panels"`
}

// Panel is what an arm did and was told to do.
type Panel struct {
	Name    string       `json:"name"`
	Unit    string       `json:"unit"` // "": several, or none
	Gaps    [][2]float64 `json:"gaps"`
	Columns []Column     `json:"columns"`
}

// Column is one curve of a panel: the lowest and highest value in equal parts of the episode, as a Signal has them.
type Column struct {
	Name string  `json:"name"`
	Low  Numbers `json:"low"`
	High Numbers `json:"high"`
}
