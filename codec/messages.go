package codec

import (
	"errors"
	"io"
	"iter"
)

// Messages yields the messages that q selects. Each message is valid until the next one. The sequence ends after an
// error, and when q.Context ends.
func Messages(r Reader, q Query) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		it, err := r.Read(q)
		if err != nil {
			yield(nil, err)
			return
		}
		for m, err := range Each(it) {
			if err == nil {
				err = q.Err()
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// Each yields the messages of an iterator, and closes it. Each message is valid until the next one. An error ends the
// sequence.
func Each(it Iterator) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		defer it.Close()
		for {
			m, err := it.Next()
			if errors.Is(err, io.EOF) || !yield(m, err) || err != nil {
				return
			}
		}
	}
}
