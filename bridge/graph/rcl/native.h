// Functions of ROS 2's rcl for the Go side that rclgo lacks, or offers only with an allocation and a copy per message.
// Functions that return an error as char * return NULL on success; the caller must free the text.
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
	uint64_t sequence; // number given by the publisher, 0 if not known
	uint8_t publisher[16]; // GUID of the publisher, zero if not known
};

// batch holds the samples of one take.
#define BATCH_SIZE 256
struct batch {
	struct sample samples[BATCH_SIZE];
	size_t likely; // expected size of the next message in bytes: the size of the last one
	char *error; // failure after the last sample, NULL without; the caller must free it
};

// take_batch takes the received samples, up to a full batch or a few MB, and returns their number. The caller owns the
// blocks of the samples. take_batch skips samples without payload. b must be zero at first.
int32_t take_batch(const rcl_subscription_t *subscription, struct batch *b);

// free_block frees the block of a sample. The block may outlive the subscription.
void free_block(uintptr_t data);
void free_blocks(const uintptr_t *data, int32_t count);

// publish sends data. Only the middleware copies data.
char *publish(const rcl_publisher_t *publisher, const void *data, size_t size);

// wait_acknowledged waits up to timeout ns until all published messages are acknowledged. It sets *acknowledged to
// whether they are.
char *wait_acknowledged(const rcl_publisher_t *publisher, int64_t timeout, bool *acknowledged);

// The following functions return NULL if the middleware does not support the event. end_event must be called before the
// publisher or subscription of the event ends.
rcl_event_t *publisher_incompatible(const rcl_publisher_t *publisher);
rcl_event_t *subscription_incompatible(const rcl_subscription_t *subscription);
rcl_event_t *subscription_lost(const rcl_subscription_t *subscription);
char *end_event(rcl_event_t *event);

// take_incompatible reports whether peers with an incompatible QoS were found since the last call. It sets *policy to
// the name of the policy in which the last such peer differs, a constant.
bool take_incompatible(const rcl_event_t *event, const char **policy);

// take_lost returns the total number of lost messages.
uint64_t take_lost(const rcl_event_t *event);

// type_support returns the handle that a function of an interface package's library returns, NULL if the library or the
// function is missing. It sets *installed to whether the library was loaded.
const void *type_support(const char *library, const char *function, bool *installed);

char *service_available(const rcl_node_t *node, const rcl_client_t *client, bool *available);

typedef rosidl_typesupport_introspection_c__MessageMembers message_members;

// introspect returns the layout of a type's C struct, NULL if the package of the type has no introspection.
const message_members *introspect(const rosidl_message_type_support_t *type);

// message_new returns an empty message, NULL when memory is out.
void *message_new(const message_members *members);
void message_delete(const message_members *members, void *message);

// cdr_size returns the size in bytes of the message at the start of data, 0 if data is no CDR or is cut off.
size_t cdr_size(const message_members *members, const uint8_t *data, size_t size);

// has_wide_characters reports whether a type has wide characters. cdr_size does not support such types, because the
// size of wide characters depends on the middleware.
bool has_wide_characters(const message_members *members);

// message_read fills a message from CDR. message_write puts the CDR of a message into m; the caller must finalise m.
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

// watch_wait waits up to timeout ns, or without limit if timeout is negative. It sets *changed to whether the graph
// changed.
char *watch_wait(struct watch *w, int64_t timeout, bool *changed);

void watch_close(struct watch *w);

// resolve returns the full name of a topic or service after remapping, NULL if the name is invalid. The caller must
// free the name.
char *resolve(const rcl_node_t *node, const char *name, bool service);

// topic_endpoints fills the array with the publishers or the subscribers of a topic.
char *topic_endpoints(const rcl_node_t *node, const char *topic, bool publishers, rcutils_allocator_t *allocator,
		rmw_topic_endpoint_info_array_t *array);

// type_hash returns "RIHS01_…", NULL if the endpoint announces no type hash. The caller must free the text.
char *type_hash(const rmw_topic_endpoint_info_t *endpoint);

// rosout_open creates a node's publisher of /rosout. Up to Iron it does nothing, because rcl creates that publisher
// with the node. rosout_close ends the publisher that rosout_open created, and must be called before the node ends.
char *rosout_open(rcl_node_t *node);
char *rosout_close(rcl_node_t *node);

// place is the place in the source code that logs a line.
struct place {
	const char *function, *file;
	size_t line;
};

// log_line returns a line as the console shows it; the caller must free the line. With forward, log_line also sends the
// line to /rosout and to the log file.
char *log_line(struct place place, int severity, const char *logger, int64_t time, const char *text, bool forward);

// format_line returns a line as the console shows it; the caller must free the line. The parameters are the parameters
// of a logging output handler.
char *format_line(void *location, int severity, void *logger, int64_t time, void *format, void *args);

#endif
