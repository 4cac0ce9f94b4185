// Fast DDS identifies the request of a reply by a parameter in the inline QoS of the reply's RTPS message.
#ifndef TAPEDECK_INLINE_QOS_H
#define TAPEDECK_INLINE_QOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// identity names one sample.
struct identity {
	uint8_t guid[16]; // GUID in wire order
	int64_t sequence; // RTPS sequence number
};

// find_identity searches size bytes of inline QoS for an identity.
bool find_identity(const uint8_t *parameters, size_t size, bool little_endian, struct identity *id);

// begin_inline_qos turns the parameter of a keyhash into one to be ignored. Its value, of which only the 16 bytes of
// the hash are there yet, reaches over the end of the list that follows: the list goes on with what is put behind that,
// which is INLINE_QOS_SIZE bytes from end_inline_qos. Without the rest, only the keyhash is ignored. With the rest,
// Cyclone DDS drops the sample. Cyclone DDS 11 under rmw_cyclonedds would never get past a sample that lacks the header
// of rmw_cyclonedds.
void begin_inline_qos(uint8_t *keyhash, bool rest);

#define INLINE_QOS_SIZE (2 * (4 + 24) + 4)
void end_inline_qos(uint8_t *buffer, const struct identity *id);

#endif
