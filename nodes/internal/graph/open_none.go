//go:build !rcl && !cgo

package graph

import (
	"errors"

	"tapedeck/bridge"
)

const built = "none"

// errBuiltWithout is returned because this executable has no middleware.
var errBuiltWithout = errors.New("this executable was built without cgo, so it has no DDS and cannot reach other " +
	"nodes; use one that was built by 'make build'")

func describe() string { return "built without middleware" }

func open(bridge.Options) (bridge.Node, error) { return nil, errBuiltWithout }

func change() error { return errBuiltWithout }
