package formats

import (
	"cmp"
	"fmt"
	"strings"

	"tapedeck/bridge/carla"
	"tapedeck/codec"
	layout "tapedeck/codec/carla"
)

// Author writes messages of ROS 2 in a format whose own messages are each made of several of theirs.
type Author interface {
	// Tells reports whether messages of a type on a topic have a place in the recording.
	Tells(topic, typeName string) bool
	// Says reports whether the recording itself holds what metadata has under a key.
	Says(key string) bool
	// Inherit takes what the options do not give from the metadata of the recordings that are converted.
	Inherit(metadata map[string]string)
	// Writer returns a writer of messages of ROS 2 to w, which it owns. It may be a bridge.Lossy.
	Writer(w codec.Writer) AuthorWriter
	// Rewriter returns a writer of the format's own messages to w, which it owns, as the options want them.
	Rewriter(w codec.Writer) codec.Writer
}

// AuthorWriter is the writer of an Author.
type AuthorWriter interface {
	codec.Writer
	// Expect reads a recording that is to be written, for what its end says of its beginning. Without it, this is
	// learned as messages come.
	Expect(r codec.Reader) error
}

// CARLAOptions are those of logs that are made of messages of ROS 2.
type CARLAOptions struct {
	CARLAMapping string `param:"carla_mapping" group:"CARLA" value:"FILE" help:"CARLA logs: YAML FILE that says which actors topics and frames belong to, where their names do not tell, and the name of the map"`
	CARLAProfile string `param:"carla_profile" group:"CARLA" value:"NAME" help:"CARLA logs: write the layout of this CARLA: ue4-0.9.11, ue4-0.9.15, ue4-0.9.16 or ue5; by default that of carla_mapping, else of the converted log, else ue4-0.9.15"`
}

// carlaAuthor writes logs of CARLA.
type carlaAuthor struct{ options carla.WriteOptions }

func newCARLAAuthor(o *Options) (Author, error) {
	var a carlaAuthor
	var err error
	if o.CARLAMapping != "" {
		if a.options, err = carla.LoadMapping(o.CARLAMapping); err != nil {
			return nil, fmt.Errorf("carla_mapping: %w", err)
		}
	}
	if o.CARLAProfile != "" {
		if a.options.Profile, err = layout.ProfileNamed(o.CARLAProfile); err != nil {
			return nil, fmt.Errorf("carla_profile: %w", err)
		}
	}
	return &a, nil
}

func (a *carlaAuthor) Tells(topic, typeName string) bool { return a.options.Tells(topic, typeName) }

func (a *carlaAuthor) Says(key string) bool { return strings.HasPrefix(key, "carla.") }

func (a *carlaAuthor) Inherit(metadata map[string]string) {
	a.options.Map = cmp.Or(a.options.Map, metadata[layout.KeyMap])
	if profile, err := layout.ProfileNamed(metadata[layout.KeyProfile]); err == nil && a.options.Profile.Name == "" {
		a.options.Profile = profile
	}
}

func (a *carlaAuthor) Writer(w codec.Writer) AuthorWriter { return carla.NewWriter(w, a.options) }

func (a *carlaAuthor) Rewriter(w codec.Writer) codec.Writer {
	if a.options.Profile.Name == "" {
		return w
	}
	return carla.NewTranscoder(w, a.options.Profile)
}
