/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing and reading packets of segments.
 */
#include "config.h"

#include "segment_packet.h"

#include <string.h>

#include <dtconv/segment.h>

#include "words.h"

/* "dtsg", and the version above it. */
#define MAGIC (UINT64_C(0x67737464) | UINT64_C(1) << 32)

enum word {
	WORD_MAGIC,
	WORD_PLACE,
	WORD_COUNT,
	WORD_RESERVED,
	WORD_ID,
	WORD_MAPPINGS = 6
};

void dtc_segment_packet_write(const struct dtc_segment_packet *packet, void *bytes)
{
	memset(bytes, 0, DTC_SEGMENT_PACKET_BYTES);
	dtc_word_put(bytes, WORD_MAGIC, MAGIC);
	dtc_word_put(bytes, WORD_PLACE, packet->first | (uint64_t)packet->total << 32);
	dtc_word_put(bytes, WORD_COUNT, packet->count);
	dtc_word_put(bytes, WORD_RESERVED, packet->reserved);
	memcpy((char *)bytes + 8 * WORD_ID, packet->id, sizeof(packet->id));
	for (size_t i = 0; i < packet->count; i++) {
		dtc_word_put(bytes, WORD_MAPPINGS + 2 * i, packet->mappings[i].bytes);
		dtc_word_put(bytes, WORD_MAPPINGS + 2 * i + 1,
			     packet->mappings[i].number);
	}
}

static const char *read_mappings(const void *bytes, struct dtc_segment_packet *packet)
{
	for (size_t i = 0; i < packet->count; i++) {
		packet->mappings[i] = (struct dtc_segment_packet_mapping){
			.bytes = dtc_word_take(bytes, WORD_MAPPINGS + 2 * i),
			.number = dtc_word_take(bytes, WORD_MAPPINGS + 2 * i + 1),
		};
		if (!packet->mappings[i].bytes || packet->mappings[i].bytes > PTRDIFF_MAX)
			return "a mapping has an impossible size";
	}
	return NULL;
}

const char *dtc_segment_packet_read(const void *bytes, size_t length,
				    struct dtc_segment_packet *packet)
{
	if (length != DTC_SEGMENT_PACKET_BYTES)
		return "a packet has another length";
	if (dtc_word_take(bytes, WORD_MAGIC) != MAGIC)
		return "a packet has another version or none";
	const uint64_t count = dtc_word_take(bytes, WORD_COUNT);
	packet->first = (uint32_t)dtc_word_take(bytes, WORD_PLACE);
	packet->total = (uint32_t)(dtc_word_take(bytes, WORD_PLACE) >> 32);
	packet->reserved = dtc_word_take(bytes, WORD_RESERVED);
	memcpy(packet->id, (const char *)bytes + 8 * WORD_ID, sizeof(packet->id));
	if (!packet->reserved || packet->reserved > PTRDIFF_MAX)
		return "its addresses have an impossible size";
	if (packet->total > DTCONV_SEGMENT_MAPPINGS_MAX || !count != !packet->total ||
	    count > DTC_SEGMENT_PACKET_MAPPINGS || packet->first > packet->total ||
	    count > packet->total - packet->first)
		return "a packet has an impossible number of mappings";
	packet->count = (uint32_t)count;
	return read_mappings(bytes, packet);
}
