//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"tapedeck/bridge"
)

// client calls one service. The node keeps it, because discovering a service takes longer than calling it.
type client struct {
	node   *node
	name   string
	kind   *serviceType
	rclgo  *rclgo.Client
	handle *C.rcl_client_t
	spin   *spin

	sending sync.Mutex      // held until a request is sent
	sent    <-chan struct{} // receives a value when a request is sent

	ctx    context.Context // ends when the client is closed
	cancel context.CancelFunc
	using  sync.RWMutex // held for reading while rcl uses the client
}

func (n *node) newClient(name, typeName string) (*client, error) {
	kind, err := loadServiceType(typeName)
	if err != nil {
		return nil, err
	}
	sent := make(chan struct{}, 1)
	c := &client{node: n, kind: kind, sent: sent}
	err = n.make(func() (err error) {
		options := &rclgo.ClientOptions{Qos: callQoS()}
		c.rclgo, err = n.node.NewClient(name, orderly{kind, sent}, options)
		if err != nil {
			return err
		}
		c.handle, err = clientHandle(c.rclgo)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.name = C.GoString(C.rcl_client_get_service_name(c.handle))
	c.spin, err = n.spin("client of "+c.name, func(set *rclgo.WaitSet) { set.AddClients(c.rclgo) })
	if err != nil {
		return nil, errors.Join(err, n.make(c.rclgo.Close))
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

func (c *client) Service() string { return c.name }

func (c *client) Available() bool {
	ok, err := c.available()
	return ok && err == nil
}

func (c *client) available() (bool, error) {
	c.using.RLock()
	defer c.using.RUnlock()
	if c.ctx.Err() != nil {
		return false, errClosed
	}
	var there C.bool
	err := check(C.service_available(c.node.handle, c.handle, &there))
	return bool(there), err
}

func (c *client) Send(request []byte) (func(context.Context) ([]byte, error), error) {
	if err := c.kind.request.check(request); err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	there, err := c.available()
	if err == nil && !there {
		err = bridge.ErrUnavailable
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	var response []byte
	ended := make(chan struct{})
	c.sending.Lock()
	defer c.sending.Unlock()
	go func() {
		c.using.RLock()
		defer c.using.RUnlock()
		defer close(ended)
		response, err = c.send(ctx, request)
	}()
	select {
	case <-c.sent:
	case <-ended:
		select {
		case <-c.sent:
		default: // it was not sent
		}
	}
	return func(waiting context.Context) ([]byte, error) {
		defer cancel()
		select {
		case <-ended:
			return response, err
		case <-waiting.Done():
			return nil, fmt.Errorf("wait for the reply: %w", waiting.Err())
		}
	}, nil
}

// send sends a request and waits for the reply.
func (c *client) send(ctx context.Context, request []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, errClosed
	}
	reply, _, err := c.rclgo.Send(ctx, &message{kind: c.kind.request, data: request})
	if ctx.Err() != nil && err != nil {
		return nil, errClosed
	}
	if err != nil {
		return nil, plainError(err)
	}
	response := reply.(*message)
	return response.data, response.err
}

func (c *client) Close() error {
	return c.node.owned.End(c, func() error {
		c.cancel()
		c.using.Lock()
		defer c.using.Unlock()
		if err := errors.Join(c.spin.stop(), c.node.make(c.rclgo.Close)); err != nil {
			return fmt.Errorf("close client of %s: %w", c.name, err)
		}
		return nil
	})
}
