package dds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl/wire"
)

// callHeader identifies the call to which a request or reply belongs. rmw_cyclonedds puts it into the payload, between
// encapsulation header and fields; see identity for Fast DDS. A reply has the header of its request.
type callHeader struct {
	client uint64 // instance handle of the client's writer; only the client can interpret it
	call   int64  // number of the call, from 1, counted by the client
}

const callHeaderSize = 16

var errNoCallHeader = errors.New("the payload is too short for the header that rmw_cyclonedds sends")

// byteOrder returns the byte order of a payload with an encapsulation header.
func byteOrder(data []byte) binary.ByteOrder {
	if data[1]&1 != 0 {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// cutCallHeader returns the call header, and a copy of the payload without it. The size of the header, 16 bytes, keeps
// the alignment of all fields.
func cutCallHeader(data []byte) (h callHeader, message []byte, err error) {
	const end = wire.HeaderSize + callHeaderSize
	if len(data) < end {
		return h, nil, errNoCallHeader
	}
	order := byteOrder(data)
	h.client = order.Uint64(data[wire.HeaderSize:])
	h.call = int64(order.Uint64(data[wire.HeaderSize+8:]))
	message = make([]byte, 0, len(data)-callHeaderSize)
	message = append(message, data[:wire.HeaderSize]...)
	return h, append(message, data[end:]...), nil
}

// addCallHeader returns the payload that consists of a message and a call header.
func addCallHeader(h callHeader, message []byte) ([]byte, error) {
	if len(message) < wire.HeaderSize {
		return nil, fmt.Errorf("the message has %s, not even those of its encapsulation header",
			plural.Count(len(message), "byte"))
	}
	order := byteOrder(message)
	data := make([]byte, wire.HeaderSize+callHeaderSize, len(message)+callHeaderSize)
	copy(data, message[:wire.HeaderSize])
	order.PutUint64(data[wire.HeaderSize:], h.client)
	order.PutUint64(data[wire.HeaderSize+8:], uint64(h.call))
	return append(data, message[wire.HeaderSize:]...), nil
}

// callID returns the id that shows which writer and reader are one client or service. Like rmw_cyclonedds it prints the
// participant's GUID prefix and a number, in hexadecimal.
func callID(participant bridge.GUID, number uint32) string {
	id := binary.BigEndian.AppendUint32(participant[:12:12], number)
	var b strings.Builder
	fmt.Fprintf(&b, "%2x", id[0])
	for _, x := range id[1:] {
		fmt.Fprintf(&b, ".%x", x)
	}
	return b.String()
}
