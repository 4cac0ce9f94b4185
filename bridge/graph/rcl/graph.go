//go:build rcl

package rcl

// #include "native.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/internal/endpoints"
)

// graph waits for changes of the ROS graph.
type graph struct {
	node     *node
	native   *C.struct_watch
	stopping atomic.Bool
	done     chan struct{} // closed when its goroutine has ended

	watchers *endpoints.Watchers

	checking  sync.Mutex // held while endpoints are checked
	endpoints map[endpoint]struct{}
}

// endpoint is a publisher or subscription of the node.
type endpoint interface {
	// warnOfIncompatible logs new peers that the endpoint does not match.
	warnOfIncompatible()
}

// settled is the time after a change of the graph after which the middleware has matched all endpoints, and replaced
// subscriptions are gone.
const settled = 1500 * time.Millisecond

func newGraph(n *node) (*graph, error) {
	g := &graph{
		node: n, native: (*C.struct_watch)(C.calloc(1, C.sizeof_struct_watch)), done: make(chan struct{}),
		watchers: endpoints.NewWatchers(), endpoints: make(map[endpoint]struct{}),
	}
	c, err := contextHandle(n.context)
	if err == nil {
		err = check(C.watch_open(g.native, n.handle, c))
	}
	if err != nil {
		C.free(unsafe.Pointer(g.native))
		return nil, fmt.Errorf("watch the graph: %w", err)
	}
	go g.run()
	return g, nil
}

func (g *graph) run() {
	defer close(g.done)
	for timeout := time.Duration(-1); ; {
		var changed C.bool
		err := check(C.watch_wait(g.native, C.int64_t(timeout), &changed))
		switch {
		case g.stopping.Load():
			return
		case err != nil:
			g.node.Log(bridge.Error, "graph updates stopped: %v", err)
			return
		case bool(changed):
			g.watchers.Notify()
			timeout = settled
		default:
			g.check()
			// of a change in the moment in which the wait ended, which rmw_fastrtps_cpp does not tell of again
			g.watchers.Notify()
			timeout = -1
		}
	}
}

// add makes the graph call warnOfIncompatible of an endpoint, until remove.
func (g *graph) add(e endpoint) {
	g.checking.Lock()
	defer g.checking.Unlock()
	g.endpoints[e] = struct{}{}
}

// remove undoes add. When remove returns, no call of the endpoint is running.
func (g *graph) remove(e endpoint) {
	g.checking.Lock()
	defer g.checking.Unlock()
	delete(g.endpoints, e)
}

func (g *graph) check() {
	g.checking.Lock()
	defer g.checking.Unlock()
	for e := range g.endpoints {
		e.warnOfIncompatible()
	}
}

func (g *graph) close() {
	g.stopping.Store(true)
	g.node.until(g.done, func() error { return check(C.trigger(&g.native.stop)) })
	C.watch_close(g.native)
	C.free(unsafe.Pointer(g.native))
	g.watchers.Close()
}

// topics returns the ROS topics.
func (n *node) topics() ([]bridge.Topic, error) {
	var names map[string][]string
	err := try(func() (err error) {
		names, err = n.node.GetTopicNamesAndTypes(true)
		return err
	})
	if err != nil {
		return nil, err
	}
	topics := make([]bridge.Topic, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t := bridge.Topic{Name: name}
		t.Publishers, err = n.endpoints(name, true)
		if err != nil {
			return nil, err
		}
		t.Subscribers, err = n.endpoints(name, false)
		if err != nil {
			return nil, err
		}
		for _, e := range slices.Concat(t.Publishers, t.Subscribers) {
			if !slices.Contains(t.Types, e.Type) {
				t.Types = append(t.Types, e.Type)
			}
		}
		slices.Sort(t.Types)
		if t.Types != nil { // otherwise the last endpoint of the topic has gone meanwhile
			topics = append(topics, t)
		}
	}
	return topics, nil
}

// endpoints returns the publishers or the subscribers of a topic, by GUID.
func (n *node) endpoints(topic string, publishers bool) ([]bridge.Endpoint, error) {
	name := C.CString(topic)
	defer C.free(unsafe.Pointer(name))
	allocator := C.rcutils_get_default_allocator()
	array := C.rmw_get_zero_initialized_topic_endpoint_info_array()
	defer C.rmw_topic_endpoint_info_array_fini(&array, &allocator)
	err := check(C.topic_endpoints(n.handle, name, C.bool(publishers), &allocator, &array))
	if err != nil {
		return nil, err
	}
	var list []bridge.Endpoint
	for _, info := range unsafe.Slice(array.info_array, array.size) {
		e := bridge.Endpoint{
			GUID: *(*bridge.GUID)(unsafe.Pointer(&info.endpoint_gid)),
			Type: C.GoString(info.topic_type), QoS: fromRMW(&info.qos_profile),
		}
		if name := C.GoString(info.node_name); !strings.HasPrefix(name, "_NODE_NAME_UNKNOWN_") {
			e.Node = strings.TrimSuffix(C.GoString(info.node_namespace), "/") + "/" + name
		}
		if hash := C.type_hash(&info); hash != nil {
			e.TypeHash = takeString(hash)
		}
		e.Own = e.Node == n.Name()
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b bridge.Endpoint) int { return slices.Compare(a.GUID[:], b.GUID[:]) })
	return list, nil
}

// explain returns a better error than err, with which the creation of an endpoint failed, if the node has an endpoint
// of another type on the topic: Fast DDS does not allow that.
func (n *node) explain(err error, topic, typeName string) error {
	name := C.CString(topic)
	defer C.free(unsafe.Pointer(name))
	resolved := C.resolve(n.handle, name, false)
	if resolved == nil {
		return err
	}
	full := takeString(resolved)
	for _, publishers := range []bool{true, false} {
		endpoints, graphErr := n.endpoints(full, publishers)
		if graphErr != nil {
			return err
		}
		for _, e := range endpoints {
			if e.Own && e.Type != typeName {
				return fmt.Errorf("%s has the type %s in this node, and this middleware allows one type for each "+
					"topic of a node", full, e.Type)
			}
		}
	}
	return err
}
