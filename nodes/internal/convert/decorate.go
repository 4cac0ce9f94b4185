package convert

import "tapedeck/codec"

// changed iterates over messages that a decorator of a reader leaves out or changes.
type changed struct {
	codec.Iterator
	change  func(*codec.Message) bool // changes a copy of a message; false leaves it out
	message codec.Message
}

func (it *changed) Next() (*codec.Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil {
			return nil, err
		}
		it.message = *m
		if it.change(&it.message) {
			return &it.message, nil
		}
	}
}
