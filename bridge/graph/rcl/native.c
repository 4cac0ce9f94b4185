//go:build rcl

#define _GNU_SOURCE // vasprintf
#include "native.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rcl/error_handling.h>
#include <rcl/logging.h>
#include <rcl/logging_rosout.h>
#include <rmw/qos_string_conversions.h>
#include <rosidl_typesupport_introspection_c/identifier.h>

#if __has_include(<rosidl_runtime_c/type_hash.h>)
#include <rosidl_runtime_c/type_hash.h>
#define HAS_TYPE_HASH
#endif

char *last_error(rcl_ret_t rc) {
	char text[64];
	if (rcl_error_is_set()) {
		char *message = strdup(rcutils_get_error_state()->message);
		rcl_reset_error();
		return message;
	}
	snprintf(text, sizeof(text), "rcl returns %d", (int)rc);
	return strdup(text);
}

static char *failure(rcl_ret_t rc) { return rc == RCL_RET_OK ? NULL : last_error(rc); }

char *publish(const rcl_publisher_t *publisher, const void *data, size_t size) {
	rmw_serialized_message_t m = {
		.buffer = (uint8_t *)data, .buffer_length = size, .buffer_capacity = size,
		.allocator = rcutils_get_default_allocator(),
	};
	return failure(rcl_publish_serialized_message(publisher, &m, NULL));
}

char *wait_acknowledged(const rcl_publisher_t *publisher, int64_t timeout, bool *acknowledged) {
	rcl_ret_t rc = rcl_publisher_wait_for_all_acked(publisher, timeout);
	*acknowledged = rc == RCL_RET_OK;
	if (rc == RCL_RET_TIMEOUT) {
		rcl_reset_error();
		return NULL;
	}
	return failure(rc);
}

static rcl_event_t *new_event(rcl_event_t event, rcl_ret_t rc) {
	rcl_event_t *e = rc == RCL_RET_OK ? malloc(sizeof(*e)) : NULL;
	if (e != NULL)
		*e = event;
	rcl_reset_error();
	return e;
}

rcl_event_t *publisher_incompatible(const rcl_publisher_t *publisher) {
	rcl_event_t event = rcl_get_zero_initialized_event();
	rcl_ret_t rc = rcl_publisher_event_init(&event, publisher, RCL_PUBLISHER_OFFERED_INCOMPATIBLE_QOS);
	return new_event(event, rc);
}

static rcl_event_t *subscription_event(const rcl_subscription_t *subscription, rcl_subscription_event_type_t type) {
	rcl_event_t event = rcl_get_zero_initialized_event();
	rcl_ret_t rc = rcl_subscription_event_init(&event, subscription, type);
	return new_event(event, rc);
}

rcl_event_t *subscription_incompatible(const rcl_subscription_t *subscription) {
	return subscription_event(subscription, RCL_SUBSCRIPTION_REQUESTED_INCOMPATIBLE_QOS);
}

rcl_event_t *subscription_lost(const rcl_subscription_t *subscription) {
	return subscription_event(subscription, RCL_SUBSCRIPTION_MESSAGE_LOST);
}

char *end_event(rcl_event_t *event) {
	char *error = failure(rcl_event_fini(event));
	free(event);
	return error;
}

bool take_incompatible(const rcl_event_t *event, const char **policy) {
	rmw_qos_incompatible_event_status_t status = {0};
	if (rcl_take_event(event, &status) != RCL_RET_OK)
		rcl_reset_error();
	*policy = rmw_qos_policy_kind_to_str(status.last_policy_kind);
	return status.total_count_change > 0;
}

uint64_t take_lost(const rcl_event_t *event) {
	rmw_message_lost_status_t status = {0};
	if (rcl_take_event(event, &status) != RCL_RET_OK)
		rcl_reset_error();
	return status.total_count;
}

// The library stays loaded, because handles are never released.
const void *type_support(const char *library, const char *function, bool *installed) {
	void *loaded = dlopen(library, RTLD_LAZY);
	*installed = loaded != NULL;
	if (loaded == NULL)
		return NULL;
	const void *(*get)(void) = (const void *(*)(void))dlsym(loaded, function);
	return get == NULL ? NULL : get();
}

char *service_available(const rcl_node_t *node, const rcl_client_t *client, bool *available) {
	return failure(rcl_service_server_is_available(node, client, available));
}

const message_members *introspect(const rosidl_message_type_support_t *type) {
	const rosidl_message_type_support_t *found =
			get_message_typesupport_handle(type, rosidl_typesupport_introspection_c__identifier);
	rcl_reset_error();
	return found == NULL ? NULL : found->data;
}

void *message_new(const message_members *members) {
	void *message = calloc(1, members->size_of_);
	if (message != NULL)
		members->init_function(message, ROSIDL_RUNTIME_C_MSG_INIT_ALL);
	return message;
}

void message_delete(const message_members *members, void *message) {
	if (message != NULL)
		members->fini_function(message);
	free(message);
}

char *message_read(const rosidl_message_type_support_t *type, void *message, const void *data, size_t size) {
	rmw_serialized_message_t m = {
		.buffer = (uint8_t *)data, .buffer_length = size, .buffer_capacity = size,
		.allocator = rcutils_get_default_allocator(),
	};
	return failure(rmw_deserialize(&m, type, message));
}

// fresh returns cleared memory, because middleware does not write padding.
static void *fresh(void *old, size_t size, void *state) {
	(void)state;
	free(old);
	return calloc(1, size);
}

char *message_write(const rosidl_message_type_support_t *type, const void *message, rmw_serialized_message_t *m) {
	*m = rmw_get_zero_initialized_serialized_message();
	m->allocator = rcutils_get_default_allocator();
	m->allocator.reallocate = fresh;
	return failure(rmw_serialize(message, type, m));
}

char *trigger(rcl_guard_condition_t *condition) { return failure(rcl_trigger_guard_condition(condition)); }

char *watch_open(struct watch *w, const rcl_node_t *node, rcl_context_t *context) {
	*w = (struct watch){
		.node = node, .set = rcl_get_zero_initialized_wait_set(), .stop = rcl_get_zero_initialized_guard_condition(),
	};
	rcl_ret_t rc = rcl_guard_condition_init(&w->stop, context, rcl_guard_condition_get_default_options());
	if (rc == RCL_RET_OK)
		rc = rcl_wait_set_init(&w->set, 0, 2, 0, 0, 0, 0, context, rcl_get_default_allocator());
	char *error = failure(rc);
	if (error != NULL)
		watch_close(w);
	return error;
}

char *watch_wait(struct watch *w, int64_t timeout, bool *changed) {
	size_t graph = 0;
	*changed = false;
	rcl_ret_t rc = rcl_wait_set_clear(&w->set);
	if (rc == RCL_RET_OK)
		rc = rcl_wait_set_add_guard_condition(&w->set, rcl_node_get_graph_guard_condition(w->node), &graph);
	if (rc == RCL_RET_OK)
		rc = rcl_wait_set_add_guard_condition(&w->set, &w->stop, NULL);
	if (rc == RCL_RET_OK)
		rc = rcl_wait(&w->set, timeout);
	if (rc == RCL_RET_TIMEOUT) {
		rcl_reset_error();
		return NULL;
	}
	*changed = rc == RCL_RET_OK && w->set.guard_conditions[graph] != NULL;
	return failure(rc);
}

void watch_close(struct watch *w) {
	if (rcl_wait_set_fini(&w->set) != RCL_RET_OK || rcl_guard_condition_fini(&w->stop) != RCL_RET_OK)
		rcl_reset_error();
}

char *resolve(const rcl_node_t *node, const char *name, bool service) {
	char *full = NULL;
	if (rcl_node_resolve_name(node, name, rcl_get_default_allocator(), service, false, &full) != RCL_RET_OK)
		rcl_reset_error();
	return full;
}

char *topic_endpoints(const rcl_node_t *node, const char *topic, bool publishers, rcutils_allocator_t *allocator,
		rmw_topic_endpoint_info_array_t *array) {
	return failure(publishers ? rcl_get_publishers_info_by_topic(node, allocator, topic, false, array)
			: rcl_get_subscriptions_info_by_topic(node, allocator, topic, false, array));
}

char *type_hash(const rmw_topic_endpoint_info_t *endpoint) {
#ifdef HAS_TYPE_HASH
	char *text = NULL;
	if (endpoint->topic_type_hash.version == 0)
		return NULL;
	if (rosidl_stringify_type_hash(&endpoint->topic_type_hash, rcutils_get_default_allocator(), &text) !=
			RCUTILS_RET_OK)
		rcl_reset_error();
	return text;
#else
	(void)endpoint;
	return NULL;
#endif
}

#ifdef RCL_RET_NOT_FOUND // rcl_node_init leaves /rosout to its caller
char *rosout_open(rcl_node_t *node) { return failure(rcl_logging_rosout_init_publisher_for_node(node)); }

char *rosout_close(rcl_node_t *node) { return failure(rcl_logging_rosout_fini_publisher_for_node(node)); }
#else
char *rosout_open(rcl_node_t *node) { return NULL; }

char *rosout_close(rcl_node_t *node) { return NULL; }
#endif

static char *format(const rcutils_log_location_t *location, int severity, const char *logger, int64_t time,
		const char *text) {
	rcutils_allocator_t allocator = rcutils_get_default_allocator();
	rcutils_char_array_t line = rcutils_get_zero_initialized_char_array();
	if (rcutils_char_array_init(&line, 256, &allocator) == RCUTILS_RET_OK)
		line.buffer[0] = '\0';
	if (line.buffer == NULL ||
			rcutils_logging_format_message(location, severity, logger, time, text, &line) != RCUTILS_RET_OK)
		rcl_reset_error();
	return line.buffer;
}

char *format_line(void *location, int severity, void *logger, int64_t time, void *form, void *args) {
	va_list copy;
	va_copy(copy, *(va_list *)args);
	char *text = NULL;
	if (vasprintf(&text, form, copy) < 0)
		text = NULL;
	va_end(copy);
	if (text == NULL)
		return NULL;
	char *line = format(location, severity, logger, time, text);
	free(text);
	return line;
}

static void hand_on(const rcutils_log_location_t *location, int severity, const char *logger, int64_t time,
		const char *form, ...) {
	va_list args;
	va_start(args, form);
	rcl_logging_multiple_output_handler(location, severity, logger, time, form, &args);
	va_end(args);
}

char *log_line(struct place place, int severity, const char *logger, int64_t time, const char *text, bool forward) {
	rcutils_log_location_t location = {place.function, place.file, place.line};
	if (forward)
		hand_on(&location, severity, logger, time, "%s", text);
	return format(&location, severity, logger, time, text);
}
