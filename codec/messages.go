package codec

import (
	"errors"
	"io"
	"iter"
)

// Messages yields the messages that q selects, each valid until the next one. An error and the end of q.Context end
// them.
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

// Each yields the messages of an iterator, each valid until the next one, and closes the iterator. An error ends them.
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
