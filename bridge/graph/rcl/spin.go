//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"time"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"tapedeck/bridge"
)

// spin is a goroutine that waits for a subscription, service or client and calls its callback.
type spin struct {
	node   *node
	set    *rclgo.WaitSet
	wake   *C.rcl_guard_condition_t // ends a wait
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended
}

// spin starts a goroutine that waits for the objects that add puts into a wait set. name is for the log.
func (n *node) spin(name string, add func(*rclgo.WaitSet)) (*spin, error) {
	s := &spin{node: n, done: make(chan struct{})}
	err := n.make(func() (err error) {
		s.set, err = n.context.NewWaitSet()
		if err == nil {
			s.wake, err = cancelHandle(s.set)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	add(s.set)
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(s.done)
		for ctx.Err() == nil {
			var timeout *rclgo.Timeout
			err := try(func() error {
				err := s.set.Run(ctx)
				if errors.As(err, &timeout) || ctx.Err() != nil {
					return nil
				}
				return err
			})
			if err != nil {
				n.Log(bridge.Error, "%s stopped receiving: %v", name, err)
				return
			}
		}
	}()
	return s, nil
}

// stop ends the goroutine. When stop returns, no callback is running.
func (s *spin) stop() error {
	s.cancel()
	s.node.until(s.done, func() error { return check(C.trigger(s.wake)) })
	return s.node.make(s.set.Close)
}

// until repeatedly calls trigger, which triggers a guard condition, until done is closed. rmw_fastrtps_cpp loses a
// trigger at the moment at which a wait ends for another reason.
func (n *node) until(done <-chan struct{}, trigger func() error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := trigger(); err != nil {
			n.Log(bridge.Error, "end a wait: %v", err)
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}
