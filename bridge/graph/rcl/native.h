// What the Go side needs of ROS 2's rcl that rclgo does not give, or gives only with an allocation and a copy for each
// message. Functions that return a char * return NULL, or what failed, to be freed.
#ifndef TAPEDECK_NATIVE_H
#define TAPEDECK_NATIVE_H

#if !__has_include(<rcl/rcl.h>)
#error "ROS 2 was not found. Source its setup.sh, then: eval \"$(sh bridge/graph/rcl/environment.sh)\""
#endif

#include <rcl/graph.h>
#include <rcl/rcl.h>
#include <rmw/rmw.h>
#include <rosidl_typesupport_introspection_c/message_introspection.h>

// last_error takes the error that rcl left on this thread, or describes rc.
char *last_error(rcl_ret_t rc);

// sample is one message as received.
struct sample {
	uint8_t *data; // CDR with its encapsulation header, in a block
	size_t size;
	int64_t sent, received; // ns since the Unix epoch
	uint64_t sequence; // the publisher's, 0 if not known
	uint8_t publisher[16]; // GUID, zero if not known
};

// batch is what one take brings.
#define BATCH_SIZE 256
struct batch {
	struct sample samples[BATCH_SIZE];
	size_t likely; // size of the next message, as the last one was
	char *error; // of a failure behind the samples, to be freed
};

// take_batch takes what is there, up to a full batch or a few MB, and returns how many samples that is. Their blocks are
// the caller's. What carries no payload is left out. b must be zero at first.
int32_t take_batch(const rcl_subscription_t *subscription, struct batch *b);

// free_block gives back the block of a sample, also long after the subscription is gone.
void free_block(uintptr_t data);
void free_blocks(const uintptr_t *data, int32_t count);

// publish sends data, of which the middleware makes the only copy.
char *publish(const rcl_publisher_t *publisher, const void *data, size_t size);

// wait_acknowledged waits up to timeout ns until all that was published has been acknowledged. *acknowledged says
// whether it was.
char *wait_acknowledged(const rcl_publisher_t *publisher, int64_t timeout, bool *acknowledged);

// The events of publishers and subscriptions are NULL where the middleware has none of that kind. They end before what
// they are of.
rcl_event_t *publisher_incompatible(const rcl_publisher_t *publisher);
rcl_event_t *subscription_incompatible(const rcl_subscription_t *subscription);
rcl_event_t *subscription_lost(const rcl_subscription_t *subscription);
char *end_event(rcl_event_t *event);

// take_incompatible returns whether peers with a QoS that does not match were found since the last call, and the policy
// of the last one, a constant.
bool take_incompatible(const rcl_event_t *event, const char **policy);

// take_lost returns how many messages were lost in all.
uint64_t take_lost(const rcl_event_t *event);

// type_support returns the handle that a function of an interface package's library returns. Without one, *installed
// says whether it is the function that is missing or the whole library.
const void *type_support(const char *library, const char *function, bool *installed);

char *service_available(const rcl_node_t *node, const rcl_client_t *client, bool *available);

typedef rosidl_typesupport_introspection_c__MessageMembers message_members;

// introspect returns how the C struct of a type is made, NULL if its package does not tell.
const message_members *introspect(const rosidl_message_type_support_t *type);

// message_new returns an empty message, NULL when memory is out.
void *message_new(const message_members *members);
void message_delete(const message_members *members, void *message);

// cdr_size returns how many bytes the CDR of a message has in data, 0 if it is none or ends before the message does.
size_t cdr_size(const message_members *members, const uint8_t *data, size_t size);

// has_wide_characters says whether cdr_size does not know a type: middleware differs in the size of such characters.
bool has_wide_characters(const message_members *members);

// message_read fills a message from CDR, message_write returns its CDR in m, which is to be finalised.
char *message_read(const rosidl_message_type_support_t *type, void *message, const void *data, size_t size);
char *message_write(const rosidl_message_type_support_t *type, const void *message, rmw_serialized_message_t *m);

char *trigger(rcl_guard_condition_t *condition);

// watch waits for changes of the graph. It must not be moved.
struct watch {
	const rcl_node_t *node;
	rcl_wait_set_t set;
	rcl_guard_condition_t stop; // ends a watch_wait that runs in another thread, or the next one
};

char *watch_open(struct watch *w, const rcl_node_t *node, rcl_context_t *context);

// watch_wait waits up to timeout ns, for ever if that is negative. *changed says whether there was a change.
char *watch_wait(struct watch *w, int64_t timeout, bool *changed);

void watch_close(struct watch *w);

// resolve returns the full name of a topic or service after remapping, to be freed, NULL for one that is not valid.
char *resolve(const rcl_node_t *node, const char *name, bool service);

// topic_endpoints fills the array with the publishers or the subscribers of a topic.
char *topic_endpoints(const rcl_node_t *node, const char *topic, bool publishers, rcutils_allocator_t *allocator,
		rmw_topic_endpoint_info_array_t *array);

// type_hash returns "RIHS01_…", to be freed, NULL if the endpoint does not announce it.
char *type_hash(const rmw_topic_endpoint_info_t *endpoint);

// rosout_open creates a node's publisher of /rosout unless rcl did with the node, as it does up to Iron. rosout_close
// ends what rosout_open created, before the node.
char *rosout_open(rcl_node_t *node);
char *rosout_close(rcl_node_t *node);

// place is where a log line comes from.
struct place {
	const char *function, *file;
	size_t line;
};

// log_line returns a line as the console shows it, to be freed, and with forward hands it to /rosout and to the log file.
char *log_line(struct place place, int severity, const char *logger, int64_t time, const char *text, bool forward);

// format_line returns a line as the console shows it, to be freed. The arguments are those of a logging output handler.
char *format_line(void *location, int severity, void *logger, int64_t time, void *format, void *args);

#endif
