package dds

// #include "entity.h"
// #include "inbox.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/internal/endpoints"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// node implements bridge.Node.
type node struct {
	names       *bridge.Names
	parameters  *bridge.Parameters
	domain      *domain
	security    bridge.Security
	expiring    string // path of the enclave's file that expires first; "": unknown
	expires     time.Time
	warnings    []string // warnings of open, to be logged
	participant C.dds_entity_t
	guid        bridge.GUID
	graph       *graph
	dispatcher  *dispatcher
	library     *rosidl.Library
	logger      *bridge.Logger

	// The goroutine of run serves all readers but the readers of subscriptions. It never waits for a handler.
	waitset    C.dds_entity_t
	dispatched chan struct{} // closed when run returns

	dispatching sync.Mutex                      // held while a function of dispatch runs
	dispatch    map[C.dds_attach_t]func() error // functions that process a reader's data, by its value in waitset
	attached    C.dds_attach_t                  // the last value used in waitset

	owned   *endpoints.Set
	clients endpoints.Clients[*client]
	callIDs atomic.Uint32 // number of clients and services so far

	defining sync.Mutex
	defined  map[string]*rosidl.Library // libraries given to Define, by type; nil before the first Define
}

// Open puts a node on the graph.
func Open(o bridge.Options) (bridge.Node, error) {
	names, err := bridge.NewNames(o)
	if err != nil {
		return nil, fmt.Errorf("open node: %w", err)
	}
	n, err := open(o, names)
	if err != nil {
		return nil, fmt.Errorf("open node %s: %w", names.Node(), err)
	}
	return n, nil
}

func open(o bridge.Options, names *bridge.Names) (*node, error) {
	id, err := domainID(o.Domain, os.Getenv)
	if err != nil {
		return nil, err
	}
	security, warnings, err := bridge.NewSecurity(o.Enclave, os.Getenv)
	if err != nil {
		return nil, err
	}
	domain, more, err := openDomain(id)
	if err != nil {
		return nil, err
	}
	n := &node{
		names: names, parameters: bridge.NewParameters(names.Node(), o.Parameters), domain: domain, security: security,
		warnings: append(warnings, more...), library: msgs.Library(), dispatcher: newDispatcher(),
		dispatched: make(chan struct{}), dispatch: make(map[C.dds_attach_t]func() error), owned: endpoints.NewSet(),
	}
	if err := n.start(o); err != nil {
		return nil, errors.Join(err, n.abandon())
	}
	if err := n.parameters.Serve(n, o.Declare); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	if err := n.graph.appear(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	if security.Keys != "" {
		n.Log(bridge.Info, "security is %v", security)
		if n.expiring != "" {
			go n.announceExpiry()
		}
	}
	for _, warning := range n.warnings {
		n.Log(bridge.Warn, "%s", warning)
	}
	return n, nil
}

func (n *node) start(o bridge.Options) error {
	gids := gidSize(os.Getenv("ROS_DISTRO"))
	announced := "enclave=" + n.security.Enclave + ";"
	if gids == 0 {
		announced += adaptiveKey + "=any;"
	}
	if err := n.createParticipant(announced); err != nil {
		return err
	}
	n.guid = guidOf(n.participant)
	if n.security.Keys != "" && n.guid[0]&0x80 == 0 { // the bit is set in GUIDs of secured participants
		return errors.New("security: this Cyclone DDS was built without it (ENABLE_SECURITY)")
	}
	n.waitset = C.create_waitset(n.participant)
	if err := check(n.waitset); err != nil {
		return fmt.Errorf("create DDS waitset: %w", err)
	}
	var err error
	n.graph, err = newGraph(n, gids)
	if err != nil {
		return err
	}
	for _, reader := range n.graph.readers() {
		if _, err := n.attach(reader, n.graph.update); err != nil {
			return err
		}
	}
	rosout, err := n.Advertise("/rosout", "rcl_interfaces/msg/Log", bridge.RosoutQoS())
	if err != nil {
		return err
	}
	console := o.Console
	if console == nil {
		console = os.Stderr
	}
	n.logger = bridge.NewLogger(n.Name(), o.LogLevel, console, rosout.Publish)
	go n.run()
	return nil
}

// abandon undoes what start did before it failed.
func (n *node) abandon() error {
	n.dispatcher.close()
	if n.graph != nil {
		n.graph.close()
	}
	if n.participant > 0 {
		C.dds_delete(n.participant)
	}
	return n.domain.release()
}

// attach makes run call f when the reader has data, until detach. f must not wait. attach returns the reader's value in
// the waitset.
func (n *node) attach(reader C.dds_entity_t, f func() error) (C.dds_attach_t, error) {
	n.dispatching.Lock()
	defer n.dispatching.Unlock()
	n.attached++
	if err := check(C.dds_waitset_attach(n.waitset, reader, n.attached)); err != nil {
		return 0, fmt.Errorf("wait for a DDS reader: %w", err)
	}
	n.dispatch[n.attached] = f
	return n.attached, nil
}

// detach undoes attach. When detach returns, the function given to attach does not run and is not called any more.
func (n *node) detach(reader C.dds_entity_t, value C.dds_attach_t) {
	C.dds_waitset_detach(n.waitset, reader)
	n.dispatching.Lock()
	defer n.dispatching.Unlock()
	delete(n.dispatch, value)
}

// run calls the functions given to attach, until the waitset is triggered.
func (n *node) run() {
	defer close(n.dispatched)
	var triggered [64]C.dds_attach_t
	for {
		count := C.dds_waitset_wait(n.waitset, &triggered[0], C.size_t(len(triggered)), C.DDS_INFINITY)
		if err := check(count); err != nil {
			n.Log(bridge.Error, "graph and service updates stopped: %v", err)
			return
		}
		ready := triggered[:min(int(count), len(triggered))]
		if slices.Contains(ready, 0) {
			return
		}
		for _, value := range ready {
			if err := n.dispatchOne(value); err != nil {
				n.Log(bridge.Error, "%v", err)
			}
		}
	}
}

func (n *node) dispatchOne(value C.dds_attach_t) error {
	n.dispatching.Lock()
	defer n.dispatching.Unlock()
	if f := n.dispatch[value]; f != nil {
		return f()
	}
	return nil
}

func (n *node) Name() string { return n.names.Node() }

func (n *node) Parameters() *bridge.Parameters { return n.parameters }

func (n *node) Advertise(topic, typeName string, qos codec.QoS) (bridge.Publisher, error) {
	full, err := n.names.Topic(topic)
	if err != nil {
		return nil, fmt.Errorf("advertise: %w", err)
	}
	p, err := endpoints.Create(n.owned, func() (bridge.Publisher, error) {
		return n.newPublisher(full, typeName, toC(qos))
	})
	if err != nil {
		return nil, fmt.Errorf("advertise %s: %w", full, err)
	}
	return p, nil
}

func (n *node) Subscribe(topic, typeName string, qos codec.QoS,
	handle func([]bridge.Sample)) (bridge.Subscription, error) {
	full, err := n.names.Topic(topic)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	if hint := receiveHint(); hint != "" {
		n.Log(bridge.Warn, "%s", hint)
	}
	s, err := endpoints.Create(n.owned, func() (bridge.Subscription, error) {
		return n.newSubscription(full, typeName, qos, handle)
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", full, err)
	}
	return s, nil
}

func (n *node) Serve(service, typeName string,
	handle func(ctx context.Context, request []byte) ([]byte, error)) (bridge.Service, error) {
	full, err := n.names.Service(service)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s, err := endpoints.Create(n.owned, func() (bridge.Service, error) { return n.newService(full, typeName, handle) })
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", full, err)
	}
	return s, nil
}

func (n *node) Call(ctx context.Context, service, typeName string, request []byte) ([]byte, error) {
	full, err := n.names.Service(service)
	if err != nil {
		return nil, fmt.Errorf("call: %w", err)
	}
	c, err := n.clients.Get(n.owned, full, typeName, n.newClient)
	var response []byte
	if err == nil {
		response, err = bridge.Call(ctx, n, c, request)
	}
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", full, err)
	}
	return response, nil
}

func (n *node) Client(service, typeName string) (bridge.Client, error) {
	full, err := n.names.Service(service)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	c, err := n.clients.Get(n.owned, full, typeName, n.newClient)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", full, err)
	}
	return c, nil
}

func (n *node) Topics() []bridge.Topic {
	if err := n.graph.update(); err != nil {
		n.Log(bridge.Error, "%v", err)
	}
	return n.graph.topics()
}

func (n *node) Calls() []bridge.Topic {
	if err := n.graph.update(); err != nil {
		n.Log(bridge.Error, "%v", err)
	}
	return n.graph.topicsOf(n.graph.calls)
}

func (n *node) Watch(ctx context.Context) <-chan struct{} { return n.graph.watchers.Watch(ctx) }

func (n *node) Log(level bridge.LogLevel, format string, args ...any) {
	n.logger.Log(level, format, args...)
}

// typeHash returns the user data that announces the hash of a type, or "" if the hash is not known.
func (n *node) typeHash(typeName string) string {
	hash, err := n.libraryOf(typeName).Hash(typeName)
	if err != nil {
		return ""
	}
	return "typehash=" + hash + ";"
}

// libraryOf returns the library that defines a type.
func (n *node) libraryOf(typeName string) *rosidl.Library {
	n.defining.Lock()
	defer n.defining.Unlock()
	if l := n.defined[typeName]; l != nil {
		return l
	}
	return n.library
}

func (n *node) Define(typeName string, library *rosidl.Library) error {
	if _, err := library.Hash(typeName); err != nil {
		return err
	}
	n.defining.Lock()
	first := n.defined == nil
	if first {
		n.defined = map[string]*rosidl.Library{}
	}
	n.defined[typeName] = library
	n.defining.Unlock()
	if first {
		return bridge.ServeDefinitions(n, n.libraryOf)
	}
	return nil
}

func (n *node) Delivered() int64 {
	return int64(C.queue_delivered(n.dispatcher.queue)) + n.dispatcher.ahead
}

func (n *node) Close() error {
	err := n.owned.Close(func() error {
		n.dispatcher.close()
		C.dds_waitset_set_trigger(n.waitset, true)
		<-n.dispatched
		n.graph.close()
		return errors.Join(check(C.dds_delete(n.participant)), n.domain.release())
	})
	if err != nil {
		return fmt.Errorf("close node %s: %w", n.Name(), err)
	}
	return nil
}
