#include "inbox.h"

#include <pthread.h>

#include "dds/ddsi/ddsi_tkmap.h"
#include "dds/ddsrt/heap.h"

struct inbox {
	struct dds_rhc cache; // must be the first field: Cyclone DDS passes pointers to cache, which are cast to inbox
	struct queue *queue;
	uint32_t depth; // 0 for no limit

	// The inbox keeps a reference to instance. Otherwise Cyclone DDS would create the instance anew for each sample.
	struct ddsi_tkmap *instances;
	struct ddsi_tkmap_instance *instance; // NULL before the first sample

	// The rest is guarded by the mutex of queue.
	struct ring ring;
	struct inbox *next; // next inbox in the list of queue
	bool busy; // the inbox is in the list, or its samples are being handled
	bool closed;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct inbox *first, *last;
	bool stopped;
	bool asleep; // the taking thread waits for an inbox in the list
	int32_t out; // inboxes whose samples are being handled
	int64_t delivered; // see queue_delivered
	bool urgent; // while the mutex is held: inboxes in the list cannot wait for the end of a pause

	// Times are in ns of the monotonic clock.
	int64_t since; // start of the interval in which taken is counted
	int64_t taken; // number of samples taken since the time in since
	int64_t yielded; // when delivery.yield was set
};

// When samples come at a high rate, the taking thread polls for them, and is not woken for each sample. Waking a thread
// takes the receiving thread longer than all its other work for a small sample.
#define PAUSE DDS_MSECS(1)
#define MANY 3 // samples in a PAUSE

// When a goroutine has done nothing but call C for 10 ms, Go's scheduler takes its processor away during such calls.
// The scheduler checks for that every 20 us, which takes longer than the work of the goroutine.
#define YIELD DDS_MSECS(4)
#define PREEMPTED DDS_MSECS(10)

struct queue *queue_new(void) {
	struct queue *q = ddsrt_calloc(1, sizeof(*q));
	pthread_mutex_init(&q->mutex, NULL);
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&q->wake, &clock);
	pthread_condattr_destroy(&clock);
	return q;
}

void queue_free(struct queue *q) {
	pthread_cond_destroy(&q->wake);
	pthread_mutex_destroy(&q->mutex);
	ddsrt_free(q);
}

// unlock unlocks the queue and wakes the taking thread if necessary.
static void unlock(struct queue *q) {
	bool wake = q->stopped || (q->first != NULL && (q->asleep || q->urgent));
	if (wake)
		q->asleep = false;
	q->urgent = false;
	pthread_mutex_unlock(&q->mutex);
	if (wake)
		pthread_cond_signal(&q->wake);
}

void queue_stop(struct queue *q) {
	pthread_mutex_lock(&q->mutex);
	q->stopped = true;
	unlock(q);
}

// list puts an inbox at the end of the list, unless it is busy.
static void list(struct inbox *in) {
	struct queue *q = in->queue;
	if (in->busy)
		return;
	in->busy = true;
	in->next = NULL;
	if (q->first == NULL)
		q->first = in;
	else
		q->last->next = in;
	q->last = in;
}

static struct blob *pop(struct ring *r) {
	struct blob *b = r->blobs[r->first];
	r->first = (r->first + 1) & (r->size - 1);
	r->count--;
	return b;
}

static void push(struct ring *r, struct blob *b) {
	if (r->count == r->size) {
		uint32_t count = r->count, size = count > 0 ? 2 * count : 8;
		struct blob **blobs = ddsrt_malloc(size * sizeof(*blobs));
		for (uint32_t i = 0; i < count; i++)
			blobs[i] = pop(r);
		ddsrt_free(r->blobs);
		*r = (struct ring){.blobs = blobs, .size = size, .count = count};
	}
	r->blobs[(r->first + r->count++) & (r->size - 1)] = b;
}

static void clear(struct ring *r) {
	while (r->count > 0)
		ddsi_serdata_unref(&pop(r)->c);
	ddsrt_free(r->blobs);
	*r = (struct ring){0};
}

// Cyclone DDS calls store while it holds locks of the writer or reader.
static bool store(struct ddsi_rhc *cache, const struct ddsi_writer_info *writer, struct ddsi_serdata *sample,
		struct ddsi_tkmap_instance *instance) {
	(void)writer;
	struct inbox *in = (struct inbox *)cache;
	struct blob *b = (struct blob *)sample, *oldest = NULL;
	if (sample->kind != SDK_DATA || b->size < 4)
		return true; // the sample has no payload
	pthread_mutex_lock(&in->queue->mutex);
	if (!in->closed) {
		if (in->instance == NULL) {
			ddsi_tkmap_instance_ref(instance);
			in->instance = instance;
		}
		ddsi_serdata_ref(sample);
		if (in->depth > 0 && in->ring.count == in->depth)
			oldest = pop(&in->ring);
		push(&in->ring, b);
		list(in);
		in->queue->urgent = in->depth > 0 && in->ring.count > in->depth / 2;
	}
	unlock(in->queue);
	if (oldest != NULL)
		ddsi_serdata_unref(&oldest->c);
	return true;
}

static dds_return_t associate(struct dds_rhc *cache, struct dds_reader *reader, const struct ddsi_sertype *type,
		struct ddsi_tkmap *instances) {
	(void)reader;
	(void)type;
	((struct inbox *)cache)->instances = instances;
	return DDS_RETCODE_OK;
}

void inbox_free(struct inbox *in) {
	clear(&in->ring);
	if (in->instance != NULL)
		ddsi_tkmap_instance_unref(in->instances, in->instance);
	ddsrt_free(in);
}

static void free_cache(struct ddsi_rhc *cache) { inbox_free((struct inbox *)cache); }

// The other functions of the cache do nothing: only samples matter, and they are not read with Cyclone DDS's functions.

static void unregister_writer(struct ddsi_rhc *cache, const struct ddsi_writer_info *writer) {
	(void)cache, (void)writer;
}

static void relinquish(struct ddsi_rhc *cache, const uint64_t writer) { (void)cache, (void)writer; }

static void set_qos(struct ddsi_rhc *cache, const struct dds_qos *qos) { (void)cache, (void)qos; }

static int32_t no_read(struct dds_rhc *cache, bool lock, void **values, dds_sample_info_t *info, uint32_t max,
		uint32_t mask, dds_instance_handle_t instance, struct dds_readcond *condition) {
	(void)cache, (void)lock, (void)values, (void)info, (void)max, (void)mask, (void)instance, (void)condition;
	return DDS_RETCODE_UNSUPPORTED;
}

static int32_t no_read_cdr(struct dds_rhc *cache, bool lock, struct ddsi_serdata **values, dds_sample_info_t *info,
		uint32_t max, uint32_t samples, uint32_t views, uint32_t states, dds_instance_handle_t instance) {
	(void)cache, (void)lock, (void)values, (void)info, (void)max, (void)samples, (void)views, (void)states;
	(void)instance;
	return DDS_RETCODE_UNSUPPORTED;
}

static bool no_condition(struct dds_rhc *cache, struct dds_readcond *condition) {
	(void)cache, (void)condition;
	return false;
}

static void remove_condition(struct dds_rhc *cache, struct dds_readcond *condition) { (void)cache, (void)condition; }

static uint32_t lock_samples(struct dds_rhc *cache) {
	(void)cache;
	return 0;
}

static const struct dds_rhc_ops cache_ops = {
	.rhc_ops = {
		.store = store,
		.unregister_wr = unregister_writer,
		.relinquish_ownership = relinquish,
		.set_qos = set_qos,
		.free = free_cache,
	},
	.read = no_read,
	.take = no_read,
	.readcdr = no_read_cdr,
	.takecdr = no_read_cdr,
	.add_readcondition = no_condition,
	.remove_readcondition = remove_condition,
	.lock_samples = lock_samples,
	.associate = associate,
};

struct inbox *inbox_new(struct queue *q, uint32_t depth) {
	struct inbox *in = ddsrt_calloc(1, sizeof(*in));
	in->cache.common.ops = &cache_ops;
	in->queue = q;
	in->depth = depth;
	return in;
}

struct dds_rhc *inbox_cache(struct inbox *in) { return &in->cache; }

void inbox_close(struct inbox *in) {
	pthread_mutex_lock(&in->queue->mutex);
	in->closed = in->queue->urgent = true;
	list(in);
	unlock(in->queue);
}

static void release(struct delivery *d) {
	for (int32_t i = 0; i < d->count; i++)
		ddsi_serdata_unref(&d->blobs[i]->c);
	d->count = 0;
}

// handled puts the inbox of d into the list again if it has more samples.
static void handled(struct queue *q, struct delivery *d) {
	struct inbox *in = d->inbox;
	d->inbox = NULL;
	if (in == NULL)
		return;
	q->out--;
	if (d->end) // the inbox may be freed already
		return;
	in->busy = false;
	if (in->ring.count > 0 || in->closed)
		list(in);
}

void queue_give(struct queue *q, struct delivery *d) {
	release(d);
	pthread_mutex_lock(&q->mutex);
	if (d->rest.count > 0) {
		struct inbox *in = d->inbox;
		struct ring newer = in->ring;
		in->ring = d->rest;
		for (uint32_t n = newer.count; n > 0; n--) {
			push(&in->ring, pop(&newer));
			if (in->depth > 0 && in->ring.count > in->depth)
				push(&newer, pop(&in->ring));
		}
		d->rest = newer; // the samples beyond depth, which are dropped below
	}
	handled(q, d);
	unlock(q);
	clear(&d->rest);
}

// STORING bounds the time from a sample's time of reception until it is stored. Storing takes longer if the thread is
// interrupted.
#define STORING DDS_MSECS(20)

// note_delivered is called with the mutex held.
static void note_delivered(struct queue *q) {
	if (q->first == NULL && q->out == 0)
		q->delivered = ddsrt_time_monotonic().v - STORING;
}

int64_t queue_delivered(struct queue *q) {
	pthread_mutex_lock(&q->mutex);
	note_delivered(q);
	int64_t t = q->delivered;
	pthread_mutex_unlock(&q->mutex);
	return t;
}

static void await(struct queue *q, struct delivery *d) {
	note_delivered(q);
	int64_t now = ddsrt_time_monotonic().v, unseen = now - q->yielded;
	if (unseen > YIELD) {
		q->yielded = now;
		d->yield = unseen < PREEMPTED;
	}
	bool many = q->taken >= MANY;
	if (many || now - q->since > PAUSE) {
		q->since = now;
		q->taken = 0;
	}
	if (many) {
		now += PAUSE;
		struct timespec until = {.tv_sec = now / DDS_NSECS_IN_SEC, .tv_nsec = now % DDS_NSECS_IN_SEC};
		pthread_cond_timedwait(&q->wake, &q->mutex, &until);
		return;
	}
	for (q->asleep = true; q->asleep;)
		pthread_cond_wait(&q->wake, &q->mutex);
}

// take takes all samples of the first inbox. It only swaps two rings, because a thread that holds the mutex may be
// interrupted. The receiving thread would wait then, and the socket would overflow.
static void take(struct queue *q, struct delivery *d) {
	struct inbox *in = q->first;
	struct ring empty = d->rest;
	q->first = in->next;
	d->inbox = in;
	d->rest = in->ring;
	d->closed = in->closed;
	in->ring = empty;
	q->out++;
	q->taken += d->rest.count;
}

bool queue_take(struct queue *q, struct delivery *d) {
	release(d);
	d->yield = false;
	if (d->rest.count == 0) {
		pthread_mutex_lock(&q->mutex);
		handled(q, d);
		while (q->first == NULL && !q->stopped)
			await(q, d);
		if (q->first != NULL)
			take(q, d);
		pthread_mutex_unlock(&q->mutex);
	}
	while (d->rest.count > 0 && d->count < DELIVERY_SIZE)
		d->blobs[d->count++] = pop(&d->rest);
	d->end = d->inbox != NULL && d->closed && d->rest.count == 0;
	return d->inbox != NULL;
}

int64_t monotonic_now(void) { return ddsrt_time_monotonic().v; }
