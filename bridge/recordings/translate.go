package recordings

import (
	"slices"

	"tapedeck/bridge"
	"tapedeck/bridge/translate/apollo"
	"tapedeck/bridge/translate/carla"
	"tapedeck/bridge/translate/mavros"
	"tapedeck/bridge/translate/ros1"
	"tapedeck/codec"
	layout "tapedeck/codec/format/carla"
	"tapedeck/codec/format/tlog"
	"tapedeck/msgs"
)

// newTranslator makes the translator of a recording.
type newTranslator = func(codec.Reader) (bridge.Translator, error)

// translation translates the messages of an encoding to ROS 2, and ROS 2 messages back.
type translation struct {
	toROS2, fromROS2 newTranslator // fromROS2 is nil if single messages cannot be translated
	bound            bool          // see Bound
}

// translations are the known translations by encoding.
var translations = map[string]translation{
	layout.Encoding:        {toROS2: carla.ToROS2, bound: true},
	tlog.Encoding:          {toROS2: mavros.ToROS2, bound: true},
	codec.EncodingProtobuf: {toROS2: apollo.ToROS2, fromROS2: apollo.FromROS2},
	codec.EncodingROS1:     {toROS2: ros1.ToROS2, fromROS2: ros1.FromROS2},
}

// Bound reports whether messages of an encoding are meaningful only together with the metadata of their channel. Only
// recordings in the encoding's own format can hold them.
func Bound(encoding string) bool { return translations[encoding].bound }

// HasFromROS2 reports whether single messages of ROS 2 can be translated to an encoding.
func HasFromROS2(encoding string) bool { return translations[encoding].fromROS2 != nil }

// WasApollo reports whether the messages of a channel were translated from Apollo.
func WasApollo(c *codec.Channel) bool {
	return c.Encoding != codec.EncodingProtobuf && c.Metadata[apollo.MetadataType] != ""
}

// ToROS2 configures the translation to ROS 2. Its fields are as in Options.
type ToROS2 struct {
	CARLA   carla.ReadOptions
	MAVLink mavros.ReadOptions
	Raw     func(*codec.Channel) bool
}

// Translate returns a reader that translates the messages of r to ROS 2. Messages of a channel without a translation
// are not changed; untranslated has an error for each such channel. The returned reader owns r.
func (o ToROS2) Translate(r codec.Reader) (_ *bridge.Translated, untranslated []error, err error) {
	translators := map[string]newTranslator{}
	for encoding, t := range translations {
		translators[encoding] = t.toROS2
	}
	translators[layout.Encoding] = o.CARLA.ToROS2
	translators[tlog.Encoding] = o.MAVLink.ToROS2
	return bridge.Translate(r, codec.EncodingCDR, o.Raw, translators)
}

// FromROS2 returns a reader that translates the ROS 2 messages of r to another encoding. Its results are as in
// ToROS2.Translate.
func FromROS2(r codec.Reader, to string) (*bridge.Translated, []error, error) {
	return bridge.Translate(r, to, nil, map[string]newTranslator{codec.EncodingCDR: translations[to].fromROS2})
}

// Define gives channels without a definition, or with an empty one, the definitions of msgs.Library and of folders. It
// must be called before messages of r are read.
func Define(r codec.Reader, folders []string) error {
	if len(folders) == 0 {
		return nil
	}
	info, err := r.Info()
	if err != nil {
		return err
	}
	library := msgs.Library(folders...)
	for _, t := range info.Topics {
		empty := len(t.Channel.Schema.Data) == 0
		t.Channel.Define(library)
		if empty != (len(t.Channel.Schema.Data) == 0) {
			info.Events = slices.DeleteFunc(info.Events, func(e codec.Event) bool {
				return e.Kind == codec.EventLabel && e.Topic == t.Channel.Topic
			})
		}
	}
	return nil
}
