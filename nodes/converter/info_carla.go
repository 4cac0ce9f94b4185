package main

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

// carlaOptions are the parameters of what CARLA's server tells of a log.
type carlaOptions struct {
	CARLA      bool   `param:"carla" group:"As CARLA tells it, of one of its logs" help:"what client.show_recorder_file_info tells: the events"`
	All        bool   `param:"all" group:"As CARLA tells it, of one of its logs" help:"with --carla: everything, as show_all=True"`
	Style      string `param:"style" group:"As CARLA tells it, of one of its logs" options:"newest|0.9.13" help:"with --carla: the text of which CARLA; scenario_runner's metrics read that of 0.9.13"`
	Collisions string `param:"collisions" group:"As CARLA tells it, of one of its logs" value:"TYPES" pattern:"[ovwtha],?[ovwtha]" help:"what client.show_recorder_collisions tells: those between two types of actors, vw or v,w; o other, v vehicle, w walker, t traffic light, h hero, a any"`
	Blocked    string `param:"blocked" group:"As CARLA tells it, of one of its logs" value:"MIN_TIME,MIN_DISTANCE" bare:"30,10" pattern:"[0-9]+([.][0-9]+)?(,[0-9]+([.][0-9]+)?)?" help:"what client.show_recorder_actors_blocked tells: actors that moved by less than so many cm for so many s"`
}

// wanted reports whether CARLA is to be asked.
func (o *carlaOptions) wanted() bool { return o.CARLA || o.Collisions != "" || o.Blocked != "" }

func (o *carlaOptions) check() error {
	if o.Collisions != "" && o.Blocked != "" {
		return config.Usagef("--collisions and --blocked are two questions; ask one at a time")
	}
	if o.All && !o.CARLA {
		return config.Usagef("--all is about what --carla tells; give both")
	}
	return nil
}

// tell writes what CARLA's server tells of the log at path.
func (o *carlaOptions) tell(path string, asJSON bool, stdout, stderr io.Writer) error {
	opened, err := known.Open(path)
	if err != nil {
		return err
	}
	defer opened.Close()
	r, ok := opened.(*carla.Reader)
	if !ok {
		return fmt.Errorf("%s is no log of CARLA's recorder", path)
	}
	if err := o.answer(r, asJSON, stdout); err != nil {
		return err
	}
	info, err := r.Info()
	if err == nil && !info.Complete {
		fmt.Fprintf(stderr, "warning: %s is not complete; this is about everything that can be read of it\n", path)
	}
	return err
}

func (o *carlaOptions) answer(r *carla.Reader, asJSON bool, w io.Writer) error {
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
