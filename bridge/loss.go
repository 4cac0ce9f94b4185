package bridge

// Loss is something that messages had and their translation has not.
type Loss struct {
	Topic    string // of the messages, as they were
	What     string // "header.seq", "the frame_id of a Log", "messages of a type that has no counterpart"
	Messages uint64 // how many had it: what was unset or empty is no loss
}

// Lossy is a Translator, or a reader made of one, that knows what it does not keep.
type Lossy interface {
	// Losses returns what was lost in all readings so far. It is called when none goes on.
	Losses() []Loss
}
