// Recorder records topics of the ROS graph.
package main

import (
	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/recorder/recorder"
)

func main() { config.Main(recorder.NewCommand(codec.OS{}), human.Stderr) }
