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
	sectionSize  = 16                       // bytes of the struct in front of each payload
	headerArea   = 2048                     // bytes of the Header's payload and the padding behind it
	firstSection = sectionSize + headerArea // offset of the section behind the Header

	// maxPayload is the largest payload, in bytes, that Apollo's reader accepts: it keeps sizes as ints.
	maxPayload = 1<<31 - 1
)

// sectionType is the SectionType of record.proto: the kind of a section's payload.
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

// parseSection reads the first sectionSize bytes of b.
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

// encode returns m as it is written to a file.
func encode(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err) // our messages are always valid
	}
	return b
}

// decodeBeginning reads a message of size bytes from b. If b is shorter, it reads the fields that b holds whole.
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

// appendBytes appends a field: a string, bytes or an embedded message.
func appendBytes[T ~string | ~[]byte](dst []byte, number protowire.Number, value T) []byte {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(value)))
	return append(dst, value...)
}
