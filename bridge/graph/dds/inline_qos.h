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

// begin_inline_qos rewrites the header of a keyhash parameter, so that receivers ignore the keyhash. keyhash points to
// the 16 bytes of the hash. With rest, the length of the parameter also covers the sentinel that Cyclone DDS writes
// after the keyhash. The list then does not end there, and must go on with the INLINE_QOS_SIZE bytes of end_inline_qos.
//
// Peers that use Cyclone DDS drop samples with rest. Otherwise Cyclone DDS 11 under rmw_cyclonedds would never get past
// such a sample, because the sample lacks the header of rmw_cyclonedds.
void begin_inline_qos(uint8_t *keyhash, bool rest);

// end_inline_qos writes the identity in two parameters and the sentinel, in all INLINE_QOS_SIZE bytes.
#define INLINE_QOS_SIZE (2 * (4 + 24) + 4)
void end_inline_qos(uint8_t *buffer, const struct identity *id);

#endif
