package bridge

import "tapedeck/codec"

type (
	// Loss is what a translation loses, as writers of formats lose some.
	Loss = codec.Loss
	// LossCounts counts losses.
	LossCounts = codec.LossCounts
)
