//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/tiiuae/rclgo/pkg/rclgo"
)

// rclgo keeps rcl's handles in unexported fields. The functions of this file read them, because native.h needs them for
// functions that rclgo lacks. The handles are C memory and valid until the object is closed.

func contextHandle(c *rclgo.Context) (*C.rcl_context_t, error) {
	p, err := handle(c, "rcl_context_t", "rcl_context_s", C.sizeof_rcl_context_t)
	return (*C.rcl_context_t)(p), err
}

func nodeHandle(n *rclgo.Node) (*C.rcl_node_t, error) {
	p, err := handle(n, "rcl_node_t", "rcl_node_s", C.sizeof_rcl_node_t)
	return (*C.rcl_node_t)(p), err
}

func publisherHandle(p *rclgo.Publisher) (*C.rcl_publisher_t, error) {
	h, err := handle(p, "rcl_publisher_t", "rcl_publisher_s", C.sizeof_rcl_publisher_t)
	return (*C.rcl_publisher_t)(h), err
}

func subscriptionHandle(s *rclgo.Subscription) (*C.rcl_subscription_t, error) {
	p, err := handle(s, "rcl_subscription_t", "rcl_subscription_s", C.sizeof_rcl_subscription_t)
	return (*C.rcl_subscription_t)(p), err
}

func serviceHandle(s *rclgo.Service) (*C.rcl_service_t, error) {
	p, err := handle(s, "rclService", "rcl_service_s", C.sizeof_rcl_service_t)
	return (*C.rcl_service_t)(p), err
}

func clientHandle(c *rclgo.Client) (*C.rcl_client_t, error) {
	p, err := handle(c, "rclClient", "rcl_client_s", C.sizeof_rcl_client_t)
	return (*C.rcl_client_t)(p), err
}

// cancelHandle returns the guard condition that ends the wait of a wait set.
func cancelHandle(w *rclgo.WaitSet) (*C.rcl_guard_condition_t, error) {
	cancel := reflect.ValueOf(w).Elem().FieldByName("cancelWait")
	if !cancel.IsValid() || cancel.Kind() != reflect.Pointer || cancel.IsNil() ||
		cancel.Type().Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%T of this version of rclgo has no field cancelWait with a guard condition", w)
	}
	p, err := field(cancel, "rclGuardCondition", "rcl_guard_condition_s", C.sizeof_rcl_guard_condition_t)
	return (*C.rcl_guard_condition_t)(p), err
}

func handle(object any, name, kind string, size uintptr) (unsafe.Pointer, error) {
	return field(reflect.ValueOf(object), name, kind, size)
}

// field returns the pointer in a field of the struct that object points to. It fails if the pointer does not point to a
// C struct with the name kind and the given size.
func field(object reflect.Value, name, kind string, size uintptr) (unsafe.Pointer, error) {
	v := object.Elem().FieldByName(name)
	if !v.IsValid() || v.Kind() != reflect.Pointer || v.Type().Elem().Name() != "_Ctype_struct_"+kind ||
		v.Type().Elem().Size() != size || v.IsNil() {
		return nil, fmt.Errorf("%s of this version of rclgo has no field %s with a struct %s of %d bytes",
			object.Type(), name, kind, size)
	}
	return v.UnsafePointer(), nil
}
