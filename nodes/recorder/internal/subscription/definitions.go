package subscription

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/recorder/internal/queue"
)

// fetchTime is how long a node has to return a definition. One that is too late for a file is there for the next
// recording.
const fetchTime = 10 * time.Second

// definitions fetches definitions that are not at hand from the nodes that publish their types.
type definitions struct {
	node     bridge.Node
	fetching map[string]*fetch // by type hash; what failed is fetched anew. The owner's
	fetched  sync.Map          // texts by type hash
}

// fetch is a definition that is being fetched, or was.
type fetch struct {
	ready chan struct{} // closed when it was
	text  string
	err   error
}

// known returns the definition with that hash if it was fetched before.
func (d *definitions) known(hash string) string {
	text, _ := d.fetched.Load(hash)
	known, _ := text.(string)
	return known
}

// fetch asks the node of e for the definition of e's type, once for all that want it at the same time.
func (d *definitions) fetch(e bridge.Endpoint) *fetch {
	f := d.fetching[e.TypeHash]
	if f != nil && !f.failed() {
		return f
	}
	f = &fetch{ready: make(chan struct{})}
	d.fetching[e.TypeHash] = f
	go func() {
		defer close(f.ready)
		ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
		defer cancel()
		f.text, f.err = bridge.FetchDefinition(ctx, d.node, e)
		if f.err == nil {
			d.fetched.Store(e.TypeHash, f.text)
			d.node.Log(bridge.Info, "fetched the definition of %s from %s", e.Type, e.Node)
		}
	}()
	return f
}

// failed reports whether the definition was not to be had: another node may know better.
func (f *fetch) failed() bool {
	select {
	case <-f.ready:
		return f.err != nil
	default:
		return false
	}
}

// errOtherVersion is returned for types that a publisher has with other fields than the definition that is at hand.
var errOtherVersion = errors.New("its publisher has another version of the type than the definition found here")

// schemaOf returns the definition of a type on a topic. hash is the one that the publisher announces, which wins over a
// definition that is at hand; "": none.
func (s *Set) schemaOf(topic, typeName, hash string) (codec.Schema, error) {
	text, err := s.Library.Concatenated(typeName)
	_, calls := bridge.CallsToDDS(topic) // hashes of requests and replies are those of the service
	if err == nil && hash != "" && !calls {
		if own, hashErr := s.Library.Hash(typeName); hashErr == nil && own != hash {
			err = errOtherVersion
		}
	}
	if err != nil {
		text = s.definitions.known(hash)
		if text == "" {
			return codec.Schema{}, err
		}
	}
	return codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}, nil
}

// define fetches the definition of a topic's type from one of its publishers, where it is not at hand.
func (s *Set) define(t *Topic, info *bridge.Topic) {
	c := t.Channel.Load()
	if t.fetching || !t.AwaitsDefinition() {
		return
	}
	hashed := false
	for _, p := range info.Publishers {
		if p.Type != c.Type || p.TypeHash == "" || c.TypeHash != "" && p.TypeHash != c.TypeHash {
			continue
		}
		hashed = true
		if p.Node != "" {
			t.fetching = true
			f := s.definitions.fetch(p)
			go s.await(t, f)
			return
		}
	}
	switch {
	case len(info.Publishers) == 0:
	case !hashed:
		_, err := s.schemaOf(c.Topic, c.Type, c.TypeHash)
		s.leaveUndefined(t, err)
	case !t.expecting:
		t.expecting = true
		s.expectNode(t)
	}
}

var errUnknownNode = errors.New("its publisher's node is not known")

// expectNode gives up once the first message of a topic was written without a definition, as no publisher's node became
// known for queue.DefinitionWait. A topic without messages, or whose messages are kept for a snapshot, loses nothing
// while it waits.
func (s *Set) expectNode(t *Topic) {
	time.AfterFunc(queue.DefinitionWait, func() {
		s.Owner.Post(func() {
			c := t.Channel.Load()
			switch {
			case !t.expecting || t.fetching || c.Schema.Encoding != "":
			case t.AwaitsDefinition() && s.recording != nil && s.topics[key{c.Topic, c.Type}] == t:
				s.expectNode(t)
			default:
				s.leaveUndefined(t, errUnknownNode)
			}
		})
	})
}

// await gives a topic the definition once it was fetched.
func (s *Set) await(t *Topic, f *fetch) {
	<-f.ready
	err := f.err
	if err == nil && !t.Define(codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(f.text)}) {
		err = errors.New("its publisher sent it too late for this file")
	}
	s.Owner.Post(func() {
		if err != nil {
			s.leaveUndefined(t, err)
		} else {
			s.declare(t)
		}
		s.Look() // conditions may want to know
	})
}

// leaveUndefined takes in a topic without the definition of its type.
func (s *Set) leaveUndefined(t *Topic, err error) {
	t.StopAwaiting()
	t.expecting = false
	s.declare(t)
	c := t.Channel.Load()
	if _, own := s.schemaOf(c.Topic, c.Type, c.TypeHash); errors.Is(own, errOtherVersion) && !errors.Is(err, own) {
		err = fmt.Errorf("%w: %w", own, err)
	}
	if errors.Is(err, rosidl.ErrUnknownType) || errors.Is(err, errOtherVersion) {
		err = fmt.Errorf("%w; name the folder that has it with --definition-paths", err)
	}
	s.Undefined(c, err)
}
