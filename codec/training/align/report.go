package align

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tapedeck/codec/text/plural"
	"tapedeck/codec/text/printable"
)

// Reasons why rows are dropped: the keys of StreamReport.Dropped. Files keep these words; people read the words of
// reasonText.
const (
	WhyBefore     = "before its first sample"
	WhyBehind     = "behind its last sample"
	WhyGap        = "in a gap"
	WhyIncomplete = "numbers that no sample had told yet"
	WhyNoFrame    = "no frame near enough"
	WhyEmpty      = "nothing in it"
	WhyDamaged    = "its image is damaged"
	WhyUnknown    = "a number is missing"
)

// reasonText returns a reason in plain words.
func reasonText(why string) string {
	switch why {
	case WhyBehind:
		return "after its last sample"
	case WhyIncomplete:
		return "before all its values were known"
	case WhyEmpty:
		return "no samples"
	}
	return why
}

// Report counts what Align kept and dropped.
type Report struct {
	Points  int `json:"points"`  // times of the timeline
	Rows    int `json:"rows"`    // rows kept
	Dropped int `json:"dropped"` // rows dropped
	Holes   int `json:"holes"`   // places between kept rows where rows were dropped
	// Split is the number of episodes that a writer made by splitting at holes; 0: it did not split. Single is the
	// number of kept rows that the writer left out because they are alone between two holes.
	Split   int             `json:"split,omitempty"`
	Single  int             `json:"single,omitempty"`
	Vectors []*VectorReport `json:"vectors,omitempty"`
	Cameras []*TrackReport  `json:"cameras,omitempty"`
}

// StreamReport is the report of any stream. VectorReport and TrackReport embed it.
type StreamReport struct {
	Name       string `json:"name"`
	Samples    int    `json:"samples"`      // samples in the input
	Duplicates int    `json:"duplicates"`   // samples with the stamp of another sample
	OutOfOrder int    `json:"out_of_order"` // samples after a sample with a later stamp
	// Invalid samples were dropped: a value is not finite, a quaternion has length 0, or the stamp is outside the
	// years 1824 to 2116.
	Invalid   int   `json:"invalid"`
	Unstamped int   `json:"unstamped"` // number of samples whose message had no stamp
	First     int64 `json:"first"`     // first stamp, ns since the Unix epoch; 0 without samples
	Last      int64 `json:"last"`      // last stamp, ns since the Unix epoch; 0 without samples
	Period    int64 `json:"period"`    // median period in ns; 100 ms with fewer than two samples

	// Dropped counts the rows that this stream dropped, by reason. Several streams may count the same row.
	Dropped map[string]int        `json:"dropped,omitempty"`
	times   map[string]*stretches // by reason
}

// stretches are the times of rows that were dropped for one reason.
type stretches struct {
	first []stretch // at most maxStretches
	count int       // number of all stretches
	next  int       // index of the row that would lengthen the last stretch
}

// stretch is a run of consecutive dropped rows.
type stretch struct {
	rows     int
	from, to int64 // ns since the Unix epoch
}

// maxStretches limits the stretches that are kept for a stream and a reason; further ones are only counted.
const maxStretches = 20

// VectorReport is the report of a Vector.
type VectorReport struct {
	StreamReport
	Carried    int   `json:"carried"`     // missing values taken from the sample before
	MaxGap     int64 `json:"max_gap"`     // ns; a longer distance of two samples is a gap
	Gaps       int   `json:"gaps"`        // number of gaps
	LongestGap int64 `json:"longest_gap"` // ns between two samples
	NaN        int   `json:"nan"`         // rows with NaN

	Between int `json:"-"` // number of samples whose stamp is not the stamp of a row
}

// TrackReport is the report of a Track.
type TrackReport struct {
	StreamReport
	MaxSkew   int64 `json:"max_skew"`   // ns, allowed distance of a frame from its row
	WorstSkew int64 `json:"worst_skew"` // ns, greatest distance of a frame from its row
	Missing   int   `json:"missing"`    // rows without a frame
	Held      int   `json:"held"`       // rows with a frame farther away than MaxSkew
	Used      int   `json:"used"`       // frames in rows

	Damaged int    `json:"damaged,omitempty"` // damaged frames, which were left out
	Damage  string `json:"damage,omitempty"`  // why the first damaged frame was left out
}

// Drop counts a row that the stream dropped. row is its index, stamp its time in ns. Rows of one reason must come in
// order.
func (s *StreamReport) Drop(why string, row int, stamp int64) {
	if s.Dropped == nil {
		s.Dropped = map[string]int{}
	}
	if s.times == nil {
		s.times = map[string]*stretches{}
	}
	s.Dropped[why]++
	times := s.times[why]
	if times == nil {
		times = &stretches{}
		s.times[why] = times
	}
	if times.count == 0 || row != times.next {
		times.count++
		if len(times.first) < maxStretches {
			times.first = append(times.first, stretch{from: stamp})
		}
	}
	if times.count <= maxStretches {
		last := &times.first[len(times.first)-1]
		last.rows, last.to = last.rows+1, stamp
	}
	times.next = row + 1
}

// streams returns the reports of all streams.
func (r *Report) streams() (reports []*StreamReport) {
	for _, c := range r.Cameras {
		reports = append(reports, &c.StreamReport)
	}
	for _, v := range r.Vectors {
		reports = append(reports, &v.StreamReport)
	}
	return reports
}

// DroppedTimes returns a line for each stream and reason. A line has the times of the first maxStretches stretches.
func (r *Report) DroppedTimes() (lines []string) {
	for _, s := range r.streams() {
		for _, why := range slices.Sorted(maps.Keys(s.times)) {
			lines = append(lines, fmt.Sprintf("%s: %s dropped at %v: %s", printable.Name(s.Name),
				plural.Count(s.Dropped[why], "row"), s.times[why], reasonText(why)))
		}
	}
	return lines
}

// String returns the times of the stretches. A stretch of several rows has its number of rows in parentheses.
func (s *stretches) String() string {
	var texts []string
	for _, p := range s.first {
		text := FormatStamp(p.from)
		if p.rows > 1 {
			text += fmt.Sprintf(" to %s (%d)", FormatStamp(p.to), p.rows)
		}
		texts = append(texts, text)
	}
	text := strings.Join(texts, ", ")
	if more := s.count - len(s.first); more > 0 {
		text += fmt.Sprintf(" … and %d more", more)
	}
	return text
}

// Written returns how many rows were written in episodes.
func (r *Report) Written() int { return r.Rows - r.Single }

// Episodes returns how many episodes were made of the rows.
func (r *Report) Episodes() int { return max(1, r.Split) }

// Frames returns how many frames are used in rows, of all cameras together.
func (r *Report) Frames() (n int) {
	for _, c := range r.Cameras {
		n += c.Used
	}
	return n
}

// String returns a line of totals and a line for each stream.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %d", plural.Count(r.Rows, "row"), r.Points)
	if r.Dropped > 0 {
		fmt.Fprintf(&b, ", %d dropped", r.Dropped)
	}
	if r.Holes > 0 {
		fmt.Fprintf(&b, ", %s", plural.Count(r.Holes, "hole"))
	}
	if r.Split > 0 {
		fmt.Fprintf(&b, ", %s in %s", plural.Count(r.Written(), "row"), plural.Count(r.Split, "episode"))
	}
	b.WriteByte('\n')
	for _, c := range r.Cameras {
		notes := append([]string{plural.Count(c.Samples, "frame"), fmt.Sprintf("%d used", c.Used)}, c.notes()...)
		if c.Used > 0 && c.MaxSkew > 0 {
			notes = append(notes, fmt.Sprintf("worst skew %v of %v", time.Duration(c.WorstSkew), duration(c.MaxSkew)))
		}
		if c.Damaged > 0 {
			notes = append(notes, fmt.Sprintf("%d damaged: %s", c.Damaged, c.Damage))
		}
		notes = note(notes, c.Missing, "row without a frame", "rows without a frame")
		notes = note(notes, c.Held, "row with an old frame", "rows with an old frame")
		fmt.Fprintf(&b, "  %s: %s\n", printable.Name(c.Name), strings.Join(notes, ", "))
	}
	for _, v := range r.Vectors {
		notes := append([]string{plural.Count(v.Samples, "sample")}, v.notes()...)
		notes = note(notes, v.Carried, "missing value carried over", "missing values carried over")
		if v.Gaps > 0 {
			notes = append(notes, fmt.Sprintf("%s over %v, the longest %v", plural.Count(v.Gaps, "gap"),
				duration(v.MaxGap), time.Duration(v.LongestGap)))
		}
		notes = note(notes, v.NaN, "row with NaN", "rows with NaN")
		fmt.Fprintf(&b, "  %s: %s\n", printable.Name(v.Name), strings.Join(notes, ", "))
	}
	return b.String()
}

// notes lists the counts that are not 0.
func (s *StreamReport) notes() []string {
	var notes []string
	notes = note(notes, s.Duplicates, "with the stamp of another", "with stamps of others")
	notes = note(notes, s.OutOfOrder, "out of order", "out of order")
	notes = note(notes, s.Invalid, "invalid", "invalid")
	notes = note(notes, s.Unstamped, "without a stamp", "without stamps")
	return append(notes, s.losses()...)
}

// losses lists the dropped rows by reason.
func (s *StreamReport) losses() []string {
	var losses []string
	for why, n := range s.Dropped {
		losses = append(losses, fmt.Sprintf("%s dropped: %s", plural.Count(n, "row"), reasonText(why)))
	}
	slices.Sort(losses)
	return losses
}

// Losses lists the dropped rows of all streams in one line.
func (r *Report) Losses() string {
	var losses []string
	for _, s := range r.streams() {
		if l := s.losses(); len(l) > 0 {
			losses = append(losses, s.Name+": "+strings.Join(l, ", "))
		}
	}
	return strings.Join(losses, "; ")
}

func note(notes []string, n int, one, many string) []string {
	switch n {
	case 0:
		return notes
	case 1:
		return append(notes, "1 "+one)
	}
	return append(notes, fmt.Sprintf("%d %s", n, many))
}

// duration returns ns as text.
func duration(ns int64) string {
	if ns >= unlimited {
		return "any"
	}
	return time.Duration(ns).String()
}
