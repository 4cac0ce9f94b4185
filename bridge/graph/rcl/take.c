//go:build rcl

#include "native.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// block is memory for one message, which follows it.
struct block {
	struct block *next; // while it is free
	size_t capacity;
};

// Large blocks are kept for reuse, up to POOL_LIMIT bytes: mapping and clearing fresh memory for each message would
// take longer than copying the message. A block of class n has POOL_SMALLEST << n bytes, including struct block.
#define POOL_SMALLEST ((size_t)16 << 10)
#define POOL_CLASSES 13
#define POOL_LIMIT ((size_t)64 << 20)

static struct {
	pthread_mutex_t mutex;
	struct block *free[POOL_CLASSES];
	size_t kept; // bytes
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct block *block_of(const void *data) { return (struct block *)data - 1; }

// class_of returns the class whose blocks have at least size bytes, -1 if blocks of this size are not pooled.
static int class_of(size_t size) {
	if (size <= POOL_SMALLEST / 2)
		return -1;
	for (int class = 0; class < POOL_CLASSES; class++)
		if (size <= POOL_SMALLEST << class)
			return class;
	return -1;
}

static void *new_block(size_t capacity) {
	size_t size = sizeof(struct block) + capacity;
	if (size < capacity)
		return NULL;
	struct block *b = NULL;
	int class = class_of(size);
	if (class >= 0) {
		size = POOL_SMALLEST << class;
		pthread_mutex_lock(&pool.mutex);
		b = pool.free[class];
		if (b != NULL) {
			pool.free[class] = b->next;
			pool.kept -= size;
		}
		pthread_mutex_unlock(&pool.mutex);
	}
	if (b == NULL)
		b = malloc(size);
	if (b == NULL)
		return NULL;
	b->capacity = size - sizeof(*b);
	return b + 1;
}

void free_block(uintptr_t data) {
	if (data == 0)
		return;
	struct block *b = block_of((void *)data);
	size_t size = sizeof(*b) + b->capacity;
	int class = class_of(size);
	if (class >= 0) {
		pthread_mutex_lock(&pool.mutex);
		if (pool.kept + size <= POOL_LIMIT) {
			b->next = pool.free[class];
			pool.free[class] = b;
			pool.kept += size;
			b = NULL;
		}
		pthread_mutex_unlock(&pool.mutex);
	}
	free(b);
}

void free_blocks(const uintptr_t *data, int32_t count) {
	for (int32_t i = 0; i < count; i++)
		free_block(data[i]);
}

static void *allocate(size_t size, void *state) {
	(void)state;
	return new_block(size);
}

static void *zero_allocate(size_t count, size_t size, void *state) {
	(void)state;
	void *data = size > 0 && count > SIZE_MAX / size ? NULL : new_block(count * size);
	return data == NULL ? NULL : memset(data, 0, count * size);
}

static void deallocate(void *data, void *state) {
	(void)state;
	free_block((uintptr_t)data);
}

// reallocate does not keep the contents of the block: middleware resizes the block before it writes a message.
static void *reallocate(void *data, size_t size, void *state) {
	(void)state;
	if (data != NULL && size <= block_of(data)->capacity)
		return data;
	void *larger = new_block(size);
	if (larger != NULL)
		free_block((uintptr_t)data);
	return larger;
}

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// set_publisher copies a GUID. The last four bytes of a GUID are the entity id, which is never zero. If they are zero,
// gid is something else, such as the local handle that rmw_cyclonedds_cpp returns.
static void set_publisher(struct sample *s, const rmw_gid_t *gid) {
	static const uint8_t none[4];
	if (memcmp(gid->data + 12, none, sizeof(none)) == 0)
		memset(s->publisher, 0, sizeof(s->publisher));
	else
		memcpy(s->publisher, gid->data, sizeof(s->publisher));
}

// fit returns the message in a block that is not much larger than the message. If fit copies the message, *spare is set
// to the larger block.
static void *fit(rmw_serialized_message_t *m, void **spare) {
	if (block_of(m->buffer)->capacity <= 2 * m->buffer_length + 4096)
		return m->buffer;
	void *smaller = new_block(m->buffer_length);
	if (smaller == NULL)
		return m->buffer;
	*spare = m->buffer;
	return memcpy(smaller, m->buffer, m->buffer_length);
}

// A batch ends at BATCH_BYTES, so that blocks of earlier batches are reused while they are in the CPU cache.
#define BATCH_BYTES ((size_t)4 << 20)

int32_t take_batch(const rcl_subscription_t *subscription, struct batch *b) {
	size_t bytes = 0;
	int32_t n = 0;
	void *spare = NULL;
	while (n < BATCH_SIZE && bytes < BATCH_BYTES) {
		void *block = spare != NULL ? spare : new_block(b->likely);
		spare = NULL;
		rmw_serialized_message_t m = {
			.buffer = block, .buffer_capacity = block == NULL ? 0 : block_of(block)->capacity,
			.allocator = {allocate, deallocate, reallocate, zero_allocate, NULL},
		};
		rmw_message_info_t info = rmw_get_zero_initialized_message_info();
		rcl_ret_t rc = rcl_take_serialized_message(subscription, &m, &info, NULL);
		if (rc != RCL_RET_OK || m.buffer_length < 4) {
			spare = m.buffer;
			if (rc == RCL_RET_OK)
				continue;
			if (rc != RCL_RET_SUBSCRIPTION_TAKE_FAILED)
				b->error = last_error(rc);
			break;
		}
		b->samples[n] = (struct sample){
			.data = fit(&m, &spare), .size = m.buffer_length, .sent = info.source_timestamp,
			.received = info.received_timestamp > 0 ? info.received_timestamp : now(),
			.sequence = info.publication_sequence_number == RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED ? 0
					: info.publication_sequence_number,
		};
		set_publisher(&b->samples[n], &info.publisher_gid);
		b->likely = m.buffer_length;
		bytes += m.buffer_length;
		n++;
	}
	free_block((uintptr_t)spare);
	return n;
}
