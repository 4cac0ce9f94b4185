// Package bridge connects tapedeck to the ROS graph: it has the Node interface, which tapedeck/bridge/graph/dds and
// tapedeck/bridge/graph/rcl implement, and the code that both implementations share: names and remapping, quality of
// service, parameters, logging. It also has the interface of translators of foreign messages.
package bridge

import (
	"context"
	"errors"
	"io"

	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// Options configure a node of the ROS graph.
type Options struct {
	Name      string // node name without namespace, before remapping
	Namespace string // "/" or "/robot"; "" is "/"
	Enclave   string // security enclave; "" is "/"

	// Remaps are rules as behind --ros-args -r: "[node:]from:=to". The first matching rule wins. Rules with __node,
	// __ns, rostopic:// and rosservice:// are allowed.
	Remaps []string

	// Parameters are the initial values by name, from parameter files and -p. They win over the values with which the
	// node declares its parameters.
	Parameters map[string]any

	// Declare lists the parameters that the node declares before it answers its parameter services.
	Declare []Parameter

	// Domain is the DDS domain id; -1 takes ROS_DOMAIN_ID from the environment, or 0.
	Domain int

	LogLevel LogLevel  // lower levels are not logged; 0 is Info
	Console  io.Writer // where log lines go; nil is standard error
}

// Node is one participant in the ROS graph with one node in it. Payloads are CDR with their 4-byte encapsulation
// header. Names of topics and services are expanded and remapped as ROS 2 does it; types are written "pkg/msg/Type" and
// "pkg/srv/Type". All methods may be called from several goroutines at once.
type Node interface {
	// Name returns the fully qualified name: "/robot/recorder".
	Name() string

	// Advertise creates a publisher.
	Advertise(topic, typeName string, qos codec.QoS) (Publisher, error)

	// Subscribe calls handle with each batch of samples, one call at a time, until the subscription is closed. Calls
	// may come from different goroutines, which also serve other subscriptions. A handler that blocks delays the other
	// subscriptions by some 20 ms. The subscription takes samples from the middleware at once and without limit, except
	// when qos has KeepLast: the handler must drop and count what it cannot process.
	Subscribe(topic, typeName string, qos codec.QoS, handle func([]Sample)) (Subscription, error)

	// Serve answers calls of a service. handle runs in a goroutine of its own per call and returns the response as CDR
	// with its encapsulation header. If handle fails, or a request has more than MaxRequest bytes, the error is logged
	// and the client gets no reply.
	Serve(service, typeName string, handle func(ctx context.Context, request []byte) ([]byte, error)) (Service, error)

	// Call waits for the service, calls it and returns the response as CDR. When ctx is done it returns its error.
	Call(ctx context.Context, service, typeName string, request []byte) ([]byte, error)

	// Client returns the client of a service. It returns one client for all calls with the same service; the node
	// closes it.
	Client(service, typeName string) (Client, error)

	// Topics returns the presently known topics of the graph by name, including the node's own endpoints.
	Topics() []Topic

	// Calls returns the service calls of the presently known graph by name, as topics to which Subscribe can subscribe.
	// ROS 2 has no such topics. The requests of SERVICE are the topic SERVICE + CallRequests of type
	// pkg/srv/Type_Request, the replies SERVICE + CallReplies of type pkg/srv/Type_Response. Samples are the request or
	// the reply without the identity of the caller. Through ROS 2's own libraries, Calls returns nothing.
	Calls() []Topic

	// Watch returns a channel that receives a value after the graph changed. Changes in quick succession may send only
	// one value. The channel is closed when ctx or the node ends.
	Watch(ctx context.Context) <-chan struct{}

	// Define gives the node the definition of a type before it creates endpoints of the type. The definition replaces
	// the one that the node has. The node announces the definition's hash and serves the definition to other nodes.
	// With ROS 2's own libraries, Define does nothing: they announce and serve installed types, and can publish no
	// others.
	Define(typeName string, library *rosidl.Library) error

	// Delivered returns a time by the clock of Monotonic: handlers have returned from all samples that were received
	// before that time. It returns 0 if the time is not known. It must not be called after Close.
	Delivered() int64

	// Security returns how the node takes part in SROS 2.
	Security() Security

	// Parameters returns the node's parameters, which it serves as ROS 2 nodes do.
	Parameters() *Parameters

	// Log writes one line to standard error as ROS 2's console does, and to /rosout.
	Log(level LogLevel, format string, args ...any)

	// Close takes the node off the graph. It closes subscriptions, publishers and services and waits until handlers
	// have returned.
	Close() error
}

// Publisher publishes on one topic.
type Publisher interface {
	// Topic returns the full name, after remapping.
	Topic() string
	// Publish sends one payload. The caller may change data when Publish returns. Publish may block while a reliable
	// subscriber's acknowledgements are behind, depending on the QoS.
	Publish(data []byte) error
	// PublishAt publishes with the given source time in ns since the Unix epoch. Where the middleware cannot set the
	// source time, PublishAt is Publish.
	PublishAt(data []byte, sourceTime int64) error
	// Lend publishes data, which lies in buffer. It does not copy a large payload if the middleware allows that, and
	// may hold references to buffer until the payload is sent and acknowledged.
	Lend(data []byte, buffer *codec.Buffer) error
	// Subscribers returns how many subscribers are matched now.
	Subscribers() int
	// Flush waits until all matched reliable subscribers have acknowledged everything published.
	Flush(ctx context.Context) error
	Close() error
}

// Client calls one service.
type Client interface {
	// Service returns the full name, after remapping.
	Service() string
	// Available reports whether the service is there.
	Available() bool
	// Send sends a request, after all earlier requests. It does not wait for the service: if the service is not there,
	// the error wraps ErrUnavailable. The caller may change request when Send returns. The caller must call wait once;
	// wait returns the response as CDR.
	Send(request []byte) (wait func(context.Context) ([]byte, error), err error)
}

// ErrUnavailable is wrapped by errors of Client.Send while the service is not there.
var ErrUnavailable = errors.New("the service is not available")

// Subscription is one subscriber.
type Subscription interface {
	// Topic returns the full name, after remapping.
	Topic() string
	// Lost returns how many samples were lost in transport so far, counted from gaps in the sequence numbers of each
	// publisher, as far as the middleware reports them.
	Lost() uint64
	Close() error
}

// Service is one service that is served.
type Service interface {
	// Name returns the full name, after remapping.
	Name() string
	Close() error
}

// GUID identifies an endpoint: the 16 bytes of its RTPS GUID in wire order.
type GUID [16]byte

// Topic is a topic of the graph.
type Topic struct {
	Name        string     // full ROS name: "/imu"
	Types       []string   // the distinct types of its endpoints, "sensor_msgs/msg/Imu"; usually one
	Publishers  []Endpoint // by GUID
	Subscribers []Endpoint // by GUID
}

// Endpoint is a publisher or subscriber of the graph.
type Endpoint struct {
	GUID     GUID
	Node     string // fully qualified; "" while it is not known
	Type     string // "sensor_msgs/msg/Imu"
	TypeHash string // "RIHS01_…", or "" where the peer does not announce it
	QoS      codec.QoS
	Own      bool // belongs to this Node
}
