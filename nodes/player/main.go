// Player plays recordings back onto the ROS graph.
package main

import (
	"tapedeck/bridge/recordings/all"
	"tapedeck/codec/store"
	"tapedeck/codec/store/http"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/player/player"
)

func main() {
	all.Main()
	config.Main(player.NewCommand(store.New(s3.New(), http.New())), human.Stderr)
}
