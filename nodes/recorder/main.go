// Recorder records topics of the ROS graph.
package main

import (
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/recorder/recorder"
)

func main() { config.Main(recorder.NewCommand(codec.OS{}), human.Stderr) }
