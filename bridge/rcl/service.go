//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tiiuae/rclgo/pkg/rclgo"
	"github.com/tiiuae/rclgo/pkg/rclgo/types"

	"tapedeck/bridge"
)

// service implements bridge.Service.
type service struct {
	node   *node
	name   string
	kind   *serviceType
	rclgo  *rclgo.Service
	spin   *spin
	answer func(context.Context, []byte) ([]byte, error)

	ctx    context.Context
	cancel context.CancelFunc
	calls  sync.WaitGroup
	limits bridge.Calls
}

func (n *node) newService(name, typeName string,
	answer func(context.Context, []byte) ([]byte, error)) (*service, error) {
	kind, err := loadServiceType(typeName)
	if err != nil {
		return nil, err
	}
	s := &service{node: n, kind: kind, answer: answer}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	err = n.make(func() (err error) {
		if s.rclgo, err = n.node.NewService(name, kind, &rclgo.ServiceOptions{Qos: callQoS()}, s.receive); err != nil {
			return err
		}
		h, err := serviceHandle(s.rclgo)
		if err == nil {
			s.name = C.GoString(C.rcl_service_get_service_name(h))
		}
		return err
	})
	if err != nil {
		s.cancel()
		return nil, err
	}
	s.spin, err = n.spin("service "+s.name, func(set *rclgo.WaitSet) { set.AddServices(s.rclgo) })
	if err != nil {
		s.cancel()
		return nil, errors.Join(err, n.make(s.rclgo.Close))
	}
	return s, nil
}

// receive starts a call that has come in.
func (s *service) receive(_ *rclgo.ServiceInfo, request types.Message, sender rclgo.ServiceResponseSender) {
	m := request.(*message)
	size := len(m.data)
	if err := s.limits.Begin(size); err != nil {
		s.limits.Log(s.node, s.name, err)
		return
	}
	s.calls.Go(func() {
		defer s.limits.End(size)
		if err := s.call(m, sender); err != nil {
			s.limits.Log(s.node, s.name, err)
		}
	})
}

func (s *service) call(request *message, sender rclgo.ServiceResponseSender) error {
	if request.err != nil {
		return request.err
	}
	data, err := s.answer(s.ctx, request.data)
	if err != nil {
		return err
	}
	if err := s.kind.response.check(data); err != nil {
		return fmt.Errorf("the response: %w", err)
	}
	return try(func() error { return sender.SendResponse(&message{kind: s.kind.response, data: data}) })
}

func (s *service) Name() string { return s.name }

// Close must not be called by the handler, for which it waits.
func (s *service) Close() error {
	return s.node.owned.End(s, func() error {
		err := s.spin.stop()
		s.cancel()
		s.calls.Wait()
		if err := errors.Join(err, s.node.make(s.rclgo.Close)); err != nil {
			return fmt.Errorf("close service %s: %w", s.name, err)
		}
		return nil
	})
}
