package record

import (
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// encode returns m as it is in a file.
func encode(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err) // nothing in these messages can be invalid
	}
	return b
}

// decodeBeginning reads a message of size bytes from b, its beginning if the file ends within it.
func decodeBeginning(b []byte, size int64, m proto.Message) error {
	if int64(len(b)) < size {
		whole := 0
		for whole < len(b) {
			_, _, n := protowire.ConsumeField(b[whole:])
			if err := protowire.ParseError(n); errors.Is(err, io.ErrUnexpectedEOF) {
				break
			} else if err != nil {
				return err
			}
			whole += n
		}
		b = b[:whole]
	}
	return proto.Unmarshal(b, m)
}

// appendBytes appends a string, bytes or an embedded message.
func appendBytes[T ~string | ~[]byte](dst []byte, number protowire.Number, value T) []byte {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(value)))
	return append(dst, value...)
}
