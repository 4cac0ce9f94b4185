package dds

// #include "entity.h"
import "C"

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"tapedeck/bridge"
)

// client calls one service. The node keeps it, because discovering a service takes longer than calling it.
type client struct {
	pair   // replies to this client carry pair.handle
	name   string
	closed chan struct{}

	sending sync.Mutex // held from the choice of a number for a call until the request is sent

	mu      sync.Mutex
	waiting map[callKey]chan<- []byte
}

// callKey identifies a call of one client. number is the RTPS sequence number of the request.
type callKey struct {
	number  int64
	fastDDS bool // the call uses Fast DDS's protocol
}

func (n *node) newClient(name, typeName string) (*client, error) {
	c := &client{name: name, closed: make(chan struct{}), waiting: make(map[callKey]chan<- []byte)}
	request, reply := ends(name, typeName)
	if err := c.open(n, "clientid", request, reply, c.receive); err != nil {
		return nil, err
	}
	return c, nil
}

// receive passes replies to the waiting calls. Each client of a service receives the replies to all clients.
func (c *client) receive() error {
	for {
		blobs, err := c.reader.take()
		if err != nil || len(blobs) == 0 {
			return err
		}
		for _, b := range blobs {
			key, response, ok := c.read(b)
			if !ok {
				continue
			}
			c.mu.Lock()
			if waiting, ok := c.waiting[key]; ok {
				delete(c.waiting, key)
				waiting <- response
			}
			c.mu.Unlock()
		}
	}
}

// read returns a copy of a reply, and the call to which it belongs. ok is false for a reply to another client.
func (c *client) read(b *C.struct_blob) (key callKey, response []byte, ok bool) {
	if id, ok := relatedTo(b); ok {
		if id.guid != c.reader.guid && id.guid != c.writer.guid {
			return callKey{}, nil, false
		}
		return callKey{number: id.sequence, fastDDS: true}, bytes.Clone(payload(b)), true
	}
	header, response, err := cutCallHeader(payload(b))
	return callKey{number: header.call}, response, err == nil && header.client == c.handle
}

func (c *client) Service() string { return c.name }

func (c *client) Available() bool {
	ok, _ := c.available()
	return ok
}

func (c *client) Send(request []byte) (wait func(context.Context) ([]byte, error), err error) {
	ok, fastDDS := c.available()
	if !ok {
		return nil, c.unavailable()
	}
	response := make(chan []byte, 1)
	key, err := c.send(request, fastDDS, response)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]byte, error) {
		defer c.forget(key)
		select {
		case r := <-response:
			return r, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the reply: %w", ctx.Err())
		case <-c.closed:
			return nil, errClosed
		}
	}, nil
}

// send sends a request. The reply is sent to response, unless forget is called before.
func (c *client) send(request []byte, fastDDS bool, response chan<- []byte) (callKey, error) {
	c.sending.Lock()
	defer c.sending.Unlock()
	key := callKey{number: c.writer.next(), fastDDS: fastDDS}
	c.mu.Lock()
	c.waiting[key] = response
	c.mu.Unlock()
	var err error
	if fastDDS {
		err = c.writer.relate(request, identity{guid: c.reader.guid, sequence: noSequence})
	} else {
		request, err = addCallHeader(callHeader{client: c.handle, call: key.number}, request)
		if err == nil {
			err = c.writer.write(request, -1)
		}
	}
	if err != nil {
		c.forget(key) // before another call gets the number
	}
	return key, err
}

func (c *client) forget(key callKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, key)
}

// available reports whether a service is available now, and whether it speaks Fast DDS's protocol.
func (c *client) available() (ok, fastDDS bool) {
	c.node.owned.Use(func() { // the writer's type is not freed meanwhile
		replies := slices.DeleteFunc(matchedPeers(c.reader.entity, false, "serviceid"), func(p peer) bool {
			return c.barred(p) ||
				!bool(C.knows_us(c.writer.kind, (*C.uint8_t)(&c.reader.guid[0]), (*C.uint8_t)(&p.guid[0])))
		})
		ok, fastDDS = available(c.writer.matched("serviceid"), replies)
	})
	return ok, fastDDS
}

// unavailable returns why no service is available.
func (c *client) unavailable() (err error) {
	err = errClosed
	c.node.owned.Use(func() {
		err = bridge.ErrUnavailable
		if c.node.security.Keys != "" && slices.ContainsFunc(matchedPeers(c.reader.entity, false, ""), c.barred) {
			err = fmt.Errorf("%w; %s", err, noFastServices)
		}
	})
	return err
}

// barred reports whether a server cannot be called because of security; see noFastServices.
func (c *client) barred(p peer) bool { return c.node.security.Keys != "" && c.node.isFastDDS(p.guid) }

// available reports whether a server is available: both its request reader and its reply writer are matched. Servers
// announce which reader and writer belong together; some do not. fastDDS reports that all available servers use Fast
// DDS.
func available(requests, replies []peer) (ok, fastDDS bool) {
	named, unnamed := false, false
	for _, request := range requests {
		if isFastDDS(request.guid) {
			fastDDS = fastDDS || slices.ContainsFunc(replies,
				func(reply peer) bool { return sameParticipant(reply.guid, request.guid) })
			continue
		}
		if request.id == "" {
			unnamed = true
			continue
		}
		named = true
		if slices.ContainsFunc(replies, func(reply peer) bool { return reply.id == request.id }) {
			return true, false
		}
	}
	if unnamed && !named && slices.ContainsFunc(replies, func(reply peer) bool { return !isFastDDS(reply.guid) }) {
		return true, false
	}
	return fastDDS, fastDDS
}

func (c *client) Close() error {
	return c.node.owned.End(c, func() error {
		close(c.closed)
		c.detach()
		if err := c.close(); err != nil {
			return fmt.Errorf("close client of %s: %w", c.name, err)
		}
		return nil
	})
}
