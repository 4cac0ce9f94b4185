// Package v4l2test makes up cameras for tests of what captures through package v4l2.
package v4l2test

import "tapedeck/bridge/v4l2"

// System is a machine with made-up cameras, a v4l2.System. Its zero value has none.
type System struct{}

// Plug plugs a camera in, at its Path.
func (s *System) Plug(c *Camera) { panic("not yet written") }

// Unplug pulls a camera out. Whoever captures from it is told that there is no such device, as by the kernel.
func (s *System) Unplug(c *Camera) { panic("not yet written") }

// Open implements v4l2.System.
func (s *System) Open(path string) (v4l2.Device, error) { panic("not yet written") }

// Nodes implements v4l2.System.
func (s *System) Nodes() ([]v4l2.Node, error) { panic("not yet written") }
