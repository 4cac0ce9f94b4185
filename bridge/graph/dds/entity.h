// Functions of Cyclone DDS for the Go code. One call handles a batch of samples. Functions that return a dds_entity_t
// or dds_return_t return a negative DDS_RETCODE on failure.
#ifndef TAPEDECK_ENTITY_H
#define TAPEDECK_ENTITY_H

#include "blob.h"
#include "inside.h"

// qos is the quality of service of one endpoint. Durations are in ns; DDS_INFINITY means no limit.
struct qos {
	bool keep_all, reliable, transient_local, manual_by_topic;
	bool ignore_local; // a reader ignores samples of its own participant
	bool accept_early_samples; // create_reader calls accept_early_samples; only for reliable readers
	int32_t depth;
	int64_t deadline, lifespan, lease;
};

// library_path returns the path of the library of Cyclone DDS that this process has loaded.
const char *library_path(void);

// begin_log keeps Cyclone DDS's log lines until end_log, instead of printing them. end_log returns the kept lines. It
// also limits the later lines that are printed, because a peer with other keys causes lines every second: with once,
// each line is printed once; otherwise a few lines of each kind are printed.
void begin_log(void);
const char *end_log(bool once);

// create_writer creates a writer. *registered is the type that Cyclone DDS registered; the caller owns a reference.
// *matched is the number of matched readers, which Cyclone DDS updates until the writer is deleted.
dds_entity_t create_writer(dds_entity_t participant, const char *topic, const char *type, const struct qos *q,
		const char *user_data, int32_t *matched, struct ddsi_sertype **registered);

struct dds_rhc;

// create_reader creates a reader, which owns cache. If cache is NULL, Cyclone DDS makes a cache.
dds_entity_t create_reader(dds_entity_t participant, const char *topic, const char *type, const struct qos *q,
		const char *user_data, struct dds_rhc *cache);

// write_blob sends a copy of data, or data itself if borrowers is not NULL: see blob_lend. source_time is ns since the
// Unix epoch, negative for now. related may be NULL, and must be unless relate_writer was called.
dds_return_t write_blob(dds_entity_t writer, const struct ddsi_sertype *type, const uint8_t publisher[16],
		uint64_t sequence, void *data, size_t size, int32_t *borrowers, int64_t source_time,
		const struct identity *related);

// batch holds the samples of one take.
#define BATCH_SIZE 512
struct batch {
	struct blob *blobs[BATCH_SIZE];
	dds_sample_info_t info[BATCH_SIZE];
};

// take_batch frees the first release blobs of b, takes the received samples and returns their number. It leaves out
// samples without payload. b must be zero at first.
int32_t take_batch(dds_entity_t reader, struct batch *b, int32_t release);

// create_waitset returns a waitset that triggers when a reader attached to it has data, and that
// dds_waitset_set_trigger triggers with the value 0.
dds_entity_t create_waitset(dds_entity_t participant);

// peer is a matched remote endpoint, with the value of one key in its user data ("key=value;"), "" if it has none.
struct peer {
	uint8_t guid[16];
	char id[80];
};

// matched_peers returns the number of peers that match a writer or reader. The caller must free *peers.
int32_t matched_peers(dds_entity_t endpoint, bool writer, const char *key, struct peer **peers);

// publication_id sets p to the writer of a sample.
dds_return_t publication_id(dds_entity_t reader, dds_instance_handle_t writer, const char *key, struct peer *p);

// discovered is a participant or endpoint that came, changed or went.
struct discovered {
	uint8_t guid[16];
	bool alive; // if false, topic, type and user_data are not set
	char *topic, *type, *user_data; // freed by release_discovered; user_data may be NULL
	int32_t user_data_size;
	struct qos qos;
};

// take_discovered takes up to max entries from a reader of one of the builtin topics.
int32_t take_discovered(dds_entity_t reader, bool endpoint, struct discovered *d, int32_t max);
void release_discovered(struct discovered *d, int32_t count);

#endif
