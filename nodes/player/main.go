// Player plays recordings back onto the ROS graph.
package main

import (
	"tapedeck/codec/store"
	"tapedeck/codec/store/http"
	"tapedeck/codec/store/s3"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats/allformats"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/player/player"
)

func main() {
	allformats.Main()
	config.Main(player.NewCommand(store.New(s3.New(), http.New())), human.Stderr)
}
