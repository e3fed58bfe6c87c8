/* Read what precedes a message in a log record and identifies it: a record type, a version, or both.
 *
 * Sources: Kafka's coordinator record serializers, KIP-631. `tagwire.frames.record_frames` has the same as layouts.
 */
#ifndef TAGWIRE_RECORD_PAYLOADS_H
#define TAGWIRE_RECORD_PAYLOADS_H

#include "columns/columns.h"

enum tw_payload { TW_PLAIN_PAYLOAD, TW_COORDINATOR_KEY, TW_COORDINATOR_VALUE, TW_METADATA_RECORD };

/* Store the bodies and versions of payloads in the two columns of `to`, which has room; null for other payloads, and
 * for markers, which `control` identifies. */
int tw_split_payloads(
    tw_frame *from, int32_t control, int32_t key, int32_t value, int how, int64_t wanted, tw_frame *to);

#endif
