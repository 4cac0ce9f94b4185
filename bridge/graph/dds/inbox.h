// How samples come to those who handle them: the readers of subscriptions keep them in inboxes, which all give to one queue.
#ifndef TAPEDECK_INBOX_H
#define TAPEDECK_INBOX_H

#include "blob.h"
#include "dds/ddsc/dds_rhc.h"

// queue is a list of inboxes that have something to be handled. One thread at a time takes from it.
struct queue;

struct queue *queue_new(void);

// queue_stop has queue_take return false.
void queue_stop(struct queue *q);

// queue_free frees a queue from which nobody takes any more, and whose inboxes are all freed.
void queue_free(struct queue *q);

// queue_delivered returns a time by the monotonic clock, in ns: what was received before has been handled, for all
// inboxes. It stays behind while a delivery is out.
int64_t queue_delivered(struct queue *q);

// monotonic_now returns the time by the monotonic clock, in ns.
int64_t monotonic_now(void);

// inbox is the history cache of a reader of blobs, in place of the one that Cyclone DDS has. It keeps samples in the order of
// arrival until they are taken.
struct inbox;

// inbox_new returns an inbox that keeps the last depth samples, all if that is 0. dds_delete of the reader that is created
// with inbox_cache frees it. That must not be before its end was taken.
struct inbox *inbox_new(struct queue *q, uint32_t depth);
struct dds_rhc *inbox_cache(struct inbox *in);

// inbox_free frees an inbox that no reader was created with.
void inbox_free(struct inbox *in);

// inbox_close has an inbox take in nothing more. What it has, and its end, are taken from the queue still.
void inbox_close(struct inbox *in);

// ring is a row of blobs.
struct ring {
	struct blob **blobs;
	uint32_t size; // of blobs, a power of 2
	uint32_t first, count; // of what is in it
};

// delivery is what is taken at once, all from one inbox, whose next samples wait until it is given back. It holds a reference
// to each of its blobs; who wants to keep one moves the others up and counts them anew. It must be zero at first, and is to be
// given back at last.
#define DELIVERY_SIZE 512
struct delivery {
	struct inbox *inbox;
	int32_t count;
	bool end; // nothing more will come from inbox
	bool yield; // it is time to call Go's scheduler
	bool closed; // inbox was, when rest was taken from it
	struct ring rest; // what was taken from inbox and comes next
	struct blob *blobs[DELIVERY_SIZE];
};

// queue_take gives back d and waits for the next one. It returns false when the queue is stopped.
bool queue_take(struct queue *q, struct delivery *d);

// queue_give gives back d only, with what was not handled of it.
void queue_give(struct queue *q, struct delivery *d);

#endif
