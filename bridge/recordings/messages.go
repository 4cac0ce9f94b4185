package recordings

import (
	"errors"
	"io"
	"iter"

	"tapedeck/codec"
)

// Messages yields all messages in time order, each valid until the next one. An error ends them.
func (r *Recording) Messages() iter.Seq2[*codec.Message, error] {
	return func(yield func(*codec.Message, error) bool) {
		it, err := r.Read(codec.Query{})
		if err != nil {
			yield(nil, err)
			return
		}
		defer it.Close()
		for {
			m, err := it.Next()
			if errors.Is(err, io.EOF) || !yield(m, err) || err != nil {
				return
			}
		}
	}
}
