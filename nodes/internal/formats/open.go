package formats

import (
	"errors"

	"tapedeck/bridge"
	"tapedeck/bridge/apollo"
	"tapedeck/bridge/carla"
	"tapedeck/bridge/ros1"
	"tapedeck/codec"
)

// translators make ROS 2 messages of foreign ones, by encoding.
var translators = map[string]func(codec.Reader) (bridge.Translator, error){
	codec.EncodingCARLA:    carla.New,
	codec.EncodingProtobuf: apollo.New,
	codec.EncodingROS1:     ros1.New,
}

// OpenROS2 opens a recording of any format as one of ROS 2 messages. About each channel that has no translation there is an
// error in left; its messages stay as they are.
func OpenROS2(path string) (r codec.Reader, left []error, err error) {
	source, err := codec.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if r, left, err = ROS2(source); err != nil {
		return nil, nil, errors.Join(err, source.Close())
	}
	return r, left, nil
}

// ROS2 returns the recording that r reads as one of ROS 2 messages, as OpenROS2 does. The reader returned owns r.
func ROS2(r codec.Reader) (codec.Reader, []error, error) {
	return bridge.Translate(r, codec.EncodingCDR, translators)
}
