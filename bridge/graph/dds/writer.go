package dds

// #include "entity.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/internal/endpoints"
	"tapedeck/codec"
	"tapedeck/codec/text/plural"
)

var errClosed = endpoints.ErrClosed

// writer is a DDS writer.
type writer struct {
	entity C.dds_entity_t
	guid   bridge.GUID

	kind   *C.struct_ddsi_sertype
	closed atomic.Bool

	readers atomic.Int32 // number of matched readers; Cyclone DDS sets it
	pinned  runtime.Pinner

	mu       sync.Mutex // held while a sample is written
	sequence uint64     // RTPS sequence number of the last sample
	relates  bool       // relate_writer was called
}

func (n *node) newWriter(topic, typeName string, q C.struct_qos, userData string) (*writer, error) {
	w := new(writer)
	topicC, typeC, userDataC := C.CString(topic), C.CString(typeName), C.CString(userData)
	defer C.free(unsafe.Pointer(topicC))
	defer C.free(unsafe.Pointer(typeC))
	defer C.free(unsafe.Pointer(userDataC))
	w.pinned.Pin(&w.readers)
	w.entity = C.create_writer(n.participant, topicC, typeC, &q, userDataC, (*C.int32_t)(unsafe.Pointer(&w.readers)),
		&w.kind)
	if err := n.endpointError(w.entity, "publish", topic); err != nil {
		w.pinned.Unpin()
		return nil, err
	}
	w.guid = guidOf(w.entity)
	return w, nil
}

// write sends a copy of data. A negative sourceTime means the present time.
func (w *writer) write(data []byte, sourceTime int64) error {
	return w.send(data, nil, sourceTime, nil)
}

// lend sends data without a copy. buffer contains data.
func (w *writer) lend(data []byte, buffer *codec.Buffer) error {
	l := lent.begin(data, buffer)
	defer l.borrowers.Add(-1)
	return w.send(data, l.borrowers, -1, nil)
}

// relate sends a copy of data that is related to another sample.
func (w *writer) relate(data []byte, to identity) error {
	other := to.toC()
	return w.send(data, nil, -1, &other)
}

// next returns the RTPS sequence number of the next sample.
func (w *writer) next() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(w.sequence) + 1
}

func (w *writer) send(data []byte, borrowers *atomic.Int32, sourceTime int64, related *C.struct_identity) error {
	if len(data) < 4 {
		return fmt.Errorf("the payload has %s, not even those of its encapsulation header",
			plural.Count(len(data), "byte"))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return errClosed
	}
	if related != nil && !w.relates {
		C.relate_writer(w.kind, (*C.uint8_t)(&w.guid[0]))
		w.relates = true
	}
	err := check(C.write_blob(w.entity, w.kind, (*C.uint8_t)(&w.guid[0]), C.uint64_t(w.sequence+1),
		unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), (*C.int32_t)(unsafe.Pointer(borrowers)),
		C.int64_t(sourceTime), related))
	if err != nil && w.closed.Load() {
		return errClosed
	}
	if err == nil {
		w.sequence++
	}
	return err
}

// close takes the writer off the graph. Writes that block fail.
func (w *writer) close() error {
	w.closed.Store(true)
	C.interrupt_writer(w.kind, (*C.uint8_t)(&w.guid[0]))
	err := check(C.dds_delete(w.entity))
	w.pinned.Unpin()
	w.readers.Store(0)
	w.mu.Lock() // wait until no write uses the type any more
	defer w.mu.Unlock()
	C.ddsi_sertype_unref(w.kind)
	return err
}

// matched returns the matched readers, with the value of key in their user data.
func (w *writer) matched(key string) []peer { return matchedPeers(w.entity, true, key) }

// guidOf returns the GUID of a participant, writer or reader.
func guidOf(entity C.dds_entity_t) (guid bridge.GUID) {
	C.dds_get_guid(entity, (*C.dds_guid_t)(unsafe.Pointer(&guid)))
	return guid
}

// peer is a matched endpoint.
type peer struct {
	guid bridge.GUID
	id   string // value of the requested key in the user data
}

// matchedPeers returns the readers that match a writer, or the writers that match a reader. writer reports whether
// entity is a writer.
func matchedPeers(entity C.dds_entity_t, writer bool, key string) []peer {
	keyC := C.CString(key)
	defer C.free(unsafe.Pointer(keyC))
	var list *C.struct_peer
	n := C.matched_peers(entity, C.bool(writer), keyC, &list)
	defer C.free(unsafe.Pointer(list))
	peers := make([]peer, max(n, 0))
	for i, p := range unsafe.Slice(list, len(peers)) {
		peers[i] = goPeer(&p)
	}
	return peers
}

func goPeer(p *C.struct_peer) peer {
	return peer{guid: *(*bridge.GUID)(unsafe.Pointer(&p.guid)), id: C.GoString(&p.id[0])}
}

// isFastDDS reports whether an endpoint belongs to eProsima Fast DDS, by the vendor id at the start of its GUID.
func isFastDDS(guid bridge.GUID) bool { return guid[0] == 0x01 && guid[1] == 0x0f }
