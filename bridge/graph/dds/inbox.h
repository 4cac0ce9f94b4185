// Queue and inboxes bring received samples to handlers. The reader of each subscription stores samples in an inbox. All
// inboxes belong to one queue.
#ifndef TAPEDECK_INBOX_H
#define TAPEDECK_INBOX_H

#include "blob.h"
#include "dds/ddsc/dds_rhc.h"

// queue is a list of inboxes with unhandled samples. One thread at a time takes samples from the queue.
struct queue;

struct queue *queue_new(void);

// queue_stop makes queue_take return false.
void queue_stop(struct queue *q);

// queue_free frees a queue. All inboxes of the queue must be freed before, and no thread may be in queue_take.
void queue_free(struct queue *q);

// queue_delivered returns a time of the monotonic clock, in ns: all samples received before have been handled. The time
// does not advance while a delivery is being handled.
int64_t queue_delivered(struct queue *q);

// monotonic_now returns the time by the monotonic clock, in ns.
int64_t monotonic_now(void);

// inbox is the history cache of a reader of blobs, and replaces the cache of Cyclone DDS. An inbox keeps samples in
// order of arrival until queue_take takes them.
struct inbox;

// inbox_new returns an inbox that keeps the last depth samples. A depth of 0 means all samples.
struct inbox *inbox_new(struct queue *q, uint32_t depth);

// inbox_cache returns the cache to create a reader with. dds_delete of the reader frees the inbox. Before that,
// the inbox must be closed, and queue_take must have returned its last delivery.
struct dds_rhc *inbox_cache(struct inbox *in);

// inbox_free frees an inbox that has no reader.
void inbox_free(struct inbox *in);

// inbox_close makes an inbox refuse further samples. queue_take still returns the present samples. The last
// delivery of the inbox has end set, and may be empty.
void inbox_close(struct inbox *in);

// ring is a circular buffer of blobs.
struct ring {
	struct blob **blobs;
	uint32_t size; // capacity in blobs, a power of 2
	uint32_t first, count; // index of the first blob, number of blobs
};

// delivery holds samples of one inbox. Further samples of the inbox wait until the delivery is given back. A delivery
// owns a reference to each of its blobs. To keep a blob, remove it from blobs and count. A delivery must be zero before
// the first queue_take, and must be given back with queue_give after the last.
#define DELIVERY_SIZE 512
struct delivery {
	struct inbox *inbox;
	int32_t count;
	bool end; // nothing more will come from inbox
	bool yield; // it is time to call Go's scheduler
	bool closed; // inbox was closed when rest was taken from inbox
	struct ring rest; // blobs that were taken from inbox and come in the next deliveries
	struct blob *blobs[DELIVERY_SIZE];
};

// queue_take gives back d and waits for the next delivery. It returns false when the queue is stopped.
bool queue_take(struct queue *q, struct delivery *d);

// queue_give gives back d, including samples that were not handled.
void queue_give(struct queue *q, struct delivery *d);

#endif
