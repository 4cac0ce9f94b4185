// Package formats registers every format of recordings that tapedeck's nodes read and write. It is imported for that
// alone.
package formats

import (
	_ "tapedeck/codec/carla"
	_ "tapedeck/codec/mcap"
	_ "tapedeck/codec/record"
	_ "tapedeck/codec/rosbag"
	_ "tapedeck/codec/rosbag2"
	_ "tapedeck/codec/session"
)
