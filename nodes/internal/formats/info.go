package formats

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tapedeck/codec/carla"
	"tapedeck/codec/carla/query"
	"tapedeck/config"
)

// InfoOptions ask for what a format's own tools print of a recording. They are parameters of info.
type InfoOptions struct {
	Apollo bool `param:"apollo" group:"Output" help:"print what Apollo's cyber_recorder info prints"`

	CARLA      bool   `param:"carla" group:"As CARLA tells it, of one of its logs" help:"what client.show_recorder_file_info tells: the events"`
	All        bool   `param:"all" group:"As CARLA tells it, of one of its logs" help:"with --carla: everything, as show_all=True"`
	Style      string `param:"style" group:"As CARLA tells it, of one of its logs" options:"newest|0.9.13" help:"with --carla: the text of which CARLA; scenario_runner's metrics read that of 0.9.13"`
	Collisions string `param:"collisions" group:"As CARLA tells it, of one of its logs" value:"TYPES" pattern:"[ovwtha],?[ovwtha]" help:"what client.show_recorder_collisions tells: those between two types of actors, vw or v,w; o other, v vehicle, w walker, t traffic light, h hero, a any"`
	Blocked    string `param:"blocked" group:"As CARLA tells it, of one of its logs" value:"MIN_TIME,MIN_DISTANCE" bare:"30,10" pattern:"[0-9]+([.][0-9]+)?(,[0-9]+([.][0-9]+)?)?" help:"what client.show_recorder_actors_blocked tells: actors that moved by less than so many cm for so many s"`
}

// DefaultInfoOptions are the defaults of InfoOptions.
func DefaultInfoOptions() InfoOptions { return InfoOptions{Style: "newest"} }

// Wanted reports whether the options ask for anything.
func (o *InfoOptions) Wanted() bool { return o.Apollo || o.asCARLA() }

func (o *InfoOptions) asCARLA() bool { return o.CARLA || o.Collisions != "" || o.Blocked != "" }

// Check returns a usage error for options that do not go together. asJSON and ros2 are the options of these names.
func (o *InfoOptions) Check(asJSON, ros2 bool) error {
	switch {
	case o.Apollo && (asJSON || ros2) || (o.Apollo || ros2) && o.asCARLA():
		return config.Usagef("--apollo, --ros2 with or without --json, and CARLA's own are different outputs; ask for one " +
			"of them")
	case o.Collisions != "" && o.Blocked != "":
		return config.Usagef("--collisions and --blocked are two questions; ask one at a time")
	case o.All && !o.CARLA:
		return config.Usagef("--all is about what --carla tells; give both")
	}
	return nil
}

// Write writes what the options ask for about the recording at path.
func (o *InfoOptions) Write(l List, path string, asJSON bool, stdout, stderr io.Writer) error {
	r, err := l.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if o.asCARLA() {
		log, ok := r.(*carla.Reader)
		if !ok {
			return fmt.Errorf("%s is no log of CARLA's recorder", path)
		}
		if err := o.writeCARLA(log, asJSON, stdout); err != nil {
			return err
		}
	}
	info, err := r.Info()
	if err != nil {
		return err
	}
	if o.Apollo {
		return writeApolloInfo(stdout, path, info)
	}
	if !info.Complete {
		fmt.Fprintf(stderr, "warning: %s is not complete; this is about everything that can be read of it\n", path)
	}
	return nil
}

func (o *InfoOptions) writeCARLA(r *carla.Reader, asJSON bool, w io.Writer) error {
	var text query.Options
	if o.Style == "0.9.13" {
		text.Style = query.V0913
	}
	switch {
	case o.Collisions != "":
		a, b := o.Collisions[0], o.Collisions[len(o.Collisions)-1]
		if asJSON {
			return query.CollisionsJSON(w, r, a, b)
		}
		return query.WriteCollisions(w, r, a, b, text)
	case o.Blocked != "":
		time, distance, err := parseBlocked(o.Blocked)
		if err != nil {
			return err
		}
		if asJSON {
			return query.BlockedJSON(w, r, time, distance)
		}
		return query.WriteBlocked(w, r, time, distance, text)
	case asJSON:
		return query.InfoJSON(w, r, o.All)
	}
	return query.Info(w, r, o.All, text)
}

// parseBlocked parses "30,10" or "30", whose distance is the default.
func parseBlocked(text string) (time, distance float64, err error) {
	first, second, both := strings.Cut(text, ",")
	if !both {
		second = "10"
	}
	time, err = strconv.ParseFloat(first, 64)
	distance, err2 := strconv.ParseFloat(second, 64)
	return time, distance, errors.Join(err, err2)
}
