package mcap

import (
	"errors"
	"io"
	"slices"

	"tapedeck/codec"
)

// collect returns copies of all messages up to an error other than io.EOF.
func collect(it codec.Iterator) ([]codec.Message, error) {
	defer it.Close()
	var messages []codec.Message
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return messages, nil
		}
		if err != nil {
			return messages, err
		}
		c := *m
		c.Data = slices.Clone(m.Data)
		messages = append(messages, c)
	}
}
