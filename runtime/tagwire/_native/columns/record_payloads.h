/* Separate the messages in coordinator and metadata logs from the record types and versions in front of them.
 *
 * Sources: Kafka's coordinator record serializers, KIP-631. The layouts are in `tagwire.frames.record_frames`.
 */
#ifndef TAGWIRE_RECORD_PAYLOADS_H
#define TAGWIRE_RECORD_PAYLOADS_H

#include "columns/columns.h"

enum tw_payload { TW_PLAIN_PAYLOAD, TW_COORDINATOR_KEY, TW_COORDINATOR_VALUE, TW_METADATA_RECORD };

/* For each record in `from`, store the message without its record type and version in column 1 of `to`, and its version
 * in column 2. Both are null if the record type isn't `wanted`, and for control records, whose bit in the column
 * `control` is set. `to` must have room for all records. */
int tw_split_payloads(
    tw_frame *from, int32_t control, int32_t key, int32_t value, int how, int64_t wanted, tw_frame *to);

#endif
