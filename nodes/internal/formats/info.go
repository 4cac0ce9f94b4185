package formats

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/carla/query"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/config"
)

// InfoOptions select texts that a format's own tools print about a recording. They are options of the command info.
type InfoOptions struct {
	Apollo bool `param:"apollo" group:"Output"`

	CARLA      bool   `param:"carla" group:"CARLA logs"`
	All        bool   `param:"all" group:"CARLA logs"`
	Style      string `param:"style" group:"CARLA logs" options:"newest|0.9.13"`
	Collisions string `param:"collisions" group:"CARLA logs" value:"TYPES" pattern:"[ovwtha],?[ovwtha]"`
	Blocked    string `param:"blocked" group:"CARLA logs" value:"MIN_TIME,MIN_DISTANCE" bare:"30,10"`
}

// OptionTexts returns the help texts of the options.
func (*InfoOptions) OptionTexts() string { return optionTexts }

// DefaultInfoOptions returns the default options.
func DefaultInfoOptions() InfoOptions { return InfoOptions{Style: "newest"} }

// Wanted reports whether an option selects a text.
func (o *InfoOptions) Wanted() bool { return o.Apollo || o.asCARLA() }

func (o *InfoOptions) asCARLA() bool { return o.CARLA || o.Collisions != "" || o.Blocked != "" }

// Check returns a usage error for options that exclude each other. asJSON and ros2 are the options --json and --ros2.
func (o *InfoOptions) Check(asJSON, ros2 bool) error {
	switch {
	case o.Apollo && (asJSON || ros2) || (o.Apollo || ros2) && o.asCARLA():
		return config.Usagef("--apollo, --ros2 and the options of CARLA logs do not go together")
	case o.Collisions != "" && o.Blocked != "":
		return config.Usagef("--collisions and --blocked do not go together")
	case (o.All || o.Style != DefaultInfoOptions().Style) && !o.CARLA:
		return config.Usagef("--all and --style need --carla")
	}
	return nil
}

// Write writes the selected text about the recording at path.
func (o *InfoOptions) Write(files *store.Files, l List, path string, asJSON bool, stdout, stderr io.Writer) error {
	open := l.Open
	if o.asCARLA() { // CARLA's tools read single logs
		open = l.OpenFile
		if more := len(series.Names(files, path)) - 1; more > 0 {
			fmt.Fprintf(stderr, "note: this is about %s alone, not about %s that its recording may go on in\n", path,
				human.Count(more, "further file"))
		}
	}
	r, err := open(files, path)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Info()
	if err != nil {
		return err
	}
	if o.asCARLA() {
		details, ok := info.Extra.(carla.Details)
		if !ok {
			return fmt.Errorf("%s is not a log of CARLA's recorder", path)
		}
		if err := o.writeCARLA(details.Log, asJSON, stdout); err != nil {
			return err
		}
	}
	if o.Apollo {
		return writeApolloInfo(stdout, path, info)
	}
	if !info.Complete {
		fmt.Fprintf(stderr, "warning: %s is incomplete; this describes everything readable\n", path)
	}
	return nil
}

func (o *InfoOptions) writeCARLA(r *carla.Reader, asJSON bool, w io.Writer) error {
	options := query.Options{JSON: asJSON}
	if o.Style == "0.9.13" {
		options.Style = query.V0913
	}
	switch {
	case o.Collisions != "":
		a, b := o.Collisions[0], o.Collisions[len(o.Collisions)-1]
		return query.Collisions(w, r, a, b, options)
	case o.Blocked != "":
		time, distance, err := parseBlocked(o.Blocked)
		if err != nil {
			return err
		}
		return query.Blocked(w, r, time, distance, options)
	}
	return query.Info(w, r, o.All, options)
}

// parseBlocked parses "30,10" or "30". The default distance is 10.
func parseBlocked(text string) (time, distance float64, err error) {
	first, second, both := strings.Cut(text, ",")
	if !both {
		second = "10"
	}
	time, err = strconv.ParseFloat(first, 64)
	distance, err2 := strconv.ParseFloat(second, 64)
	return time, distance, errors.Join(err, err2)
}
