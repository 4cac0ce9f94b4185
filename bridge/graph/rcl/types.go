//go:build rcl

package rcl

// #include "native.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unsafe"

	"github.com/tiiuae/rclgo/pkg/rclgo/types"

	"tapedeck/msgs/rosidl"
)

// interfaceName matches the name of a type: package, folder, name. Names may come from peers, and become part of the
// name of a library.
var interfaceName = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9_]*)/(msg|srv|action)/([a-zA-Z][a-zA-Z0-9_]*)$`)

// loadHandle returns the type support of a type from its package. kind is "message" or "service". The error wraps
// rosidl.ErrUnknownType where the package is not installed or does not have it.
func loadHandle(kind, typeName string) (unsafe.Pointer, error) {
	m := interfaceName.FindStringSubmatch(typeName)
	if m == nil {
		return nil, fmt.Errorf("type %q: want a name such as std_msgs/msg/String or std_srvs/srv/Trigger", typeName)
	}
	library := C.CString("lib" + m[1] + "__rosidl_typesupport_c.so")
	function := C.CString("rosidl_typesupport_c__get_" + kind + "_type_support_handle__" + strings.Join(m[1:], "__"))
	defer C.free(unsafe.Pointer(library))
	defer C.free(unsafe.Pointer(function))
	var installed C.bool
	if h := C.type_support(library, function, &installed); h != nil {
		return h, nil
	}
	if !installed {
		return nil, fmt.Errorf("%w: %s is not installed: %s is not in the library path. Install the package %s "+
			"(Debian name ros-<distro>-%s), or build it, and source its setup.sh", rosidl.ErrUnknownType, typeName,
			C.GoString(library), m[1], strings.ReplaceAll(m[1], "_", "-"))
	}
	return nil, fmt.Errorf("%w: %s: the installed package %s has no such %s; source the setup.sh of one that does",
		rosidl.ErrUnknownType, typeName, m[1], kind)
}

// messageType is the type support of any installed message type. Its messages, as rclgo sees them, are CDR.
type messageType struct {
	handle  *C.rosidl_message_type_support_t
	members *C.message_members // nil in types of topics, whose messages stay CDR
	wide    bool               // the type has wstrings, which cdr_size does not support
}

// loadTopicType returns the type of a topic.
func loadTopicType(typeName string) (*messageType, error) {
	h, err := loadHandle("message", typeName)
	return &messageType{handle: (*C.rosidl_message_type_support_t)(h)}, err
}

// loadMessageType returns a type whose messages can be converted to and from C structs.
func loadMessageType(typeName string) (*messageType, error) {
	t, err := loadTopicType(typeName)
	if err != nil {
		return nil, err
	}
	t.members = C.introspect(t.handle)
	if t.members == nil {
		return nil, fmt.Errorf("type %s: its package is installed without rosidl_typesupport_introspection_c", typeName)
	}
	t.wide = bool(C.has_wide_characters(t.members))
	return t, nil
}

var errMalformed = errors.New("it is no CDR of this type, or cut short")

// read fills a C message from CDR. It checks lengths first, because the middleware allocates memory for any length.
func (t *messageType) read(dst unsafe.Pointer, data []byte) error {
	p, size := unsafe.SliceData(data), C.size_t(len(data))
	if len(data) < 4 || !t.wide && C.cdr_size(t.members, (*C.uint8_t)(p), size) == 0 {
		return errMalformed
	}
	return check(C.message_read(t.handle, dst, unsafe.Pointer(p), size))
}

// write returns a C message as CDR. Some middleware, for example Fast DDS, returns an estimate as the size of the CDR.
func (t *messageType) write(src unsafe.Pointer) ([]byte, error) {
	var m C.rmw_serialized_message_t
	defer C.rcutils_uint8_array_fini(&m)
	if err := check(C.message_write(t.handle, src, &m)); err != nil {
		return nil, err
	}
	size := m.buffer_length
	if !t.wide {
		size = C.cdr_size(t.members, m.buffer, size)
	}
	return C.GoBytes(unsafe.Pointer(m.buffer), C.int(size)), nil
}

// check returns an error for CDR that does not match the type. rclgo cannot report such errors.
func (t *messageType) check(data []byte) error {
	p := t.PrepareMemory()
	defer t.ReleaseMemory(p)
	return t.read(p, data)
}

func (t *messageType) New() types.Message { return &message{kind: t} }

func (t *messageType) PrepareMemory() unsafe.Pointer {
	p := C.message_new(t.members)
	if p == nil {
		panic("out of memory")
	}
	return p
}

func (t *messageType) ReleaseMemory(p unsafe.Pointer) { C.message_delete(t.members, p) }

func (t *messageType) AsCStruct(dst unsafe.Pointer, src types.Message) {
	m := src.(*message)
	m.err = t.read(dst, m.data)
}

func (t *messageType) AsGoStruct(dst types.Message, src unsafe.Pointer) {
	m := dst.(*message)
	m.data, m.err = t.write(src)
}

func (t *messageType) TypeSupport() unsafe.Pointer { return unsafe.Pointer(t.handle) }

// message implements rclgo's types.Message.
type message struct {
	kind *messageType
	data []byte // CDR with its encapsulation header
	err  error  // error of the last conversion
}

func (m *message) CloneMsg() types.Message                  { return &message{kind: m.kind, data: m.data, err: m.err} }
func (m *message) SetDefaults()                             {}
func (m *message) GetTypeSupport() types.MessageTypeSupport { return m.kind }

// serviceType is the type support of any installed service type.
type serviceType struct {
	handle            unsafe.Pointer
	request, response *messageType
}

func loadServiceType(typeName string) (*serviceType, error) {
	h, err := loadHandle("service", typeName)
	if err != nil {
		return nil, err
	}
	t := &serviceType{handle: h}
	t.request, err = loadMessageType(typeName + "_Request")
	if err == nil {
		t.response, err = loadMessageType(typeName + "_Response")
	}
	return t, err
}

func (t *serviceType) Request() types.MessageTypeSupport  { return t.request }
func (t *serviceType) Response() types.MessageTypeSupport { return t.response }
func (t *serviceType) TypeSupport() unsafe.Pointer        { return t.handle }

// orderly is the type support of a client. It tells the client when rclgo has sent a request: rclgo then releases the
// request's memory.
type orderly struct {
	*serviceType
	sent chan<- struct{}
}

func (t orderly) Request() types.MessageTypeSupport { return requestType{t.request, t.sent} }

type requestType struct {
	*messageType
	sent chan<- struct{}
}

func (t requestType) ReleaseMemory(p unsafe.Pointer) {
	t.messageType.ReleaseMemory(p)
	t.sent <- struct{}{}
}
