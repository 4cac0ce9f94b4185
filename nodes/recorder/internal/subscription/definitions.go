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

// fetchTimeout is the time that a node has to return a definition. A definition may be fetched in this time, but after
// the first message of its topic was written to the file. Then only the next recording uses the definition.
const fetchTimeout = 10 * time.Second

// definitions fetches message definitions that Options.Library lacks. It fetches the definition of a type
// from a node that publishes messages of the type.
type definitions struct {
	node    bridge.Node
	fetches map[string]*definitionFetch // by type hash, the latest fetch; owned by the owner of the Set
	fetched sync.Map                    // texts of definitions, by type hash
}

// definitionFetch is an attempt to fetch one definition.
type definitionFetch struct {
	done chan struct{} // closed when text and err are set
	text string
	err  error
}

// cached returns the fetched definition with a hash, or "" if there is none.
func (d *definitions) cached(hash string) string {
	value, _ := d.fetched.Load(hash)
	text, _ := value.(string)
	return text
}

// fetch begins to fetch the definition of e's type from e's node, and returns the fetch. If the definition was fetched
// or is being fetched, it returns that fetch instead.
func (d *definitions) fetch(e bridge.Endpoint) *definitionFetch {
	f := d.fetches[e.TypeHash]
	if f != nil && !f.failed() {
		return f
	}
	f = &definitionFetch{done: make(chan struct{})}
	d.fetches[e.TypeHash] = f
	go func() {
		defer close(f.done)
		ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
		defer cancel()
		f.text, f.err = bridge.FetchDefinition(ctx, d.node, e)
		if f.err == nil {
			d.fetched.Store(e.TypeHash, f.text)
			d.node.Log(bridge.Info, "fetched the definition of %s from %s", e.Type, e.Node)
		}
	}()
	return f
}

// failed reports whether the fetch has ended with an error.
func (f *definitionFetch) failed() bool {
	select {
	case <-f.done:
		return f.err != nil
	default:
		return false
	}
}

// errOtherVersion is returned if the hash of a publisher's type differs from the hash of the library's definition.
var errOtherVersion = errors.New("its publisher has another version of the type than the definition found here")

// schemaOf returns the definition of a topic's type from the library, or else from the fetched definitions. hash is the
// type hash that the publisher announces, or "" if it announces none. schemaOf does not return a definition with
// another hash.
func (s *Set) schemaOf(topic, typeName, hash string) (codec.Schema, error) {
	text, err := s.Library.Concatenated(typeName)
	_, isCall := bridge.CallsToDDS(topic) // for requests and replies, hash is the hash of the service's type
	if err == nil && hash != "" && !isCall {
		if libraryHash, hashErr := s.Library.Hash(typeName); hashErr == nil && libraryHash != hash {
			err = errOtherVersion
		}
	}
	if err != nil {
		text = s.definitions.cached(hash)
		if text == "" {
			return codec.Schema{}, err
		}
	}
	return codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}, nil
}

// define begins to fetch the definition of a topic's type from one of the topic's publishers. It does nothing if the
// topic does not await a definition.
func (s *Set) define(t *Topic, info *bridge.Topic) {
	c := t.Channel.Load()
	if t.fetching || !t.AwaitsDefinition() {
		return
	}
	hashed := false // a publisher announces the type hash, without which a definition cannot be fetched
	for _, p := range info.Publishers {
		if p.Type != c.Type || p.TypeHash == "" || c.TypeHash != "" && p.TypeHash != c.TypeHash {
			continue
		}
		hashed = true
		if p.Node != "" {
			t.fetching = true
			f := s.definitions.fetch(p)
			go s.awaitFetch(t, f)
			return
		}
	}
	switch {
	case len(info.Publishers) == 0: // publishers may still appear
	case !hashed:
		_, err := s.schemaOf(c.Topic, c.Type, c.TypeHash)
		s.leaveUndefined(t, err)
	case !t.awaitingNode:
		t.awaitingNode = true
		s.awaitNode(t)
	}
}

var errUnknownNode = errors.New("its publisher's node is not known")

// awaitNode waits until the node of one of t's publishers becomes known; then define fetches the definition from the
// node. It gives up after the first message of t was written without a definition. Before the first message, it waits
// for any time.
func (s *Set) awaitNode(t *Topic) {
	time.AfterFunc(queue.DefinitionWait, func() {
		s.Owner.Post(func() {
			c := t.Channel.Load()
			switch {
			case !t.awaitingNode || t.fetching || c.Schema.Encoding != "": // there is nothing to wait for any more
			case t.AwaitsDefinition() && s.recording != nil && s.topics[key{c.Topic, c.Type}] == t:
				s.awaitNode(t)
			default:
				s.leaveUndefined(t, errUnknownNode)
			}
		})
	})
}

// awaitFetch sets the definition of a topic's type when the fetch has ended. If the fetch failed, the topic is recorded
// without a definition.
func (s *Set) awaitFetch(t *Topic, f *definitionFetch) {
	<-f.done
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
		s.Look() // conditions may need the definition
	})
}

// leaveUndefined makes s record a topic without the definition of its type, and reports err as the reason.
func (s *Set) leaveUndefined(t *Topic, err error) {
	t.StopAwaiting()
	t.awaitingNode = false
	s.declare(t)
	c := t.Channel.Load()
	_, schemaErr := s.schemaOf(c.Topic, c.Type, c.TypeHash)
	if errors.Is(schemaErr, errOtherVersion) && !errors.Is(err, schemaErr) {
		err = fmt.Errorf("%w: %w", schemaErr, err)
	}
	if errors.Is(err, rosidl.ErrUnknownType) || errors.Is(err, errOtherVersion) {
		err = fmt.Errorf("%w; name the folder that has it with --definition-paths", err)
	}
	s.Undefined(c, err)
}
