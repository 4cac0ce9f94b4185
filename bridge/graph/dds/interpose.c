// Functions that replace functions of libddsc, where Cyclone DDS 0.10 fails with newer peers. libddsc calls its own
// exported functions through the dynamic linker, which finds functions of the executable first. If it does not,
// TestTypeInformation, TestAnnouncedEndpoints and TestSubscribeToRepliesToFastDDS fail.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "dds/ddsi/ddsi_plist.h"
#include "dds/ddsi/ddsi_typelookup.h"
#include "dds/ddsi/q_protocol.h"
#include "dds/ddsi/q_rtps.h"
#include "inline_qos.h"

// Cyclone DDS aborts on DDS-XTypes type descriptions that are damaged or of an unknown kind. Type descriptions arrive
// in the TypeInformation of endpoints and from the TypeLookup service, whose replies Fast DDS 3 sends to all peers.
// ROS 2 matches endpoints by type name and needs no type descriptions. So the functions below ignore TypeInformation
// and messages of TypeLookup.

typedef dds_return_t decoder(ddsi_plist_t *list, char **end, uint64_t parameters, uint64_t qos,
		const ddsi_plist_src_t *source, struct ddsi_domaingv const *domain);

dds_return_t ddsi_plist_init_frommsg(ddsi_plist_t *list, char **end, uint64_t parameters, uint64_t qos,
		const ddsi_plist_src_t *source, struct ddsi_domaingv const *const domain) {
	static decoder *original;
	decoder *decode = __atomic_load_n(&original, __ATOMIC_RELAXED);
	if (decode == NULL) {
		decode = (decoder *)dlsym(RTLD_NEXT, "ddsi_plist_init_frommsg");
		__atomic_store_n(&original, decode, __ATOMIC_RELAXED);
	}
	dds_return_t rc = decode(list, end, parameters, qos & ~QP_TYPE_INFORMATION, source, domain);
	struct identity id;
	// qos is 0 only for the inline QoS of a sample. The parameter that begin_inline_qos marks makes decode return
	// DDS_RETCODE_UNSUPPORTED, and Cyclone DDS would drop the sample. This process accepts such samples.
	if (rc == DDS_RETCODE_UNSUPPORTED && qos == 0 &&
			find_identity(source->buf, source->bufsz, source->encoding == PL_CDR_LE, &id)) {
		ddsi_plist_init_empty(list);
		rc = DDS_RETCODE_OK;
	}
	return rc;
}

void ddsi_tl_handle_request(struct ddsi_domaingv *domain, struct ddsi_serdata *request) {
	(void)domain;
	(void)request;
}

void ddsi_tl_handle_reply(struct ddsi_domaingv *domain, struct ddsi_serdata *reply) {
	(void)domain;
	(void)reply;
}

// Cyclone DDS announces endpoints without the GUID of their participant, because the GUID of an endpoint begins with
// the participant's prefix. With rmw_fastrtps_cpp on Fast DDS 3, such endpoints have no node.

typedef void encoder(struct nn_xmsg *message, const ddsi_plist_t *list, uint64_t parameters, uint64_t qos);

void ddsi_plist_addtomsg(struct nn_xmsg *message, const ddsi_plist_t *list, uint64_t parameters, uint64_t qos) {
	encoder *encode = (encoder *)dlsym(RTLD_NEXT, "ddsi_plist_addtomsg");
	encode(message, list, parameters, qos);
	if ((list->present & (PP_ENDPOINT_GUID | PP_PARTICIPANT_GUID)) != PP_ENDPOINT_GUID)
		return;
	ddsi_plist_t more;
	ddsi_plist_init_empty(&more);
	more.present = PP_PARTICIPANT_GUID;
	more.participant_guid.prefix = list->endpoint_guid.prefix;
	more.participant_guid.entityid.u = NN_ENTITYID_PARTICIPANT;
	encode(message, &more, parameters, qos);
}
