package formats

import (
	"errors"
	"maps"

	"tapedeck/bridge"
	"tapedeck/bridge/apollo"
	"tapedeck/bridge/carla"
	"tapedeck/bridge/ros1"
	"tapedeck/codec"
)

// newTranslator makes the translator of a recording.
type newTranslator = func(codec.Reader) (bridge.Translator, error)

// toROS2 are those that make ROS 2 messages of foreign ones, by encoding.
var toROS2 = map[string]newTranslator{
	codec.EncodingCARLA:    carla.New,
	codec.EncodingProtobuf: apollo.ToROS2,
	codec.EncodingROS1:     ros1.New,
}

// fromROS2 are those that make foreign messages of ROS 2's, by encoding. A log of CARLA is made of a whole recording, not of its
// messages: see package tapedeck/bridge/carla.
var fromROS2 = map[string]newTranslator{
	codec.EncodingProtobuf: apollo.FromROS2,
	codec.EncodingROS1:     ros1.NewReverse,
}

// OpenROS2 opens a recording of any format as one of ROS 2 messages. About each channel that has no translation there is an
// error in left; its messages stay as they are.
func OpenROS2(path string) (r codec.Reader, left []error, err error) {
	return OpenROS2With(path, carla.ReadOptions{})
}

// OpenROS2With is OpenROS2 with options for logs of CARLA.
func OpenROS2With(path string, log carla.ReadOptions) (r codec.Reader, left []error, err error) {
	source, err := codec.Open(path)
	if err != nil {
		return nil, nil, err
	}
	translators := maps.Clone(toROS2)
	translators[codec.EncodingCARLA] = log.New
	if r, left, err = bridge.Translate(source, codec.EncodingCDR, translators); err != nil {
		return nil, nil, errors.Join(err, source.Close())
	}
	return r, left, nil
}

// ROS2 returns the recording that r reads as one of ROS 2 messages, as OpenROS2 does, but for messages of encodings that stay. The
// reader returned owns r.
func ROS2(r codec.Reader, stay ...string) (codec.Reader, []error, error) {
	translators := maps.Clone(toROS2)
	for _, encoding := range stay {
		delete(translators, encoding)
	}
	return bridge.Translate(r, codec.EncodingCDR, translators)
}

// FromROS2 returns the recording that r reads with its messages of ROS 2 in another encoding, as ROS2 does the reverse.
func FromROS2(r codec.Reader, to string) (codec.Reader, []error, error) {
	return bridge.Translate(r, to, map[string]newTranslator{codec.EncodingCDR: fromROS2[to]})
}
