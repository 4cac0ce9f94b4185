package dds

// #include "entity.h"
import "C"

import (
	"unsafe"

	"tapedeck/bridge"
)

// identity identifies a sample. With Fast DDS, requests and replies carry an identity beside their payload. A request
// carries the client's reader of replies, without a sequence number. A reply carries the client's reader of replies and
// the RTPS sequence number of the request.
type identity struct {
	guid     bridge.GUID
	sequence int64
}

// noSequence is RTPS's SEQUENCENUMBER_UNKNOWN.
const noSequence = -1 << 32

// relatedTo returns the identity that a sample carries: of the sample to which it is related. ok is false without one.
func relatedTo(b *C.struct_blob) (id identity, ok bool) {
	if b.related == nil {
		return identity{}, false
	}
	c := b.related.id
	return identity{guid: *(*bridge.GUID)(unsafe.Pointer(&c.guid)), sequence: int64(c.sequence)}, true
}

func (id identity) toC() (c C.struct_identity) {
	*(*bridge.GUID)(unsafe.Pointer(&c.guid)) = id.guid
	c.sequence = C.int64_t(id.sequence)
	return c
}
