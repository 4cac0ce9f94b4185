package live

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"tapedeck/bridge/translate/carla"
	"tapedeck/codec"
	layout "tapedeck/codec/format/carla"
)

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// Composer writes ROS 2 messages in a format of which each message is composed of several ROS 2 messages.
type Composer interface {
	// Accepts returns an error if the recording cannot hold messages of a type on a topic.
	Accepts(topic, typeName string) error
	// HoldsKey reports whether the recording's own content holds the value of a metadata key.
	HoldsKey(key string) bool
	// SetDefaults sets missing options from the metadata of the converted recordings.
	SetDefaults(metadata map[string]string)
	// Writer returns a writer of ROS 2 messages to w, which it owns.
	Writer(w codec.Writer) ComposingWriter
	// Transcoder returns a writer of the format's own messages to w, which it owns, in the layout that the options
	// name.
	Transcoder(w codec.Writer) codec.Writer
}

// ComposingWriter is the writer of a Composer.
type ComposingWriter interface {
	codec.Writer
	// Expect reads the recording to be written for facts about earlier messages that only later ones contain. Without
	// Expect, the writer learns the facts when it writes these messages.
	Expect(r codec.Reader) error
	// Empty reports whether nothing of the messages was written.
	Empty() bool
	// Size returns the number of bytes written to all files.
	Size() int64
}

// CARLAOptions are the options of logs that are composed of ROS 2 messages.
type CARLAOptions struct {
	CARLAMapping string `param:"carla_mapping" group:"CARLA" value:"FILE"`
	CARLAProfile string `param:"carla_profile" group:"CARLA" value:"NAME"`
}

// OptionTexts returns the help texts of the options.
func (*CARLAOptions) OptionTexts() string { return optionTexts }

// carlaComposer writes logs of CARLA.
type carlaComposer struct{ options carla.WriteOptions }

func newCARLAComposer(o *CARLAOptions) (Composer, error) {
	var c carlaComposer
	var err error
	if o.CARLAMapping != "" {
		c.options, err = carla.LoadMapping(o.CARLAMapping)
		if err != nil {
			return nil, fmt.Errorf("carla_mapping: %w", err)
		}
	}
	if o.CARLAProfile != "" {
		c.options.Profile, err = layout.ProfileNamed(o.CARLAProfile)
		if err != nil {
			return nil, fmt.Errorf("carla_profile: %w", err)
		}
	}
	return &c, nil
}

func (c *carlaComposer) Accepts(topic, typeName string) error {
	if c.options.Accepts(topic, typeName) {
		return nil
	}
	return fmt.Errorf("a CARLA log has nothing of %s [%s]; carla_mapping can say which actor a topic is about", topic,
		typeName)
}

func (c *carlaComposer) HoldsKey(key string) bool { return strings.HasPrefix(key, "carla.") }

func (c *carlaComposer) SetDefaults(metadata map[string]string) {
	c.options.Map = cmp.Or(c.options.Map, metadata[layout.KeyMap])
	if profile, err := layout.ProfileNamed(metadata[layout.KeyProfile]); err == nil && c.options.Profile.Name == "" {
		c.options.Profile = profile
	}
}

func (c *carlaComposer) Writer(w codec.Writer) ComposingWriter { return carla.NewWriter(w, c.options) }

func (c *carlaComposer) Transcoder(w codec.Writer) codec.Writer {
	if c.options.Profile.Name == "" {
		return w
	}
	return carla.NewTranscoder(w, c.options.Profile)
}
