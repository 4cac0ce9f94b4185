package dds

// #include "entity.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"tapedeck/bridge"
)

// service implements bridge.Service.
type service struct {
	pair
	name   string
	answer func(context.Context, []byte) ([]byte, error)
	warned bool // of Fast DDS

	ctx    context.Context
	cancel context.CancelFunc
	calls  sync.WaitGroup
}

func (n *node) newService(name, typeName string, answer func(context.Context, []byte) ([]byte, error)) (*service, error) {
	s := &service{name: name, answer: answer}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	request, reply := ends(name, typeName)
	if err := s.open(n, "serviceid", reply, request, s.receive); err != nil {
		s.cancel()
		return nil, err
	}
	return s, nil
}

// receive starts the calls that have come in.
func (s *service) receive() error {
	for {
		blobs, err := s.reader.take(0)
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
			requester := s.reader.info(i).publication_handle
			s.calls.Go(func() { s.call(header, request, requester) })
		}
	}
}

// call answers one call.
func (s *service) call(header callHeader, request []byte, requester C.dds_instance_handle_t) {
	response, err := s.answer(s.ctx, request)
	if err == nil {
		response, err = addCallHeader(header, response)
	}
	if err == nil && s.awaited(requester) {
		err = s.writer.write(response, -1)
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
		if C.publication_id(s.reader.entity, requester, key, &p) < 0 {
			return false
		}
		id := goPeer(&p).id
		if id == "" || slices.ContainsFunc(s.writer.matched("clientid"), func(p peer) bool { return p.id == id }) {
			return true
		}
	}
	return true
}

func (s *service) Name() string { return s.name }

// Close must not be called by the handler, for which it waits.
func (s *service) Close() error {
	return s.node.end(s, func() error {
		s.detach()
		s.cancel()
		s.calls.Wait()
		if err := s.close(); err != nil {
			return fmt.Errorf("close service %s: %w", s.name, err)
		}
		return nil
	})
}
