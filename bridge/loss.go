package bridge

import "tapedeck/codec"

type (
	// Loss is what a translation loses, as writers of formats lose some.
	Loss = codec.Loss
	// Lossy is a writer that counts what it loses.
	Lossy = codec.Lossy
	// LossCounts counts losses.
	LossCounts = codec.LossCounts
)
