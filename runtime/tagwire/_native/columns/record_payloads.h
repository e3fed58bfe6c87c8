/* Remove the record types and versions from the messages in coordinator and metadata logs.
 *
 * Sources: Kafka's coordinator record serializers, KIP-631. The layouts are in `tagwire.frames.record_frames`. */
#ifndef TAGWIRE_RECORD_PAYLOADS_H
#define TAGWIRE_RECORD_PAYLOADS_H

#include "columns/columns.h"

enum tw_payload { TW_PLAIN_PAYLOAD, TW_COORDINATOR_KEY, TW_COORDINATOR_VALUE, TW_METADATA_RECORD };

/* Split the key or value of each record in `from` into a version and a message. Store the message in column 1 of `to`,
 * and the version in column 2. Both are null for a control record (marked in column `control` of `from`), and for a
 * record whose type isn't `type`. `to` must have room for all records. */
int tw_split_payloads(tw_frame *from, int32_t control, int32_t key, int32_t value, int how, int64_t type, tw_frame *to);

#endif
