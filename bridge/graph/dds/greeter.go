package dds

// #include "entity.h"
import "C"

import (
	"sync"
	"time"

	"tapedeck/bridge"
)

// greeter asks new writers of Fast DDS for the samples that they have already sent to a reader. A writer sends one
// heartbeat at once, often before Cyclone DDS knows the writer, and then one every 3 s. Until a reader receives a
// heartbeat, it delivers nothing after a missed sample, and it loses the samples of a publisher that ends meanwhile.
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

// greet asks a writer, in a goroutine, until the reader has received a heartbeat. It asks repeatedly because the
// network may lose a question, and because a writer ignores questions of readers that it does not know yet.
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

// repeat asks a writer for at most 6 s; by then, the writer's regular heartbeats have come.
func (g *greeter) repeat(reader, writer bridge.GUID) {
	for delay := 100 * time.Microsecond; delay < 4*time.Second; delay *= 2 {
		switch g.ask(reader, writer) {
		case C.HEARD:
			return
		case C.ASKED:
			delay = max(delay, 10*time.Millisecond) // the writer sends all its samples for each question
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
