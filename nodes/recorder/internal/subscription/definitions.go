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

// fetchTime is the time limit for a node to return a definition. If it comes too late for a file, the next recording
// uses it.
const fetchTime = 10 * time.Second

// definitions fetches definitions that the library lacks from the nodes that publish their types.
type definitions struct {
	node     bridge.Node
	fetching map[string]*fetch // by type hash; failed ones are fetched anew. Belongs to the owner
	fetched  sync.Map          // texts by type hash
}

// fetch is a definition that is being fetched, or was.
type fetch struct {
	ready chan struct{} // closed when text and err are set
	text  string
	err   error
}

// cached returns the definition with a hash if it was fetched before, else "".
func (d *definitions) cached(hash string) string {
	text, _ := d.fetched.Load(hash)
	known, _ := text.(string)
	return known
}

// fetch asks the node of e for the definition of e's type. Calls meanwhile get the same fetch.
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

// failed reports whether fetching has failed.
func (f *fetch) failed() bool {
	select {
	case <-f.ready:
		return f.err != nil
	default:
		return false
	}
}

// errOtherVersion is returned if a publisher's type has other fields than the library's definition.
var errOtherVersion = errors.New("its publisher has another version of the type than the definition found here")

// schemaOf returns the definition of a type on a topic. hash is the hash that the publisher announces, or "". A
// definition with another hash is not returned.
func (s *Set) schemaOf(topic, typeName, hash string) (codec.Schema, error) {
	text, err := s.Library.Concatenated(typeName)
	_, calls := bridge.CallsToDDS(topic) // requests and replies have the hash of their service
	if err == nil && hash != "" && !calls {
		if own, hashErr := s.Library.Hash(typeName); hashErr == nil && own != hash {
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

// define fetches the definition of a topic's type from one of its publishers, if the topic awaits it.
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

// expectNode waits until the node of a publisher becomes known, and gives up when the first message of the topic was
// written without a definition. A topic without recorded messages can wait for any time.
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

// await sets the definition of a topic once it is fetched.
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
		s.Look() // conditions may need the definition
	})
}

// leaveUndefined records a topic without the definition of its type, because of err.
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
