package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	sectionSize  = 16                       // of the struct in front of each payload
	headerArea   = 2048                     // of the Header's payload and the padding behind it
	firstSection = sectionSize + headerArea // where the sections behind the Header begin

	// maxPayload is what Apollo's reader takes: sizes are ints there.
	maxPayload = 1<<31 - 1
)

// sectionType says what the payload of a section is: SectionType of record.proto.
type sectionType int32

const (
	headerSection sectionType = iota
	chunkHeaderSection
	chunkBodySection
	indexSection
	channelSection
)

func (t sectionType) String() string {
	names := [...]string{"header", "chunk header", "chunk body", "index", "channel"}
	if t < 0 || int(t) >= len(names) {
		return fmt.Sprintf("section of type %d", int32(t))
	}
	return names[t]
}

// section is the struct in front of each payload: the type as int32, 4 bytes of padding, in which old files have
// garbage, and the size of the payload as int64, all little-endian.
type section struct {
	typ  sectionType
	size int64
}

// parseSection reads the sectionSize bytes that b begins with.
func parseSection(b []byte) section {
	return section{
		typ:  sectionType(binary.LittleEndian.Uint32(b)),
		size: int64(binary.LittleEndian.Uint64(b[8:])),
	}
}

func (s section) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(uint32(s.typ)))
	return binary.LittleEndian.AppendUint64(dst, uint64(s.size))
}

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
