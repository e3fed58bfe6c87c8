/* Read the record type or the version, or both, which precede the message in a log record.
 *
 * Sources: Kafka's coordinator record serializers, KIP-631. `tagwire.frames.record_frames` has the corresponding
 * layouts.
 */
#ifndef TAGWIRE_RECORD_PAYLOADS_H
#define TAGWIRE_RECORD_PAYLOADS_H

#include "columns/columns.h"

enum tw_payload { TW_PLAIN_PAYLOAD, TW_COORDINATOR_KEY, TW_COORDINATOR_VALUE, TW_METADATA_RECORD };

/* For each record in `from`, store its payload's body and version in the two columns of `to`; the caller has made room.
 * Store null if the payload has another type, or if the column `control` marks the record as a control record. */
int tw_split_payloads(
    tw_frame *from, int32_t control, int32_t key, int32_t value, int how, int64_t wanted, tw_frame *to);

#endif
