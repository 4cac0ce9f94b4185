#include "inline_qos.h"

#include <string.h>

#include "dds/ddsi/q_protocol.h"

// PID_RELATED_SAMPLE_IDENTITY is defined by the DDS-RPC specification. Fast DDS up to 2.13 knows only its own id,
// PID_CUSTOM_RELATED_SAMPLE_IDENTITY. Newer releases accept the custom id from few vendors only.
#define PID_RELATED_SAMPLE_IDENTITY 0x0083u
#define PID_CUSTOM_RELATED_SAMPLE_IDENTITY 0x800fu
#define PARAMETER_HEADER 4
#define VALUE_SIZE 24 // GUID, and sequence number as two words

static uint16_t load16(const uint8_t *p, bool little_endian) {
	return (uint16_t)(little_endian ? p[1] << 8 | p[0] : p[0] << 8 | p[1]);
}

static uint32_t load32(const uint8_t *p, bool little_endian) {
	uint32_t first = load16(p, little_endian), second = load16(p + 2, little_endian);
	return little_endian ? second << 16 | first : first << 16 | second;
}

bool find_identity(const uint8_t *parameters, size_t size, bool little_endian, struct identity *id) {
	while (size >= PARAMETER_HEADER) {
		uint16_t pid = load16(parameters, little_endian), length = load16(parameters + 2, little_endian);
		if (pid == PID_SENTINEL)
			return false;
		parameters += PARAMETER_HEADER;
		size -= PARAMETER_HEADER;
		if (length > size)
			return false;
		if ((pid == PID_RELATED_SAMPLE_IDENTITY || pid == PID_CUSTOM_RELATED_SAMPLE_IDENTITY) && length >= VALUE_SIZE) {
			memcpy(id->guid, parameters, sizeof(id->guid));
			uint64_t high = load32(parameters + 16, little_endian);
			id->sequence = (int64_t)(high << 32 | load32(parameters + 20, little_endian));
			return true;
		}
		parameters += length;
		size -= length;
	}
	return false;
}

// put_header writes the header of a parameter in the byte order of this machine, as Cyclone DDS does.
static void put_header(uint8_t *buffer, uint16_t pid, uint16_t length) {
	nn_parameter_t header = {.parameterid = pid, .length = length};
	memcpy(buffer, &header, sizeof(header));
}

// PID_UNRECOGNIZED_INCOMPATIBLE_FLAG is RTPS's flag of parameters that must be understood. Fast DDS ignores the flag.
void begin_inline_qos(uint8_t *keyhash, bool rest) {
	if (rest)
		put_header(keyhash - PARAMETER_HEADER, PID_PAD | PID_UNRECOGNIZED_INCOMPATIBLE_FLAG, 16 + PARAMETER_HEADER);
	else
		put_header(keyhash - PARAMETER_HEADER, PID_PAD, 16);
}

void end_inline_qos(uint8_t *buffer, const struct identity *id) {
	static const uint16_t pids[] = {PID_RELATED_SAMPLE_IDENTITY, PID_CUSTOM_RELATED_SAMPLE_IDENTITY};
	uint32_t sequence[] = {(uint32_t)((uint64_t)id->sequence >> 32), (uint32_t)id->sequence};
	for (int i = 0; i < 2; i++) {
		put_header(buffer, pids[i], VALUE_SIZE);
		memcpy(buffer + PARAMETER_HEADER, id->guid, sizeof(id->guid));
		memcpy(buffer + PARAMETER_HEADER + sizeof(id->guid), sequence, sizeof(sequence));
		buffer += PARAMETER_HEADER + VALUE_SIZE;
	}
	put_header(buffer, PID_SENTINEL, 0);
}
