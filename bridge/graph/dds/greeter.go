package dds

// #include "entity.h"
import "C"

import (
	"sync"
	"time"

	"tapedeck/bridge"
)

// greeter asks new writers on Fast DDS for what they have already sent to a reader. They send a heartbeat by themselves
// once, often before Cyclone DDS knows them, and then every 3 s. Until it hears one, a reader delivers nothing of what
// comes after a sample that it missed, and a publisher that ends meanwhile is lost.
type greeter struct {
	ask     func(reader, writer bridge.GUID) C.enum_answer
	done    chan struct{} // closed by close
	running sync.WaitGroup

	mu      sync.Mutex
	pending map[[2]bridge.GUID]struct{} // readers and writers; nil after close
}

func newGreeter(kind *C.struct_ddsi_sertype) *greeter {
	return &greeter{
		ask: func(reader, writer bridge.GUID) C.enum_answer {
			return C.ask_writer(kind, (*C.uint8_t)(&reader[0]), (*C.uint8_t)(&writer[0]))
		},
		done: make(chan struct{}), pending: make(map[[2]bridge.GUID]struct{}),
	}
}

// greet does not wait. It asks again until the writer was heard of, since the network may lose a question and a writer
// ignores those of readers that it does not know yet.
func (g *greeter) greet(reader, writer bridge.GUID) {
	pair := [2]bridge.GUID{reader, writer}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, greeting := g.pending[pair]; greeting || g.pending == nil {
		return
	}
	g.pending[pair] = struct{}{}
	g.running.Go(func() {
		g.repeat(reader, writer)
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.pending, pair)
	})
}

// repeat ends after 6 s at most, when heartbeats have come anyway.
func (g *greeter) repeat(reader, writer bridge.GUID) {
	for delay := 100 * time.Microsecond; delay < 4*time.Second; delay *= 2 {
		switch g.ask(reader, writer) {
		case C.HEARD:
			return
		case C.ASKED:
			delay = max(delay, 10*time.Millisecond) // it sends all its samples each time
		}
		select {
		case <-time.After(delay):
		case <-g.done:
			return
		}
	}
}

func (g *greeter) close() {
	g.mu.Lock()
	g.pending = nil
	g.mu.Unlock()
	close(g.done)
	g.running.Wait()
}

// greetMatched greets new peers of a reader.
func (n *node) greetMatched(reader C.dds_entity_t, guid bridge.GUID) {
	var status C.dds_subscription_matched_status_t
	if C.dds_get_subscription_matched_status(reader, &status) < 0 || status.total_count_change == 0 {
		return
	}
	for _, peer := range matchedPeers(reader, false, "") {
		if isFastDDS(peer.guid) {
			n.graph.greeter.greet(guid, peer.guid)
		}
	}
}

// greetParticipant greets the writers by which a participant announces its endpoints.
func (g *graph) greetParticipant(guid bridge.GUID) {
	if !isFastDDS(guid) {
		return
	}
	for _, kind := range []byte{3, 4} { // publications and subscriptions
		reader, writer := g.own.guid, guid
		copy(reader[12:], []byte{0, 0, kind, 0xc7})
		copy(writer[12:], []byte{0, 0, kind, 0xc2})
		g.greeter.greet(reader, writer)
	}
}
