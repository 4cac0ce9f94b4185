package dds

// #include "entity.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"tapedeck/bridge"
)

// service implements bridge.Service.
type service struct {
	node     *node
	name     string
	handle   func(context.Context, []byte) ([]byte, error)
	requests *reader
	replies  *writer
	attached C.dds_attach_t
	warned   bool // of Fast DDS

	ctx    context.Context
	cancel context.CancelFunc
	calls  sync.WaitGroup
}

func (n *node) newService(name, typeName string, handle func(context.Context, []byte) ([]byte, error)) (*service, error) {
	s := &service{node: n, name: name, handle: handle}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	request, response := bridge.ServiceTypeToDDS(typeName)
	id := "serviceid=" + callID(n.guid, n.callIDs.Add(1)) + ";"
	q := callQoS()
	var err error
	s.replies, err = n.newWriter(bridge.ServiceReplyToDDS(name), response, q, id+n.typeHash(typeName+"_Response"))
	if err != nil {
		return nil, err
	}
	s.requests, err = n.newReader(bridge.ServiceRequestToDDS(name), request, q, id+n.typeHash(typeName+"_Request"))
	if err != nil {
		return nil, errors.Join(err, s.replies.close())
	}
	s.attached, err = n.attach(s.requests.entity, s.receive)
	if err == nil {
		err = n.graph.add(s.requests.guid, s.replies.guid)
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// receive starts the calls that have come in.
func (s *service) receive() error {
	for {
		blobs, err := s.requests.take(0)
		if err != nil || len(blobs) == 0 {
			return err
		}
		for i, b := range blobs {
			if isFastDDS(publisherOf(b)) {
				if !s.warned {
					s.node.Log(bridge.Warn, "a call of %s cannot be answered: %s", s.name, fastDDSServices)
				}
				s.warned = true
				continue
			}
			header, request, err := cutCallHeader(payload(b))
			if err != nil {
				s.node.Log(bridge.Warn, "a call of %s is ignored: %v", s.name, err)
				continue
			}
			requester := s.requests.info(i).publication_handle
			s.calls.Go(func() { s.answer(header, request, requester) })
		}
	}
}

func (s *service) answer(header callHeader, request []byte, requester C.dds_instance_handle_t) {
	response, err := s.handle(s.ctx, request)
	if err == nil {
		response, err = addCallHeader(header, response)
	}
	if err == nil && s.awaited(requester) {
		err = s.replies.write(response, -1)
	}
	if err != nil {
		s.node.Log(bridge.Error, "a call of %s remains without an answer: %v", s.name, err)
	}
}

// awaited waits until the requester's reader, which may be discovered later than its writer, can receive a reply. It
// returns false if the requester is gone.
func (s *service) awaited(requester C.dds_instance_handle_t) bool {
	key := C.CString("clientid")
	defer C.free(unsafe.Pointer(key))
	for deadline := time.Now().Add(100 * time.Millisecond); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		var p C.struct_peer
		if C.publication_id(s.requests.entity, requester, key, &p) < 0 {
			return false
		}
		id := goPeer(&p).id
		if id == "" || slices.ContainsFunc(s.replies.matched("clientid"), func(p peer) bool { return p.id == id }) {
			return true
		}
	}
	return true
}

func (s *service) Name() string { return s.name }

// Close must not be called by the handler, for which it waits.
func (s *service) Close() error {
	return s.node.end(s, func() error {
		s.node.detach(s.requests.entity, s.attached)
		s.cancel()
		s.calls.Wait()
		if err := errors.Join(s.node.graph.remove(s.requests.guid, s.replies.guid), s.release()); err != nil {
			return fmt.Errorf("close service %s: %w", s.name, err)
		}
		return nil
	})
}

func (s *service) release() error { return errors.Join(s.requests.close(), s.replies.close()) }
