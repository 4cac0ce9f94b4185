// What the C API of Cyclone DDS has no function for: by the inside of its library, which its headers declare. Entities
// are named by GUIDs in wire order; those that are gone are left alone. type is any of their domain.
#ifndef TAPEDECK_INSIDE_H
#define TAPEDECK_INSIDE_H

#include "blob.h"

// interrupt_writer has writes that block fail, and all later ones. dds_delete waits for them.
void interrupt_writer(const struct ddsi_sertype *type, const uint8_t writer[16]);

// never_block has writes not wait for readers.
void never_block(const struct ddsi_sertype *type, const uint8_t writer[16]);

// ask_readers has a reliable writer ask for acknowledgements with its next sample. Otherwise it does so 100 ms later.
void ask_readers(const struct ddsi_sertype *type, const uint8_t writer[16]);

// relate_writer has a writer tell what its samples are related to.
void relate_writer(const struct ddsi_sertype *type, const uint8_t writer[16]);

// keep_first has a reliable reader receive, too, what writers of other vendors sent it before they were discovered.
void keep_first(const struct ddsi_sertype *type, const uint8_t reader[16]);

// ask_writer has a remote writer, unless it has been heard of, tell a reader at once what it has for it. It may be too
// early for that: Cyclone DDS reports a participant or a match a moment before it is complete.
enum answer { HEARD, ASKED, TOO_EARLY };
enum answer ask_writer(const struct ddsi_sertype *type, const uint8_t reader[16], const uint8_t writer[16]);

// knows_us says whether the participant of a peer has acknowledged what ours announced of its endpoints.
bool knows_us(const struct ddsi_sertype *type, const uint8_t ours[16], const uint8_t peer[16]);

// is_fast_dds says whether a remote participant, or that of a remote endpoint, is one of eProsima Fast DDS.
bool is_fast_dds(const struct ddsi_sertype *type, const uint8_t guid[16]);

#endif
