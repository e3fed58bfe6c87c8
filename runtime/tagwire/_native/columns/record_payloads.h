/* Separate the messages in coordinator and metadata logs from the record types and versions in front of them.
 *
 * Sources: Kafka's coordinator record serializers, KIP-631. The layouts are in `tagwire.frames.record_frames`.
 */
#ifndef TAGWIRE_RECORD_PAYLOADS_H
#define TAGWIRE_RECORD_PAYLOADS_H

#include "columns/columns.h"

enum tw_payload { TW_PLAIN_PAYLOAD, TW_COORDINATOR_KEY, TW_COORDINATOR_VALUE, TW_METADATA_RECORD };

/* Split the payload (key or value) of each record in `from`. Column 2 of `to` receives the version of the message, and
 * column 1 the message itself, which follows the record type and the version. Both are null if the record type isn't
 * `wanted`, or if column `control` marks the record as a control record. `to` must have room for all records. */
int tw_split_payloads(
    tw_frame *from, int32_t control, int32_t key, int32_t value, int how, int64_t wanted, tw_frame *to);

#endif
