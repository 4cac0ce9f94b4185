//go:build rcl

#include "native.h"

#include <rosidl_typesupport_introspection_c/field_types.h>

// cursor reads CDR. data starts after the encapsulation header, because alignment counts from there.
struct cursor {
	const uint8_t *data;
	size_t at, size;
	bool big_endian;
};

// skip moves past count elements. element and alignment are in bytes.
static bool skip(struct cursor *c, size_t count, size_t element, size_t alignment) {
	size_t padding = -c->at & (alignment - 1);
	if (count == 0)
		return true;
	if (padding > c->size - c->at || count > (c->size - c->at - padding) / element)
		return false;
	c->at += padding + count * element;
	return true;
}

static bool read_length(struct cursor *c, size_t *length) {
	if (!skip(c, 1, 4, 4))
		return false;
	const uint8_t *p = c->data + c->at - 4;
	*length = c->big_endian ? (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]
			: (size_t)p[3] << 24 | (size_t)p[2] << 16 | (size_t)p[1] << 8 | p[0];
	return true;
}

static bool skip_message(struct cursor *c, const message_members *members);

static bool skip_member(struct cursor *c, const rosidl_typesupport_introspection_c__MessageMember *m) {
	size_t count = 1, length;
	if (m->is_array_ && m->array_size_ > 0 && !m->is_upper_bound_)
		count = m->array_size_;
	else if (m->is_array_ && !read_length(c, &count))
		return false;
	switch (m->type_id_) {
	case rosidl_typesupport_introspection_c__ROS_TYPE_STRING:
		while (count-- > 0)
			if (!read_length(c, &length) || !skip(c, length, 1, 1))
				return false;
		return true;
	case rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE:
		while (count-- > 0)
			if (!skip_message(c, m->members_->data))
				return false;
		return true;
	case rosidl_typesupport_introspection_c__ROS_TYPE_LONG_DOUBLE:
		return skip(c, count, 16, 8);
	case rosidl_typesupport_introspection_c__ROS_TYPE_DOUBLE:
	case rosidl_typesupport_introspection_c__ROS_TYPE_INT64:
	case rosidl_typesupport_introspection_c__ROS_TYPE_UINT64:
		return skip(c, count, 8, 8);
	case rosidl_typesupport_introspection_c__ROS_TYPE_FLOAT:
	case rosidl_typesupport_introspection_c__ROS_TYPE_INT32:
	case rosidl_typesupport_introspection_c__ROS_TYPE_UINT32:
		return skip(c, count, 4, 4);
	case rosidl_typesupport_introspection_c__ROS_TYPE_INT16:
	case rosidl_typesupport_introspection_c__ROS_TYPE_UINT16:
		return skip(c, count, 2, 2);
	default:
		return skip(c, count, 1, 1);
	}
}

// A message has at least one byte, which limits the time that a sequence with a false count can take.
static bool skip_message(struct cursor *c, const message_members *members) {
	for (uint32_t i = 0; i < members->member_count_; i++)
		if (!skip_member(c, &members->members_[i]))
			return false;
	return true;
}

bool has_wide_characters(const message_members *members) {
	for (uint32_t i = 0; i < members->member_count_; i++) {
		const rosidl_typesupport_introspection_c__MessageMember *m = &members->members_[i];
		if (m->type_id_ == rosidl_typesupport_introspection_c__ROS_TYPE_WSTRING ||
				m->type_id_ == rosidl_typesupport_introspection_c__ROS_TYPE_WCHAR ||
				(m->type_id_ == rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE &&
						has_wide_characters(m->members_->data)))
			return true;
	}
	return false;
}

size_t cdr_size(const message_members *members, const uint8_t *data, size_t size) {
	if (size < 4 || data[0] != 0 || data[1] > 1)
		return 0;
	struct cursor c = {.data = data + 4, .size = size - 4, .big_endian = data[1] == 0};
	return skip_message(&c, members) ? 4 + c.at : 0;
}
