/* Separate the messages in coordinator and metadata logs from the record types and versions in front of them.
 *
 * Sources: Kafka's coordinator record serializers, KIP-631. The layouts are in `tagwire.frames.record_frames`.
 */
#ifndef TAGWIRE_RECORD_PAYLOADS_H
#define TAGWIRE_RECORD_PAYLOADS_H

#include "columns/columns.h"

enum tw_payload { TW_PLAIN_PAYLOAD, TW_COORDINATOR_KEY, TW_COORDINATOR_VALUE, TW_METADATA_RECORD };

/* For each record in `from`, store the body and the version of its payload in the two columns of `to`, which has room
 * for them. Store nulls for payloads of another type, and for control records (a bit in the column `control`). */
int tw_split_payloads(
    tw_frame *from, int32_t control, int32_t key, int32_t value, int how, int64_t wanted, tw_frame *to);

#endif
