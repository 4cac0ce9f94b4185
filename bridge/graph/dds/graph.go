package dds

// #include "entity.h"
import "C"

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/internal/endpoints"
)

// graph is a node's view of the ROS graph. DDS discovers the endpoints; participants announce the nodes of the
// endpoints on ros_discovery_info. An endpoint and its node may become known in any order.
type graph struct {
	participants, publications, subscriptions C.dds_entity_t // readers of DDS's builtin topics
	announcements                             *reader
	announce                                  *writer
	greeter                                   *greeter

	mu        sync.Mutex
	batch     []C.struct_discovered           // buffer of takeDiscovered
	payload   []byte                          // buffer of the node's own announcement
	gidSize   int                             // size in bytes of GIDs in the node's own announcement
	adapts    bool                            // gidSize follows other participants' announcements
	own       participantInfo                 // the node's own announcement
	adaptive  map[bridge.GUID]struct{}        // other participants that have adaptiveKey
	sizes     map[bridge.GUID]int             // size in bytes of GIDs of each participant that is not adaptive
	present   map[bridge.GUID]struct{}        // participants that are there
	infos     map[bridge.GUID]participantInfo // the last announcement of each participant
	endpoints map[bridge.GUID]*endpoint       // endpoints of ROS topics
	calls     map[bridge.GUID]*endpoint       // endpoints of services, for bridge.Node.Calls
	watchers  *endpoints.Watchers
	announced bool // appear was called
	closed    bool
	warned    bool        // update has warned of a node of another distribution
	settling  *time.Timer // calls warnOfIncompatible

	isFastDDS func(bridge.GUID) bool
	log       func(level bridge.LogLevel, format string, args ...any) // to be called without mu
}

// endpoint is a publisher or subscriber of a ROS topic.
type endpoint struct {
	bridge.Endpoint
	topic      string
	subscriber bool
	reported   map[bridge.GUID]bool // peers whose mismatch with this endpoint was logged
}

func newGraph(n *node, gidSize int) (*graph, error) {
	g := &graph{
		gidSize: cmp.Or(gidSize, oldGID),
		adapts:  gidSize == 0,
		own: participantInfo{guid: n.guid, nodes: []nodeInfo{{namespace: n.names.Namespace(),
			name: n.names.NodeName()}}},
		adaptive:  make(map[bridge.GUID]struct{}),
		sizes:     make(map[bridge.GUID]int),
		batch:     make([]C.struct_discovered, 32),
		present:   make(map[bridge.GUID]struct{}),
		infos:     make(map[bridge.GUID]participantInfo),
		endpoints: make(map[bridge.GUID]*endpoint),
		calls:     make(map[bridge.GUID]*endpoint),
		watchers:  endpoints.NewWatchers(),
		isFastDDS: n.isFastDDS,
		log:       n.Log,
	}
	g.settling = time.AfterFunc(settled, g.warnOfIncompatible)
	g.settling.Stop() // until something is known
	for _, builtin := range []struct {
		reader *C.dds_entity_t
		topic  C.dds_entity_t
	}{
		{&g.participants, C.DDS_BUILTIN_TOPIC_DCPSPARTICIPANT},
		{&g.publications, C.DDS_BUILTIN_TOPIC_DCPSPUBLICATION},
		{&g.subscriptions, C.DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION},
	} {
		*builtin.reader = C.dds_create_reader(n.participant, builtin.topic, nil, nil)
		if err := check(*builtin.reader); err != nil {
			return nil, fmt.Errorf("create reader of DDS's builtin topics: %w", err)
		}
		C.dds_set_status_mask(*builtin.reader, C.DDS_DATA_AVAILABLE_STATUS)
	}
	hash := ""
	if gidSize != oldGID { // rmw_cyclonedds_cpp of Iron and later warns of an endpoint without a type hash
		hash = n.typeHash("rmw_dds_common/msg/ParticipantEntitiesInfo")
	}
	var err error
	g.announce, err = n.newWriter(discoveryTopic, discoveryType, toC(bridge.LatchedQoS()), hash)
	if err != nil {
		return nil, fmt.Errorf("create writer of %s: %w", discoveryTopic, err)
	}
	g.greeter = newGreeter(g.announce.kind)
	q := discoveryQoS()
	q.ignore_local = true
	g.announcements, err = n.newReader(discoveryTopic, discoveryType, q, hash)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create reader of %s: %w", discoveryTopic, err), g.announce.close())
	}
	return g, nil
}

// readers returns the readers whose data update processes.
func (g *graph) readers() []C.dds_entity_t {
	return []C.dds_entity_t{g.participants, g.publications, g.subscriptions, g.announcements.entity}
}

// changeOwn changes the node's announcement and publishes it after appear.
func (g *graph) changeOwn(change func(*nodeInfo)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	change(&g.own.nodes[0])
	g.learn(g.own)
	return g.publishOwn()
}

// appear announces the node. The node must serve its parameter services before.
func (g *graph) appear() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.announced = true
	return g.publishOwn()
}

func (g *graph) publishOwn() error {
	if !g.announced {
		return nil
	}
	g.payload = g.own.append(g.payload[:0], g.gidSize)
	if err := g.announce.write(g.payload, -1); err != nil {
		return fmt.Errorf("write %s: %w", discoveryTopic, err)
	}
	return nil
}

// add lists endpoints as the node's own.
func (g *graph) add(guids ...bridge.GUID) error {
	return g.changeOwn(func(n *nodeInfo) {
		for _, guid := range guids {
			if isReader(guid) {
				n.readers = append(n.readers, guid)
			} else {
				n.writers = append(n.writers, guid)
			}
		}
	})
}

// remove undoes add.
func (g *graph) remove(guids ...bridge.GUID) error {
	gone := func(guid bridge.GUID) bool { return slices.Contains(guids, guid) }
	return g.changeOwn(func(n *nodeInfo) {
		n.readers = slices.DeleteFunc(n.readers, gone)
		n.writers = slices.DeleteFunc(n.writers, gone)
	})
}

// isReader reports whether a GUID is the GUID of a reader, by the entity kind at its end. ROS 2's endpoints have no
// key.
func isReader(guid bridge.GUID) bool { return guid[15] == 0x04 }

// sameParticipant reports whether two GUIDs belong to one participant.
func sameParticipant(a, b bridge.GUID) bool { return [12]byte(a[:]) == [12]byte(b[:]) }

// learn stores a participant's announcement. The caller holds mu.
func (g *graph) learn(p participantInfo) {
	g.infos[p.guid] = p
	g.watchers.Notify()
}

// update processes discovery samples of DDS.
func (g *graph) update() error {
	g.mu.Lock()
	err := g.take()
	misfit, size := "", g.gidSize
	if !g.warned {
		misfit = g.misfit()
		g.warned = misfit != ""
	}
	if !g.closed {
		g.settling.Reset(settled)
	}
	g.mu.Unlock()
	switch {
	case misfit == "":
	case size == oldGID:
		g.log(bridge.Warn, "%s is a node of ROS 2 Iron or later and cannot read the name of this node, which is "+
			"announced as in Humble: ros2 node list and ros2 param of that release do not find this node; messages "+
			"and calls work; set ROS_DISTRO to that release to be found", misfit)
	default:
		g.log(bridge.Warn, "%s is a node of ROS 2 Humble or older and cannot read the name of this node, which is "+
			"announced as in the release of ROS_DISTRO: ros2 node list and ros2 param of Humble do not find this "+
			"node and may fail; messages and calls work; set ROS_DISTRO=humble to be found", misfit)
	}
	return err
}

// misfit returns the name of a ROS 2 node that cannot decode this node's announcement, or "" if there is none.
func (g *graph) misfit() string {
	for participant, size := range g.sizes {
		if size != g.gidSize {
			for _, n := range g.infos[participant].nodes {
				return n.fullName()
			}
		}
	}
	return ""
}

func (g *graph) take() error {
	if g.closed {
		return nil
	}
	if err := g.takeParticipants(); err != nil {
		return err
	}
	for _, reader := range []C.dds_entity_t{g.publications, g.subscriptions} {
		err := g.takeDiscovered(reader, true, func(guid bridge.GUID, d *C.struct_discovered) {
			if !d.alive {
				delete(g.endpoints, guid)
				delete(g.calls, guid)
				return
			}
			endpoints := g.endpoints
			topic, isTopic := bridge.TopicFromDDS(C.GoString(d.topic))
			if !isTopic {
				endpoints = g.calls
				topic, isTopic = bridge.CallsFromDDS(C.GoString(d.topic))
			}
			kind, isType := bridge.TypeFromDDS(C.GoString(d._type))
			if !isTopic || !isType {
				return
			}
			endpoints[guid] = &endpoint{
				Endpoint: bridge.Endpoint{
					GUID: guid, Type: kind, TypeHash: announcedHash(userData(d)),
					QoS: fromC(d.qos, g.isFastDDS(guid)), Own: sameParticipant(guid, g.own.guid),
				},
				topic: topic, subscriber: reader == g.subscriptions,
			}
		})
		if err != nil {
			return err
		}
	}
	for {
		blobs, err := g.announcements.take()
		if err != nil || len(blobs) == 0 {
			return err
		}
		if err := g.takeParticipants(); err != nil { // the senders of the samples must be known first
			return err
		}
		for _, b := range blobs {
			p, size, err := unmarshalParticipantInfo(payload(b))
			if err != nil || !sameParticipant(p.guid, publisherOf(b)) {
				continue // malformed: only the names of its nodes are lost
			}
			if _, ok := g.present[p.guid]; !ok {
				continue // the participant is gone, and nothing would remove its announcement
			}
			g.learn(p)
			if _, ok := g.adaptive[p.guid]; !ok {
				g.sizes[p.guid] = size
			}
		}
		if err := g.adapt(); err != nil {
			return err
		}
	}
}

// adapt announces the node again if other participants use another GID size. New distributions ignore announcements in
// the old layout. Humble reads nodes without a name from the new layout, and then fails to list nodes. So the old
// layout is the default, and is used if any participant uses it.
func (g *graph) adapt() error {
	if !g.adapts {
		return nil
	}
	size := g.gidSize
	for _, size = range g.sizes {
		if size == oldGID {
			break
		}
	}
	if size == g.gidSize {
		return nil
	}
	g.gidSize = size
	return g.publishOwn()
}

// takeParticipants processes arrivals and departures of participants.
func (g *graph) takeParticipants() error {
	return g.takeDiscovered(g.participants, false, func(guid bridge.GUID, d *C.struct_discovered) {
		switch {
		case !bool(d.alive):
			delete(g.present, guid)
			delete(g.infos, guid)
			delete(g.sizes, guid)
			delete(g.adaptive, guid)
			return
		case userDataValue(userData(d), adaptiveKey) != "":
			g.adaptive[guid] = struct{}{}
		}
		g.present[guid] = struct{}{}
		g.greetParticipant(guid)
	})
}

// userData returns a copy of the user data of a discovered entity.
func userData(d *C.struct_discovered) []byte {
	return C.GoBytes(unsafe.Pointer(d.user_data), d.user_data_size)
}

func (g *graph) takeDiscovered(reader C.dds_entity_t, endpoints bool,
	see func(bridge.GUID, *C.struct_discovered)) error {
	for {
		n := C.take_discovered(reader, C.bool(endpoints), &g.batch[0], C.int32_t(len(g.batch)))
		if err := check(n); err != nil {
			return fmt.Errorf("read discovered endpoints: %w", err)
		}
		for i := range g.batch[:n] {
			see(*(*bridge.GUID)(unsafe.Pointer(&g.batch[i].guid)), &g.batch[i])
		}
		C.release_discovered(&g.batch[0], n)
		if n == 0 {
			return nil
		}
		g.watchers.Notify()
	}
}

// announcedHash returns the type hash in the user data of an endpoint, or "" without a hash of version RIHS01.
func announcedHash(userData []byte) string {
	const prefix = "RIHS01_"
	hash := userDataValue(userData, "typehash")
	digits, ok := strings.CutPrefix(hash, prefix)
	if _, err := hex.DecodeString(digits); !ok || err != nil || len(digits) != 2*sha256.Size {
		return ""
	}
	return hash
}

// userDataValue returns the value of a key in "key=value;key=value;", or "" if the key is missing.
func userDataValue(data []byte, key string) string {
	for entry := range strings.SplitSeq(strings.TrimRight(string(data), "\x00"), ";") {
		if value, ok := strings.CutPrefix(entry, key+"="); ok {
			return value
		}
	}
	return ""
}

// topics returns the ROS topics.
func (g *graph) topics() []bridge.Topic { return g.topicsOf(g.endpoints) }

// nodes returns the full name of the node of each endpoint. The map is made on demand, because a node announces all its
// endpoints again with each new endpoint. The caller holds mu.
func (g *graph) nodes() map[bridge.GUID]string {
	nodes := make(map[bridge.GUID]string, len(g.endpoints)+len(g.calls))
	for participant, p := range g.infos {
		for _, n := range p.nodes {
			name := n.fullName()
			for _, guid := range slices.Concat(n.readers, n.writers) {
				if sameParticipant(guid, participant) { // ignore endpoints of other participants
					nodes[guid] = name
				}
			}
		}
	}
	return nodes
}

func (g *graph) topicsOf(endpoints map[bridge.GUID]*endpoint) []bridge.Topic {
	g.mu.Lock()
	defer g.mu.Unlock()
	nodes := g.nodes()
	byName := make(map[string]*bridge.Topic)
	for guid, e := range endpoints {
		t := byName[e.topic]
		if t == nil {
			t = &bridge.Topic{Name: e.topic}
			byName[e.topic] = t
		}
		if !slices.Contains(t.Types, e.Type) {
			t.Types = append(t.Types, e.Type)
		}
		out := e.Endpoint
		out.Node = nodes[guid]
		if e.subscriber {
			t.Subscribers = append(t.Subscribers, out)
		} else {
			t.Publishers = append(t.Publishers, out)
		}
	}
	topics := make([]bridge.Topic, 0, len(byName))
	byGUID := func(a, b bridge.Endpoint) int { return slices.Compare(a.GUID[:], b.GUID[:]) }
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		t := byName[name]
		slices.Sort(t.Types)
		slices.SortFunc(t.Publishers, byGUID)
		slices.SortFunc(t.Subscribers, byGUID)
		topics = append(topics, *t)
	}
	return topics
}

// close takes the node off the graph.
func (g *graph) close() {
	g.greeter.close()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.settling.Stop()
	g.own.nodes = nil
	_ = g.publishOwn() // without it, peers still see that the participant ends
	g.watchers.Close()
	_ = g.announce.close()
	_ = g.announcements.close()
}
