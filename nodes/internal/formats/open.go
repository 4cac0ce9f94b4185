package formats

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tapedeck/bridge"
	"tapedeck/bridge/apollo"
	"tapedeck/bridge/carla"
	"tapedeck/bridge/mavros"
	"tapedeck/bridge/px4"
	"tapedeck/bridge/ros1"
	"tapedeck/codec"
	layout "tapedeck/codec/carla"
	"tapedeck/codec/store"
	"tapedeck/codec/tlog"
	"tapedeck/msgs"
)

// newTranslator makes the translator of a recording.
type newTranslator = func(codec.Reader) (bridge.Translator, error)

// translation is what makes messages of ROS 2 of those of an encoding, and the reverse.
type translation struct {
	toROS2, fromROS2 newTranslator // fromROS2 is nil where single messages cannot be translated; see Composer
	bound            bool
}

// translations are those that there are, by encoding.
var translations = map[string]translation{
	layout.Encoding:        {toROS2: carla.ToROS2, bound: true},
	tlog.Encoding:          {toROS2: mavros.ToROS2, bound: true},
	codec.EncodingProtobuf: {toROS2: apollo.ToROS2, fromROS2: apollo.FromROS2},
	codec.EncodingROS1:     {toROS2: ros1.ToROS2, fromROS2: ros1.FromROS2},
}

// Encodings returns the encodings whose messages can be translated to those of ROS 2.
func Encodings() []string { return slices.Sorted(maps.Keys(translations)) }

// Bound reports whether messages of an encoding mean something only with the metadata of their channel, and so belong
// into recordings of their own format alone.
func Bound(encoding string) bool { return translations[encoding].bound }

// HasFromROS2 reports whether single messages of ROS 2 can become those of an encoding.
func HasFromROS2(encoding string) bool { return translations[encoding].fromROS2 != nil }

// WasApollo reports whether the messages of a channel were Apollo's before a translation.
func WasApollo(c *codec.Channel) bool {
	return c.Encoding != codec.EncodingProtobuf && c.Metadata[apollo.MetadataType] != ""
}

// OpenROS2 opens a recording as one of ROS 2 messages. About each channel that has no translation there is an error in
// left; its messages stay as they are.
func (l List) OpenROS2(files *store.Files, path string,
	o ReadOptions) (r codec.Reader, left []error, err error) {
	source, err := l.Open(files, path)
	if err != nil {
		return nil, nil, err
	}
	if r, left, err = o.ROS2(source); err != nil {
		return nil, nil, errors.Join(err, source.Close())
	}
	return r, left, nil
}

// ROS2 returns the recording that r reads as one of ROS 2 messages, as OpenROS2 does, but for messages of encodings
// that stay. The reader returned owns r.
func (o ReadOptions) ROS2(r codec.Reader, stay ...string) (codec.Reader, []error, error) {
	if err := o.Define(r); err != nil {
		return nil, nil, err
	}
	translators := map[string]newTranslator{}
	for encoding, t := range translations {
		translators[encoding] = t.toROS2
	}
	translators[layout.Encoding] = carla.ReadOptions{
		Rate: o.Interpolate, Follow: o.Follow, IgnoreHero: o.IgnoreHero, IgnoreSpectator: o.IgnoreSpectator,
	}.ToROS2
	translators[tlog.Encoding] = mavros.ReadOptions{Raw: o.Raw}.ToROS2
	for _, encoding := range stay {
		delete(translators, encoding)
	}
	r, left, err := bridge.Translate(r, codec.EncodingCDR, translators)
	if err == nil && o.Standard {
		r, err = px4.Standard(r)
	}
	return r, left, err
}

// Define gives channels that come without a definition, or with an empty one, those in the folders, as msgs.Library has
// them. Nothing was read of r before.
func (o *DefinitionOptions) Define(r codec.Reader) error {
	if len(o.DefinitionPaths) == 0 {
		return nil
	}
	info, err := r.Info()
	if err != nil {
		return err
	}
	library := msgs.Library(o.DefinitionPaths...)
	for _, t := range info.Topics {
		empty := len(t.Channel.Schema.Data) == 0
		if t.Channel.Define(library); empty != (len(t.Channel.Schema.Data) == 0) {
			info.Events = slices.DeleteFunc(info.Events, func(e codec.Event) bool {
				return e.Kind == codec.EventLabel && e.Topic == t.Channel.Topic
			})
		}
	}
	return nil
}

// FromROS2 returns the recording that r reads with its messages of ROS 2 in another encoding, as ROS2 does the reverse.
func FromROS2(r codec.Reader, to string) (codec.Reader, []error, error) {
	return bridge.Translate(r, to, map[string]newTranslator{codec.EncodingCDR: translations[to].fromROS2})
}

// Opened is a recording whose reading ends with a context and, if Intact, at damage, although translations above it
// report errors to Query.Damaged. Verify and Sound are as in codec.Query.
type Opened struct {
	codec.Reader
	Context               context.Context
	Intact, Verify, Sound bool
}

func (r Opened) Read(q codec.Query) (codec.Iterator, error) {
	q.Context = r.Context
	if r.Intact {
		q.Damaged = nil
	}
	q.Verify, q.Sound = q.Verify || r.Intact || r.Verify, q.Sound || r.Sound
	it, err := r.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	return &ending{it, r.Context}, nil
}

// Losses implements codec.Lossy.
func (r Opened) Losses() []codec.Loss {
	if lossy, ok := r.Reader.(codec.Lossy); ok {
		return lossy.Losses()
	}
	return nil
}

// ending iterates until its context ends.
type ending struct {
	codec.Iterator
	context context.Context
}

func (it *ending) Next() (*codec.Message, error) {
	if err := it.context.Err(); err != nil {
		return nil, err
	}
	return it.Iterator.Next()
}
