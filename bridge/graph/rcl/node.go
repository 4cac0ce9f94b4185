//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/internal/endpoints"
	"tapedeck/codec"
	"tapedeck/codec/text/printable"
	"tapedeck/msgs/rosidl"
)

// node implements bridge.Node.
type node struct {
	context    *rclgo.Context
	node       *rclgo.Node
	handle     *C.rcl_node_t
	making     sync.Mutex // held while rclgo creates or closes an object: rclgo allows one at a time
	parameters *bridge.Parameters
	graph      *graph
	level      bridge.LogLevel
	console    *console
	security   bridge.Security

	owned   *endpoints.Set
	clients endpoints.Clients[*client]
}

// Open puts a node on the graph.
func Open(o bridge.Options) (bridge.Node, error) {
	n, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("open node %s: %w", o.Name, err)
	}
	return n, nil
}

func open(o bridge.Options) (*node, error) {
	security, warnings, err := bridge.NewSecurity(o.Enclave, os.Getenv) // rcl reads the variables by itself
	if err != nil {
		return nil, err
	}
	security.Unsure = !security.Enforce
	n := &node{
		security: security, level: o.LogLevel, console: &console{w: o.Console},
		owned: endpoints.NewSet(),
	}
	if n.level == 0 {
		n.level = bridge.Info
	}
	if o.Console == nil {
		n.console.w = os.Stderr
	}
	var args *rclgo.Args
	err = try(func() (err error) {
		args, _, err = rclgo.ParseArgs(arguments(o, n.level))
		return err
	})
	if err != nil {
		return nil, err
	}
	domain := uint(rclgo.DefaultDomainID)
	if o.Domain >= 0 {
		domain = uint(o.Domain)
	}
	err = withNodeLogging(args, n.console, func() error { return n.start(args, domain, o) })
	if err != nil {
		return nil, err
	}
	n.parameters = bridge.NewParameters(n.Name(), o.Parameters)
	n.graph, err = newGraph(n)
	if err != nil {
		return nil, errors.Join(err, endNodeLogging(n.finish))
	}
	if err := n.parameters.Serve(n, o.Declare); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	if security.Keys != "" {
		n.Log(bridge.Info, "security is %v", security)
	}
	for _, warning := range warnings {
		n.Log(bridge.Warn, "%s", warning)
	}
	return n, nil
}

// arguments returns the arguments for rcl, as on a command line. They turn off rcl's console, because the node has one.
func arguments(o bridge.Options, level bridge.LogLevel) []string {
	args := []string{"--ros-args", "--disable-stdout-logs", "--log-level", strings.ToLower(level.String())}
	for _, rule := range o.Remaps {
		args = append(args, "-r", rule)
	}
	if o.Enclave != "" {
		args = append(args, "-e", o.Enclave)
	}
	return args
}

// start creates the node.
func (n *node) start(args *rclgo.Args, domain uint, o bridge.Options) error {
	return try(func() (err error) {
		n.context, err = rclgo.NewContextWithOpts(args,
			&rclgo.ContextOptions{ClockType: rclgo.ClockTypeROSTime, DomainID: domain})
		if err != nil {
			return err
		}
		n.node, err = n.context.NewNode(o.Name, o.Namespace)
		if err == nil {
			n.handle, err = nodeHandle(n.node)
		}
		if err == nil {
			err = check(C.rosout_open(n.handle))
		}
		if err != nil {
			_ = n.context.Close()
		}
		return err
	})
}

// finish undoes start.
func (n *node) finish() error {
	return try(func() error { return errors.Join(check(C.rosout_close(n.handle)), n.context.Close()) })
}

// make calls f, which creates or closes an object of rclgo.
func (n *node) make(f func() error) error {
	n.making.Lock()
	defer n.making.Unlock()
	return try(f)
}

func (n *node) Security() bridge.Security { return n.security }

// Calls returns nothing: rcl does not report service calls.
func (n *node) Calls() []bridge.Topic { return nil }

// Define does nothing: rcl announces the hashes of the types that are installed.
func (n *node) Define(string, *rosidl.Library) error { return nil }

// Delivered returns 0: rcl does not report samples that are still in the middleware.
func (n *node) Delivered() int64 { return 0 }

func (n *node) Name() string { return n.node.FullyQualifiedName() }

func (n *node) Parameters() *bridge.Parameters { return n.parameters }

func (n *node) Advertise(topic, typeName string, qos codec.QoS) (bridge.Publisher, error) {
	p, err := endpoints.Create(n.owned, func() (*publisher, error) { return n.newPublisher(topic, typeName, qos) })
	if err != nil {
		return nil, fmt.Errorf("advertise %q: %w", topic, err)
	}
	return p, nil
}

func (n *node) Subscribe(topic, typeName string, qos codec.QoS,
	handle func([]bridge.Sample)) (bridge.Subscription, error) {
	s, err := endpoints.Create(n.owned, func() (*subscription, error) {
		return n.newSubscription(topic, typeName, qos, handle)
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %q: %w", topic, err)
	}
	return s, nil
}

func (n *node) Serve(service, typeName string,
	handle func(ctx context.Context, request []byte) ([]byte, error)) (bridge.Service, error) {
	s, err := endpoints.Create(n.owned, func() (bridge.Service, error) {
		return n.newService(service, typeName, handle)
	})
	if err != nil {
		return nil, fmt.Errorf("serve %q: %w", service, err)
	}
	return s, nil
}

func (n *node) Call(ctx context.Context, service, typeName string, request []byte) ([]byte, error) {
	c, err := n.clients.Get(n.owned, service, typeName, n.newClient)
	var response []byte
	if err == nil {
		response, err = bridge.Call(ctx, n, c, request)
	}
	if err != nil {
		return nil, fmt.Errorf("call %q: %w", service, err)
	}
	return response, nil
}

func (n *node) Client(service, typeName string) (bridge.Client, error) {
	c, err := n.clients.Get(n.owned, service, typeName, n.newClient)
	if err != nil {
		return nil, fmt.Errorf("client of %q: %w", service, err)
	}
	return c, nil
}

func (n *node) Topics() []bridge.Topic {
	var topics []bridge.Topic
	n.owned.Use(func() {
		var err error
		topics, err = n.topics()
		if err != nil {
			n.Log(bridge.Error, "read the graph: %v", err)
		}
	})
	return topics
}

func (n *node) Watch(ctx context.Context) <-chan struct{} { return n.graph.watchers.Watch(ctx) }

func (n *node) Log(level bridge.LogLevel, format string, args ...any) {
	if level < n.level {
		return
	}
	line := logLine{
		logger: n.node.Logger().Name(), level: level, time: time.Now().UnixNano(),
		text: printable.Line(fmt.Sprintf(format, args...)),
	}
	if pc, file, number, ok := runtime.Caller(1); ok {
		line.function, line.file, line.number = runtime.FuncForPC(pc).Name(), file, number
	}
	line.write(n.console)
}

func (n *node) Close() error {
	err := n.owned.Close(func() error {
		n.graph.close()
		return endNodeLogging(n.finish)
	})
	if err != nil {
		return fmt.Errorf("close node %s: %w", n.Name(), err)
	}
	return nil
}
