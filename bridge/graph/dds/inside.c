#include "inside.h"

#include <string.h>

#include "dds/ddsrt/bswap.h"
#include "dds/ddsi/ddsi_domaingv.h"
#include "dds/ddsi/ddsi_entity.h"
#include "dds/ddsi/ddsi_endpoint.h"
#include "dds/ddsi/ddsi_entity_index.h"
#include "dds/ddsi/ddsi_entity_match.h"
#include "dds/ddsi/ddsi_proxy_endpoint.h"
#include "dds/ddsi/ddsi_proxy_participant.h"
#include "dds/ddsi/ddsi_tran.h"
#include "dds/ddsi/q_addrset.h"
#include "dds/ddsi/q_thread.h"

// from_wire returns a GUID as Cyclone DDS keeps it.
static ddsi_guid_t from_wire(const uint8_t guid[16]) {
	uint32_t words[4];
	memcpy(words, guid, sizeof(words));
	ddsi_guid_t id;
	for (int i = 0; i < 3; i++)
		id.prefix.u[i] = ddsrt_fromBE4u(words[i]);
	id.entityid.u = ddsrt_fromBE4u(words[3]);
	return id;
}

// scope is a section of code in which entities of a domain can be looked up and are not deleted.
struct scope {
	struct ddsi_domaingv *domain;
	struct entity_index *index;
	struct thread_state *thread;
};

static struct scope enter_scope(const struct ddsi_sertype *type) {
	struct ddsi_domaingv *domain = ddsrt_atomic_ldvoidp(&type->gv);
	struct scope s = {domain, domain->entity_index, lookup_thread_state()};
	thread_state_awake(s.thread, domain);
	return s;
}

static void leave_scope(struct scope s) { thread_state_asleep(s.thread); }

void interrupt_writer(const struct ddsi_sertype *type, const uint8_t writer[16]) {
	ddsi_guid_t guid = from_wire(writer);
	struct scope s = enter_scope(type);
	ddsi_unblock_throttled_writer(s.domain, &guid);
	leave_scope(s);
}

// never_block sets the limits that Cyclone DDS gives to its own builtin writers.
void never_block(const struct ddsi_sertype *type, const uint8_t writer[16]) {
	ddsi_guid_t guid = from_wire(writer);
	struct scope s = enter_scope(type);
	struct ddsi_writer *w = entidx_lookup_writer_guid(s.index, &guid);
	if (w != NULL) {
		ddsrt_mutex_lock(&w->e.lock);
		w->whc_low = w->whc_high = INT32_MAX;
		ddsrt_mutex_unlock(&w->e.lock);
	}
	leave_scope(s);
}

// Cyclone DDS adds a heartbeat that asks for acknowledgements to a sample if the writer wrote nothing for 80 ms before.
void ask_readers(const struct ddsi_sertype *type, const uint8_t writer[16]) {
	ddsi_guid_t guid = from_wire(writer);
	struct scope s = enter_scope(type);
	struct ddsi_writer *w = entidx_lookup_writer_guid(s.index, &guid);
	if (w != NULL) {
		ddsrt_mutex_lock(&w->e.lock);
		w->hbcontrol.t_of_last_write.v = 0;
		ddsrt_mutex_unlock(&w->e.lock);
	}
	leave_scope(s);
}

// See get_keyhash in blob.c.
void relate_writer(const struct ddsi_sertype *type, const uint8_t writer[16]) {
	ddsi_guid_t guid = from_wire(writer);
	struct scope s = enter_scope(type);
	struct ddsi_writer *w = entidx_lookup_writer_guid(s.index, &guid);
	if (w != NULL) {
		ddsrt_mutex_lock(&w->e.lock);
		w->num_readers_requesting_keyhash++;
		ddsrt_mutex_unlock(&w->e.lock);
	}
	leave_scope(s);
}

// At the first heartbeat of another vendor's writer, Cyclone DDS skips all samples that a volatile reader has not yet
// received. A transient local reader skips only the samples before the first one that the heartbeat offers, also if the
// writer is volatile. The flag handle_as_transient_local may differ from the reader's QoS.
void accept_early_samples(const struct ddsi_sertype *type, const uint8_t reader[16]) {
	ddsi_guid_t guid = from_wire(reader);
	struct scope s = enter_scope(type);
	struct ddsi_reader *r = entidx_lookup_reader_guid(s.index, &guid);
	if (r != NULL) {
		ddsrt_mutex_lock(&r->e.lock);
		r->handle_as_transient_local = 1;
		ddsrt_mutex_unlock(&r->e.lock);
	}
	leave_scope(s);
}

static void send_to(const ddsi_xlocator_t *address, void *datagram) {
	ddsi_conn_write(address->conn, &address->c, 1, datagram, 0);
}

// Until the first heartbeat of a writer, Cyclone DDS sends the writer AckNacks that request nothing and begin at
// sequence number 1. Fast DDS answers such an AckNack at once only if it begins at 0, as the one of ask_writer does.
// Without an answer, a reader would get samples that Fast DDS sent too early only after the next heartbeat, up to 3 s
// later.
enum answer ask_writer(const struct ddsi_sertype *type, const uint8_t reader[16], const uint8_t writer[16]) {
	uint8_t message[64] = {'R', 'T', 'P', 'S', 2, 1, 1, 0x10};
	memcpy(message + 8, reader, 12);
	memcpy(message + 20, (uint8_t[]){SMID_INFO_DST, SMFLAG_ENDIANNESS, 12, 0}, 4);
	memcpy(message + 24, writer, 12);
	memcpy(message + 36, (uint8_t[]){SMID_ACKNACK, SMFLAG_ENDIANNESS, 24, 0}, 4);
	memcpy(message + 40, reader + 12, 4);
	memcpy(message + 44, writer + 12, 4);
	ddsrt_iovec_t datagram = {message, sizeof(message)};
	ddsi_guid_t reader_guid = from_wire(reader), writer_guid = from_wire(writer);
	struct scope s = enter_scope(type);
	struct ddsi_proxy_writer *w = entidx_lookup_proxy_writer_guid(s.index, &writer_guid);
	enum answer answer = TOO_EARLY;
	if (w != NULL) {
		ddsrt_mutex_lock(&w->e.lock);
		struct ddsi_pwr_rd_match *m = ddsrt_avl_lookup(&ddsi_pwr_readers_treedef, &w->readers, &reader_guid);
		if (m != NULL)
			answer = w->have_seen_heartbeat ? HEARD : ASKED;
		if (answer == ASKED) {
			uint32_t count = m->count++;
			for (int i = 0; i < 4; i++)
				message[60 + i] = (uint8_t)(count >> (8 * i));
			addrset_forall(w->c.as, send_to, &datagram);
		}
		ddsrt_mutex_unlock(&w->e.lock);
	}
	leave_scope(s);
	return answer;
}

// acknowledged reports whether reader of peer has acknowledged all samples of writer, a builtin writer that announces
// our endpoints.
static bool acknowledged(struct scope s, ddsi_guid_t ours, unsigned writer, ddsi_guid_t peer, unsigned reader) {
	ours.entityid.u = writer;
	peer.entityid.u = reader;
	struct ddsi_writer *w = entidx_lookup_writer_guid(s.index, &ours);
	if (w == NULL)
		return false;
	ddsrt_mutex_lock(&w->e.lock);
	const struct ddsi_wr_prd_match *m = ddsrt_avl_lookup(&ddsi_wr_readers_treedef, &w->readers, &peer);
	bool all = m != NULL && m->has_replied_to_hb && m->seq >= w->seq;
	ddsrt_mutex_unlock(&w->e.lock);
	return all;
}

bool knows_us(const struct ddsi_sertype *type, const uint8_t ours[16], const uint8_t peer[16]) {
	ddsi_guid_t our_guid = from_wire(ours), peer_guid = from_wire(peer), participant = peer_guid;
	participant.entityid.u = NN_ENTITYID_PARTICIPANT;
	struct scope s = enter_scope(type);
	bool in_process = entidx_lookup_participant_guid(s.index, &participant) != NULL;
	bool known = in_process || (acknowledged(s, our_guid, NN_ENTITYID_SEDP_BUILTIN_SUBSCRIPTIONS_WRITER, peer_guid,
					NN_ENTITYID_SEDP_BUILTIN_SUBSCRIPTIONS_READER) &&
			acknowledged(s, our_guid, NN_ENTITYID_SEDP_BUILTIN_PUBLICATIONS_WRITER, peer_guid,
					NN_ENTITYID_SEDP_BUILTIN_PUBLICATIONS_READER));
	leave_scope(s);
	return known;
}

bool is_fast_dds(const struct ddsi_sertype *type, const uint8_t guid[16]) {
	ddsi_guid_t participant = from_wire(guid);
	participant.entityid.u = NN_ENTITYID_PARTICIPANT;
	struct scope s = enter_scope(type);
	struct ddsi_proxy_participant *p = entidx_lookup_proxy_participant_guid(s.index, &participant);
	bool fast = p != NULL && vendor_is_eprosima(p->vendor);
	leave_scope(s);
	return fast;
}
