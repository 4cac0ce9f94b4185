// What peers say of their types by DDS-XTypes is kept from Cyclone DDS 0.10: it aborts on descriptions that it does not
// know or that are damaged. They come in the TypeInformation of endpoints and by the TypeLookup service, whose replies
// Fast DDS 3 sends to all. Nothing here needs them: ROS 2 matches endpoints by the names of their types.
//
// The functions of this file take the place of those of libddsc, which calls its own exported functions through the
// dynamic linker, and that finds those of the executable first. TestTypeInformation fails where it does not.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "dds/ddsi/ddsi_plist.h"
#include "dds/ddsi/ddsi_typelookup.h"

typedef dds_return_t decoder(ddsi_plist_t *list, char **end, uint64_t parameters, uint64_t qos,
		const ddsi_plist_src_t *source, struct ddsi_domaingv const *domain);

// ddsi_plist_init_frommsg decodes a list of parameters but for TypeInformation.
dds_return_t ddsi_plist_init_frommsg(ddsi_plist_t *list, char **end, uint64_t parameters, uint64_t qos,
		const ddsi_plist_src_t *source, struct ddsi_domaingv const *const domain) {
	static decoder *original;
	decoder *decode = __atomic_load_n(&original, __ATOMIC_RELAXED);
	if (decode == NULL) {
		decode = (decoder *)dlsym(RTLD_NEXT, "ddsi_plist_init_frommsg");
		__atomic_store_n(&original, decode, __ATOMIC_RELAXED);
	}
	return decode(list, end, parameters, qos & ~QP_TYPE_INFORMATION, source, domain);
}

void ddsi_tl_handle_request(struct ddsi_domaingv *domain, struct ddsi_serdata *request) {
	(void)domain;
	(void)request;
}

void ddsi_tl_handle_reply(struct ddsi_domaingv *domain, struct ddsi_serdata *reply) {
	(void)domain;
	(void)reply;
}
