#define _GNU_SOURCE
#include "entity.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dds_qos_t *make_qos(const struct qos *q, const char *user_data) {
	dds_qos_t *out = dds_create_qos();
	dds_history_kind_t history = q->keep_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST;
	// The depth is unused if the history keeps all samples, but Fast DDS 3 would read the usual -1 as 2^64-1.
	int32_t depth = q->keep_all ? 1 : q->depth;
	dds_qset_history(out, history, depth);
	dds_qset_resource_limits(out, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
	if (q->reliable)
		dds_qset_reliability(out, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	else
		dds_qset_reliability(out, DDS_RELIABILITY_BEST_EFFORT, 0);
	if (q->transient_local) {
		// The durability service, and not the history, determines the samples that late joiners get.
		dds_qset_durability(out, DDS_DURABILITY_TRANSIENT_LOCAL);
		dds_qset_durability_service(out, 0, history, depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
				DDS_LENGTH_UNLIMITED);
	} else {
		dds_qset_durability(out, DDS_DURABILITY_VOLATILE);
	}
	dds_qset_deadline(out, q->deadline);
	dds_qset_lifespan(out, q->lifespan);
	dds_qset_liveliness(out, q->manual_by_topic ? DDS_LIVELINESS_MANUAL_BY_TOPIC : DDS_LIVELINESS_AUTOMATIC, q->lease);
	dds_qset_writer_data_lifecycle(out, false);
	if (q->ignore_local)
		dds_qset_ignorelocal(out, DDS_IGNORELOCAL_PARTICIPANT);
	if (user_data[0] != '\0')
		dds_qset_userdata(out, user_data, strlen(user_data));
	return out;
}

static void read_qos(const dds_qos_t *in, struct qos *q) {
	dds_history_kind_t history = DDS_HISTORY_KEEP_LAST;
	dds_reliability_kind_t reliability = DDS_RELIABILITY_BEST_EFFORT;
	dds_durability_kind_t durability = DDS_DURABILITY_VOLATILE;
	dds_liveliness_kind_t liveliness = DDS_LIVELINESS_AUTOMATIC;
	*q = (struct qos){.depth = 1, .deadline = DDS_INFINITY, .lifespan = DDS_INFINITY, .lease = DDS_INFINITY};
	dds_qget_history(in, &history, &q->depth);
	dds_qget_reliability(in, &reliability, NULL);
	dds_qget_durability(in, &durability);
	dds_qget_deadline(in, &q->deadline);
	dds_qget_lifespan(in, &q->lifespan);
	dds_qget_liveliness(in, &liveliness, &q->lease);
	q->keep_all = history == DDS_HISTORY_KEEP_ALL;
	q->reliable = reliability == DDS_RELIABILITY_RELIABLE;
	q->transient_local = durability != DDS_DURABILITY_VOLATILE;
	q->manual_by_topic = liveliness == DDS_LIVELINESS_MANUAL_BY_TOPIC;
}

const char *library_path(void) {
	Dl_info info;
	void *function = dlsym(RTLD_DEFAULT, "dds_create_participant");
	return function != NULL && dladdr(function, &info) != 0 ? info.dli_fname : "";
}

static char kept_log[2048];

static void keep_line(void *unused, const dds_log_data_t *line) {
	(void)unused;
	size_t size = strlen(kept_log);
	snprintf(kept_log + size, sizeof(kept_log) - size, "%.*s\n", (int)line->size, line->message);
}

void begin_log(void) {
	kept_log[0] = '\0';
	dds_set_log_sink(keep_line, NULL);
}

#define PREFIX 32 // bytes at the start of a line that identify its kind
#define MOST 10 // lines of one kind that are printed

// print_line replaces all but printable ASCII, because other bytes may control a terminal. With once it skips lines
// that were printed lately. Otherwise it prints at most MOST lines of a kind, because a peer may send many packets that
// are each logged. Cyclone DDS calls print_line from one thread at a time.
static void print_line(void *once, const dds_log_data_t *line) {
	static struct { uint32_t hash, count; } printed[256];
	static uint32_t next;
	size_t named = once == NULL && line->size > PREFIX ? PREFIX : line->size;
	uint32_t hash = 2166136261u, most = once == NULL ? MOST : 1, i = 0; // FNV-1a
	for (size_t k = 0; k < named; k++)
		hash = (hash ^ (uint8_t)line->message[k]) * 16777619u;
	while (i < 256 && (printed[i].count == 0 || printed[i].hash != hash))
		i++;
	if (i == 256) {
		i = next++ % 256;
		printed[i].hash = hash;
		printed[i].count = 0;
	}
	if (printed[i].count == most)
		return;
	printed[i].count++;
	char text[1024];
	size_t size = line->size < sizeof(text) ? line->size : sizeof(text);
	for (size_t k = 0; k < size; k++)
		text[k] = line->message[k] < ' ' || line->message[k] > '~' ? '?' : line->message[k];
	bool last = once == NULL && printed[i].count == most;
	fprintf(stderr, "DDS: %.*s%s\n", (int)size, text, last ? " (further lines like this are left out)" : "");
}

const char *end_log(bool once) {
	static char yes;
	dds_set_log_sink(print_line, once ? &yes : NULL);
	return kept_log;
}

static dds_entity_t create_topic(dds_entity_t participant, const char *name, const char *type_name,
		struct ddsi_sertype **type) {
	*type = blob_type(type_name);
	if (*type == NULL)
		return DDS_RETCODE_OUT_OF_RESOURCES;
	struct ddsi_sertype *unregistered = *type;
	dds_entity_t topic = dds_create_topic_sertype(participant, name, type, NULL, NULL, NULL);
	if (topic < 0)
		ddsi_sertype_unref(unregistered);
	return topic;
}

static void on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *matched) {
	(void)writer;
	__atomic_store_n((int32_t *)matched, (int32_t)status.current_count, __ATOMIC_RELAXED);
}

dds_entity_t create_writer(dds_entity_t participant, const char *topic_name, const char *type_name, const struct qos *q,
		const char *user_data, int32_t *matched, struct ddsi_sertype **registered) {
	dds_entity_t topic = create_topic(participant, topic_name, type_name, registered);
	if (topic < 0)
		return topic;
	dds_qos_t *qos = make_qos(q, user_data);
	// A listener counts the matches, because a query to Cyclone DDS would wait for a blocked write.
	dds_listener_t *listener = dds_create_listener(matched);
	dds_lset_publication_matched(listener, on_matched);
	dds_entity_t writer = dds_create_writer(participant, topic, qos, listener);
	if (writer >= 0)
		ddsi_sertype_ref(*registered);
	dds_delete_listener(listener);
	dds_delete_qos(qos);
	dds_delete(topic); // the writer keeps a reference
	return writer;
}

dds_entity_t create_reader(dds_entity_t participant, const char *topic_name, const char *type_name, const struct qos *q,
		const char *user_data, struct dds_rhc *cache) {
	struct ddsi_sertype *type;
	dds_entity_t topic = create_topic(participant, topic_name, type_name, &type);
	if (topic < 0)
		return topic;
	dds_qos_t *qos = make_qos(q, user_data);
	dds_entity_t reader = cache != NULL ? dds_create_reader_rhc(participant, topic, qos, NULL, cache)
			: dds_create_reader(participant, topic, qos, NULL);
	dds_guid_t guid;
	if (reader >= 0) {
		dds_set_status_mask(reader, DDS_DATA_AVAILABLE_STATUS);
		if (q->accept_early_samples && dds_get_guid(reader, &guid) == DDS_RETCODE_OK)
			accept_early_samples(type, guid.v);
	}
	dds_delete_qos(qos);
	dds_delete(topic);
	return reader;
}

dds_return_t write_blob(dds_entity_t writer, const struct ddsi_sertype *type, const uint8_t publisher[16],
		uint64_t sequence, void *data, size_t size, int32_t *borrowers, int64_t source_time,
		const struct identity *related) {
	struct blob *b = borrowers != NULL ? blob_lend(type, data, size, borrowers) : blob_new(type, data, size);
	if (b == NULL)
		return DDS_RETCODE_OUT_OF_RESOURCES;
	if (related != NULL && !blob_relate(b, related)) {
		ddsi_serdata_unref(&b->c);
		return DDS_RETCODE_OUT_OF_RESOURCES;
	}
	memcpy(b->publisher, publisher, sizeof(b->publisher));
	b->sequence = sequence;
	b->received = dds_time();
	b->received_monotonic = ddsrt_time_monotonic().v;
	b->c.timestamp.v = source_time >= 0 ? source_time : b->received;
	dds_return_t rc = dds_forwardcdr(writer, &b->c);
	// The reference is used up, unless the writer was deleted meanwhile.
	if (rc == DDS_RETCODE_BAD_PARAMETER || rc == DDS_RETCODE_ALREADY_DELETED)
		ddsi_serdata_unref(&b->c);
	return rc;
}

int32_t take_batch(dds_entity_t reader, struct batch *b, int32_t release) {
	for (int32_t i = 0; i < release; i++)
		ddsi_serdata_unref(&b->blobs[i]->c);
	for (;;) {
		dds_return_t taken = dds_takecdr(reader, (struct ddsi_serdata **)b->blobs, BATCH_SIZE, b->info, DDS_ANY_STATE);
		if (taken < 0)
			return taken;
		int32_t n = 0;
		for (int32_t i = 0; i < taken; i++) {
			struct blob *x = b->blobs[i];
			if (b->info[i].valid_data && x->size >= 4) {
				b->blobs[n] = x;
				b->info[n++] = b->info[i];
			} else {
				ddsi_serdata_unref(&x->c);
			}
		}
		if (taken == 0 || n > 0)
			return n;
	}
}

dds_entity_t create_waitset(dds_entity_t participant) {
	dds_entity_t waitset = dds_create_waitset(participant);
	if (waitset < 0)
		return waitset;
	dds_return_t rc = dds_waitset_attach(waitset, waitset, 0);
	if (rc < 0) {
		dds_delete(waitset);
		return rc;
	}
	return waitset;
}

// find_id copies the value of a key from user data of the form "key=value;key=value;".
static void find_id(const dds_qos_t *qos, const char *key, char *id, size_t size) {
	void *data = NULL;
	size_t length = 0;
	id[0] = '\0';
	if (!dds_qget_userdata(qos, &data, &length) || data == NULL)
		return;
	size_t key_length = strlen(key);
	const char *at = data, *end = at + length;
	while (at < end) {
		const char *next = memchr(at, ';', (size_t)(end - at));
		if (next == NULL)
			next = end;
		if ((size_t)(next - at) > key_length && memcmp(at, key, key_length) == 0 && at[key_length] == '=') {
			snprintf(id, size, "%.*s", (int)((size_t)(next - at) - key_length - 1), at + key_length + 1);
			break;
		}
		at = next + 1;
	}
	dds_free(data);
}

static bool read_peer(dds_builtintopic_endpoint_t *endpoint, const char *key, struct peer *p) {
	if (endpoint == NULL)
		return false;
	memcpy(p->guid, endpoint->key.v, sizeof(p->guid));
	find_id(endpoint->qos, key, p->id, sizeof(p->id));
	dds_builtintopic_free_endpoint(endpoint);
	return true;
}

static dds_return_t matched_handles(dds_entity_t endpoint, bool writer, dds_instance_handle_t *handles, size_t max) {
	return writer ? dds_get_matched_subscriptions(endpoint, handles, max)
			: dds_get_matched_publications(endpoint, handles, max);
}

int32_t matched_peers(dds_entity_t endpoint, bool writer, const char *key, struct peer **peers) {
	*peers = NULL;
	dds_return_t max = matched_handles(endpoint, writer, NULL, 0);
	if (max <= 0)
		return max;
	dds_instance_handle_t *handles = calloc((size_t)max, sizeof(*handles));
	*peers = calloc((size_t)max, sizeof(**peers));
	int32_t n = DDS_RETCODE_OUT_OF_RESOURCES;
	if (handles != NULL && *peers != NULL) {
		n = 0;
		dds_return_t matched = matched_handles(endpoint, writer, handles, (size_t)max);
		for (int32_t i = 0; i < matched && i < max; i++) {
			dds_builtintopic_endpoint_t *e = writer ? dds_get_matched_subscription_data(endpoint, handles[i])
					: dds_get_matched_publication_data(endpoint, handles[i]);
			if (read_peer(e, key, &(*peers)[n]))
				n++;
		}
	}
	free(handles);
	return n;
}

dds_return_t publication_id(dds_entity_t reader, dds_instance_handle_t writer, const char *key, struct peer *p) {
	return read_peer(dds_get_matched_publication_data(reader, writer), key, p) ? DDS_RETCODE_OK : DDS_RETCODE_NO_DATA;
}

static void read_user_data(const dds_qos_t *qos, struct discovered *d) {
	void *data = NULL;
	size_t size = 0;
	if (qos != NULL && dds_qget_userdata(qos, &data, &size)) {
		d->user_data = data;
		d->user_data_size = (int32_t)size;
	}
}

int32_t take_discovered(dds_entity_t reader, bool endpoint, struct discovered *d, int32_t max) {
	for (int32_t i = 0; i < max; i++) {
		void *raw = NULL;
		dds_sample_info_t info;
		dds_return_t n = dds_take(reader, &raw, &info, 1, 1);
		if (n < 0)
			return i > 0 ? i : n;
		if (n == 0)
			return i;
		d[i] = (struct discovered){.alive = info.valid_data && info.instance_state == DDS_IST_ALIVE};
		if (endpoint) {
			const dds_builtintopic_endpoint_t *e = raw;
			memcpy(d[i].guid, e->key.v, sizeof(d[i].guid));
			if (d[i].alive) {
				d[i].topic = dds_string_dup(e->topic_name);
				d[i].type = dds_string_dup(e->type_name);
				read_user_data(e->qos, &d[i]);
				read_qos(e->qos, &d[i].qos);
			}
		} else {
			const dds_builtintopic_participant_t *p = raw;
			memcpy(d[i].guid, p->key.v, sizeof(d[i].guid));
			if (d[i].alive)
				read_user_data(p->qos, &d[i]);
		}
		dds_return_loan(reader, &raw, n);
	}
	return max;
}

void release_discovered(struct discovered *d, int32_t count) {
	for (int32_t i = 0; i < count; i++) {
		dds_string_free(d[i].topic);
		dds_string_free(d[i].type);
		dds_free(d[i].user_data);
	}
}
