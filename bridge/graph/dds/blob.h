// Samples in Cyclone DDS's memory: opaque CDR, in one allocation with its metadata.
#ifndef TAPEDECK_BLOB_H
#define TAPEDECK_BLOB_H

#if !__has_include("dds/dds.h") || !__has_include("dds/ddsi/ddsi_sertype.h")
#error "Eclipse Cyclone DDS 0.10 was not found. On Debian and Ubuntu: apt install cyclonedds-dev"
#endif

#include "dds/dds.h"
#include "dds/version.h"
#include "dds/ddsi/ddsi_serdata.h"
#include "dds/ddsi/ddsi_sertype.h"
#include "inline_qos.h"

#if DDS_VERSION_MAJOR != 0 || DDS_VERSION_MINOR != 10
#error "This needs Eclipse Cyclone DDS 0.10: the interface of sertypes differs in other versions"
#endif

// blob is one sample. The payload, with its encapsulation header, follows the struct or is lent. References are counted
// by Cyclone DDS; the memory outlives readers, writers and the domain.
struct blob {
	struct ddsi_serdata c;
	uint64_t sequence; // RTPS sequence number, 0 if not known
	int64_t received; // ns since the Unix epoch; for samples of this process, when they were written
	int64_t received_monotonic; // time of reception by the monotonic clock, in ns
	uint32_t size; // size of the payload in bytes
	uint8_t publisher[16]; // GUID in wire order, zero if not known
	uint32_t pooled; // size class in the pool of large samples, 0 for none
	struct related *related; // NULL if the sample is not related to another one; keeps the payload 8-aligned
	void *payload;
	int32_t *borrowers; // number of users of a lent payload, blobs and others; NULL if the payload is not lent
};

// related is the inline QoS that names the sample to which a sample is related.
struct related {
	struct identity id;
	uint8_t message[]; // only in samples to send: the end of the inline QoS, and a copy of the payload
};

// blob_type returns a new keyless type whose samples are blobs. name is the DDS name of the type.
struct ddsi_sertype *blob_type(const char *name);

// blob_new returns a sample with a copy of data, NULL when memory is out. type must be the type that create_writer
// registered.
struct blob *blob_new(const struct ddsi_sertype *type, const void *data, size_t size);

// blob_lend returns a sample that refers to data. The caller must not change data while *borrowers is not 0. The sample
// counts as one borrower until it is freed. size must be a multiple of 4, because Cyclone DDS sends whole words.
struct blob *blob_lend(const struct ddsi_sertype *type, void *data, size_t size, int32_t *borrowers);

// blob_relate relates a new sample to the sample id. It returns false when memory is out.
bool blob_relate(struct blob *b, const struct identity *id);

static inline void *blob_payload(struct blob *b) { return b->payload; }

// blob_free gives back one reference.
void blob_free(uintptr_t blob);

#endif
