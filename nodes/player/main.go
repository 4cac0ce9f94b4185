// Player plays recordings back onto the ROS graph.
package main

import (
	"tapedeck/codec/store"
	"tapedeck/codec/store/http"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/player/player"
)

func main() {
	config.Main(player.NewCommand(player.System{Files: store.New(s3.New(), http.New())}), human.Stderr)
}
