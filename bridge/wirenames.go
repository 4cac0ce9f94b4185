package bridge

import "strings"

// The functions of this file convert between names of ROS 2 and names on DDS, as rmw_cyclonedds and rmw_fastrtps do.
// ROS 2 names are full ("/ns/imu"), types are "pkg/msg/Type" or "pkg/srv/Type".

// TopicToDDS returns the DDS topic of a ROS topic: "rt/ns/imu".
func TopicToDDS(topic string) string { return "rt" + topic }

// TopicFromDDS is the inverse of TopicToDDS; ok is false for a DDS topic that is not a ROS topic.
func TopicFromDDS(name string) (topic string, ok bool) { return cutWire(name, "rt", "") }

// ServiceRequestToDDS returns the DDS topic of a service's requests: "rq/ns/setRequest".
func ServiceRequestToDDS(service string) string { return "rq" + service + "Request" }

// ServiceRequestFromDDS is the inverse of ServiceRequestToDDS.
func ServiceRequestFromDDS(name string) (service string, ok bool) {
	return cutWire(name, "rq", "Request")
}

// ServiceReplyToDDS returns the DDS topic of a service's responses: "rr/ns/setReply".
func ServiceReplyToDDS(service string) string { return "rr" + service + "Reply" }

// ServiceReplyFromDDS is the inverse of ServiceReplyToDDS.
func ServiceReplyFromDDS(name string) (service string, ok bool) { return cutWire(name, "rr", "Reply") }

// Suffixes of the topics of Node.Calls, behind the service's name. ROS 2's tools hide such topics.
const (
	CallRequests = "/_request"
	CallReplies  = "/_reply"
)

// CallsToDDS returns the DDS topic of a topic of Node.Calls: "rq/ns/setRequest" for "/ns/set/_request". ok is false for
// other topics.
func CallsToDDS(topic string) (name string, ok bool) {
	if service, ok := strings.CutSuffix(topic, CallRequests); ok {
		return ServiceRequestToDDS(service), true
	}
	service, ok := strings.CutSuffix(topic, CallReplies)
	return ServiceReplyToDDS(service), ok
}

// CallsFromDDS is the inverse of CallsToDDS.
func CallsFromDDS(name string) (topic string, ok bool) {
	if service, ok := ServiceRequestFromDDS(name); ok {
		return service + CallRequests, true
	}
	service, ok := ServiceReplyFromDDS(name)
	return service + CallReplies, ok
}

func cutWire(name, prefix, suffix string) (string, bool) {
	name, ok := strings.CutPrefix(name, prefix)
	if !ok || !strings.HasPrefix(name, "/") {
		return "", false
	}
	name, ok = strings.CutSuffix(name, suffix)
	return name, ok && name != "" && name != "/"
}

// TypeToDDS returns the DDS name of a message type: "sensor_msgs::msg::dds_::Imu_" for "sensor_msgs/msg/Imu".
func TypeToDDS(typeName string) string {
	i := strings.LastIndexByte(typeName, '/') + 1
	return strings.ReplaceAll(typeName[:i], "/", "::") + "dds_::" + typeName[i:] + "_"
}

// TypeFromDDS is the inverse of TypeToDDS; ok is false for a DDS type that is not a ROS type.
func TypeFromDDS(name string) (typeName string, ok bool) {
	space, base, found := strings.Cut(name, "dds_::")
	base, underscore := strings.CutSuffix(base, "_")
	if !found || !underscore || base == "" {
		return "", false
	}
	return strings.ReplaceAll(space, "::", "/") + strings.ReplaceAll(base, "::", "/"), true
}

// ServiceTypeToDDS returns the DDS names of a service's request and response:
// "std_srvs::srv::dds_::Trigger_Request_" and "std_srvs::srv::dds_::Trigger_Response_" for "std_srvs/srv/Trigger".
func ServiceTypeToDDS(typeName string) (request, response string) {
	return TypeToDDS(typeName + "_Request"), TypeToDDS(typeName + "_Response")
}

// IsHidden reports whether the full name of a topic, service or node is one that ROS 2's tools hide: one of its tokens
// begins with an underscore.
func IsHidden(name string) bool { return strings.Contains(name, "/_") }
