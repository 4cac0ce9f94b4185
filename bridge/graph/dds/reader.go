package dds

// #include "entity.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"unsafe"

	"tapedeck/bridge"
)

// reader is a DDS reader with the memory for one batch.
type reader struct {
	entity C.dds_entity_t
	guid   bridge.GUID
	batch  *C.struct_batch
	taken  int // number of blobs in batch that the next take frees
}

func (n *node) newReader(topic, typeName string, q C.struct_qos, userData string) (*reader, error) {
	entity, err := n.createReader(topic, typeName, q, userData, nil)
	if err != nil {
		return nil, err
	}
	return &reader{
		entity: entity, guid: guidOf(entity),
		batch: (*C.struct_batch)(C.calloc(1, C.sizeof_struct_batch)),
	}, nil
}

// createReader creates a DDS reader with a history cache. A nil cache means Cyclone DDS's own.
func (n *node) createReader(topic, typeName string, q C.struct_qos, userData string,
	cache *C.struct_dds_rhc) (C.dds_entity_t, error) {
	topicC, typeC, userDataC := C.CString(topic), C.CString(typeName), C.CString(userData)
	defer C.free(unsafe.Pointer(topicC))
	defer C.free(unsafe.Pointer(typeC))
	defer C.free(unsafe.Pointer(userDataC))
	// With security, new peers cannot be greeted.
	q.accept_early_samples = q.reliable && n.security.Keys == ""
	entity := C.create_reader(n.participant, topicC, typeC, &q, userDataC, cache)
	return entity, n.endpointError(entity, "subscribe to", topic)
}

// take returns received samples. The samples belong to the reader and are valid until the next take.
func (r *reader) take() ([]*C.struct_blob, error) {
	n := C.take_batch(r.entity, r.batch, C.int32_t(r.taken))
	r.taken = int(max(n, 0))
	if err := check(n); err != nil {
		return nil, fmt.Errorf("take samples: %w", err)
	}
	return r.batch.blobs[:n:n], nil
}

// info returns Cyclone DDS's metadata of the i-th sample of the last take.
func (r *reader) info(i int) *C.dds_sample_info_t { return &r.batch.info[i] }

func (r *reader) close() error {
	err := check(C.dds_delete(r.entity))
	for _, b := range r.batch.blobs[:r.taken] {
		memory{}.Free(uintptr(unsafe.Pointer(b)))
	}
	C.free(unsafe.Pointer(r.batch))
	return err
}

// payload returns the CDR of a sample, in the middleware's memory.
func payload(b *C.struct_blob) []byte {
	return unsafe.Slice((*byte)(b.payload), int(b.size))
}

func publisherOf(b *C.struct_blob) bridge.GUID { return *(*bridge.GUID)(unsafe.Pointer(&b.publisher)) }

// memory implements bridge.Memory. Each sample has its own allocation, which outlives the sample's reader.
type memory struct{}

func (memory) Free(ref uintptr) { C.blob_free(C.uintptr_t(ref)) }
