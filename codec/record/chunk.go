package record

import (
	"encoding/binary"
	"hash/crc32"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// chunkHead is more than what precedes the messages of a chunk: the header's section and that of the body.
	chunkHead = 2*sectionSize + 4*(1+binary.MaxVarintLen64) + checksumSize
	// checksumSize is what the checksum of a chunk takes in its header.
	checksumSize = 3 + 4
)

// chunk is a chunk that is to be written.
type chunk struct {
	buf    []byte // chunkHead bytes, then the messages
	header chunkHeader
	places []place
	pos    int64 // in the file, of the header's section
	body   int64 // likewise, of the messages
}

// place is where in the buffer of a chunk a message of a located channel begins.
type place struct {
	own *writerChannel
	at  int
}

// encodeHead returns what precedes the messages. tail is the rest of them, which is not in buf.
func (c *chunk) encodeHead(tail []byte, checksum bool) []byte {
	messages := c.buf[chunkHead:]
	c.header.set = all
	if checksum {
		sum := crc32.Update(crc32.ChecksumIEEE(messages), crc32.IEEETable, tail)
		c.header.unknown = protowire.AppendFixed32(protowire.AppendTag(nil, extension, protowire.Fixed32Type), sum)
	}
	header := encode(&c.header)
	head := append(section{chunkHeaderSection, int64(len(header))}.append(nil), header...)
	return section{chunkBodySection, int64(len(messages) + len(tail))}.append(head)
}

// checksum returns the checksum that a ChunkHeader has, if it has one.
func (c *chunkHeader) checksum() (sum uint32, ok bool) {
	for b := c.unknown; len(b) > 0; {
		number, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			break
		}
		if number == extension && typ == protowire.Fixed32Type {
			return binary.LittleEndian.Uint32(b[n-4:]), true
		}
		b = b[n:]
	}
	return 0, false
}
