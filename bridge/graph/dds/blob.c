#include "blob.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dds/ddsrt/bswap.h"
#include "dds/ddsi/q_protocol.h"
#include "dds/ddsi/q_radmin.h"

static const struct ddsi_serdata_ops data_ops;

// padded returns the size of a payload on the wire. Cyclone DDS pads payloads to a multiple of 4 bytes.
static size_t padded(size_t size) { return (size + 3) & ~(size_t)3; }

// The memory of large samples is kept for reuse, up to POOL_LIMIT bytes: mapping and clearing fresh memory for each
// sample would take longer than copying the sample. Size class n holds blocks of POOL_SMALLEST << (n - 1) bytes.
#define POOL_SMALLEST ((size_t)32 << 10)
#define POOL_CLASSES 12
#define POOL_LIMIT ((size_t)32 << 20)

// Samples are freed by the batch, for which the allocator's defaults are bad: it gives more than 128 kB at the end of
// its memory back to the system, which maps and clears it again for the next batch, and maps large blocks one by one.
#define KEPT_AT_END (16 << 20)
#define MAPPED_ALONE (32 << 20)

static void tune_allocator(void) {
	mallopt(M_TRIM_THRESHOLD, KEPT_AT_END);
	mallopt(M_MMAP_THRESHOLD, MAPPED_ALONE);
}

static struct {
	pthread_mutex_t mutex;
	struct block { struct block *next; } *free[POOL_CLASSES + 1];
	size_t kept; // bytes
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static size_t class_size(uint32_t class) { return POOL_SMALLEST << (class - 1); }

// class_of returns the class whose blocks hold size bytes, or 0 if samples of this size are not pooled.
static uint32_t class_of(size_t size) {
	if (size <= POOL_SMALLEST / 2 || size > class_size(POOL_CLASSES))
		return 0;
	uint32_t class = 1;
	while (class_size(class) < size)
		class++;
	return class;
}

static struct blob *take_block(uint32_t class) {
	pthread_mutex_lock(&pool.mutex);
	struct block *b = pool.free[class];
	if (b != NULL) {
		pool.free[class] = b->next;
		pool.kept -= class_size(class);
	}
	pthread_mutex_unlock(&pool.mutex);
	return b != NULL ? (struct blob *)b : malloc(class_size(class));
}

static void give_block(struct blob *blob, uint32_t class) {
	struct block *b = (struct block *)blob;
	pthread_mutex_lock(&pool.mutex);
	if (pool.kept + class_size(class) <= POOL_LIMIT) {
		b->next = pool.free[class];
		pool.free[class] = b;
		pool.kept += class_size(class);
		b = NULL;
	}
	pthread_mutex_unlock(&pool.mutex);
	free(b);
}

static void init(struct blob *b, const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t size) {
	ddsi_serdata_init(&b->c, type, kind);
	b->c.hash = type->serdata_basehash;
	b->sequence = 0;
	b->received = b->received_monotonic = 0;
	b->size = (uint32_t)size;
	memset(b->publisher, 0, sizeof(b->publisher));
	b->pooled = 0;
	b->related = NULL;
	b->payload = b + 1;
	b->borrowers = NULL;
}

static struct blob *alloc(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t size) {
	if (size > UINT32_MAX - 3)
		return NULL;
	uint32_t class = class_of(sizeof(struct blob) + padded(size));
	struct blob *b = class > 0 ? take_block(class) : malloc(sizeof(*b) + padded(size));
	if (b == NULL)
		return NULL;
	init(b, type, kind, size);
	b->pooled = class;
	memset((char *)blob_payload(b) + size, 0, padded(size) - size);
	return b;
}

struct blob *blob_new(const struct ddsi_sertype *type, const void *data, size_t size) {
	struct blob *b = alloc(type, SDK_DATA, size);
	if (b != NULL)
		memcpy(blob_payload(b), data, size);
	return b;
}

struct blob *blob_lend(const struct ddsi_sertype *type, void *data, size_t size, int32_t *borrowers) {
	struct blob *b = size <= UINT32_MAX - 3 ? malloc(sizeof(*b)) : NULL;
	if (b == NULL)
		return NULL;
	init(b, type, SDK_DATA, size);
	b->payload = data;
	b->borrowers = borrowers;
	__atomic_add_fetch(borrowers, 1, __ATOMIC_RELAXED);
	return b;
}

bool blob_relate(struct blob *b, const struct identity *id) {
	b->related = malloc(sizeof(*b->related) + INLINE_QOS_SIZE + padded(b->size));
	if (b->related == NULL)
		return false;
	b->related->id = *id;
	end_inline_qos(b->related->message, id);
	memcpy(b->related->message + INLINE_QOS_SIZE, blob_payload(b), padded(b->size));
	return true;
}

void blob_free(uintptr_t blob) { ddsi_serdata_unref((struct ddsi_serdata *)blob); }

static struct blob *as_blob(const struct ddsi_serdata *d) { return (struct blob *)d; }

static uint32_t load32(const unsigned char *p) {
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static uint16_t load16(const unsigned char *p) {
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

// identify reads a sample's publisher, sequence number and related sample from the datagram that brought the first
// fragment. Cyclone DDS has already checked that everything is within the datagram. It has also converted these fields
// in place to this machine's byte order: the words of the header's GUID, the entity id, the sequence number, the
// distance to the inline QoS, and the lengths of submessages. The RTPS 2.3 specification defines the offsets: header
// 8.3.3, Data 9.4.5.3, DataFrag 9.4.5.4 (equal to Data up to the sequence number), InfoSource 9.4.5.9.
static void identify(struct blob *b, const struct nn_rdata *first) {
	const unsigned char *packet = NN_RMSG_PAYLOADOFF(first->rmsg, 0);
	const unsigned char *submessage = packet + NN_RDATA_SUBMSG_OFF(first);
	uint32_t guid[4];
	for (int i = 0; i < 3; i++)
		guid[i] = ddsrt_toBE4u(load32(packet + 8 + 4 * i));
	guid[3] = ddsrt_toBE4u(load32(submessage + 12));
	// Participants of one process share datagrams. An InfoSource names the participant of the submessages after it.
	for (const unsigned char *s = packet + RTPS_MESSAGE_HEADER_SIZE; s < submessage; s += 4 + load16(s + 2))
		if (s[0] == SMID_INFO_SRC)
			memcpy(guid, s + 12, 12);
	memcpy(b->publisher, guid, sizeof(guid));
	b->sequence = (uint64_t)load32(submessage + 16) << 32 | load32(submessage + 20);

	const unsigned char *parameters = submessage + 8 + load16(submessage + 6);
	const unsigned char *payload = packet + NN_RDATA_PAYLOAD_OFF(first);
	struct identity id;
	if ((submessage[1] & DATA_FLAG_INLINE_QOS) && parameters < payload &&
			find_identity(parameters, (size_t)(payload - parameters), submessage[1] & SMFLAG_ENDIANNESS, &id)) {
		b->related = malloc(sizeof(*b->related));
		if (b->related != NULL)
			b->related->id = id;
	}
}

// from_ser assembles a sample from its fragments. size is the sample size in the datagram of the first fragment.
// Cyclone DDS cuts each fragment at the sample size in the fragment's own datagram. If the datagrams of a faulty peer
// differ in the sample size, a fragment may reach beyond size; from_ser ignores the excess bytes.
static struct ddsi_serdata *from_ser(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
		const struct nn_rdata *fragments, size_t size) {
	struct blob *b = alloc(type, kind, size);
	if (b == NULL)
		return NULL;
	identify(b, fragments);
	unsigned char *payload = blob_payload(b);
	size_t done = 0;
	for (const struct nn_rdata *f = fragments; f != NULL && done < size && f->min <= done; f = f->nextfrag) {
		size_t end = f->maxp1 < size ? f->maxp1 : size;
		if (end <= done)
			continue;
		const unsigned char *source = NN_RMSG_PAYLOADOFF(f->rmsg, NN_RDATA_PAYLOAD_OFF(f));
		memcpy(payload + done, source + (done - f->min), end - done);
		done = end;
	}
	if (done < size) {
		ddsi_serdata_unref(&b->c);
		return NULL;
	}
	b->received = dds_time(); // after the copy, because queue_delivered allows only STORING until the sample is stored
	b->received_monotonic = ddsrt_time_monotonic().v;
	return &b->c;
}

static struct ddsi_serdata *from_ser_iov(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
		ddsrt_msg_iovlen_t count, const ddsrt_iovec_t *chunks, size_t size) {
	struct blob *b = alloc(type, kind, size);
	if (b == NULL)
		return NULL;
	unsigned char *payload = blob_payload(b), *end = payload + size;
	for (ddsrt_msg_iovlen_t i = 0; i < count && chunks[i].iov_len <= (size_t)(end - payload); i++) {
		memcpy(payload, chunks[i].iov_base, chunks[i].iov_len);
		payload += chunks[i].iov_len;
	}
	if (payload < end) {
		ddsi_serdata_unref(&b->c);
		return NULL;
	}
	return &b->c;
}

static struct ddsi_serdata *from_keyhash(const struct ddsi_sertype *type, const struct ddsi_keyhash *hash) {
	(void)hash;
	struct blob *b = alloc(type, SDK_KEY, 0);
	return b == NULL ? NULL : &b->c;
}

// Samples are written and taken as blobs, never as structs of the application. Cyclone DDS calls from_sample only to
// dispose of an instance.
static struct ddsi_serdata *from_sample(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
		const void *sample) {
	(void)sample;
	return kind == SDK_KEY ? from_keyhash(type, NULL) : NULL;
}

static struct ddsi_serdata *to_untyped(const struct ddsi_serdata *d) {
	struct blob *b = alloc(d->type, SDK_KEY, 0);
	if (b == NULL)
		return NULL;
	b->c.type = NULL;
	return &b->c;
}

static bool to_sample(const struct ddsi_serdata *d, void *sample, void **buffer, void *limit) {
	(void)d, (void)sample, (void)buffer, (void)limit;
	return false;
}

static bool untyped_to_sample(const struct ddsi_sertype *type, const struct ddsi_serdata *d, void *sample,
		void **buffer, void *limit) {
	(void)type, (void)d, (void)sample, (void)buffer, (void)limit;
	return true;
}

static uint32_t get_size(const struct ddsi_serdata *d) { return as_blob(d)->size; }

static void to_ser(const struct ddsi_serdata *d, size_t offset, size_t size, void *buffer) {
	memcpy(buffer, (char *)blob_payload(as_blob(d)) + offset, size);
}

// to_ser_ref sets chunk to the bytes that follow the inline QoS in a message; see get_keyhash.
static struct ddsi_serdata *to_ser_ref(const struct ddsi_serdata *d, size_t offset, size_t size, ddsrt_iovec_t *chunk) {
	struct related *related = as_blob(d)->related;
	if (related != NULL && offset == 0) {
		chunk->iov_base = related->message;
		chunk->iov_len = (ddsrt_iov_len_t)(INLINE_QOS_SIZE + size);
	} else {
		chunk->iov_base = (char *)blob_payload(as_blob(d)) + offset;
		chunk->iov_len = (ddsrt_iov_len_t)size;
	}
	return ddsi_serdata_ref(d);
}

static void to_ser_unref(struct ddsi_serdata *d, const ddsrt_iovec_t *chunk) {
	(void)chunk;
	ddsi_serdata_unref(d);
}

// The type may be freed already: samples hold no reference to their type.
static void free_data(struct ddsi_serdata *d) {
	struct blob *b = as_blob(d);
	free(b->related);
	if (b->borrowers != NULL)
		__atomic_sub_fetch(b->borrowers, 1, __ATOMIC_RELEASE);
	if (b->pooled > 0)
		give_block(b, b->pooled);
	else
		free(b);
}

static bool eqkey(const struct ddsi_serdata *a, const struct ddsi_serdata *b) {
	(void)a, (void)b;
	return true; // without key there is one instance
}

static size_t print(const struct ddsi_sertype *type, const struct ddsi_serdata *d, char *buffer, size_t size) {
	(void)type, (void)d;
	return (size_t)snprintf(buffer, size, "blob");
}

// Cyclone DDS calls get_keyhash for writers on which relate_writer was called. hash is the place of the key hash in the
// message. Cyclone DDS then adds the end of the inline QoS and the bytes that to_ser_ref returns. Cyclone DDS offers no
// other way to add a parameter to the inline QoS. It also calls get_keyhash for shared memory, which blobs do not use.
static void get_keyhash(const struct ddsi_serdata *d, struct ddsi_keyhash *hash, bool md5) {
	(void)md5;
	memset(hash, 0, sizeof(*hash));
	begin_inline_qos(hash->value, as_blob(d)->related != NULL);
}

static const struct ddsi_serdata_ops data_ops = {
	.eqkey = eqkey,
	.get_size = get_size,
	.from_ser = from_ser,
	.from_ser_iov = from_ser_iov,
	.from_keyhash = from_keyhash,
	.from_sample = from_sample,
	.to_ser = to_ser,
	.to_ser_ref = to_ser_ref,
	.to_ser_unref = to_ser_unref,
	.to_sample = to_sample,
	.to_untyped = to_untyped,
	.untyped_to_sample = untyped_to_sample,
	.free = free_data,
	.print = print,
	.get_keyhash = get_keyhash,
};

static void free_type(struct ddsi_sertype *type) {
	ddsi_sertype_fini(type);
	free(type);
}

static void zero_samples(const struct ddsi_sertype *type, void *samples, size_t count) {
	(void)type, (void)samples, (void)count;
}

static void realloc_samples(void **samples, const struct ddsi_sertype *type, void *old, size_t had, size_t count) {
	(void)type, (void)old, (void)had;
	for (size_t i = 0; i < count; i++)
		samples[i] = NULL;
}

static void free_samples(const struct ddsi_sertype *type, void **samples, size_t count, dds_free_op_t op) {
	(void)type, (void)samples, (void)count, (void)op;
}

static bool equal(const struct ddsi_sertype *a, const struct ddsi_sertype *b) {
	(void)a, (void)b;
	return true; // types differ only in name, and Cyclone DDS has compared the names
}

static uint32_t hash(const struct ddsi_sertype *type) {
	(void)type;
	return 0;
}

// Types have no type information to announce: ROS 2 matches endpoints by type name.
static const struct ddsi_sertype_ops type_ops = {
	.version = ddsi_sertype_v0,
	.free = free_type,
	.zero_samples = zero_samples,
	.realloc_samples = realloc_samples,
	.free_samples = free_samples,
	.equal = equal,
	.hash = hash,
};

struct ddsi_sertype *blob_type(const char *name) {
	static pthread_once_t tuned = PTHREAD_ONCE_INIT;
	pthread_once(&tuned, tune_allocator);
	struct ddsi_sertype *type = calloc(1, sizeof(*type));
	if (type == NULL)
		return NULL;
	ddsi_sertype_init(type, name, &type_ops, &data_ops, true);
	type->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
	return type;
}
