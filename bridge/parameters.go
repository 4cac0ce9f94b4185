package bridge

// Parameters are the parameters of a node.
type Parameters struct{}
