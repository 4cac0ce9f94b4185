package dds

// #include "entity.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// publisher implements bridge.Publisher.
type publisher struct {
	node   *node
	topic  string
	writer *writer
	lends  bool // payloads may be lent: the writer keeps no samples for late subscribers
}

func (n *node) newPublisher(topic, typeName string, q C.struct_qos) (*publisher, error) {
	w, err := n.newWriter(bridge.TopicToDDS(topic), bridge.TypeToDDS(typeName), q, n.typeHash(typeName))
	if err != nil {
		return nil, err
	}
	p := &publisher{node: n, topic: topic, writer: w, lends: !bool(q.transient_local)}
	if err := n.graph.add(w.guid); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return p, nil
}

func (p *publisher) Topic() string { return p.topic }

func (p *publisher) Publish(data []byte) error { return p.PublishAt(data, -1) }

func (p *publisher) PublishAt(data []byte, sourceTime int64) error {
	return p.publishError(p.writer.write(data, sourceTime))
}

func (p *publisher) Lend(data []byte, buffer *codec.Buffer) error {
	if !p.lends || len(data) < leastLoan || len(data)%4 != 0 {
		return p.Publish(data)
	}
	return p.publishError(p.writer.lend(data, buffer))
}

// publishError adds the topic to an error of publishing.
func (p *publisher) publishError(err error) error {
	if err != nil {
		return fmt.Errorf("publish on %s: %w", p.topic, err)
	}
	return nil
}

func (p *publisher) Subscribers() int { return int(p.writer.readers.Load()) }

func (p *publisher) Flush(ctx context.Context) error {
	for {
		switch code := C.dds_wait_for_acks(p.writer.entity, C.dds_duration_t(20*time.Millisecond)); {
		case code == C.DDS_RETCODE_TIMEOUT:
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("wait for acknowledgements on %s: %w", p.topic, err)
			}
		case code < 0:
			return fmt.Errorf("wait for acknowledgements on %s: %w", p.topic, check(code))
		default:
			return nil
		}
	}
}

func (p *publisher) Close() error {
	return p.node.owned.End(p, func() error {
		if err := errors.Join(p.node.graph.remove(p.writer.guid), p.writer.close()); err != nil {
			return fmt.Errorf("close publisher of %s: %w", p.topic, err)
		}
		return nil
	})
}
