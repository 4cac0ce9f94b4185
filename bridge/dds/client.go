package dds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// client calls one service. It stays with the node, as discovering a service takes longer than calling it.
type client struct {
	pair   // replies are known to be this client's by its handle
	name   string
	closed chan struct{}

	mu      sync.Mutex
	calls   int64
	waiting map[int64]chan<- []byte
}

func (n *node) newClient(name, typeName string) (*client, error) {
	c := &client{name: name, closed: make(chan struct{}), waiting: make(map[int64]chan<- []byte)}
	request, reply := ends(name, typeName)
	if err := c.open(n, "clientid", request, reply, c.receive); err != nil {
		return nil, err
	}
	return c, nil
}

// receive hands replies to those who wait for them. Every client of a service gets the replies to all.
func (c *client) receive() error {
	for {
		blobs, err := c.reader.take(0)
		if err != nil || len(blobs) == 0 {
			return err
		}
		for _, b := range blobs {
			header, response, err := cutCallHeader(payload(b))
			if err != nil || header.client != c.handle {
				continue
			}
			c.mu.Lock()
			if waiting, ok := c.waiting[header.call]; ok {
				delete(c.waiting, header.call)
				waiting <- response
			}
			c.mu.Unlock()
		}
	}
}

func (c *client) call(ctx context.Context, request []byte) ([]byte, error) {
	if err := c.await(ctx); err != nil {
		return nil, err
	}
	response := make(chan []byte, 1)
	c.mu.Lock()
	c.calls++
	number := c.calls
	c.waiting[number] = response
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, number)
	}()
	data, err := addCallHeader(callHeader{client: c.handle, call: number}, request)
	if err != nil {
		return nil, err
	}
	if err := c.writer.write(data, -1); err != nil {
		return nil, err
	}
	select {
	case r := <-response:
		return r, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the reply: %w", ctx.Err())
	case <-c.closed:
		return nil, errClosed
	}
}

// await waits until a service is there.
func (c *client) await(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := available(c.writer.matched("serviceid"), matchedPeers(c.reader.entity, false, "serviceid"))
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the service: %w", ctx.Err())
		case <-c.closed:
			return errClosed
		}
	}
}

// available says whether one server is matched with both its reader of requests and its writer of replies, as far as
// they tell that they belong together. It is an error that there are only servers with which nobody here can talk.
func available(requests, replies []peer) (bool, error) {
	named, unnamed, foreign := false, false, false
	for _, request := range requests {
		switch {
		case isFastDDS(request.guid):
			foreign = true
		case request.id == "":
			unnamed = true
		case slices.ContainsFunc(replies, func(reply peer) bool { return reply.id == request.id }):
			return true, nil
		default:
			named = true
		}
	}
	if unnamed && !named && len(replies) > 0 {
		return true, nil
	}
	if foreign && !named && !unnamed {
		return false, errors.New(fastDDSServices)
	}
	return false, nil
}

func (c *client) Close() error {
	return c.node.end(c, func() error {
		close(c.closed)
		c.detach()
		if err := c.close(); err != nil {
			return fmt.Errorf("close client of %s: %w", c.name, err)
		}
		return nil
	})
}
