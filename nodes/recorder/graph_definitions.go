package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/recorder/internal/queue"
)

// fetchTime is how long a node has to tell a definition. One that is too late for a file is there for the next
// recording.
const fetchTime = 10 * time.Second

// definitions fetch those of types that are not at hand from the nodes that publish them.
type definitions struct {
	node bridge.Node

	mu      sync.Mutex
	fetched map[string]*definition // by type hash
}

// definition is one that is being fetched, or was.
type definition struct {
	ready chan struct{} // closed when it was
	text  string
	err   error
}

// known returns the definition with that hash if it was fetched before.
func (d *definitions) known(hash string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.fetched[hash]; f != nil {
		select {
		case <-f.ready:
			return f.text
		default:
		}
	}
	return ""
}

// fetch asks the node of e for the definition of e's type, once for all that want it at the same time.
func (d *definitions) fetch(e bridge.Endpoint) (string, error) {
	d.mu.Lock()
	f := d.fetched[e.TypeHash]
	if f == nil {
		f = &definition{ready: make(chan struct{})}
		d.fetched[e.TypeHash] = f
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
			defer cancel()
			f.text, f.err = bridge.FetchDefinition(ctx, d.node, e)
			if f.err == nil {
				d.node.Log(bridge.Info, "%s told the definition of %s", e.Node, e.Type)
			} else { // another node may know better
				d.mu.Lock()
				delete(d.fetched, e.TypeHash)
				d.mu.Unlock()
			}
			close(f.ready)
		}()
	}
	d.mu.Unlock()
	<-f.ready
	return f.text, f.err
}

// schemaOf returns the definition of a type with that hash, which may be "".
func (r *recorder) schemaOf(typeName, hash string) (codec.Schema, error) {
	text, err := r.library.Concatenated(typeName)
	if err != nil {
		if text = r.definitions.known(hash); text == "" {
			return codec.Schema{}, err
		}
	}
	return codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}, nil
}

// define has the definition of a stream's type fetched from one of its publishers, where it is not at hand. r.mu is
// locked.
func (r *recorder) define(rec *topicRecorder, topic *bridge.Topic) {
	c := rec.Channel.Load()
	if rec.fetching || !rec.AwaitsDefinition() {
		return
	}
	hashed := false
	for _, p := range topic.Publishers {
		if p.Type != c.Type || p.TypeHash == "" {
			continue
		}
		hashed = true
		if p.Node != "" {
			rec.fetching = true
			go r.fetch(rec, p)
			return
		}
	}
	switch {
	case len(topic.Publishers) == 0:
	case !hashed:
		rec.StopAwaiting()
		r.declare(rec)
		_, err := r.library.Concatenated(c.Type)
		r.warnUndefined(c, err)
	case !rec.expecting:
		rec.expecting = true
		time.AfterFunc(queue.DefinitionWait, func() { r.expect(rec) })
	}
}

// expect gives up where the node that could tell a definition did not become known.
func (r *recorder) expect(rec *topicRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := rec.Channel.Load(); !rec.fetching && c.Schema.Encoding == "" {
		rec.StopAwaiting()
		r.declare(rec)
		r.warnUndefined(c, errors.New("its publisher's node is not known"))
	}
}

func (r *recorder) fetch(rec *topicRecorder, e bridge.Endpoint) {
	text, err := r.definitions.fetch(e)
	if err == nil && !rec.Define(codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}) {
		err = errors.New("its publisher told it too late for this file")
	}
	if err != nil {
		rec.StopAwaiting()
		r.warnUndefined(rec.Channel.Load(), err)
	}
	r.look() // conditions may want to know
	r.mu.Lock()
	defer r.mu.Unlock()
	r.declare(rec)
}

// warnUndefined says why a topic is recorded without the definition of its type.
func (r *recorder) warnUndefined(c *codec.Channel, err error) {
	advice := ""
	if errors.Is(err, rosidl.ErrUnknownType) {
		advice = "; name the folder that has it with --definition-paths"
	}
	r.warn("type "+c.Type, "%s is recorded without its definition, its readers must know it: %v%s", c.Topic, err, advice)
}
