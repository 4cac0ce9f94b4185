//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tiiuae/rclgo/pkg/rclgo"
)

// client calls one service. The node keeps it, because discovering a service takes longer than calling it.
type client struct {
	node   *node
	name   string
	kind   *serviceType
	rclgo  *rclgo.Client
	handle *C.rcl_client_t
	spin   *spin

	ctx    context.Context // ends when it is closed
	cancel context.CancelFunc
	using  sync.RWMutex // held for reading by calls
}

func (n *node) newClient(name, typeName string) (*client, error) {
	kind, err := loadServiceType(typeName)
	if err != nil {
		return nil, err
	}
	c := &client{node: n, kind: kind}
	err = n.make(func() (err error) {
		if c.rclgo, err = n.node.NewClient(name, kind, &rclgo.ClientOptions{Qos: callQoS()}); err != nil {
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

func (c *client) call(ctx context.Context, request []byte) ([]byte, error) {
	c.using.RLock()
	defer c.using.RUnlock()
	if err := c.kind.request.check(request); err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	response, err := c.exchange(both, request)
	if err != nil && ctx.Err() == nil && c.ctx.Err() != nil {
		err = errClosed
	}
	return response, err
}

func (c *client) exchange(ctx context.Context, request []byte) ([]byte, error) {
	if err := c.await(ctx); err != nil {
		return nil, err
	}
	reply, _, err := c.rclgo.Send(ctx, &message{kind: c.kind.request, data: request})
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil {
		return nil, fmt.Errorf("wait for the reply: %w", ctxErr)
	}
	if err != nil {
		return nil, said(err)
	}
	response := reply.(*message)
	return response.data, response.err
}

// await waits until a service is there. rcl announces changes of the graph, but not when the middleware has matched.
func (c *client) await(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for the service: %w", err)
		}
		var there C.bool
		if err := check(C.service_available(c.node.handle, c.handle, &there)); err != nil {
			return err
		}
		if there {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
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
