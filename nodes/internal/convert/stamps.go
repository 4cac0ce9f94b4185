package convert

import "tapedeck/codec"

// between returns what is put on top of a recording whose messages are those of ROS 2.
func (p *plan) between(r codec.Reader) (codec.Reader, error) { return r, nil }
