// Functions that the C API of Cyclone DDS lacks. They use internals of the library, which its internal headers declare.
// Entities are identified by GUIDs in wire order; calls for entities that are gone do nothing. type is any type of the
// entities' domain.
#ifndef TAPEDECK_INSIDE_H
#define TAPEDECK_INSIDE_H

#include "blob.h"

// interrupt_writer makes blocked and all later writes fail. dds_delete waits for blocked writes.
void interrupt_writer(const struct ddsi_sertype *type, const uint8_t writer[16]);

// never_block makes writes never wait for slow readers.
void never_block(const struct ddsi_sertype *type, const uint8_t writer[16]);

// ask_readers makes a reliable writer ask for acknowledgements with its next sample, and not 100 ms later.
void ask_readers(const struct ddsi_sertype *type, const uint8_t writer[16]);

// relate_writer makes a writer send the identity of the sample to which each of its samples is related.
void relate_writer(const struct ddsi_sertype *type, const uint8_t writer[16]);

// accept_early_samples makes a reliable reader also receive the samples that a writer of another vendor sent before
// Cyclone DDS discovered the writer.
void accept_early_samples(const struct ddsi_sertype *type, const uint8_t reader[16]);

// ask_writer asks a remote writer to send a heartbeat to a reader at once. It returns HEARD without asking if this
// process has already received a heartbeat of the writer. It returns TOO_EARLY if Cyclone DDS has reported the
// participant or the match, but has not completed the match.
enum answer { HEARD, ASKED, TOO_EARLY };
enum answer ask_writer(const struct ddsi_sertype *type, const uint8_t reader[16], const uint8_t writer[16]);

// knows_us reports whether the participant of a peer has acknowledged the endpoints that our participant announced.
bool knows_us(const struct ddsi_sertype *type, const uint8_t ours[16], const uint8_t peer[16]);

// is_fast_dds reports whether a remote participant, or the participant of a remote endpoint, uses eProsima Fast DDS.
bool is_fast_dds(const struct ddsi_sertype *type, const uint8_t guid[16]);

#endif
