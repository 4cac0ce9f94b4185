// Package v4l2test simulates cameras, for tests of programs that use package v4l2.
package v4l2test

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
)

// System is a v4l2.System with simulated cameras. Its zero value has none.
type System struct {
	mutex   sync.Mutex
	cameras []*Camera
}

// Plug plugs a camera in, at its Node.Path.
func (s *System) Plug(c *Camera) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !slices.Contains(s.cameras, c) {
		s.cameras = append(s.cameras, c)
		c.plug()
	}
}

// Unplug unplugs a camera. Capturing then fails with unix.ENODEV, as in the kernel.
func (s *System) Unplug(c *Camera) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.cameras = slices.DeleteFunc(s.cameras, func(other *Camera) bool { return other == c })
	c.unplug()
}

// Open implements v4l2.System.
func (s *System) Open(path string) (v4l2.Device, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, c := range s.cameras {
		if c.Node.Path == path {
			return newDevice(c), nil
		}
	}
	return nil, unix.ENOENT
}

// Nodes implements v4l2.System.
func (s *System) Nodes() ([]v4l2.Node, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var nodes []v4l2.Node
	for _, c := range s.cameras {
		nodes = append(nodes, c.Node)
	}
	return nodes, nil
}
