package bridge

import "tapedeck/codec"

// What translations count is what writers of formats count, too.
type (
	Loss       = codec.Loss
	Lossy      = codec.Lossy
	LossCounts = codec.LossCounts
)
