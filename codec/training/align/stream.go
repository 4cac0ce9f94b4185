// Package align resamples streams with different stamps onto one timeline: streams in, rows out. It knows neither files
// nor robots.
package align

import (
	"fmt"
	"math"

	"tapedeck/codec/text/plural"
)

// Vector is a stream of numbers: joints, a pose, a gripper.
type Vector struct {
	Name    string // "arm_0/joint"
	Topic   string // topic on which it was recorded, "/arm_0/joint_states"; "": none
	Columns []Column
	Stamps  []int64   // by sample, ns since the Unix epoch; in any order, some may be equal
	Values  []float64 // sample by sample, a value for each column; Missing where a sample has no value
	// Unstamped is the number of samples whose message had no stamp. The stamp of such a sample is the time of
	// reception.
	Unstamped int
}

// Check returns an error unless v has a value for each column of each sample.
func (v *Vector) Check() error {
	if n := len(v.Stamps) * len(v.Columns); len(v.Values) != n {
		return fmt.Errorf("stream %s has %s for %s of %s, want %d", v.Name, plural.Count(len(v.Values), "number"),
			plural.Count(len(v.Stamps), "sample"), plural.Count(len(v.Columns), "column"), n)
	}
	return nil
}

// Row returns the numbers of the i-th sample.
func (v *Vector) Row(i int) []float64 {
	n := len(v.Columns)
	return v.Values[i*n : (i+1)*n : (i+1)*n]
}

// Column describes one number of each sample of a Vector.
type Column struct {
	Name   string `json:"name"`           // "joint_0", "rx", "status"
	Unit   string `json:"unit,omitempty"` // "rad", "deg", "m"; "" is unknown or none
	Interp Interp `json:"interp"`
}

// Places returns for each of columns its index in others, -1 if it is not there. Columns are matched by name. If
// several columns have one name, the first matches the first of that name in others, the second the second, and so on.
func Places(columns, others []Column) []int {
	byName := make(map[string][]int, len(others))
	for i, c := range others {
		byName[c.Name] = append(byName[c.Name], i)
	}
	places := make([]int, len(columns))
	for i, c := range columns {
		places[i] = -1
		if indices := byName[c.Name]; len(indices) > 0 {
			places[i], byName[c.Name] = indices[0], indices[1:]
		}
	}
	return places
}

// Track is a stream whose items are not interpolated: the frames of a camera.
type Track struct {
	Name      string  // "camera_0"
	Topic     string  // topic on which it was recorded; "": none
	Stamps    []int64 // ns since the Unix epoch, in any order
	Unstamped int     // number of items whose message had no stamp; the stamp is the time of reception
	Damaged   int     // number of damaged items that were omitted
	Damage    string  // damage of the first omitted item
}

// missing holds the bits of Missing.
const missing = 0x7ff8_0000_0000_07a2

// Missing returns the NaN that stands for a missing value. Align takes a missing value from the sample before. Any
// other NaN is an invalid value: Align drops the sample that has it.
func Missing() float64 { return math.Float64frombits(missing) }

// IsMissing reports whether v is the NaN that Missing returns.
func IsMissing(v float64) bool { return math.Float64bits(v) == missing }
