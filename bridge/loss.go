package bridge

// Loss is something that messages had and their translation has not got.
type Loss struct {
	Topic    string // of the messages, as they were
	What     string // "header.seq", "the frame_id of a Log", "messages of a type that has no counterpart"
	Messages uint64 // how many had it; unset or empty values are no loss
}

// Lossy is a Translator, or a reader that uses one, that counts what it does not keep.
type Lossy interface {
	// Losses returns the losses of all readings so far. It must not be called during a reading.
	Losses() []Loss
}
