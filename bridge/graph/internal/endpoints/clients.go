package endpoints

import (
	"io"
	"sync"
)

// Clients holds the clients of a node, one for each service. The zero value is empty.
type Clients[T io.Closer] struct {
	mu  sync.Mutex
	all map[service]T
}

type service struct{ name, kind string }

// Get returns the client of a service. The first call for a service makes the client with create and adds it to s,
// which closes it.
func (c *Clients[T]) Get(s *Set, name, typeName string, create func(name, typeName string) (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := service{name, typeName}
	if client, ok := c.all[key]; ok {
		return client, nil
	}
	client, err := Create(s, func() (T, error) { return create(name, typeName) })
	if err == nil {
		if c.all == nil {
			c.all = make(map[service]T)
		}
		c.all[key] = client
	}
	return client, err
}
