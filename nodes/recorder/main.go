// Recorder records topics of the ROS graph.
package main

import (
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/recorder/recorder"
)

func main() { config.Main(recorder.NewCommand(recorder.System{Disk: codec.OS{}}), human.Stderr) }
