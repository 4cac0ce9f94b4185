// The way of samples to handlers: the readers of subscriptions keep samples in inboxes, which all belong to one queue.
#ifndef TAPEDECK_INBOX_H
#define TAPEDECK_INBOX_H

#include "blob.h"
#include "dds/ddsc/dds_rhc.h"

// queue is a list of inboxes that have samples to be handled. One thread at a time takes from it.
struct queue;

struct queue *queue_new(void);

// queue_stop makes queue_take return false.
void queue_stop(struct queue *q);

// queue_free frees a queue. No thread may take from it any more, and all its inboxes must be freed.
void queue_free(struct queue *q);

// queue_delivered returns a time by the monotonic clock, in ns: samples of all inboxes that were received before that
// time have been handled. The time does not advance while a delivery is out.
int64_t queue_delivered(struct queue *q);

// monotonic_now returns the time by the monotonic clock, in ns.
int64_t monotonic_now(void);

// inbox is the history cache of a reader of blobs, in place of the one that Cyclone DDS has. It keeps samples in the
// order of arrival until they are taken.
struct inbox;

// inbox_new returns an inbox that keeps the last depth samples; 0 means all. dds_delete of the reader that was created
// with inbox_cache frees the inbox. The end of the inbox must have been taken before.
struct inbox *inbox_new(struct queue *q, uint32_t depth);
struct dds_rhc *inbox_cache(struct inbox *in);

// inbox_free frees an inbox that has no reader.
void inbox_free(struct inbox *in);

// inbox_close makes an inbox refuse further samples. Its present samples, and then its end, are still taken from the
// queue.
void inbox_close(struct inbox *in);

// ring is a row of blobs.
struct ring {
	struct blob **blobs;
	uint32_t size; // capacity in blobs, a power of 2
	uint32_t first, count; // index of the first blob, number of blobs
};

// delivery has samples that were taken at once from one inbox. Further samples of the inbox wait until the delivery is
// given back. The delivery holds a reference to each of its blobs. To keep a blob, remove it from blobs and count. A
// delivery must be zero at first and given back at last.
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
