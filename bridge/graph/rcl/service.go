//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tiiuae/rclgo/pkg/rclgo"
	"github.com/tiiuae/rclgo/pkg/rclgo/types"

	"tapedeck/bridge"
)

// readerPatience is the longest time from a request until the reader of the client is discovered.
const readerPatience = 5 * time.Second

// service implements bridge.Service.
type service struct {
	node   *node
	name   string
	kind   *serviceType
	rclgo  *rclgo.Service
	spin   *spin
	answer func(context.Context, []byte) ([]byte, error)

	calls *bridge.Calls
}

func (n *node) newService(name, typeName string,
	answer func(context.Context, []byte) ([]byte, error)) (*service, error) {
	kind, err := loadServiceType(typeName)
	if err != nil {
		return nil, err
	}
	s := &service{node: n, kind: kind, answer: answer}
	err = n.make(func() (err error) {
		s.rclgo, err = n.node.NewService(name, kind, &rclgo.ServiceOptions{Qos: callQoS()}, s.receive)
		if err != nil {
			return err
		}
		h, err := serviceHandle(s.rclgo)
		if err == nil {
			s.name = C.GoString(C.rcl_service_get_service_name(h))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.calls = bridge.NewCalls(n, s.name)
	s.spin, err = n.spin("service "+s.name, func(set *rclgo.WaitSet) { set.AddServices(s.rclgo) })
	if err != nil {
		s.calls.Close()
		return nil, errors.Join(err, n.make(s.rclgo.Close))
	}
	return s, nil
}

// receive starts a received call.
func (s *service) receive(_ *rclgo.ServiceInfo, request types.Message, sender rclgo.ServiceResponseSender) {
	m := request.(*message)
	if s.calls.Begin(len(m.data)) {
		s.calls.Answer(len(m.data), func(ctx context.Context) error { return s.call(ctx, m, sender) })
	}
}

func (s *service) call(ctx context.Context, request *message, sender rclgo.ServiceResponseSender) error {
	if request.err != nil {
		return request.err
	}
	data, err := s.answer(ctx, request.data)
	if err != nil {
		return err
	}
	if err := s.kind.response.check(data); err != nil {
		return fmt.Errorf("the response: %w", err)
	}
	// rmw_fastrtps_cpp sends nothing if it does not match the client's reader within 100 ms. On a busy machine the
	// discovery of a new client takes longer.
	for deadline := time.Now().Add(readerPatience); ; {
		var late *rclgo.Timeout
		err := try(func() error {
			err := sender.SendResponse(&message{kind: s.kind.response, data: data})
			errors.As(err, &late)
			return err
		})
		if late == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (s *service) Name() string { return s.name }

// Close waits for the handler, so the handler must not call it.
func (s *service) Close() error {
	return s.node.owned.End(s, func() error {
		err := s.spin.stop()
		s.calls.Close()
		if err := errors.Join(err, s.node.make(s.rclgo.Close)); err != nil {
			return fmt.Errorf("close service %s: %w", s.name, err)
		}
		return nil
	})
}
