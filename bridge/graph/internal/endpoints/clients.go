package endpoints

import (
	"io"
	"sync"
)

// Clients keeps the clients of a node, one for all calls of a service. The zero value has none.
type Clients[T io.Closer] struct {
	mu  sync.Mutex
	all map[service]T
}

type service struct{ name, kind string }

// Get returns the client of a service of that type. The first time create makes it, and s closes it.
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
