package dds

// #include "entity.h"
// #include <stdlib.h>
import "C"

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"tapedeck/bridge"
)

// readerPatience is the longest time from a request until the reader of the client is discovered.
const readerPatience = 5 * time.Second

// A reply is lost if newer replies replace it in the history before a client has received it. So a service asks for
// acknowledgements after replyBurst replies, fewer than replyQoS keeps, and waits for them before the next reply. It
// waits for replyPatience, because clients may be late on a busy machine. If acknowledgements are still missing, a
// client is stuck. Until that client is gone or acknowledges again, it delays the other clients by only stuckPatience
// each time.
const (
	replyBurst    = 8
	replyPatience = 5 * time.Second
	stuckPatience = 100 * time.Millisecond
)

// service implements bridge.Service.
type service struct {
	pair
	name   string
	answer func(context.Context, []byte) ([]byte, error)

	warned sync.Once // logs noFastServices

	replying sync.Mutex
	replies  int  // number of replies since reply last waited for acknowledgements
	stuck    bool // acknowledgements were missing then

	calls *bridge.Calls
}

func (n *node) newService(name, typeName string,
	answer func(context.Context, []byte) ([]byte, error)) (*service, error) {
	s := &service{name: name, answer: answer, calls: bridge.NewCalls(n, name)}
	request, reply := ends(name, typeName)
	if err := s.open(n, "serviceid", reply, request, s.receive); err != nil {
		s.calls.Close()
		return nil, err
	}
	return s, nil
}

// receive starts the received calls.
func (s *service) receive() error {
	for {
		blobs, err := s.reader.take()
		if err != nil || len(blobs) == 0 {
			return err
		}
		for i, b := range blobs {
			if s.node.security.Keys != "" && s.node.isFastDDS(publisherOf(b)) {
				s.warned.Do(func() { s.node.Log(bridge.Warn, "%s: %s", s.name, noFastServices) })
				continue
			}
			size := max(0, len(payload(b))-callHeaderSize)
			if !s.calls.Begin(size) {
				continue
			}
			c, request, err := readRequest(b)
			c.writer = s.reader.info(i).publication_handle
			s.calls.Answer(size, func(ctx context.Context) error {
				if err != nil {
					return err
				}
				return s.call(ctx, c, request)
			})
		}
	}
}

// caller identifies a call and its client, for the reply.
type caller struct {
	writer  C.dds_instance_handle_t // writer of the request
	header  callHeader
	fastDDS bool     // the client uses Fast DDS's protocol
	request identity // with Fast DDS's protocol, instead of header
}

// has reports whether a reader belongs to the client. id is the id of the request's writer.
func (c *caller) has(reader peer, id string) bool {
	switch {
	case !c.fastDDS:
		return reader.id == id
	case isReader(c.request.guid):
		return reader.guid == c.request.guid
	}
	return sameParticipant(reader.guid, c.request.guid)
}

// readRequest returns the caller, without its writer, and a copy of the request.
func readRequest(b *C.struct_blob) (c caller, request []byte, err error) {
	if guid := publisherOf(b); isFastDDS(guid) {
		c.fastDDS = true
		c.request = identity{guid: guid, sequence: int64(b.sequence)}
		if id, ok := relatedTo(b); ok {
			c.request.guid = id.guid
		}
		return c, bytes.Clone(payload(b)), nil
	}
	c.header, request, err = cutCallHeader(payload(b))
	return c, request, err
}

// call answers one call.
func (s *service) call(ctx context.Context, c caller, request []byte) error {
	response, err := s.answer(ctx, request)
	if err == nil && s.awaited(ctx, c) {
		err = s.reply(ctx, c, response)
	}
	return err
}

func (s *service) reply(ctx context.Context, c caller, response []byte) error {
	s.replying.Lock()
	defer s.replying.Unlock()
	s.replies++
	if s.replies > replyBurst {
		patience := replyPatience
		if s.stuck {
			patience = stuckPatience
		}
		s.stuck = !s.acknowledged(ctx, patience)
		s.replies = 1
	}
	if s.replies == replyBurst {
		C.ask_readers(s.writer.kind, (*C.uint8_t)(&s.writer.guid[0]))
	}
	if c.fastDDS {
		return s.writer.relate(response, c.request)
	}
	data, err := addCallHeader(c.header, response)
	if err != nil {
		return err
	}
	return s.writer.write(data, -1)
}

// acknowledged waits until all replies are acknowledged. It returns false if patience is over or ctx ends before.
func (s *service) acknowledged(ctx context.Context, patience time.Duration) bool {
	for deadline := time.Now().Add(patience); ; {
		wait := min(time.Until(deadline), stuckPatience)
		switch {
		case C.dds_wait_for_acks(s.writer.entity, C.dds_duration_t(max(wait, 0))) != C.DDS_RETCODE_TIMEOUT:
			return true
		case wait < stuckPatience || ctx.Err() != nil:
			return false
		}
	}
}

// awaited waits until the client's reader can receive a reply: the reader may be discovered later than the writer. It
// returns false if the client is gone.
func (s *service) awaited(ctx context.Context, c caller) bool {
	key := C.CString("clientid")
	defer C.free(unsafe.Pointer(key))
	for deadline := time.Now().Add(readerPatience); time.Now().Before(deadline) &&
		ctx.Err() == nil; time.Sleep(time.Millisecond) {
		var p C.struct_peer
		if C.publication_id(s.reader.entity, c.writer, key, &p) < 0 {
			return false
		}
		id := goPeer(&p).id
		if !c.fastDDS && id == "" || slices.ContainsFunc(s.writer.matched("clientid"),
			func(p peer) bool { return c.has(p, id) }) {
			return true
		}
	}
	return true
}

func (s *service) Name() string { return s.name }

// Close waits for the handler, so the handler must not call it.
func (s *service) Close() error {
	return s.node.owned.End(s, func() error {
		s.detach()
		s.calls.Close()
		if err := s.close(); err != nil {
			return fmt.Errorf("close service %s: %w", s.name, err)
		}
		return nil
	})
}
